"""Whom a sender's frames reach, and how loud."""

from __future__ import annotations

from collections.abc import Callable

from netsim.links.radio.budget import LinkBudget
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.units import to_ns

FAINT = 1e-3
"""SNR, linear, below which a signal counts neither as a signal nor as interference."""

FOR_EVER = 1 << 62

Heard = tuple[int, float, bool, bool]
"""Node, SNR there, whether it reaches the sensitivity, whether it is in carrier-sense range."""


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
        self._nodes = range(len(budget.tx_power_w))
        self._range_m, self._distance_m = radio.mac.range_m, distance_m
        self.least_snr = channel.sensitivity
        fading = radio.fading
        self._per_exchange = fading.hold == "exchange"
        self._coherence_ns = FOR_EVER
        if fading.kind != "none":
            self._coherence_ns = max(1, to_ns(fading.constant_s(radio.carrier_hz)))
        self._known: dict[int, tuple[int, list[Heard]]] = {}

    def of(self, src: int, now_ns: int, began_ns: int) -> list[Heard]:
        """Who hears a node at an instant.

        Parameters
        ----------
        src : int
        now_ns : int
        began_ns : int
            When its message began, whose fading may last for an exchange.

        Returns
        -------
        list of Heard
            In ascending order of nodes.
        """
        if self._per_exchange:
            return self._at(src, began_ns)
        until_ns, heard = self._known.get(src, (0, []))
        if until_ns <= now_ns:
            heard = self._at(src, now_ns)
            self._known[src] = self._holds_until_ns(src, now_ns), heard
        return heard

    def _at(self, src: int, time_ns: int) -> list[Heard]:
        heard = []
        for node in self._nodes:
            if node == src:
                continue
            snr = self._channel.snr(src, node, time_ns)
            near = (
                self._range_m is None
                or self._distance_m is None
                or self._distance_m(src, node, time_ns) <= self._range_m
            )
            strong = snr >= self.least_snr
            if snr >= FAINT or (near and strong):
                heard.append((node, snr, strong, near))
        return heard

    def _holds_until_ns(self, src: int, now_ns: int) -> int:
        until_ns = FOR_EVER
        if self._coherence_ns < FOR_EVER:
            until_ns = (now_ns // self._coherence_ns + 1) * self._coherence_ns
        if self._mean_snr.moving:
            other = 1 if src == 0 else 0
            step_ns = self._mean_snr.holds_until_ns(src, other, now_ns)
            until_ns = until_ns if step_ns is None else min(until_ns, step_ns)
        return until_ns
