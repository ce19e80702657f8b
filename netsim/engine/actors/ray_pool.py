"""Actors of a run in a Ray cluster, an existing one or one that is started here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netsim.engine import ray_cluster
from netsim.engine.actors.actor import About, AbsentError, Kit, ShardActor
from netsim.engine.actors.backend import Handle, LostError
from netsim.errors import ComputeError


class RayPool:
    """Actors of Ray, each made from a kit; see `backend.Pool`.

    Parameters
    ----------
    kits : sequence of Kit
        One an actor.
    cpus, gpus : float
        What an actor takes of its machine; fractions are allowed.

    Attributes
    ----------
    size : int
    about : list of About
        Each actor in words.

    Raises
    ------
    ScenarioError
        If there is no Ray or no such cluster.
    """

    def __init__(self, kits: Sequence[Kit], cpus: float, gpus: float = 0.0) -> None:
        self._ray = ray_cluster.connected()
        self._kits, self.size = kits, len(kits)
        remote = self._ray.remote(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )
        self._class = remote(ShardActor)
        self._actors = [self._class.remote(kit) for kit in kits]
        self.about: list[About] = [self._told(actor) for actor in self._actors]

    def _told(self, actor: Any) -> About:
        try:
            found: About = self._ray.get(actor.about.remote())
        except self._ray.exceptions.RayError as error:
            raise ComputeError(f'[run] engine = "ray": an actor did not start: {error}') from error
        return found

    def call(self, actor: int, method: str, *given: Any) -> Handle:
        """Begin a call of an actor; see `backend.Pool.call`.

        Parameters
        ----------
        actor : int
        method : str
        *given : object
        """
        return getattr(self._actors[actor], method).remote(*given)

    def is_ready(self, handle: Handle) -> bool:
        """Return whether a call has ended."""
        return bool(self._ray.wait([handle], timeout=0)[0])

    def get(self, handle: Handle) -> Any:
        """Return what a call has returned.

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
            raise
        except self._ray.exceptions.RayError as error:
            raise LostError(str(error)) from error

    def replaced(self) -> list[int]:
        """Begin a new actor in place of each that is gone; their numbers."""
        calls = [actor.about.remote() for actor in self._actors]
        lost = []
        for number, call in enumerate(calls):
            try:
                self._ray.get(call)
            except self._ray.exceptions.RayError:
                lost.append(number)
        for number in lost:
            self._actors[number] = self._class.remote(self._kits[number])
        for number in lost:
            self.about[number] = self._told(self._actors[number])
        return lost

    def close(self) -> None:
        """End the actors, and the cluster if it was started for them."""
        for actor in self._actors:
            self._ray.kill(actor)
        ray_cluster.leave()
