"""Messages that count once: what has come since a node last looked.

`node.exchange` gives the last message of each peer, and gives it again until a newer one has come.
Where a message is something that moves, such as a share of a push-sum or a model for one mean, it
counts once, and so does each of several messages of one peer.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process

DELIVERED = ("delivered", "partial")
"""Outcomes of a message that its receiver has."""


class Arrivals:
    """Messages of one kind at one node, each of them given once.

    Parameters
    ----------
    node : Node
    kind : type of Message
        Value that is sent.
    oldest_s : float
        The greatest age of a message that is given; any by default.
    takes_back : bool
        Whether to learn what was not delivered, for `lost`. Under `rounds` a node then waits until
        its messages have been delivered or given up, even past a deadline.

    Attributes
    ----------
    lost : list of (int, Message)
        Receiver and message of those that were not delivered since the last look, as far as the
        link tells a sender. A method that must not lose a value takes it back from here.

    Examples
    --------
    >>> def on_round(node, arrivals):
    ...     theta = node.initial()
    ...     while True:
    ...         yield node.wakeup()
    ...         theta = (yield node.train(theta, epochs=1)).theta
    ...         to = node.permutation("receivers", node.peers)[:2]
    ...         came = yield from arrivals.exchange(dict.fromkeys(to, Model(theta)))
    ...         thetas = [theta, *(received.msg.theta for received in came)]
    ...         theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
    ...         node.publish(theta, "mixed")
    """

    def __init__(
        self,
        node: Node,
        kind: type[Message],
        oldest_s: float = math.inf,
        takes_back: bool = False,
    ) -> None:
        self._node, self._kind, self._oldest_s = node, kind, oldest_s
        self._takes_back = takes_back
        self._under_way: list[tuple[int, Message, Any]] = []
        self.lost: list[tuple[int, Message]] = []

    def exchange(self, messages: Mapping[int, Message], phase: int = 0) -> Process:
        """Send messages, and return those that have arrived; run it by `yield from`.

        Under `rounds` all nodes meet here: a node has what the others sent it in this round, and
        what came too late for an earlier one. Under other schedules no time passes.

        Parameters
        ----------
        messages : mapping of int to Message
            Messages by receiver; other nodes get none.
        phase : int
            Tells exchanges of one round apart.

        Returns
        -------
        list of Received
            By sender, those of one sender in the order in which they were sent.
        """
        node, in_rounds = self._node, self._node.schedule == "rounds"
        came: list[Received[Any]] = []
        if in_rounds and not self._takes_back:
            got = yield node.exchange(dict(messages), kind=self._kind, phase=phase)
            came += got.values()
        else:
            self._under_way += [(j, msg, node.send(j, msg)) for j, msg in messages.items()]
            if in_rounds:
                for _, _, sent in self._under_way:
                    yield sent
                yield node.exchange({}, kind=self._kind, phase=phase)
        return self._fresh_messages(came + (yield from self._drain_mailbox()))

    def take(self) -> Process:
        """Return messages that have arrived, and send nothing; run it by `yield from`.

        Returns
        -------
        list of Received
            As `exchange` gives it. No time passes, under every schedule.
        """
        return self._fresh_messages((yield from self._drain_mailbox()))

    def _drain_mailbox(self) -> Process:
        """All that waits in the mailbox."""
        self._see_what_was_lost()
        came: list[Received[Any]] = []
        while (received := (yield self._node.receive(self._kind, timeout_s=0.0))) is not None:
            came.append(received)
        return came

    def _fresh_messages(self, came: Sequence[Received[Any]]) -> list[Received[Any]]:
        """Messages that are not too old, in order."""
        fresh = [received for received in came if received.age_s <= self._oldest_s]
        return sorted(fresh, key=lambda received: (received.sender, received.sent_s))

    def log_weights(
        self, own: float, came: Sequence[Received[Any]], weights: Sequence[float]
    ) -> None:
        """Log the shares of a mixture; those of several messages of one sender are added up.

        Parameters
        ----------
        own : float
            The share of what is the node's own.
        came : sequence of Received
        weights : sequence of float
            One for each of `came`.
        """
        shares = {self._node.id: own}
        for received, weight in zip(came, weights, strict=True):
            shares[received.sender] = shares.get(received.sender, 0.0) + weight
        self._node.log_weights(list(shares), list(shares.values()))

    def _see_what_was_lost(self) -> None:
        ended = [one for one in self._under_way if one[2].triggered]
        self._under_way = [one for one in self._under_way if not one[2].triggered]
        outcomes = [(j, msg, sent.value) for j, msg, sent in ended]
        self.lost = [
            (j, msg) for j, msg, is_ in outcomes if is_ is not None and is_ not in DELIVERED
        ]
