"""Departure of a node's messages: checked, sealed, forged if the node is malicious, and sized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.links.link import Link, Transmission
from netsim.messaging.message import Envelope, Message, refs_in, sealed, size_bits
from netsim.node.adversary import Adversary
from netsim.node.wakeups import Wakeups
from netsim.recording.uses import Ages

Delivery = Callable[[Transmission, str, Any], None]
"""Reaction of a receiver to the end of a transmission: (transmission, outcome, mask or None)."""


class Outbox:
    """Maker of the transmissions of one node's messages; verbs hand them to the link.

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
    ages : Ages
        Is told how old models are when their receivers' algorithms get them.
    adversary : Adversary or None
        What forges the messages of a malicious node.

    Attributes
    ----------
    sent : int
        Transmissions so far, one for each receiver of a message.
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
        ages: Ages,
        adversary: Adversary | None,
    ) -> None:
        self._id, self._clock = node_id, clock
        self._link, self._parameter_bits = link, parameter_bits
        self.link_changed()
        self._wakeups, self._deliveries, self._num_nodes = wakeups, deliveries, num_nodes
        self._ages, self._adversary = ages, adversary
        self.sent = 0

    def link_changed(self) -> None:
        """Read anew what an empty message takes on the link."""
        self._control_bits = self._link.control_bits

    def transmissions(
        self, messages: Mapping[int, Message], done: Delivery | None = None, **marks: Any
    ) -> list[Transmission]:
        """Transmissions of messages that start now, for a link to carry.

        Parameters
        ----------
        messages : mapping of int to Message
            By receiver.
        done : callable or None
            Called once for each at its end, and has to deliver it then; None: the receiver's
            delivery is called.
        **marks
            `tag`, `request`, `reply` and `patience_ns` of their envelopes.

        Raises
        ------
        ProtocolError
            If a receiver is no other node, or a message can't be sent.
        """
        me, num_nodes, deliveries, group = self._id, self._num_nodes, self._deliveries, []
        last: Message | None = None
        for to, msg in messages.items():
            if to == me or not 0 <= to < num_nodes:
                raise ProtocolError(f"node {me} can't send to node {to}")
            if msg is not last:  # the same for several receivers is packed once
                last, envelope = msg, self._packed(msg, marks)
            group.append(Transmission(envelope, to, done or deliveries[to]))
        self.sent += len(group)
        return group

    def _packed(self, msg: Message, marks: Mapping[str, Any]) -> Envelope:
        """A message as it leaves this node."""
        msg = sealed(msg, self._id)
        if self._adversary is not None:
            msg = self._adversary.forged(msg)
        bits = size_bits(msg, self._parameter_bits, self._control_bits)
        ages = None
        for ref in refs_in(msg):
            ages = self._ages
            if ref.bringer is not None:
                ref.bringer.used(self._clock.now, "send", None)
        return Envelope(msg, self._id, bits, self._wakeups.round, self._clock.now, ages, **marks)
