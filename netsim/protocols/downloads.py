"""Pull models from peers, never more than so many at once, over links that lose and delay.

One slot per model that is on its way or held. `Fetch(number)` means "send me your model, for the
number-th time"; a peer sends it once per number, however often it is asked, and says `Ended` when
that transmission is over, whatever became of it. So a slot is known to be free again when the
model has come and been used, or when its transmission has `Ended`: no late copy can be under way.
A peer given up while neither is known keeps its slot until one of them is.

Peers say `Here` first, so that one that was never within range takes no slot, and one whose model
is not ready yet is waited for rather than given up.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from netsim.learning.refs import Ref
from netsim.messaging.message import Message, Received
from netsim.node.node import Node
from netsim.protocols.messages import Model
from netsim.registry import Count, Positive, Table


class DownloadParams(Table):
    """Time to wait for answers.

    Attributes
    ----------
    timeout_s
        Longest wait for an answer before a request is repeated. Absent: four times what the request
        and a model of each peer asked take on a quiet network, at least 1 s.
    tries
        Greatest number of times that a request is sent, or a lost model is fetched.
    poll_s
        Time after which peers that are not ready are asked again; it doubles each time.
    """

    timeout_s: Positive | None = None
    tries: Count = 5
    poll_s: Positive = 1.0


@dataclass(frozen=True)
class Hello(Message):
    """Greeting that asks whether the peer is there, and whether its model is ready."""


@dataclass(frozen=True)
class Here(Message):
    """The answer: how many training samples, and whether the model is ready."""

    size: int
    ready: bool


@dataclass(frozen=True)
class Fetch(Message):
    """Send me your model for the `number`-th time."""

    number: int


@dataclass(frozen=True)
class Ended(Message):
    """Message: the transmission that was asked for has ended."""


class Downloads:
    """One node's downloads and uploads.

    Parameters
    ----------
    node : Node
    slots : int
        Most models on their way or held at once.
    params : DownloadParams

    Attributes
    ----------
    stuck : dict of int to None
        Peers given up whose last transmission may still be under way; each keeps a slot.

    Examples
    --------
    >>> def on_start(node, params):
    ...     downloads = Downloads(node, 4, params)
    ...     downloads.offer(node.initial())
    ...     sizes = yield from downloads.sizes(node.neighbours)
    ...     rest = sorted(sizes)
    ...     while rest:
    ...         models, lost, rest = yield from downloads.batch(rest)  # at most 4 at a time
    """

    def __init__(self, node: Node, slots: int, params: DownloadParams) -> None:
        self._node, self._slots, self._params = node, slots, params
        self.stuck: dict[int, None] = {}
        self._number: dict[int, int] = {}  # of my present request to a peer
        self._offered: Ref | None = None
        self._begun: dict[int, int] = {}  # last number that a peer had my model for
        self._sending: set[int] = set()
        self._sent = node.condition()
        node.serve(Hello, lambda _: Here(node.train_size, self._offered is not None))
        node.serve(Fetch, self._on_fetch)

    # -- what peers get ---------------------------------------------------------------------------

    def offer(self, theta: Ref) -> None:
        """Offer this model to peers from now on."""
        self._offered = theta

    def _on_fetch(self, request: Received[Fetch]) -> Generator[Any, Any, Ended]:
        k = request.sender
        if request.msg.number > self._begun.get(k, 0) and self._offered is not None:
            self._begun[k] = request.msg.number
            self._sending.add(k)
            yield self._node.send(k, Model(self._offered))
            self._sending.remove(k)
            self._sent.notify()
        while k in self._sending:
            yield self._sent.wait()
        return Ended()

    # -- what this node gets ----------------------------------------------------------------------

    def sizes(self, peers: Sequence[int]) -> Generator[Any, Any, dict[int, int]]:
        """{peer: training samples} of those that answer, once all of them are ready."""
        sizes: dict[int, int] = {}
        waiting, pause_s = list(peers), self._params.poll_s
        while waiting:
            answers = yield self._node.ask(waiting, Hello(), Here, *self._patience(waiting))
            sizes |= {j: answer.msg.size for j, answer in answers.items() if answer.msg.ready}
            waiting = [j for j, answer in answers.items() if not answer.msg.ready]
            if waiting:
                yield self._node.sleep(pause_s)
                pause_s *= 2
        return sizes

    def there(self, peers: Sequence[int]) -> Generator[Any, Any, dict[int, int]]:
        """{peer: training samples} of those that answer one question and are ready."""
        timeout_s, _ = self._patience(peers)
        answers = yield self._node.ask(peers, Hello(), Here, timeout_s)
        return {j: answer.msg.size for j, answer in answers.items() if answer.msg.ready}

    def batch(
        self, peers: Sequence[int]
    ) -> Generator[Any, Any, tuple[dict[int, Ref], Sequence[int], Sequence[int]]]:
        """Models of the first of `peers`, as many as there are slots; the last batch is dropped.

        Returns
        -------
        models : dict of int to Ref
            In the order of `peers`.
        lost : sequence of int
            Those of them whose model did not come.
        rest : sequence of int
            The peers that come next.
        """
        yield from self.leave_room_for(1)
        free = self._slots - len(self.stuck)
        wanted, rest = peers[:free], peers[free:]
        arrived: dict[int, Received[Model]] = {}
        for _ in range(self._params.tries):
            missing = [j for j in wanted if j not in arrived and j not in self.stuck]
            if missing:
                arrived |= yield from self._fetch(missing)
        models = {j: arrived[j].msg.theta for j in wanted if j in arrived}
        return models, [j for j in wanted if j not in arrived], rest

    def leave_room_for(self, models: int) -> Generator[Any, Any, None]:
        """Ask peers given up until so many slots are free."""
        while self._slots - len(self.stuck) < models:
            yield from self._fetch(list(self.stuck))

    def _fetch(self, peers: Sequence[int]) -> Generator[Any, Any, dict[int, Received[Model]]]:
        """Collect models until each of the peers has finished, or has not answered."""
        asks = [
            self._node.ask(j, Fetch(self._number.setdefault(j, 1)), Ended, *self._patience(peers))
            for j in peers
        ]
        over: list[int] = []
        for ask in asks:
            over += yield ask
        senders = dict.fromkeys([*peers, *self.stuck])
        arrived: dict[int, Received[Model]] = yield self._node.gather(Model, senders, timeout_s=0.0)
        for j in senders:
            if j in over or j in arrived:  # nothing is under way from it any more
                self._number[j] += 1
                self.stuck.pop(j, None)
            else:
                self.stuck[j] = None
        return arrived

    def _patience(self, peers: Sequence[int]) -> tuple[float, int]:
        return self._params.timeout_s or self._node.patience_s(peers), self._params.tries
