"""Calls of actors, in their order; levels that can go together are one call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from netsim.engine.actors.actor import Reply
from netsim.engine.actors.packing import PackedJob, packed_levels
from netsim.engine.actors.ray_pool import Handle, LostError, RayPool
from netsim.learning.jobs import Job

AHEAD, AHEAD_PARTS = 4, 2
"""Calls of `run` that an actor is sent at most before the first of them is done, and how many times
the rows that go to an actor together they may move and make: they bound memory."""

TOGETHER = 4
"""Levels in one call at most."""


class Part(NamedTuple):
    """An actor's part of a level."""

    packed: Sequence[PackedJob]
    jobs: Sequence[Job[Any]]  # the same ones; none if they run again
    gone: Sequence[int]  # values that nobody needs any more
    size_bytes: int  # of the rows that it moves and makes


class Sent(NamedTuple):
    """A call of `run` that has been sent."""

    actor: int
    handle: Handle
    packed: Sequence[PackedJob]
    jobs: Sequence[Job[Any]]
    size_bytes: int


@dataclass
class _Held:
    """Parts that an actor will be sent in one call."""

    moved: Sequence[Handle]  # what the first of them reads of other actors
    parts: list[Part] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """Bytes of the rows that they move and make."""
        return sum(part.size_bytes for part in self.parts)


class Calls:
    """Calls of a pool's actors.

    A part of a level is held until its actor is called for something else, would have nothing to
    do, or gets a part that reads rows of others, or until what is held moves and makes as many rows
    as go to an actor together; then all that are held are one call.

    Attributes
    ----------
    sent : deque of Sent
        Calls of `run` whose replies have not been taken.
    """

    def __init__(self, pool: RayPool) -> None:
        self._pool = pool
        self._held: dict[int, _Held] = {}
        self.sent: deque[Sent] = deque()

    def run(self, actor: int, part: Part, moved: Sequence[Handle] | None) -> None:
        """Let an actor run its part of a level, now or with what comes next.

        Parameters
        ----------
        actor : int
        part : Part
        moved : sequence of Handle or None
            Rows of other actors that it reads; None if it reads none.
        """
        held = self._held.get(actor)
        if held is None or moved is not None or len(held.parts) == TOGETHER:
            self._send(actor)
            held = self._held[actor] = _Held(moved or ())
        held.parts.append(part)
        if held.size_bytes > self._pool.at_once_bytes:
            self._send(actor)

    def call(self, actor: int, method: str, *given: Any) -> Handle:
        """Call an actor after all that it is to have run by then; see `RayPool.call`.

        Parameters
        ----------
        actor : int
        method : str
        *given : object
            Arguments.
        """
        self._send(actor)
        return self._pool.call(actor, method, *given)

    def send_all(self) -> None:
        """Hold nothing any longer."""
        for actor in list(self._held):
            self._send(actor)

    def _send(self, actor: int) -> None:
        held = self._held.pop(actor, None)
        if held is None:
            return
        levels = packed_levels([(part.gone, part.packed) for part in held.parts])
        self.sent.append(
            Sent(
                actor,
                self._pool.call(actor, "run", levels, *held.moved),
                [job for part in held.parts for job in part.packed],
                [job for part in held.parts for job in part.jobs],
                held.size_bytes,
            )
        )

    def are_many(self) -> bool:
        """Return whether so much is under way that more would fill memory."""
        return len(self.sent) > AHEAD * self._pool.size or (
            len(self.sent) > 1
            and sum(sent.size_bytes for sent in self.sent) > AHEAD_PARTS * self._pool.at_once_bytes
        )

    def taken(self, count: int) -> Iterator[tuple[Sent, Reply]]:
        """Wait for the first calls of `run` together, and yield each with its reply.

        Actors that would have nothing to do after these are sent what is held for them.

        Raises
        ------
        LostError
            If one is lost; then none is taken.
        """
        handles = [sent.handle for sent in islice(self.sent, count)]
        for actor in self._held.keys() - {s.actor for s in islice(self.sent, count, None)}:
            self._send(actor)
        for reply in self._pool.get(handles):
            yield self.sent.popleft(), reply

    def taken_one_by_one(self) -> Iterator[tuple[Sent, Reply | LostError]]:
        """Wait for each call of `run`, and yield it with its reply or the loss of that."""
        self.send_all()
        while self.sent:
            sent = self.sent.popleft()
            try:
                yield sent, self._pool.get(sent.handle)
            except LostError as loss:
                yield sent, loss
