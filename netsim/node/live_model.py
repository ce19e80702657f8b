"""The model that a node holds while several of its processes train and replace it.

Training takes virtual time, and a model may arrive meanwhile. What then happens is the scenario's
`[training] on_arrival`, never an accident of which process wrote last:

- `wait`: the arrival takes effect when the job in flight has ended, whose result it replaces;
- `rebase`: then, too, but with the change that training made to the parameters added to it
  (running statistics are the arrived ones: a variance plus a change may be below 0);
- `discard_step`: at once; the job in flight is dropped (KD-PDFL's literal overwrite).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import simpy

from netsim.clock import Clock, Event, add_callback
from netsim.errors import ProtocolError
from netsim.learning.refs import NEEDS_A_MODEL, Ref


class Held:
    """One model of one node, as `node.hold(theta)` gives it.

    Parameters
    ----------
    node_id : int
    theta : Ref
        The model at first.
    clock : Clock
    on_arrival : str
        `wait`, `rebase` or `discard_step`.
    counts : Counter
        Where trainings overwritten and discarded are counted.
    train, mix : callable
        The node's verbs.
    works : callable
        How many works the node's processor has been given.
    drop : callable
        Drops the one of a number.

    Attributes
    ----------
    theta : Ref
        The model now; a job in flight does not show until it has ended.
    """

    def __init__(
        self,
        node_id: int,
        theta: Ref,
        clock: Clock,
        on_arrival: str,
        counts: Counter[str],
        train: Callable[..., simpy.Event],
        mix: Callable[..., Ref],
        works: Callable[[], int],
        drop: Callable[[int], None],
    ) -> None:
        theta.require_owner(node_id)
        self.theta = theta
        self._id, self._clock = node_id, clock
        self._on_arrival, self._counts = on_arrival, counts
        self._train, self._mix, self._works, self._drop = train, mix, works, drop
        self._work = 0
        self._arrived: Ref | None = None
        self._in_flight: Event | None = None
        self._settled: list[Event] = []

    def train(self, **how: Any) -> simpy.Event:
        """Train the model held (arguments of `node.train`); event `Trained`.

        The event's value is None if the job was dropped (`discard_step`).

        Raises
        ------
        ProtocolError
            If it is being trained already.
        """
        if self._in_flight is not None:
            raise ProtocolError(f"node {self._id}: the model held is being trained already")
        before = self.theta
        job = self._train(before, **how)
        self._work = self._works()
        done = self._in_flight = self._clock.new_event("training of the model held")
        add_callback(job, lambda event: self._training_ended(done, before, event.value))
        return done

    def replace(self, arrived: Ref) -> None:
        """A model arrives that takes the place of the one held.

        Raises
        ------
        ProtocolError
            If it is another node's, or not a whole model.
        """
        arrived.require_owner(self._id)
        if arrived.architecture is None:
            raise ProtocolError(NEEDS_A_MODEL)
        done = self._in_flight
        if done is None:
            self.theta = arrived
        elif self._on_arrival == "discard_step":
            self._counts["trainings_discarded"] += 1
            self.theta = arrived
            self._in_flight = None
            self._drop(self._work)
            self._finish(done, None)
        else:
            self._arrived = arrived

    def settled(self) -> simpy.Event:
        """Event: no training is in flight."""
        if self._in_flight is None:
            return self._clock.triggered_event()
        event = self._clock.new_event("the end of training")
        self._settled.append(event)
        return event

    def _training_ended(self, done: Event, before: Ref, trained: Any) -> None:
        if self._in_flight is not done:
            return  # dropped meanwhile
        self._in_flight = None
        arrived, self._arrived = self._arrived, None
        if arrived is None:
            self.theta = trained.theta
        elif self._on_arrival == "rebase":
            moved = self._mix([arrived, trained.theta, before], [1.0, 1.0, -1.0])
            self.theta = moved.with_part("buffers", arrived.part("buffers"))
        else:
            self._counts["trainings_overwritten"] += 1
            self.theta = arrived
        self._finish(done, trained)

    def _finish(self, done: Event, trained: Any) -> None:
        done.succeed(trained)
        waiting, self._settled = self._settled, []
        for event in waiting:
            event.succeed()
