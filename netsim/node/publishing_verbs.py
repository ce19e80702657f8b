"""Output of a node: models to measure, weights to log, values to keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.learning.functions import require_module_level, snapshot_argument
from netsim.learning.refs import NEEDS_A_MODEL, Ref
from netsim.node.checks import MixingCheck
from netsim.recording.run_warnings import RunWarnings
from netsim.recording.schema import WEIGHTS, wrong_record_name, wrong_stage_name
from netsim.units import to_s

MOST_RECORDED = 256
"""Greatest number of values in one call of `node.record`."""


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
    weights : Ref or tuple of float
        (len(ids),)
    what : {"applied", "learned"}
    """

    time_ns: int
    node: int
    ids: tuple[int, ...]
    weights: Ref | tuple[float, ...]
    what: str


class Recorded(NamedTuple):
    """A value as an algorithm recorded it; it may not have been computed yet.

    Attributes
    ----------
    time_ns : int
        When it was recorded [ns].
    name : str
    value : Ref or tuple of float
    steps, bits_transmitted : int
        Local steps and bits of its node by then.
    energy_j : float
        What its node had drawn by then [J].
    """

    time_ns: int
    name: str
    value: Ref | tuple[float, ...]
    steps: int
    bits_transmitted: int
    energy_j: float

    def rows(self) -> list[tuple[str, float]]:
        """Metric and number of each row, once the value is computed."""
        if not isinstance(self.value, Ref):
            numbers: Sequence[float] = self.value
            is_one = len(numbers) == 1
        else:
            numbers = self.value.tensor().detach().reshape(-1).tolist()
            is_one = self.value.shape == ()
        if is_one:
            return [(self.name, float(numbers[0]))]
        return [(f"{self.name}[{i}]", float(number)) for i, number in enumerate(numbers)]


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
    warnings : RunWarnings
        Takes what the algorithm warns of.
    spent : callable or None
        () -> (local steps, bits transmitted, energy [J]) of the node so far, for what it records;
        None (`--timing-only`): nothing is recorded.

    Attributes
    ----------
    published : dict of str to Publication
        The last one of each stage, in the order of publishing.
    kept : dict of str to Ref
        What is written at the end of the run, by name.
    recorded : list of Recorded
        What is to be written at the next evaluation, which empties it.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        weights_due: list[LoggedWeights],
        mixing: MixingCheck,
        warnings: RunWarnings,
        spent: Callable[[], tuple[int, int, float]] | None = None,
        kept_besides: Sequence[str] = (),
    ) -> None:
        self._kept_besides = kept_besides
        self._id, self._clock, self._weights_due = node_id, clock, weights_due
        self._mixing, self._warnings, self._spent = mixing, warnings, spent
        self.published: dict[str, Publication] = {}
        self.kept: dict[str, Ref] = {}
        self.recorded: list[Recorded] = []

    def publish(
        self, ref: Ref, stage: str, predict: Callable[..., Any] | None, given: Sequence[Any]
    ) -> None:
        """See `Node.publish`."""
        for one in (ref, *given) if given else (ref,):
            if isinstance(one, Ref):
                one.require_owner(self._id)
        if ref.architecture is None:
            raise ProtocolError(f"publish: {NEEDS_A_MODEL}")
        is_known = stage in self.published
        if not is_known and (problem := wrong_stage_name(stage)) is not None:
            raise ProtocolError(f"publish: {problem}; rename it{calling_line()}")
        if predict is not None:
            require_module_level(predict)
            ref.cell.scheduler.will_call(predict)
        if self._mixing.is_needed:
            self._mixing.warn_of_use(ref, "published")
        if ref.bringer is not None:
            ref.bringer.uses.read(self._id, (ref,), self._clock.now, "publish")
        if is_known:  # so that the last one published is the last in order
            del self.published[stage]
        needed = snapshot_argument(tuple(given)) if len(given) else ()
        self.published[stage] = Publication(ref, stage, predict, needed)

    def log_weights(
        self,
        ids: Sequence[int],
        weights: Ref | Sequence[float],
        node: int | None,
        what: Literal["applied", "learned"],
    ) -> None:
        """See `Node.log_weights`."""
        given = weights.num_values if isinstance(weights, Ref) else len(weights)
        if given != len(ids):
            raise ProtocolError(f"log_weights: {len(ids)} ids but {given} weights")
        if len(set(ids)) < len(ids):
            raise ProtocolError(
                f"log_weights: ids are {list(ids)}: each may be there once; add up the weights of "
                f"one node{calling_line()}"
            )
        if not isinstance(weights, Ref):  # the caller's own array may change until it is written
            weights = tuple(map(float, weights))
        whose = self._id if node is None else node
        if what not in WEIGHTS:
            raise ProtocolError(f"log_weights: what is {what!r}; it is {' or '.join(WEIGHTS)}")
        due = LoggedWeights(self._clock.now, whose, tuple(ids), weights, what)
        self._weights_due.append(due)

    def record(self, name: str, value: Ref | float | Sequence[float]) -> None:
        """See `Node.record`."""
        if (problem := wrong_record_name(name)) is not None:
            raise ProtocolError(f"record: {problem}; rename it")
        if isinstance(value, Ref):
            value.require_owner(self._id)
            count = value.num_values
        else:
            several = value if isinstance(value, Sequence | np.ndarray) else (value,)
            value = tuple(map(float, several))
            count = len(value)
        if not 1 <= count <= MOST_RECORDED:
            raise ProtocolError(
                f"record: {name} has {count} numbers, 1 to {MOST_RECORDED} may be recorded; "
                "node.keep is for larger values"
            )
        if self._spent is not None:
            self.recorded.append(Recorded(self._clock.now, name, value, *self._spent()))

    def warn(self, subject: str, text: str) -> None:
        """See `Node.warn`."""
        self._warnings.of_node(subject, self._id, to_s(self._clock.now), text)

    def keep(self, name: str, ref: Ref) -> None:
        """See `Node.keep`."""
        if not re.fullmatch(r"\w[\w.-]*", name):
            raise ProtocolError(
                f"keep: {name!r} is no name for a file: letters, digits, underscores, dots and "
                f"hyphens{calling_line()}"
            )
        for taken in self._kept_besides:
            is_label = taken == "features" and name == "labels"
            if name == taken or is_label or (taken == "head" and name.startswith("head.")):
                raise ProtocolError(
                    f'keep: kept/{name}.npz is what [metrics] keep = ["{taken}"] writes; rename '
                    f"it{calling_line()}"
                )
        ref.require_owner(self._id)
        self.kept[name] = ref

    def last_published(self) -> Publication | None:
        """Last publication, of all stages; None before the first."""
        return next(reversed(self.published.values()), None)

    def kept_values(self) -> dict[str, Any]:
        """The numbers kept, as numpy arrays, once they are computed."""
        return {name: ref.tensor().detach().cpu().numpy() for name, ref in self.kept.items()}
