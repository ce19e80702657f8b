"""A set of collaborators that only shrinks, and updates that are applied once.

The set N(i) is not symmetric: a node that drops a peer tells it so, and the peer stops sending.
That word may be lost; then the peer's next update is answered with it again.

An update is a step that is added once. So a peer counts as absent unless an update of its has come
that has not been mixed yet, in time or late, and is not older than `max_age_s`. `absent` says what
an absent peer means: its weight is shared by those present (`renormalise`), falls to the node's own
update (`self`), or its last update is mixed once more (`last`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process
from netsim.protocols.inbox import AbsenceParams
from netsim.registry import Index


class CollaboratorParams(AbsenceParams):
    """Round in which a node leaves peers out, and the number that it keeps.

    Attributes
    ----------
    prune_after
        T_0, rounds after which only the `kept_peers` remain; 0: all peers stay.
    kept_peers
        Number of peers with the largest weights that remain (K - 1 - K_0 of K nodes).
    """

    prune_after: Index = 10
    kept_peers: Index = 9


@dataclass(frozen=True)
class Dropped(Message):
    """Your updates are not needed any more."""


@dataclass(frozen=True)
class UpdatesToMix:
    """Updates that a round mixes, the node's own first.

    Attributes
    ----------
    ids : tuple of int
        Nodes whose weights count, the node itself first.
    updates : tuple of Message
        One each; an absent peer's is the node's own under `absent = "self"`.
    learns : tuple of bool
        Whether the weight of each one learns in this round; that of an absent peer does not.
    """

    ids: tuple[int, ...]
    updates: tuple[Any, ...]
    learns: tuple[bool, ...]

    @property
    def copies(self) -> tuple[int, ...]:
        """Places of peers for which a copy of the own update stands in."""
        return tuple(k for k, update in enumerate(self.updates) if k and update is self.updates[0])


class Collaborators:
    """One node's collaborators: all neighbours at first.

    Parameters
    ----------
    node : Node
    kind : type of Message
        The updates.
    params : CollaboratorParams

    Attributes
    ----------
    node : Node
    members : list of int
        N(i): whose updates this node wants.
    receivers : set of int
        The nodes that have this one among their members.
    rounds : int
        Number of exchanges.
    latest : dict of int to Received
        The last update of each member.

    Examples
    --------
    >>> def processes(node, params):
    ...     collaborators = Collaborators(node, Update, params)
    ...     return [on_round(node, collaborators), *collaborators.listeners()]
    >>> def on_round(node, collaborators):
    ...     theta = node.initial()
    ...     while True:
    ...         yield node.wakeup()
    ...         heard = yield from collaborators.exchange(Update(theta))
    ...         share = 1 / len(heard.ids)
    ...         theta = node.mix([u.theta for u in heard.updates], [share] * len(heard.ids))
    ...         if collaborators.is_to_shrink():
    ...             collaborators.shrink(ranking=[-j for j in collaborators.members])
    """

    def __init__(self, node: Node, kind: type[Message], params: CollaboratorParams) -> None:
        self.node, self._kind, self._params = node, kind, params
        self.members = list(node.neighbours)
        self.receivers = set(node.neighbours)
        self.rounds = 0
        self.latest: dict[int, Received[Any]] = {}
        self._told: dict[int, float] = {}  # when the latest update had been sent
        self._mixed: dict[int, float] = {}  # ... and the one mixed last

    def exchange(self, update: Message) -> Process:
        """Send the update, collect those of the others; `UpdatesToMix`. Run it by `yield from`."""
        self.rounds += 1
        received = yield self.node.exchange(
            update, to=sorted(self.receivers), expect=self.node.neighbours, max_age_s=math.inf
        )
        for one in received.values():
            self._note(one)
        present = [j for j in self.members if self._is_present(j)]
        self._mixed |= {j: self._told[j] for j in present}
        others = self.members if self._params.absent == "self" else present
        return UpdatesToMix(
            (self.node.id, *others),
            (update, *(self.latest[j].msg if j in present else update for j in others)),
            (True, *(j in present for j in others)),
        )

    def _note(self, received: Received[Any]) -> None:
        """An update has come, in its exchange or late."""
        j = received.sender
        if received.sent_s <= self._told.get(j, -1.0):
            return
        self._told[j] = received.sent_s
        if j in self.members:
            self.latest[j] = received
        else:
            self.node.send(j, Dropped())

    def _is_present(self, j: int) -> bool:
        if j not in self.latest:
            return False
        if self.node.now_s - self._told[j] > self.node.max_age_s:
            return False
        return self._params.absent == "last" or self._told[j] > self._mixed.get(j, -1.0)

    def is_to_shrink(self) -> bool:
        """Return whether round `prune_after` is over and there are members to remove."""
        due = self.rounds == self._params.prune_after
        return due and len(self.members) > self._params.kept_peers

    def shrink(self, ranking: Sequence[float]) -> None:
        """Keep the `kept_peers` members that rank highest (ties: the lower id), tell the others."""
        order = sorted(range(len(self.members)), key=lambda k: -ranking[k])
        kept = sorted(self.members[k] for k in order[: self._params.kept_peers])
        removed = [j for j in self.members if j not in kept]
        unheard = [j for j in removed if j not in self._told]
        if unheard:
            self.node.warn(
                "candidates lost",
                f"has dropped {len(unheard)} of {len(self.members)} peers for good of which it had "
                "never heard by then",
            )
        self.members = kept
        self.node.log_weights(removed, [0.0] * len(removed), what="learned")
        for j in removed:
            self.latest.pop(j, None)
            self.node.send(j, Dropped())

    def listeners(self) -> list[Process]:
        """Return processes that take in dismissals and late updates; add them to `processes`."""
        return [self._on_dropped(), self._on_late_update()]

    def _on_dropped(self) -> Process:
        while True:
            received = yield self.node.receive(Dropped, timeout_s=None)
            self.receivers.discard(received.sender)

    def _on_late_update(self) -> Process:
        while True:
            self._note((yield self.node.receive(self._kind, timeout_s=None)))
