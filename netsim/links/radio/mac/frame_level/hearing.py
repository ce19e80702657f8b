"""Receivers of a sender's frames, and the power at each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.units import to_ns

FAINT = 1e-3
"""SNR, linear, below which a signal counts neither as a signal nor as interference."""

FOR_EVER = 1 << 62

NO_ENERGY = 5e-324
"""SNR that stands for a signal that is sensed however weak it is."""

MOST_KEPT = 1 << 23
"""SNRs that are kept, of all senders together."""


class Heard:
    """Loudness of one sender everywhere.

    Parameters
    ----------
    snr : (nodes,) float array
        At each node, linear, without interference.
    near : (nodes,) bool array
        Who is in carrier-sense range.
    src : int
        The sender, who doesn't hear itself.
    least_snr : float
        SNR of a signal that is as strong as the sensitivity, linear.

    Attributes
    ----------
    snr : (nodes,) float array
        0 where nothing is heard.
    at_all, sensed, strong, noticed : (nodes,) bool array
        Who hears anything; who does and is in carrier-sense range; whom the signal reaches with the
        sensitivity; who is both, and finds the preambles of frames to others, too.
    everywhere : bool
        Whether all whom it reaches are in carrier-sense range.
    energy : (nodes,) float array
        SNR where carriers are sensed, 0 elsewhere.
    """

    def __init__(
        self, snr: NDArray[np.float64], near: NDArray[np.bool_], src: int, least_snr: float
    ) -> None:
        strong = snr >= least_snr
        self.at_all = (snr >= FAINT) | (near & strong)
        self.at_all[src] = False
        self.snr = np.where(self.at_all, snr, 0.0)
        self.sensed = near & self.at_all
        self.strong = strong & self.at_all
        self.noticed = strong & self.sensed
        self.everywhere = bool((self.strong == self.noticed).all())
        self.energy = np.where(self.sensed, np.maximum(self.snr, NO_ENERGY), 0.0)


class Hearing:
    """The SNR of every sender at every other node.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget
    channel : RadioChannel
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.

    Attributes
    ----------
    least_snr : float
        SNR of a signal that is as strong as the sensitivity, linear; 0 where there is none.
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        channel: RadioChannel,
        distance_m: Callable[[int, int, int], float] | None,
    ) -> None:
        self._channel, self._mean_snr = channel, budget.mean_snr
        self._nodes = np.arange(len(budget.tx_power_w))
        self._range_m, self._distance_m = radio.mac.range_m, distance_m
        self.least_snr = channel.sensitivity
        fading = radio.fading
        self._per_exchange = fading.hold == "exchange"
        self._coherence_ns = FOR_EVER
        if fading.kind != "none":
            self._coherence_ns = max(1, to_ns(fading.constant_s(radio.carrier_hz)))
        self._known: dict[int, tuple[int, Heard]] = {}
        self._most_known = max(1, MOST_KEPT // len(self._nodes))

    def heard_from(self, src: int, now_ns: int, began_ns: int) -> Heard:
        """Return the nodes that hear a node at an instant.

        Parameters
        ----------
        src : int
        now_ns : int
        began_ns : int
            When its message began, whose fading may last for an exchange.

        Returns
        -------
        Heard
        """
        if self._per_exchange:
            return self._at(src, began_ns)
        until_ns, heard = self._known.get(src, (0, None))
        if heard is None or until_ns <= now_ns:
            if len(self._known) >= self._most_known:
                self._known.clear()
            heard = self._at(src, now_ns)
            self._known[src] = self._holds_until_ns(src, now_ns), heard
        return heard

    def _at(self, src: int, time_ns: int) -> Heard:
        channel, others = self._channel, [node for node in range(len(self._nodes)) if node != src]
        snr = self._mean_snr.snr(src, self._nodes, time_ns)
        if channel.fades:
            # Draws one by one: they are kept, and those of an array differ in the last digit.
            snr = snr.copy()
            snr[others] *= np.array([channel.gain(src, node, time_ns) for node in others])
        near = np.ones(len(snr), dtype=np.bool_)
        if self._range_m is not None and self._distance_m is not None:
            far_m = [self._distance_m(src, node, time_ns) for node in others]
            near[others] = np.array(far_m) <= self._range_m
        return Heard(snr, near, src, self.least_snr)

    def _holds_until_ns(self, src: int, now_ns: int) -> int:
        until_ns = FOR_EVER
        if self._coherence_ns < FOR_EVER:
            until_ns = (now_ns // self._coherence_ns + 1) * self._coherence_ns
        if self._mean_snr.moving:
            other = 1 if src == 0 else 0
            step_ns = self._mean_snr.holds_until_ns(src, other, now_ns)
            until_ns = until_ns if step_ns is None else min(until_ns, step_ns)
        return until_ns
