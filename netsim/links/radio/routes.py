"""The routing table of a radio network: the next hop from every node to every other one."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.channels.mac import ALONE
from netsim.channels.routing import LinkQuality
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.units import NS_PER_S, to_ns

_QUANTILES = (np.arange(200) + 0.5) / 200
"""Of the fading, over which the loss of a link is averaged: to half a per cent of all attempts."""

_STEPS_PER_DB = 20
"""Mean SNRs are rounded to a twentieth of a decibel before that."""

_LEAST_DELIVERY = 0.01
"""A link over which fewer attempts get through is none."""


class Routes:
    """Routes of least cost at the mean SNRs of a moment.

    The table is made when it is first asked for, and made anew when it is asked for `update_s`
    later, if links change in time or other nodes are off. Of ways of equal cost it takes one that
    depends on nothing but the table.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget
    channel : RadioChannel
    nodes : int
        How many nodes there are.
    off : set of int
        Nodes that are switched off; those that are when a table is made are in no way.
    apart : callable or None
        (node, node) -> whether they are not in contact now; None: all always are.
    wired : set of int
        Nodes that are on wires alone, and in no way.
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        channel: RadioChannel,
        nodes: int,
        off: AbstractSet[int],
        apart: Callable[[int, int], bool] | None,
        wired: AbstractSet[int] = frozenset(),
    ) -> None:
        self._radio, self._budget, self._channel = radio, budget, channel
        self._nodes, self._off, self._apart, self._wired = nodes, off, apart, wired
        self._cost = lru_cache(maxsize=1 << 12)(self._of_mean_snr)
        self._update_ns = max(1, to_ns(radio.routing.update_s))
        self._made_ns: int | None = None
        self._without: frozenset[int] = frozenset()

    def next_hop(self, src: int, dst: int, time_ns: int) -> int | None:
        """Next node on the route of a message; None: there is no route.

        Parameters
        ----------
        src, dst : int
        time_ns : int
            Now.
        """
        way = self.path(src, dst, time_ns)
        return way[1] if way else None

    def path(self, src: int, dst: int, time_ns: int) -> list[int]:
        """Nodes of a path, both ends included; empty if there is none.

        Parameters
        ----------
        src, dst : int
        time_ns : int
            Now.
        """
        self._keep_up(time_ns)
        before = self._before(src)
        found, at = [dst], dst
        while at != src:
            at = int(before[at])
            if at < 0:
                return []
            found.append(at)
        return found[::-1]

    def _keep_up(self, time_ns: int) -> None:
        """Make the table anew if it is time."""
        if self._made_ns is not None:
            changes = self._channel.moving or self._apart is not None or self._off != self._without
            if not changes or time_ns < self._made_ns + self._update_ns:
                return
        self._made_ns, self._without = time_ns, frozenset(self._off)
        self._costs = self._cost_matrix(time_ns)
        self._before = lru_cache(maxsize=None)(self._predecessors)

    def _predecessors(self, src: int) -> NDArray[np.int32]:
        """Nodes before each node on its way from `src`, negative where there is no way."""
        _, before = scipy.sparse.csgraph.dijkstra(
            self._costs, indices=src, return_predecessors=True
        )
        return np.asarray(before, dtype=np.int32)

    def _cost_matrix(self, time_ns: int) -> scipy.sparse.csr_array:
        """Costs of all links."""
        rows, columns, costs = [], [], []
        on = [i for i in range(self._nodes) if i not in self._without | self._wired]
        for i in on:
            means = self._budget.mean_snr.snr(i, np.array(on), time_ns)
            for j, mean in zip(on, means.tolist(), strict=True):
                if i == j or mean <= 0.0 or (self._apart is not None and self._apart(i, j)):
                    continue
                cost = self._cost(round(10.0 * math.log10(mean) * _STEPS_PER_DB))
                if cost < math.inf:
                    rows.append(i)
                    columns.append(j)
                    costs.append(cost)
        return scipy.sparse.csr_array((costs, (rows, columns)), shape=(self._nodes, self._nodes))

    def _of_mean_snr(self, steps: int) -> float:
        """Cost of a link whose mean SNR is so many steps over 0 dB."""
        radio, channel = self._radio, self._channel
        mean = 10.0 ** (steps / _STEPS_PER_DB / 10.0)
        bits = 8 * (radio.packet_payload_bytes + radio.packet_header_bytes)
        gains = np.asarray(radio.fading.power_gain(_QUANTILES)) * np.ones(len(_QUANTILES))
        through = [self._success_probability(mean * g, bits) for g in gains.tolist()]
        delivery = float(np.mean(through))
        rate_bps = float(radio.rate.bits_per_s(mean, radio.bandwidth_hz))
        attempt_s = channel.attempt_ns(bits, rate_bps, ALONE) / NS_PER_S
        # Half a step is forgiven where a mean is the threshold itself.
        reachable = mean * 10.0 ** (0.05 / _STEPS_PER_DB) >= self._budget.threshold
        if delivery < _LEAST_DELIVERY:
            delivery = 0.0
        return float(radio.routing.cost(LinkQuality(reachable, delivery, attempt_s)))

    def _success_probability(self, snr: float, bits: int) -> float:
        rate_bps = float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))
        return 1.0 - self._channel.packet_error(snr, bits, rate_bps) if rate_bps > 0.0 else 0.0
