"""One of two hidden senders, as `two_hidden_senders` has them: silences by stage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac._dcf.contention_problem import Sender, Timing, no_answer_s
from netsim.channels.mac._dcf.independent_sets import Floats
from netsim.channels.mac._dcf.stations import last_stage

MOMENT_S = 1e-9
"""The shortest window."""


class Side:
    """One of the two; arrays have one entry a stage.

    Parameters
    ----------
    mac : Csma
    sender : Sender
        One whose packets are acknowledged.
    earlier, later : float
        y and z: see `Hidden`.
    """

    def __init__(self, mac: Timing, sender: Sender, earlier: float, later: float) -> None:
        top = last_stage(mac, sender)
        stages = np.arange(top + 1)
        after_s = mac.sifs_s + (sender.ack_s or 0.0) + 2.0 * mac.propagation_s
        self.limit, self.stages, self.error = sender.limit, top + 1, sender.error
        self.gap_s = np.where(stages == 0, after_s, no_answer_s(mac)) + mac.difs_s
        windows = mac.cw_min * 2.0 ** np.minimum(stages, mac.stages) - 1.0
        self.width_s = np.maximum(mac.slot_s * windows, MOMENT_S)
        self.next = np.append(stages[1:], top if sender.limit is None else 0)  # after a failure
        self.air_s, self.earlier, self.later = sender.frame_s, earlier, later
        weights = sender.error ** stages.astype(np.float64)
        if sender.limit is None:
            weights[-1] /= 1.0 - sender.error
        self.alone = weights / weights.sum()  # stages of attempts while the other one is silent
        self.silent_s = float(self.alone @ (self.gap_s + 0.5 * self.width_s))
        self.cycle_s = self.silent_s + self.air_s
        self.same = (sender, earlier, later)

    def lost(self, spoilt: Any) -> Any:
        """Probability of losing a packet.

        Parameters
        ----------
        spoilt : float or ndarray
            Probability that the other one spoils it.
        """
        return 1.0 - (1.0 - self.error) * (1.0 - spoilt)


def silence_moments(
    side: Side, stage: NDArray[np.int64], start_s: Any, stop_s: Any
) -> tuple[Floats, ...]:
    """Probability of a silence between two times, and with it the silence and its square.

    Parameters
    ----------
    side : Side
    stage : (n,) int64
    start_s, stop_s : float or (n, k) float64
        The times [s].

    Returns
    -------
    tuple of (n, k) float64
    """
    low_s, width_s = side.gap_s[stage, None], side.width_s[stage, None]
    a = np.clip(start_s, low_s, low_s + width_s)
    b = np.maximum(np.clip(stop_s, low_s, low_s + width_s), a)
    return (b - a) / width_s, (b**2 - a**2) / (2.0 * width_s), (b**3 - a**3) / (3.0 * width_s)
