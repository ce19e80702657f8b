"""Capacity of a bottleneck over time: constant, or piecewise constant as a trace has it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from netsim.units import FOREVER_NS, NS_PER_S, to_ns

NO_BITS = 1e-6
"""Remainder of bits that is rounding."""


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

    def bits_until(self, time_ns: float) -> float:
        """Bits that can cross from the beginning of the run to an instant [ns]."""
        return self.bps * time_ns / NS_PER_S

    def reaches_ns(self, bits: float) -> float:
        """First instant [ns] by which so many bits can have crossed since the beginning."""
        return bits / self.bps * NS_PER_S


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
        pieces = zip(self._bps, self._starts, ends, strict=False)
        carried = [rate * (end - start) / NS_PER_S for rate, start, end in pieces]
        self._period_bits = sum(carried)
        self._before = list(accumulate(carried, initial=0.0))
        self._ends = [*self._starts, *([] if period_ns is None else [period_ns])]
        self._offset_bits = self._carried_in_trace(offset_ns)

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
            carried = math.inf if change_ns is None else rate * (change_ns - time_ns) / NS_PER_S
            if change_ns is None or bits <= carried + NO_BITS:
                return time_ns + (to_ns(min(bits, carried) / rate) if rate > 0 < bits else 0)
            bits -= carried
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

    def bits_until(self, time_ns: float) -> float:
        """Bits that can cross from the beginning of the run to an instant [ns]."""
        return self._carried_in_trace(time_ns + self._offset_ns) - self._offset_bits

    def reaches_ns(self, bits: float) -> float:
        """First instant [ns] by which so many bits can have crossed since the beginning."""
        bits += self._offset_bits
        periods = 0.0
        if self._period_ns is not None:
            periods, bits = divmod(bits, self._period_bits)
            if bits <= NO_BITS and periods:  # by the end of the last bits, not the next ones' begin
                periods, bits = periods - 1, self._period_bits
        at = bisect_left(self._before, bits - NO_BITS)
        if at < len(self._before) and self._before[at] <= bits + NO_BITS:
            within: float = self._ends[at]
        else:
            at -= 1
            within = self._starts[at] + (bits - self._before[at]) / self._bps[at] * NS_PER_S
        return periods * (self._period_ns or 0) + within - self._offset_ns

    def _carried_in_trace(self, time_ns: float) -> float:
        """Bits that can cross from the beginning of the trace to an instant of it [ns]."""
        periods = 0.0
        if self._period_ns is not None:
            periods, time_ns = divmod(time_ns, self._period_ns)
        at = bisect_right(self._starts, time_ns) - 1
        within = self._before[at] + self._bps[at] * (time_ns - self._starts[at]) / NS_PER_S
        return periods * self._period_bits + within


class ChangedCapacity(NamedTuple):
    """A capacity in whose place another one comes at an instant.

    Attributes
    ----------
    before : Capacity
    since_ns : int
        When the other one comes.
    after : Capacity
    """

    before: Capacity
    since_ns: int
    after: Capacity

    def at(self, time_ns: int) -> tuple[float, int | None]:
        """Capacity in bit/s and when it changes next, in ns; None: never."""
        if time_ns >= self.since_ns:
            return self.after.at(time_ns)
        bps, change_ns = self.before.at(time_ns)
        return bps, self.since_ns if change_ns is None else min(change_ns, self.since_ns)

    def finish_ns(self, time_ns: int, bits: float) -> int:
        """Return the time [ns] at which bits that begin at an instant, alone, have crossed."""
        if time_ns >= self.since_ns:
            return self.after.finish_ns(time_ns, bits)
        first = self.before.bits(time_ns, self.since_ns)
        if bits <= first:
            return self.before.finish_ns(time_ns, bits)
        return self.after.finish_ns(self.since_ns, bits - first)

    def bits(self, from_ns: int, to_ns: int) -> float:
        """Bits that can cross between two instants [ns]: the integral of the capacity."""
        found = 0.0
        if from_ns < self.since_ns:
            found = self.before.bits(from_ns, min(to_ns, self.since_ns))
        if to_ns > self.since_ns:
            found += self.after.bits(max(from_ns, self.since_ns), to_ns)
        return found

    def bits_until(self, time_ns: float) -> float:
        """Bits that can cross from the beginning of the run to an instant [ns]."""
        first = self.before.bits_until(min(time_ns, self.since_ns))
        if time_ns <= self.since_ns:
            return first
        return first + self.after.bits_until(time_ns) - self.after.bits_until(self.since_ns)

    def reaches_ns(self, bits: float) -> float:
        """First instant [ns] by which so many bits can have crossed since the beginning."""
        first = self.before.bits_until(self.since_ns)
        if bits <= first + NO_BITS:
            return self.before.reaches_ns(bits)
        more = bits - first + self.after.bits_until(self.since_ns)
        return self.after.reaches_ns(more)


Capacity = ConstantCapacity | PiecewiseCapacity | ChangedCapacity
