"""The model that a node holds while several of its processes train and replace it.

Training takes virtual time, and a model may arrive meanwhile. What then happens is the scenario's
`[training] on_arrival`, never an accident of who wrote last:

- `wait`: the arrival takes effect when the job in flight has ended, whose result it replaces;
- `rebase`: then, too, but with the change that training made to the parameters added to it
  (running statistics are the arrived ones: a variance plus a change may be below 0);
- `discard_step`: at once; the job in flight is dropped (KD-PDFL's literal overwrite).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from netsim.clock import then
from netsim.errors import ProtocolError
from netsim.learning.refs import Ref

if TYPE_CHECKING:
    from netsim.node.run_state import Context
    from netsim.node.training_verbs import Learner


class Held:
    """One model of one node.

    Attributes
    ----------
    theta : Ref
        The model now; a job in flight does not show until it has ended.
    """

    def __init__(self, node: Learner, theta: Ref, ctx: Context) -> None:
        theta.require_owner(node.id)
        self.theta = theta
        self._node, self._ctx = node, ctx
        self._arrived: Ref | None = None
        self._in_flight: simpy.Event | None = None
        self._settled: list[simpy.Event] = []

    def train(self, **how: Any) -> simpy.Event:
        """Train the model held (arguments of `node.train`); event `Trained`.

        Raises
        ------
        ProtocolError
            If it is being trained already.
        """
        if self._in_flight is not None:
            raise ProtocolError(f"node {self._node.id}: the model held is being trained already")
        before = self.theta
        job = self._node.train(before, **how)
        done = self._in_flight = self._ctx.env.event()
        then(job, lambda event: self._ended(done, before, event.value))
        return done

    def replace(self, arrived: Ref) -> None:
        """A model arrives that takes the place of the one held.

        Raises
        ------
        ProtocolError
            If it is another node's, or not a whole model.
        """
        arrived.require_owner(self._node.id)
        if arrived.architecture is None:
            raise ProtocolError("a whole model is needed here, not a part or another value")
        done = self._in_flight
        if done is None:
            self.theta = arrived
        elif self._ctx.on_arrival == "discard_step":
            self._ctx.counts["trainings_discarded"] += 1
            self.theta = arrived
            self._in_flight = None
            self._node.free_processor()
            self._wake(done, None)
        else:
            self._arrived = arrived

    def settled(self) -> simpy.Event:
        """Event: no training is in flight."""
        event = self._ctx.env.event()
        if self._in_flight is None:
            event.succeed()
        else:
            self._settled.append(event)
        return event

    def _ended(self, done: simpy.Event, before: Ref, trained: Any) -> None:
        if self._in_flight is not done:
            return  # dropped meanwhile
        self._in_flight = None
        arrived, self._arrived = self._arrived, None
        if arrived is None:
            self.theta = trained.theta
        elif self._ctx.on_arrival == "rebase":
            moved = self._node.mix([arrived, trained.theta, before], [1.0, 1.0, -1.0])
            self.theta = moved.with_part("buffers", arrived.part("buffers"))
        else:
            self._ctx.counts["trainings_overwritten"] += 1
            self.theta = arrived
        self._wake(done, trained)

    def _wake(self, done: simpy.Event, trained: Any) -> None:
        done.succeed(trained)
        waiting, self._settled = self._settled, []
        for event in waiting:
            event.succeed()
