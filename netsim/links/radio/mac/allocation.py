"""Shares of a cell's band, and powers, that a method sets in place of the scheduler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from netsim.channels.mac import Medium
from netsim.channels.mac.ofdma import Ofdma
from netsim.errors import ProtocolError
from netsim.links.radio.table import Radio

STILL = 1e-12
"""The share that stands for none: what has it stands still, and keeps what has been sent."""

ROUNDING = 1e-9
"""Shares that were divided by their sum may add up to a little more than one."""


@dataclass(frozen=True)
class Allocation:
    """Division of the band of a cell in one direction.

    Attributes
    ----------
    shares : mapping of int to float
        Part of the band that each of some nodes has; all others share `unallocated_share`.
    powers : mapping of int to float
        Transmit power over the full one, of messages from or to a node; 1 for all others.
    """

    shares: Mapping[int, float]
    powers: Mapping[int, float] = field(default_factory=dict)

    @property
    def unallocated_share(self) -> float:
        """Part of the band that no node has for itself, in [0, 1]."""
        left = 1.0 - math.fsum(self.shares.values())
        return left if left > ROUNDING else 0.0

    def medium(self, node: int | None, beside: int, mac: Ofdma) -> Medium:
        """Share of the band and power of a message.

        Parameters
        ----------
        node : int or None
            The one at the other end from the base station; None of a broadcast.
        beside : int
            Messages under way that divide the same part with it, itself included.
        mac : Ofdma

        Returns
        -------
        Medium
            Of a node with a share, its equal part of that; of others what a round robin gives in
            the part that is left.
        """
        share = (
            self.unallocated_share
            if node is None
            else self.shares.get(node, self.unallocated_share)
        )
        each = min(max(share, STILL) / beside, mac.most_per_unicast / mac.subchannels)
        return Medium(slowdown=1.0 / each)

    def problem(self, mac: Ofdma, nodes: int, base_stations: AbstractSet[int]) -> str | None:
        """Return an error text about the allocation; None if it is valid.

        Parameters
        ----------
        mac : Ofdma
        nodes : int
            How many there are.
        base_stations : set of int
        """
        for what, given in (("shares", self.shares), ("powers", self.powers)):
            for node, value in given.items():
                where = f"{what}[{node!r}]"
                if isinstance(node, bool) or node not in range(nodes):
                    return f"{where}: there is no such node; ids are from 0 to {nodes - 1}"
                if node in base_stations:
                    return f"{where}: node {node} is a base station; name nodes of its cell"
                if not _is_real(value) or not 0.0 <= value <= 1.0:
                    return f"{where} = {value!r}: must be a number from 0 to 1"
        most = mac.most_per_unicast / mac.subchannels
        for node, share in self.shares.items():
            if share > most * (1.0 + ROUNDING):
                return (
                    f"shares[{node}] = {share:g}: [radio.mac] max_subchannels = "
                    f"{mac.most_per_unicast} of {mac.subchannels} allows {most:g}"
                )
        total = math.fsum(self.shares.values())
        if total > 1.0 + ROUNDING:
            return f"shares add up to {total:.9g}; at most 1 is there"
        for node, power in self.powers.items():
            if power == 0.0:
                return f"powers[{node}] = 0: must be more than 0; a share of 0 lets a node wait"
        return None


def _is_real(value: object) -> bool:
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)  # type: ignore[arg-type]
    except TypeError:
        return False


def require_cells(radio: Radio) -> None:
    """Refuse a radio whose band no method can divide.

    Parameters
    ----------
    radio : Radio

    Raises
    ------
    ProtocolError
        Naming key, value and remedy.
    """
    remedy = 'write [radio.mac] kind = "ofdma", scheduler = "round_robin"'
    if not isinstance(radio.mac, Ofdma):
        raise ProtocolError(
            f'allocate: [radio.mac] kind = "{radio.mac.kind}" has no base stations that divide the '
            f"band; {remedy}"
        )
    if radio.mac.scheduler != "round_robin":
        raise ProtocolError(
            f'allocate: [radio.mac] scheduler = "{radio.mac.scheduler}" divides the band by '
            f"itself in each coherence block; {remedy}"
        )
    if radio.fidelity == "packet":
        raise ProtocolError(
            'allocate: [radio] fidelity = "packet" keeps the share of each packet '
            'under way, however small; write fidelity = "message"'
        )
