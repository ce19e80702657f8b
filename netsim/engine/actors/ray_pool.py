"""Actors of a run in a Ray cluster, an existing one or one that is started here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from netsim.engine import ray_cluster
from netsim.engine.actors.actor import About, AbsentError, Failure, Kit, ShardActor
from netsim.errors import ComputeError, NetsimError, ScenarioError, one_line

BEGIN_S = 600.0
"""Longest wait for an actor that begins: it reads the data, and may have to wait for a machine."""

TRIES = 10
"""Deaths of one actor in a row, while it begins, after which a run gives up."""

AT_ONCE = 0.1
"""Share of a machine's object store that rows on their way to one actor may take."""

LEAST_BYTES = 1 << 26
"""Rows that go to one actor together at least."""

END_S = 5.0
"""Longest wait for actors that remove their files."""

TOLD = 240
"""Letters of an error of the cluster's that a message has; it may go on for pages."""

Handle = Any
"""Stands for what an actor will return; may be an argument of another actor's call."""


class LostError(Exception):
    """An actor is gone, or a row that was to come from one."""


def given_up(tries: int, last: LostError | None) -> ComputeError:
    """Return the error of a run whose actors are lost again and again, with the last loss."""
    return ComputeError(
        f"actors were lost {tries} times in a row, perhaps for want of memory; netsim resume goes "
        f"on from the last checkpoint; the last time: {one_line(str(last)[:TOLD])}"
    )


class RayPool:
    """The actors of a run, by number; each is made from a kit.

    `kits`: one an actor. `cpus` and `gpus`: what an actor takes of its machine; fractions are
    allowed.

    Attributes
    ----------
    size : int
    about : list of About
        Each actor in words.
    at_once_bytes : int
        Rows that go to one actor together, a job that reads more gets them in parts: `AT_ONCE` of
        the smallest object store, at least `LEAST_BYTES`.

    Raises
    ------
    ScenarioError
        If there is no Ray or no such cluster.
    """

    def __init__(self, kits: Sequence[Kit], cpus: float, gpus: float = 0.0) -> None:
        self._ray = ray_cluster.connected()
        self._kits, self.size = kits, len(kits)
        self.at_once_bytes = max(LEAST_BYTES, int(AT_ONCE * ray_cluster.object_store_bytes()))
        self._takes = f"{cpus:g} cores" + (f" and {gpus:g} GPUs" if gpus else "")
        remote = self._ray.remote(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )
        self._class = remote(ShardActor)
        self._actors: list[Any] = []
        try:
            self._actors += [self._class.remote(kit) for kit in kits]
            calls = [actor.begin.remote() for actor in self._actors]
            self.location: list[About] = [self._wait_for_start(*one) for one in enumerate(calls)]
        except BaseException:
            self.close()
            raise

    def _wait_for_start(self, number: int, call: Handle) -> About:
        """An actor in words, once it has begun; one that dies meanwhile is begun anew.

        `call`: its first.

        Raises
        ------
        NetsimError
            If it can't begin, or there is no room for it.
        """
        found: About | Failure
        for left in reversed(range(TRIES)):
            try:
                found = self._ray.get(call, timeout=BEGIN_S)
                break
            except self._ray.exceptions.GetTimeoutError as error:
                raise ComputeError(
                    f'[run] engine = "ray": the cluster had no room for an actor in {BEGIN_S:g} s; '
                    f"it takes {self._takes}; free are {self._ray.available_resources()}"
                ) from error
            except self._ray.exceptions.RayError as error:
                if not left:
                    raise ComputeError(
                        f'[run] engine = "ray": an actor died {TRIES} times while it began, '
                        f"perhaps for want of memory: {one_line(error)}"
                    ) from error
            self._actors[number] = self._class.remote(self._kits[number])
            call = self._actors[number].begin.remote()
        if isinstance(found, Failure):
            refused = found.error()
            if isinstance(refused, NetsimError):
                raise refused
            raise ComputeError(f'[run] engine = "ray": an actor can\'t begin: {found.message_line}')
        return found

    def call(self, actor: int, method: str, *given: Any) -> Handle:
        """Begin a call of a `ShardActor`; those of one actor happen in order.

        Parameters
        ----------
        *given : object
            Its arguments; a `Handle` stands for what that call returns.
        """
        return getattr(self._actors[actor], method).remote(*given)

    def get(self, handle: Handle) -> Any:
        """Return what a call has returned, once it has ended; of a list of calls, a list.

        Raises
        ------
        LostError
            If its actor is gone, or a row that it should have got.
        """
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            lost = (self._ray.exceptions.RayError, AbsentError)
            if isinstance(error.cause, lost):
                raise LostError(str(error)) from error
            cause = error.cause or error
            raise ComputeError(f"an actor failed: {type(cause).__name__}: {cause}") from error
        except self._ray.exceptions.RayError as error:
            raise LostError(str(error)) from error

    def replaced(self) -> list[int]:
        """Begin a new actor in place of each that is gone; their numbers."""
        calls = [actor.location.remote() for actor in self._actors]
        lost = []
        for number, call in enumerate(calls):
            try:
                self._ray.get(call)
            except self._ray.exceptions.RayError:
                lost.append(number)
        for number in lost:
            self._actors[number] = self._class.remote(self._kits[number])
        calls = [self._actors[number].begin.remote() for number in lost]
        for number, call in zip(lost, calls, strict=True):
            self.location[number] = self._wait_for_start(number, call)
        return lost

    def close(self) -> None:
        """End the actors, and the cluster if it was started for them."""
        with suppress(self._ray.exceptions.RayError, ValueError):  # some may be gone
            self._ray.wait(
                [actor.end.remote() for actor in self._actors],
                num_returns=len(self._actors),
                timeout=END_S,
            )
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        ray_cluster.leave()


def start_pool(
    kits: Callable[[int], Sequence[Kit]], actors: int | str, cpus: float, gpus: float
) -> RayPool:
    """Begin the actors of a run.

    Parameters
    ----------
    kits : callable
        (number of actors) -> a kit for each.
    actors : int or "auto"
        As `[run] actors` says.
    cpus, gpus : float
        What an actor takes of its machine.

    Raises
    ------
    ScenarioError
        If there is no Ray, no such cluster, or no room for so many.
    """
    ray_cluster.connected()
    try:
        room = ray_cluster.room(cpus, gpus)
        if not isinstance(actors, str) and actors > room:
            raise ScenarioError(
                f"[run] actors = {actors}: the cluster has room for {room} that take {cpus:g} cores"
                + (f" and {gpus:g} GPUs" if gpus else "")
                + ' each; take fewer, actors = "auto", or a larger cluster'
            )
        return RayPool(kits(room if isinstance(actors, str) else actors), cpus, gpus)
    finally:
        ray_cluster.leave()
