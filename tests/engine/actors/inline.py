"""Actors in the process of a test, which can be killed at a call of one's choice."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import torch

from netsim.engine.actors.actor import About, AbsentError, Kit, ShardActor
from netsim.engine.actors.packing import NOWHERE
from netsim.engine.actors.ray_pool import LostError


class Call:
    """A call that has been made; its result is there at once but may be lost before it is got."""

    def __init__(self, actor: int, result: Any) -> None:
        self.actor, self.result = actor, result


class InlinePool:
    """Actors that are objects; all that goes to them and comes back is pickled.

    Parameters
    ----------
    kits : sequence of Kit
    kills : callable
        (number of the call) -> the actor that dies after it, or None.
    """

    at_once_bytes = 1 << 28

    def __init__(
        self, kits: Sequence[Kit], kills: Callable[[int], int | None] = lambda _: None
    ) -> None:
        self.size, self.kits, self._kills = len(kits), kits, kills
        self._actors: list[ShardActor | None] = [_made(kit) for kit in kits]
        self.calls, self.killed, self.largest_move = 0, 0, 0
        self.moved_bytes, self.whole_models = 0, 0
        self._open: list[Call] = []

    @property
    def location(self) -> list[About]:
        return [actor.location() for actor in self._actors if actor is not None]

    def call(self, actor: int, method: str, *given: Any) -> Call:
        arguments = [g.result if isinstance(g, Call) else g for g in given]
        came = [g.result for g in given if isinstance(g, Call) and g.result]
        moved = list(map(len, came))
        values = [value for some in came for value in some.values()]
        self.moved_bytes += sum(value.tensor.nbytes for value in values)
        self.whole_models += sum(v.layout != NOWHERE and v.columns is None for v in values)
        if method != "predictions":
            self.largest_move = max(self.largest_move, *moved, 0)
        alive = self._actors[actor]
        absent = [g for g in given if isinstance(g, Call) and g.result is None]
        made = Call(actor, None)
        if alive is not None and not absent:
            try:
                with torch.enable_grad():  # a process has no caller who forbids it
                    found = getattr(alive, method)(*pickle.loads(pickle.dumps(arguments)))
                made.result = pickle.loads(pickle.dumps((found,)))
            except AbsentError:
                made.result = None
        self._open.append(made)
        self.calls += 1
        dies = self._kills(self.calls)
        if dies is not None:
            self.kill(dies % self.size)
        if method == "give" and made.result is not None:
            made.result = made.result[0]
        return made

    def kill(self, actor: int) -> None:
        """End an actor, with what it has and what nobody has got from it."""
        self._actors[actor] = None
        self.killed += 1
        for one in self._open:
            if one.actor == actor:
                one.result = None

    def get(self, handle: Call | list[Call]) -> Any:
        if isinstance(handle, list):
            return [self.get(one) for one in handle]
        self._open = [one for one in self._open if one is not handle]
        if handle.result is None:
            raise LostError("gone")
        return handle.result if isinstance(handle.result, dict) else handle.result[0]

    def replaced(self) -> list[int]:
        lost = [number for number, actor in enumerate(self._actors) if actor is None]
        for number in lost:
            self._actors[number] = _made(self.kits[number])
        return lost

    def close(self) -> None:
        for actor in self._actors:
            if actor is not None:
                actor.end()
        self._actors = []


def _made(kit: Kit) -> ShardActor:
    made = ShardActor(pickle.loads(pickle.dumps(kit)))
    begun = made.begin()
    assert isinstance(begun, About), begun
    return made
