"""Models of a round, sent to the nodes that subscribed to them.

"Send me yours" is asked before each round until it is acknowledged. A model that comes after the
deadline of its round is of use only as a peer's last known one.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netsim.api import Count, Message, Node, Params, Positive, Process, Received, Ref


class SubscriptionParams(Params):
    """What a publisher means whose model did not come or is older than `max_age_s`.

    None (`absent = "renormalise"`), a copy of the node's own model (`self`), or its last known
    model if that is not too old (`last`). An unacknowledged subscription is repeated after
    `timeout_s`, `tries` times before each round.
    """

    timeout_s: Positive = 1.0
    tries: Count = 5
    absent: Literal["renormalise", "self", "last"] = "renormalise"
    max_age_s: Positive | None = None


@dataclass(frozen=True)
class Subscribe(Message):
    """Send me your model every round."""


@dataclass(frozen=True)
class Subscribed(Message):
    """I will."""


@dataclass(frozen=True)
class Update(Message):
    """A model of a round."""

    theta: Ref


class Subscriptions:
    """One node's subscriptions and subscribers.

    Attributes
    ----------
    publishers : sequence of int
        Whom this node wants models from.
    """

    def __init__(self, node: Node, params: SubscriptionParams) -> None:
        self._node, self._params = node, params
        self.publishers: Sequence[int] = ()
        self._unconfirmed: list[int] = []
        self._subscribers: dict[int, None] = {}
        self._last: dict[int, Received[Update]] = {}
        node.serve(Subscribe, self._on_subscribe)

    def _on_subscribe(self, request: Received[Subscribe]) -> Subscribed:
        self._subscribers[request.sender] = None
        return Subscribed()

    def to(self, publishers: Sequence[int]) -> None:
        """Want models from these, no more and no less."""
        self.publishers, self._unconfirmed = publishers, list(publishers)

    def confirm(self) -> Generator[Any, Any, None]:
        """Ask those that have not acknowledged yet."""
        answers = yield self._node.ask(
            self._unconfirmed, Subscribe(), Subscribed, self._params.timeout_s, self._params.tries
        )
        self._unconfirmed = [j for j in self._unconfirmed if j not in answers]

    def exchange(self, theta: Ref) -> Generator[Any, Any, dict[int, Ref]]:
        """Send `theta` to the subscribers; {publisher: model}, stand-ins of absent ones included.

        A copy of the own model is `theta` itself.
        """
        received = yield self._node.exchange(
            Update(theta), to=self._subscribers, expect=self.publishers
        )
        if self._params.absent == "last":
            self._last.update(received)
            received = self._last
        max_age_s = self._params.max_age_s
        models = {
            j: r.msg.theta
            for j, r in received.items()
            if max_age_s is None or self._node.now_s - r.sent_s <= max_age_s
        }
        if self._params.absent == "self":
            return {j: models.get(j, theta) for j in self.publishers}
        return {j: models[j] for j in self.publishers if j in models}

    def processes(self) -> list[Process]:
        """What listens for models that come too late."""
        return [self._on_late_update()] if self._node.schedule == "rounds" else []

    def _on_late_update(self) -> Process:
        while True:
            received = yield self._node.receive(Update, timeout_s=None)
            if self._params.absent == "last":
                self._last[received.sender] = received
