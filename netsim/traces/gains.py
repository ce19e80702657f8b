"""Gains of links over time, as measured, ray-traced or emulated elsewhere."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.units import to_ns

_ALIKE_DB = 1e-4


@dataclass(frozen=True, eq=False)
class Gains:
    """The gain of every link as a function of time: received over sent power.

    Attributes
    ----------
    starts_ns : list of int
        When each matrix begins to hold [ns], ascending; the first holds before, too.
    gain_db : (T, N, N) float64
        From the sender (row) to the receiver (column) [dB]; -inf: they never hear each other.
    period_ns : int or None
        After so long it starts anew; None: the last matrix holds for ever.
    step_ns : int or None
        Between two matrices gains go straight from one to the other in dB, in steps of so long;
        None: each matrix holds until the next.
    faded : bool
        Whether small-scale fading is in them.
    offset_ns : int
        Where in these times the run starts.
    """

    starts_ns: list[int]
    gain_db: NDArray[np.float64]
    period_ns: int | None = None
    step_ns: int | None = None
    faded: bool = False
    offset_ns: int = 0

    @staticmethod
    def from_matrices(
        t_s: NDArray[np.float64],
        gain_db: NDArray[np.float64],
        repeats: bool = False,
        step_s: float | None = None,
        faded: bool = False,
        offset_s: float = 0.0,
    ) -> "Gains":
        """Gains at times in seconds; a matrix like the one before, to 1e-4 dB, is left out.

        Parameters
        ----------
        t_s : (T,) float64
            Ascending [s].
        gain_db : (T, N, N) float64
        repeats : bool
            Whether they start anew after the last, which lasts as long as the one before it.
        step_s : float or None
            Step of linear interpolation [s]; None: each matrix holds until the next.
        faded : bool
        offset_s : float
            Where in these times the run starts [s].
        """
        starts = [to_ns(t) for t in t_s.tolist()]
        period_ns = 2 * starts[-1] - starts[-2] if repeats and len(starts) > 1 else None
        if step_s is None and len(starts) > 1:
            kept = [0]
            for k in range(1, len(starts)):
                if not np.allclose(gain_db[k], gain_db[kept[-1]], rtol=0.0, atol=_ALIKE_DB):
                    kept.append(k)
            starts, gain_db = [starts[k] for k in kept], gain_db[kept]
        step_ns = None if step_s is None or len(starts) == 1 else max(1, to_ns(step_s))
        return Gains(starts, gain_db, period_ns, step_ns, faded, to_ns(offset_s))

    @property
    def is_changing(self) -> bool:
        """Return whether any gain ever changes."""
        return len(self.starts_ns) > 1

    def step_at(self, time_ns: int) -> int:
        """Number of the span of constant gains that holds an instant."""
        time_ns += self.offset_ns
        if self.period_ns is not None:
            time_ns %= self.period_ns
        if self.step_ns is not None:
            first, last = self.starts_ns[0], self.starts_ns[-1]
            if time_ns >= last:
                return -(-(last - first) // self.step_ns)
            return max(0, time_ns - first) // self.step_ns
        return max(0, bisect_right(self.starts_ns, time_ns) - 1)

    def holds_until_ns(self, time_ns: int) -> int | None:
        """Return the next time [ns] at which gains may change; None: never."""
        round_ns = -self.offset_ns
        if self.period_ns is not None:
            round_ns = time_ns - (time_ns + self.offset_ns) % self.period_ns
        step, now_ns = self.step_at(time_ns), time_ns - round_ns
        next_ns: int | None
        if self.step_ns is not None:
            last_ns = self.starts_ns[-1]
            next_ns = min(self.starts_ns[0] + (step + 1) * self.step_ns, last_ns)
            if now_ns >= last_ns:
                next_ns = None
        else:
            next_ns = self.starts_ns[step + 1] if step + 1 < len(self.starts_ns) else None
        if next_ns is None:
            return None if self.period_ns is None else round_ns + self.period_ns
        if self.period_ns is not None:
            next_ns = min(next_ns, self.period_ns)
        return round_ns + next_ns

    def gains_to(
        self, step: int, src: int, others: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Gains from one node to others.

        Parameters
        ----------
        step : int
            As `step_at` gives it.
        src : int
        others : sequence or array of int

        Returns
        -------
        (len(others),) float64
            In dB.
        """
        to = np.asarray(others, dtype=np.int64)
        if self.step_ns is None:
            return np.asarray(self.gain_db[step, src, to])
        time_ns = min(self.starts_ns[0] + step * self.step_ns, self.starts_ns[-1])
        after = min(bisect_right(self.starts_ns, time_ns), len(self.starts_ns) - 1)
        start, end = self.starts_ns[after - 1], self.starts_ns[after]
        before_db, after_db = self.gain_db[after - 1, src, to], self.gain_db[after, src, to]
        part = (time_ns - start) / (end - start)
        if part == 0.0:  # -inf - -inf is no number
            return np.asarray(before_db)
        if part == 1.0:
            return np.asarray(after_db)
        heard = np.isfinite(before_db) & np.isfinite(after_db)
        found = np.full(len(to), -np.inf)
        found[heard] = before_db[heard] + part * (after_db[heard] - before_db[heard])
        return found


def power_gain(
    a: NDArray[np.complexfloating], tau_s: NDArray[np.float64], bandwidth_hz: float | None
) -> NDArray[np.float64]:
    """Power gain of a link from its propagation paths.

    Parameters
    ----------
    a : (paths, T) complex
        Baseband coefficients, a_p exp(-j 2 pi f tau_p) with f the carrier; 0 where there is none.
    tau_s : (paths,) float64
        Delays [s].
    bandwidth_hz : float or None
        None: sum |a_p|^2, which is the mean over the phases of the paths. Else the mean of
        |H(f)|^2 over a band of that width around the carrier, sum_pq a_p a_q* sinc(B (tau_p -
        tau_q)), which fades.

    Returns
    -------
    (T,) float64
        Linear.
    """
    if bandwidth_hz is None:
        return np.asarray((np.abs(a) ** 2).sum(axis=0))
    there = np.abs(a).max(axis=1, initial=0.0) > 0.0
    a, tau_s = a[there], tau_s[there]
    alike = np.sinc(bandwidth_hz * (tau_s[:, None] - tau_s[None, :]))
    mixed = np.einsum("pt,pq,qt->t", a.conj(), alike, a, optimize=True)
    return np.asarray(np.maximum(mixed.real, 0.0))
