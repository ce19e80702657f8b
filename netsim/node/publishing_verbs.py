"""What a node shows to the simulator: models to measure, weights to log, values to keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.learning.functions import require_module_level
from netsim.learning.refs import Ref
from netsim.node.mixing_check import MixingCheck


class Publication(NamedTuple):
    """The model that a node would predict with.

    Attributes
    ----------
    ref : Ref
    stage : str
        The name of this model in the metrics.
    predict : callable or None
        `predict(model, x, *given) -> (n, L)`; None: the plain forward pass.
    given : tuple
        Refs and numbers that `predict` needs beside the model.
    """

    ref: Ref
    stage: str
    predict: Callable[..., Any] | None
    given: tuple[Any, ...]


class LoggedWeights(NamedTuple):
    """Collaboration weights as an algorithm logged them; they may not have been computed yet.

    Attributes
    ----------
    time_ns : int
        When they took effect [ns].
    node : int
        Whose weights they are.
    ids : tuple of int
    weights : Ref or sequence of float
        (len(ids),)
    """

    time_ns: int
    node: int
    ids: tuple[int, ...]
    weights: Ref | Sequence[float]


class PublishingVerbs:
    """The verbs of one node that show something; `Node` documents them.

    Parameters
    ----------
    node_id : int
    clock : Clock
    weights_due : list of LoggedWeights
        The run's list of weights that are to be written once they are computed.
    mixing : MixingCheck
        Is told of every model that is published.

    Attributes
    ----------
    published : dict of str to Publication
        The last one of each stage, in the order of publishing.
    kept : dict of str to Ref
        What is written at the end of the run, by name.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        weights_due: list[LoggedWeights],
        mixing: MixingCheck,
    ) -> None:
        self._id, self._clock, self._weights_due = node_id, clock, weights_due
        self._mixing = mixing
        self.published: dict[str, Publication] = {}
        self.kept: dict[str, Ref] = {}

    def publish(
        self, ref: Ref, stage: str, predict: Callable[..., Any] | None, given: Sequence[Any]
    ) -> None:
        """See `Node.publish`."""
        for one in (ref, *given):
            if isinstance(one, Ref):
                one.require_owner(self._id)
        if ref.architecture is None:
            raise ProtocolError("publish: a whole model is needed here, not a part of one")
        if predict is not None:
            require_module_level(predict)
        self._mixing.used(ref, "published")
        self.published.pop(stage, None)  # so that the last one published is the last in order
        self.published[stage] = Publication(ref, stage, predict, tuple(given))

    def log_weights(
        self, ids: Sequence[int], weights: Ref | Sequence[float], node: int | None
    ) -> None:
        """See `Node.log_weights`."""
        given = weights.num_values if isinstance(weights, Ref) else len(weights)
        if given != len(ids):
            raise ProtocolError(f"log_weights: {len(ids)} ids but {given} weights")
        if isinstance(weights, Ref):
            weights.require_owner(self._id)
        whose = self._id if node is None else node
        self._weights_due.append(LoggedWeights(self._clock.now, whose, tuple(ids), weights))

    def keep(self, name: str, ref: Ref) -> None:
        """See `Node.keep`."""
        ref.require_owner(self._id)
        self.kept[name] = ref

    def last_published(self) -> Publication | None:
        """What was published last, of all stages; None before the first."""
        return next(reversed(self.published.values()), None)

    def kept_values(self) -> dict[str, Any]:
        """The numbers kept, as numpy arrays, once they are computed."""
        return {name: ref.tensor().detach().cpu().numpy() for name, ref in self.kept.items()}
