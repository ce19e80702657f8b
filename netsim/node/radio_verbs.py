"""Verbs of a node for its radio and its battery: what it knows of them, and a cell's band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from netsim.clock import Clock
from netsim.devices.energy.meter import EnergyMeter
from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.links.link import Link
from netsim.units import linear_to_db


class Csi(NamedTuple):
    """Channel state information of a pair.

    Attributes
    ----------
    snr_db : float
        SNR over the whole band; minus infinity where nothing is heard.
    rate_bps : float
        Rate [bit/s] that the sender would choose with the whole band; 0 where nothing can be sent.
    """

    snr_db: float
    rate_bps: float


class RadioVerbs:
    """The verbs of one node for its radio; `Node` documents them.

    Parameters
    ----------
    node_id : int
    num_nodes : int
    clock : Clock
    link : Link
    meter : EnergyMeter
    """

    def __init__(
        self, node_id: int, num_nodes: int, clock: Clock, link: Link, meter: EnergyMeter
    ) -> None:
        self._id, self._num_nodes, self._clock = node_id, num_nodes, clock
        self._link, self._meter = link, meter

    def allocate(
        self,
        shares: Mapping[int, float] | None,
        direction: Literal["uplink", "downlink"],
        powers: Mapping[int, float] | None,
    ) -> None:
        """See `Node.allocate`."""
        if direction not in ("uplink", "downlink"):
            raise ProtocolError(
                f"allocate: direction = {direction!r}: must be uplink or downlink{calling_line()}"
            )
        for what, given in (("shares", shares), ("powers", powers)):
            if given is not None and not isinstance(given, Mapping):
                raise ProtocolError(
                    f"allocate: {what} = {given!r}: must be a dict from ids of nodes to numbers"
                    f"{calling_line()}"
                )
        if shares is None and powers:
            raise ProtocolError(
                f"allocate: powers without shares: give shares = {{}} too{calling_line()}"
            )
        try:
            self._link.allocate(
                self._id,
                direction == "uplink",
                None if shares is None else dict(shares),
                dict(powers or {}),
            )
        except ProtocolError as error:
            raise ProtocolError(f"{error}{calling_line()}") from None

    def csi(self, sender: int, receiver: int | None) -> Csi:
        """See `Node.csi`."""
        receiver = self._id if receiver is None else receiver
        for node in (sender, receiver):
            if isinstance(node, bool) or node not in range(self._num_nodes):
                raise ProtocolError(f"csi: there is no node {node!r}{calling_line()}")
        if sender == receiver or self._id not in (sender, receiver):
            raise ProtocolError(
                f"csi: from node {sender} to node {receiver}: node {self._id} knows the channels "
                f"to and from itself{calling_line()}"
            )
        snr, rate_bps = self._link.csi(sender, receiver)
        return Csi(linear_to_db(snr) if snr > 0.0 else -math.inf, float(rate_bps))

    @property
    def queued(self) -> int:
        """See `Node.queued`."""
        return self._link.waiting(self._id)

    @property
    def battery_j(self) -> float:
        """See `Node.battery_j`."""
        if self._meter.held_j(self._id) is None:
            return math.inf
        return self._meter.left_j(self._id, self._clock.now)

    @property
    def energy_j(self) -> float:
        """See `Node.energy_j`."""
        return self._meter.spent_j(self._id, self._clock.now)
