"""Measuring the models that nodes have published, at fixed virtual times and at no cost."""

import hashlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any
from weakref import ref as weak

import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.plain import seeded_inference
from netsim.engine.assembly import Learning
from netsim.engine.scores import SPLITS, Metrics, Pass, Scores
from netsim.errors import ComputeError, NetsimError, ProtocolError, is_out_of_memory
from netsim.learning.functions import place_of, require_unchanged, tensor_versions
from netsim.learning.hidden_state import FirstCalls
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.scheduler import Scheduler
from netsim.learning.shards import Shards
from netsim.node.internals import NodeInternals
from netsim.node.publishing_verbs import LoggedWeights, Publication
from netsim.recording.observers import ValuesTold
from netsim.recording.recorder import Recorder
from netsim.recording.schema import RECORDED, REPORTED
from netsim.registry import Table
from netsim.scenario.labels import shown
from netsim.scenario.nodes import SERVER
from netsim.units import to_s

SAMPLES_AT_ONCE = 1 << 18
"""Outputs are kept for so many samples at most, those of all models together."""

Identity = tuple[Hashable, ...]
"""Of a published model; see `_identity`."""


class Evaluator:
    """Measures every node, nodes that are off included.

    Which metrics those are, the task says; see `netsim.engine.scores`. Of a classification,
    accuracies are on the node's own test samples (`accuracy`), on test samples of all classes
    that all nodes share (`accuracy_all_classes`), and on validation samples of both sorts
    (`accuracy_validation`, `accuracy_all_classes_validation`); `loss` is the mean cross-entropy
    on its own test samples. `accuracy_personal` is pFedGraph's: on the common test samples, each
    weighted by the share of its class among the node's training and validation samples. What a
    malicious node scores goes by names of its own (`malicious_accuracy`, ...), so that every mean
    over nodes is over the benign ones.

    Parameters
    ----------
    recorder : Recorder
        Where metrics and weights are written.
    bits_transmitted_by : callable
        (node) -> what it has transmitted so far [bit].
    spent_j : callable
        (node, time_ns) -> energy that it has drawn [J].
    weights_due : list of LoggedWeights
        Emptied by `log_weights`.
    stages : sequence of str
        Stages to measure; empty: what each node published last.
    reported : str or None
        Name of the metric that is the main one although nodes record it; None: the task's is.

    Attributes
    ----------
    means : mapping of str to float
        Of the last evaluation, means over nodes by metric.
    main_values : mapping of int to float
        Of the last evaluation, the main metric of each benign node.
    time_ns : int
        When it was.
    wall_s : float
        What evaluation has taken so far [s].
    weights_told : list of callable
        Called with (time_ns, node, weights) of every row of collaboration weights.
    values_told : list of callable
        Called with (time_ns, values by metric and node) of every evaluation.
    """

    def __init__(
        self,
        nodes: Sequence[NodeInternals],
        learning: Learning,
        recorder: Recorder,
        bits_transmitted_by: Callable[[int], int],
        spent_j: Callable[[int, int], float],
        malicious: frozenset[int],
        weights_due: list[LoggedWeights],
        num_classes: int,
        stages: Sequence[str],
        reported: str | None = None,
    ) -> None:
        self._nodes, self._stages = nodes, stages
        self._reported, self._last_reported = reported, dict[int, float]()
        self._scheduler, self._shards = learning.scheduler, learning.shards
        self._recorder, self._spent_j = recorder, spent_j
        self._bits_transmitted_by = bits_transmitted_by
        self._malicious, self._weights_due = malicious, weights_due
        self._scores = Scores(self._shards, num_classes)
        self._known: dict[tuple[int, str], tuple[tuple[int, Identity], Metrics]] = {}
        self.means: Mapping[str, float] = {}
        self.main_values: Mapping[int, float] = {}
        self._first_calls, self._names = FirstCalls(), set[str]()
        self._counts: Mapping[str, int] = {}
        self.time_ns = 0
        self.wall_s = 0.0
        self.weights_told: list[Callable[[int, int, Sequence[float]], None]] = []
        self.values_told: list[ValuesTold] = []

    def run(self, time_ns: int) -> float | None:
        """Measure now; the mean of the main metric over benign nodes; None without one."""
        self._recorder.spent(time_ns)
        if not self._scheduler.computes:
            for node in self._nodes:
                self._take_reported(node)
                node.publishing.recorded.clear()  # of the past: it is written already
            return None
        self._scheduler.flush()  # work of the nodes, which is not counted as evaluation
        self._write_recorded()
        started_s = time.perf_counter()
        shown = [
            (node, publication)
            for node in self._nodes
            if self._shards.train_size(self._shards.held[node.id])
            for publication in self._published(node)
        ]
        main = self._reported or self._shards.task.main
        values: dict[str, dict[int, float]] = defaultdict(dict)
        by_stage: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        for (node, publication), found in zip(shown, self._measured(shown), strict=True):
            prefix = "malicious_" if node.id in self._malicious else ""
            for metric, value in found.items():
                self._write(time_ns, node, prefix + metric, publication.stage, value)
                values[prefix + metric][node.id] = value  # of several stages the last
                if len(self._stages) > 1:
                    by_stage[publication.stage][prefix + metric][node.id] = value
        for name in self._names & values.keys() - {main}:
            raise ProtocolError(f"record: {name} is a metric that is measured; rename it")
        for node_id, value in self._last_reported.items():
            prefix = "malicious_" if node_id in self._malicious else ""
            self._write(time_ns, self._nodes[node_id], prefix + main, REPORTED, value)
            values[prefix + main][node_id] = value
        self.means = {m: sum(v.values()) / len(v) for m, v in values.items()}
        self._counts = {m: len(v) for m, v in values.items() if m != self._reported}
        self.main_values = values.get(main, {})
        self.time_ns = time_ns
        self.wall_s += time.perf_counter() - started_s
        for listener in self.values_told:
            listener(time_ns, values, by_stage)
        mean = self.means.get(main, math.nan)
        return mean if math.isfinite(mean) else None

    def _write(
        self, time_ns: int, node: NodeInternals, metric: str, stage: str, value: float
    ) -> None:
        """Write a number of a node, and what the node has spent by then."""
        steps, bits = node.processor.local_steps, self._bits_transmitted_by(node.id)
        spent_j = self._spent_j(node.id, time_ns)
        self._recorder.metric(time_ns, node.id, metric, stage, value, steps, bits, spent_j)

    def _take_reported(self, node: NodeInternals) -> None:
        """Keep what a node has recorded last of the main metric, where methods record it.

        Raises
        ------
        ProtocolError
            If it is no single number that is known.
        """
        for one in node.publishing.recorded if self._reported else ():
            if one.name == self._reported:
                if isinstance(one.value, Ref) or len(one.value) != 1:
                    raise ProtocolError(
                        f"record: {one.name} is the scenario's main metric and must be one number; "
                        "a Ref has its number by yield node.value(ref)"
                    )
                (self._last_reported[node.id],) = one.value

    def _write_recorded(self) -> None:
        """Write what nodes have recorded since the last evaluation."""
        for node in self._nodes:
            self._take_reported(node)
        due = [(one, node.id) for node in self._nodes for one in node.publishing.recorded]
        for one, node_id in sorted(due, key=lambda each: each[0].time_ns):
            if one.name in self.means and one.name != self._reported:
                raise ProtocolError(f"record: {one.name} is a metric that is measured; rename it")
            spent = one.steps, one.bits_transmitted, one.energy_j
            for name, value in one.rows():
                self._names.add(name)
                self._recorder.metric(one.time_ns, node_id, name, RECORDED, value, *spent)
        for node in self._nodes:
            node.publishing.recorded.clear()

    def without_main(self) -> list[str]:
        """Warn if none or only some of the nodes have recorded the main metric."""
        reported = self._last_reported
        if self._reported is None or 1 == len(reported) < len(
            self._nodes
        ):  # of one: the run's number
            return []
        learners = {n.id for n in self._nodes if n.role != SERVER} - self._malicious
        if reported:
            missing = sorted(learners - reported.keys()) if learners & reported.keys() else []
            count = f"{len(missing)} of {len(learners)} nodes"
            return [
                f'[metrics] main = "{self._reported}": {count} have recorded none, node {first} '
                "first; means over nodes are without them"
                for first in missing[:1]
            ]
        if not self._names and not self._scheduler.computes:
            return []
        return [
            f'[metrics] main = "{self._reported}": no node has recorded that; what was recorded is '
            + (", ".join(sorted(self._names)) or "nothing")
        ]

    def without_stages(self, are_own: bool) -> list[str]:
        """Warn of stages to measure of which no node has published a model.

        `are_own`: whether they are of this algorithm alone. Of those that several share, each may
        have some.
        """
        published = {stage for node in self._nodes for stage in node.publishing.published}
        missing = [stage for stage in self._stages if stage not in published]
        is_none_there = len(missing) == len(self._stages)
        if not published or not missing or not (are_own or is_none_there):
            return []
        none = ", so none is measured" if is_none_there else ""
        return [
            f"stages = {shown(missing)}: no node has published such a model{none}; what was "
            f"published is {', '.join(sorted(published))}"
        ]

    def partly_measured(self) -> list[str]:
        """Warn of metrics of `[task] also` that not all nodes have whose models were measured."""
        also = getattr(self._shards.task, "also", ())
        most = self._counts.get(self._shards.task.main, 0) if also else 0
        counts = {name: self._counts.get(name, 0) for name in also}
        partly = [f"{name} ({n})" for name, n in counts.items() if n < most]
        return [
            f"[task] also: measured at some of {most} nodes, whose test samples alone tell, and "
            f"averaged over these: {nodes}"
            for nodes in partly
        ]

    def _measured(self, shown: Sequence[tuple[NodeInternals, Publication]]) -> list[Metrics]:
        """Metrics of each published model.

        Where a node has the same model and the same samples as at the last evaluation they are
        taken from there; nodes that have the same model and the same samples share one pass.
        """
        known, self._known = self._known, {}
        measured: list[Metrics] = []
        due = []
        for node, publication in shown:
            shard, identity = self._shards.held[node.id], _identity(publication)
            before, found = known.get((node.id, publication.stage), (None, {}))
            if before != (shard, identity):
                found = {}
                due.append((shard, publication, identity, found))
            self._known[node.id, publication.stage] = (shard, identity), found
            measured.append(found)
        passes: dict[tuple[str, Identity, int], Pass] = {}
        for split in SPLITS:
            for shard, publication, identity, found in due:
                rows = self._shards.split_rows(shard, split)
                if len(rows):
                    key = split, identity, id(rows)
                    if key not in passes:
                        passes[key] = Pass(split, publication, rows)
                    passes[key].found.append((shard, found))
        for some in _in_parts(list(passes.values())):
            self._scores.add(some, self._outputs(some))
        self._note_broken(shown, measured)
        return measured

    def _note_broken(
        self, shown: Sequence[tuple[NodeInternals, Publication]], measured: Sequence[Metrics]
    ) -> None:
        """Tell of nodes whose outputs are not finite; their training may have been sound."""
        backend = self._scheduler.backend
        assert backend is not None
        for (node, publication), found in zip(shown, measured, strict=True):
            if any(map(math.isnan, found.values())):
                refs = [one for one in publication.given if isinstance(one, Ref)]
                now_ns = self._scheduler.now_ns
                backend.divergences.note_bad_outputs(node.id, now_ns, [publication.ref, *refs])

    def _outputs(self, passes: Sequence[Pass]) -> list[Tensor]:
        """Outputs of each model on its samples, (n, L) on the CPU."""
        backend = self._scheduler.backend
        assert backend is not None
        plain = [i for i, p in enumerate(passes) if p.publication.predict is None]
        asked = [(passes[i].publication.ref, passes[i].rows) for i in plain]
        found = dict(zip(plain, backend.predictions(asked), strict=True))
        own = [i for i in range(len(passes)) if i not in found]
        if own:
            self._scheduler.require_unchanged()
        cells = [passes[i].publication.ref.cell for i in own]
        for i, _ in zip(own, self._scheduler.fetch_cells(cells), strict=True):
            try:
                found[i] = self._predicted(passes[i].publication, passes[i].rows)
            except Exception as error:  # whatever it may raise
                if isinstance(error, NetsimError) or is_out_of_memory(error):
                    raise
                publication, now_s = passes[i].publication, to_s(self._scheduler.now_ns)
                assert publication.predict is not None
                raise ComputeError(
                    f"node {publication.ref.owner} at {now_s:g} s: publish: "
                    f"{place_of(publication.predict)} failed: {type(error).__name__}: {error}"
                ) from error
        return [found[i] for i in range(len(passes))]

    @torch.no_grad()
    def _predicted(self, publication: Publication, rows: Rows) -> Tensor:
        """Outputs of one published model by the algorithm's own `predict`, (n, L) on the CPU."""
        architecture, predict = publication.ref.architecture, publication.predict
        assert architecture is not None
        assert predict is not None
        given = [g.tensor() if isinstance(g, Ref) else g for g in publication.given]
        x = self._shards.x[torch.from_numpy(rows).to(self._shards.x.device)]
        read = [one for one in given if isinstance(one, Tensor)]
        before = tensor_versions(read)

        def predicted() -> Tensor:
            model = architecture.bind(publication.ref.tensor().clone())  # which it may adapt
            with seeded_inference(architecture):
                found: Tensor = predict(model, x, *given)
            return found

        with self._first_calls.looked_at(predict, architecture.module, lambda: [predicted()]):
            outputs = predicted()
        require_unchanged(predict, read, before)
        shape = tuple(outputs.shape)
        wanted = len(rows), architecture.num_outputs
        if shape[:1] != wanted[:1] or outputs[:1].numel() != wanted[1]:
            raise ProtocolError(
                f"publish: {place_of(predict)} predicts {shape} for {len(rows)} samples; it must "
                f"give {wanted}, as the model does"
            )
        return outputs.cpu()

    def log_weights(self) -> None:
        """Write the collaboration weights that have been computed since the last call."""
        if self._scheduler.replay is not None:
            self._weights_due.clear()  # they are written already
            return
        self._scheduler.flush()
        for time_ns, node, ids, logged, what in self._weights_due:
            weights: Sequence[float]
            if isinstance(logged, Ref):
                if self._scheduler.backend is None:
                    continue
                weights = logged.tensor().tolist()
            else:
                weights = logged
            for listener in self.weights_told if what == "applied" else ():
                listener(time_ns, node, weights)
            for peer, weight in zip(ids, weights, strict=True):
                self._recorder.graph(time_ns, node, peer, float(weight), what)
        self._weights_due.clear()

    def _published(self, node: NodeInternals) -> list[Publication]:
        """Return the publications of one node that are measured."""
        if not self._stages:
            last = node.publishing.last_published()
            return [] if last is None else [last]
        published = node.publishing.published
        return [published[s] for s in self._stages if s in published]


def _identity(publication: Publication) -> Identity:
    """Equal for two publications only if their models and what these are given are the same.

    Values never change once they are computed, so the cell that holds one names it; a weak
    reference does so without keeping the value.
    """
    found: list[Hashable] = [weak(publication.ref.cell), publication.predict]
    for given in publication.given:
        if isinstance(given, Ref):
            found += [weak(given.cell), given.ranges]
        elif isinstance(given, bool | int | float | str | Table):
            found.append(repr(given))
        else:
            found.append(object())  # not known to stay as it is
    return tuple(found)


def _in_parts(passes: Sequence[Pass]) -> Iterator[list[Pass]]:
    """Yield as many passes at a time as have `SAMPLES_AT_ONCE` together, or one."""
    some: list[Pass] = []
    samples = 0
    for one in passes:
        if some and samples + len(one.rows) > SAMPLES_AT_ONCE:
            yield some
            some, samples = [], 0
        some.append(one)
        samples += len(one.rows)
    if some:
        yield some


def parameters_sha256(nodes: Sequence[NodeInternals], scheduler: Scheduler) -> str | None:
    """Digest of the models published last, node by node; None if there are none."""
    if scheduler.backend is None:
        return None
    scheduler.flush()
    digest = hashlib.sha256()
    published = [node.publishing.last_published() for node in nodes]
    refs = [last.ref for last in published if last is not None]
    for ref, _ in zip(refs, scheduler.fetch_cells([ref.cell for ref in refs]), strict=True):
        digest.update(ref.tensor().detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest() if refs else None


AT_ONCE = 256
"""Samples of one forward pass."""


@torch.no_grad()
def kept_of(parts: NodeInternals, shards: Shards, keep: Collection[str]) -> dict[str, NDArray[Any]]:
    """Arrays of one node's last model, by the name of the file that they go into.

    Parameters
    ----------
    parts : NodeInternals
        The node.
    shards : Shards
        The samples of all nodes.
    keep : collection of {"theta", "features", "head"}

    Returns
    -------
    dict of str to numpy.ndarray
        `theta` (D,), the model as a row; `features` (n, F) of its test samples, what leaves the
        model's features and its head takes, and their `labels` (n,); of the head each parameter,
        such as `head.weight` (C, F). Nothing of a node that has no samples or has published
        nothing.
    """
    last = parts.publishing.last_published()
    if last is None or not shards.train_size(shards.held[parts.id]):
        return {}
    assert last.ref.architecture is not None
    model: Any = last.ref.architecture.bind(last.ref.tensor())
    found: dict[str, Any] = {}
    if "theta" in keep:
        found["theta"] = last.ref.tensor()
    if "head" in keep:
        found |= {f"head.{name}": p for name, p in model.head.named_parameters()}
    if "features" in keep:
        test = shards.split(shards.held[parts.id], "test")
        with seeded_inference(last.ref.architecture):
            some = [model.features(x) for x in torch.split(test.x, AT_ONCE)]
        found["features"] = torch.cat(some)
        found["labels"] = test.y
    return {name: values.detach().cpu().numpy().copy() for name, values in found.items()}
