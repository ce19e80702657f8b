"""Capacity of a bottleneck over time: constant, or piecewise constant as a trace has it."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from netsim.units import FOREVER_NS, NS_PER_S, to_ns


class ConstantCapacity(NamedTuple):
    """A capacity that never changes.

    Attributes
    ----------
    bps : float
        In bit/s.
    """

    bps: float

    def at(self, time_ns: int) -> tuple[float, int | None]:
        """Capacity in bit/s and when it changes next, in ns; None: never."""
        return self.bps, None

    def finish_ns(self, time_ns: int, bits: float) -> int:
        """Return the time [ns] at which bits that begin at an instant, alone, have crossed."""
        return time_ns + to_ns(bits / self.bps)

    def bits(self, from_ns: int, to_ns: int) -> float:
        """Bits that can cross between two instants [ns]."""
        return self.bps * (to_ns - from_ns) / NS_PER_S


class PiecewiseCapacity:
    """A capacity that is piecewise constant.

    Parameters
    ----------
    starts_ns : sequence of int
        When each piece starts, in the trace: ascending, the first is 0.
    bps : sequence of float
        Of each piece: at least 0, not all 0; without a period the last one is not 0.
    period_ns : int or None
        After so long the trace starts anew; None: its last piece has no end.
    offset_ns : int
        Where in the trace the run starts.
    """

    def __init__(
        self,
        starts_ns: Sequence[int],
        bps: Sequence[float],
        period_ns: int | None,
        offset_ns: int = 0,
    ) -> None:
        self._starts, self._bps = list(starts_ns), list(bps)
        self._period_ns, self._offset_ns = period_ns, offset_ns
        ends = [*self._starts[1:], *([] if period_ns is None else [period_ns])]
        self._period_bits = sum(
            rate * (end - start) / NS_PER_S
            for rate, start, end in zip(self._bps, self._starts, ends, strict=False)
        )

    def at(self, time_ns: int) -> tuple[float, int | None]:
        """Capacity in bit/s and when it changes next, in ns; None: never."""
        within = time_ns + self._offset_ns
        if self._period_ns is not None:
            within %= self._period_ns
        piece = bisect_right(self._starts, within) - 1
        if piece + 1 < len(self._starts):
            return self._bps[piece], time_ns + self._starts[piece + 1] - within
        if self._period_ns is None:
            return self._bps[piece], None
        return self._bps[piece], time_ns + self._period_ns - within

    def finish_ns(self, time_ns: int, bits: float) -> int:
        """Return the time [ns] at which the integral of the capacity reaches the bits."""
        if self._period_ns is not None and self._period_bits > 0:
            periods = bits / self._period_bits
            if periods * self._period_ns >= FOREVER_NS:
                return FOREVER_NS
            whole = max(0, math.floor(periods) - 1)
            bits -= whole * self._period_bits
            time_ns += whole * self._period_ns
        while time_ns < FOREVER_NS:
            rate, change_ns = self.at(time_ns)
            if change_ns is None or bits <= rate * (change_ns - time_ns) / NS_PER_S:
                return time_ns + (to_ns(bits / rate) if bits > 0 else 0)
            bits -= rate * (change_ns - time_ns) / NS_PER_S
            time_ns = change_ns
        return FOREVER_NS

    def bits(self, from_ns: int, to_ns: int) -> float:
        """Bits that can cross between two instants [ns]: the integral of the capacity."""
        found = 0.0
        if self._period_ns is not None:
            whole = (to_ns - from_ns) // self._period_ns
            found, from_ns = whole * self._period_bits, from_ns + whole * self._period_ns
        while from_ns < to_ns:
            rate, change_ns = self.at(from_ns)
            until_ns = to_ns if change_ns is None else min(change_ns, to_ns)
            found += rate * (until_ns - from_ns) / NS_PER_S
            from_ns = until_ns
        return found


Capacity = ConstantCapacity | PiecewiseCapacity
