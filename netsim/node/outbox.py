"""Where a node's messages leave: checked, sealed, forged if the node is malicious, and sized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.links.link import Link, Transmission
from netsim.messaging.message import Message, refs_in, sealed, size_bits
from netsim.node.adversary import Adversary
from netsim.node.wakeups import Wakeups

Delivery = Callable[[Transmission, str, Any], None]
"""What a receiver does when a transmission to it ends: (transmission, outcome, mask or None)."""


class Outbox:
    """Makes the transmissions of one node's messages; verbs hand them to the link.

    Parameters
    ----------
    node_id : int
    clock : Clock
    link : Link
        Says what an empty message takes on it [bits].
    parameter_bits : int
        Bits of one tensor entry or real number.
    wakeups : Wakeups
        Knows the node's round, which every message bears.
    deliveries : sequence of Delivery
        One a node, by id; they may be appended after this outbox is made.
    num_nodes : int
    adversary : Adversary or None
        What forges the messages of a malicious node.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        link: Link,
        parameter_bits: int,
        wakeups: Wakeups,
        deliveries: Sequence[Delivery],
        num_nodes: int,
        adversary: Adversary | None,
    ) -> None:
        self._id, self._clock = node_id, clock
        self._parameter_bits, self._control_bits = parameter_bits, link.control_bits
        self._wakeups, self._deliveries, self._num_nodes = wakeups, deliveries, num_nodes
        self._adversary = adversary

    def transmissions(
        self,
        messages: Mapping[int, Message],
        done: Delivery | None = None,
    ) -> list[Transmission]:
        """Transmissions of messages that start now, for a link to carry.

        Parameters
        ----------
        messages : mapping of int to Message
            By receiver.
        done : callable or None
            Called once for each at its end, and has to deliver it then; None: the receiver's
            delivery is called.

        Raises
        ------
        ProtocolError
            If a receiver is no other node, or a message can't be sent.
        """
        me, deliveries, now, group = self._id, self._deliveries, self._clock.now, []
        round_number = self._wakeups.round
        last: Message | None = None
        for to, msg in messages.items():
            if to == me or not 0 <= to < self._num_nodes:
                raise ProtocolError(f"node {me} can't send to node {to}")
            if msg is not last:  # the same for several receivers is packed once
                last, (packed, bits, carries_values) = msg, self._packed(msg)
            told = done or deliveries[to]
            group.append(
                Transmission(me, to, packed, bits, carries_values, round_number, now, told)
            )
        return group

    def _packed(self, msg: Message) -> tuple[Message, int, bool]:
        """A message as it leaves this node, its size in bits, and whether it holds any Ref."""
        msg = sealed(msg, self._id)
        if self._adversary is not None:
            msg = self._adversary.forged(msg)
        bits = size_bits(msg, self._parameter_bits, self._control_bits)
        return msg, bits, next(refs_in(msg), None) is not None
