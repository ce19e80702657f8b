"""Models of a round, sent to the nodes that have subscribed to them.

"Send me yours" is asked before each round until it is acknowledged. A model that comes after the
deadline of its round is of use only as a peer's last known one.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from netsim.learning.refs import Ref
from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process
from netsim.protocols.inbox import AbsenceParams, Inbox
from netsim.protocols.messages import Update
from netsim.registry import Count, Positive


class SubscriptionParams(AbsenceParams):
    """Repetition of subscriptions until they are acknowledged.

    Attributes
    ----------
    timeout_s
        Longest wait for an acknowledgement before a subscription is repeated. Absent: four times
        what the request and a model of each publisher take on a quiet network, at least 1 s.
    tries
        Number of times that a subscription is sent in a round, in all.
    """

    timeout_s: Positive | None = None
    tries: Count = 5


@dataclass(frozen=True)
class Subscribe(Message):
    """Send me your model every round."""


@dataclass(frozen=True)
class Subscribed(Message):
    """I will."""


class Subscriptions:
    """One node's subscriptions and subscribers.

    Parameters
    ----------
    node : Node
    params : SubscriptionParams

    Attributes
    ----------
    publishers : sequence of int
        Nodes from which this node wants models.

    Examples
    --------
    >>> def processes(node, params):
    ...     subscriptions = Subscriptions(node, params)
    ...     return [on_round(node, subscriptions), *subscriptions.listeners()]
    >>> def on_round(node, subscriptions):
    ...     theta = node.initial()
    ...     subscriptions.to(node.neighbours[:3])
    ...     while True:
    ...         yield node.wakeup()
    ...         yield from subscriptions.confirm()
    ...         theta = (yield node.train(theta, epochs=1)).theta
    ...         models = yield from subscriptions.exchange(theta)  # {publisher: Ref}
    """

    def __init__(self, node: Node, params: SubscriptionParams) -> None:
        self._node, self._params = node, params
        self.publishers: Sequence[int] = ()
        self._unconfirmed: list[int] = []
        self._subscribers: dict[int, None] = {}
        self._inbox = Inbox(node, Update, params)
        node.serve(Subscribe, self._on_subscribe)

    def _on_subscribe(self, request: Received[Subscribe]) -> Subscribed:
        self._subscribers[request.sender] = None
        return Subscribed()

    def to(self, publishers: Sequence[int]) -> None:
        """Choose the peers whose models this node wants; `confirm` tells them."""
        new = [j for j in publishers if j not in self.publishers]
        self._unconfirmed = [j for j in self._unconfirmed if j in publishers] + new
        self.publishers = publishers

    def confirm(self) -> Generator[Any, Any, None]:
        """Subscribe with those that have not acknowledged yet; run it by `yield from`."""
        peers, node = self._unconfirmed, self._node
        timeout_s = self._params.timeout_s or node.patience_s(peers)
        answers = yield node.ask(peers, Subscribe(), Subscribed, timeout_s, self._params.tries)
        self._unconfirmed = [j for j in self._unconfirmed if j not in answers]

    def exchange(self, theta: Ref) -> Generator[Any, Any, dict[int, Ref]]:
        """Send `theta` to the subscribers and collect from the publishers; run it by `yield from`.

        Returns
        -------
        dict of int to Ref
            The publishers' models, stand-ins of absent ones included; what stands in as a copy of
            the own model is `theta` itself.
        """
        updates = yield from self._inbox.exchange(
            Update(theta), to=self._subscribers, expect=self.publishers
        )
        models = {j: update.theta for j, update in updates.items()}
        own = dict.fromkeys(self.publishers, theta) if self._params.absent == "self" else {}
        return own | models

    def listeners(self) -> list[Process]:
        """Return processes that take in models that come too late; add them to `processes`."""
        return self._inbox.listeners()
