"""Measuring the models that nodes have published, at fixed virtual times and at no cost."""

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.engine.assembly import Learning
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.scheduler import Scheduler
from netsim.node.parts import NodeParts
from netsim.node.publishing_verbs import LoggedWeights, Publication
from netsim.recording.recorder import Recorder

_SPLITS = (
    ("accuracy", "test"),
    ("accuracy_all_classes", "common_test"),
    ("accuracy_validation", "validation"),
    ("accuracy_all_classes_validation", "common_validation"),
)


class Evaluator:
    """Measures every node, nodes that are off included.

    Accuracies are on the node's own test samples (`accuracy`), on test samples of all classes
    that all nodes share (`accuracy_all_classes`), and on validation samples of both sorts
    (`accuracy_validation`, `accuracy_all_classes_validation`); `loss` is the mean cross-entropy
    on its own test samples. `accuracy_personal` is pFedGraph's: on the common test samples, each
    weighted by the share of its class among the node's training and validation samples. What a
    malicious node scores goes by names of its own (`malicious_accuracy`, ...), so that every mean
    over nodes is over the benign ones.

    Parameters
    ----------
    nodes : sequence of NodeParts
    learning : Learning
    recorder : Recorder
        Where metrics and weights are written.
    bits_sent_by : callable
        (node) -> what it has sent so far [bit].
    spent_j : callable
        (node, time_ns) -> energy that it has drawn [J].
    malicious : frozenset of int
    weights_due : list of LoggedWeights
        Emptied by `log_weights`.
    num_classes : int
    stages : sequence of str
        Stages to measure; empty: what each node published last.
    """

    def __init__(
        self,
        nodes: Sequence[NodeParts],
        learning: Learning,
        recorder: Recorder,
        bits_sent_by: Callable[[int], int],
        spent_j: Callable[[int, int], float],
        malicious: frozenset[int],
        weights_due: list[LoggedWeights],
        num_classes: int,
        stages: Sequence[str],
    ) -> None:
        self._nodes, self._stages = nodes, stages
        self._scheduler, self._shards = learning.scheduler, learning.shards
        self._timing_only = learning.timing_only
        self._recorder, self._bits_sent_by, self._spent_j = recorder, bits_sent_by, spent_j
        self._malicious, self._weights_due = malicious, weights_due
        self._num_classes = num_classes
        self._labels = self._shards.y.cpu()
        self._class_shares: dict[int, Tensor] = {}

    def run(self, time_ns: int) -> float | None:
        """Measure now; the mean accuracy over benign nodes, if any published a model."""
        if self._timing_only:
            return None
        self._scheduler.flush()
        shown = [
            (node, publication)
            for node in self._nodes
            if self._shards.train_size(node.id)
            for publication in self._published(node)
        ]
        measured: list[dict[str, float]] = [{} for _ in shown]
        for metric, split in _SPLITS:
            rows = [self._shards.split_rows(node.id, split) for node, _ in shown]
            there = [i for i, r in enumerate(rows) if len(r)]
            outputs = self._outputs([(*shown[i], rows[i]) for i in there])
            for i, logits in zip(there, outputs, strict=True):
                self._judge(measured[i], metric, shown[i][0].id, rows[i], logits)
        accuracies = []
        for (node, publication), found in zip(shown, measured, strict=True):
            prefix = "malicious_" if node.id in self._malicious else ""
            for metric, value in found.items():
                self._recorder.metric(
                    time_ns,
                    node.id,
                    prefix + metric,
                    publication.stage,
                    value,
                    node.processor.local_steps,
                    self._bits_sent_by(node.id),
                    self._spent_j(node.id, time_ns),
                )
            if "accuracy" in found and not prefix:
                accuracies.append(found["accuracy"])
        return sum(accuracies) / len(accuracies) if accuracies else None

    def _outputs(self, asked: Sequence[tuple[NodeParts, Publication, Rows]]) -> list[Tensor]:
        """Outputs of each published model on its samples, (n, L) on the CPU."""
        backend = self._scheduler.backend
        assert backend is not None
        plain = [i for i, (_, p, _) in enumerate(asked) if p.predict is None]
        found = dict(
            zip(
                plain,
                backend.predictions([(asked[i][1].ref, asked[i][2]) for i in plain]),
                strict=True,
            )
        )
        return [
            found[i] if i in found else self._predicted(publication, rows)
            for i, (_, publication, rows) in enumerate(asked)
        ]

    @torch.no_grad()
    def _predicted(self, publication: Publication, rows: Rows) -> Tensor:
        """Outputs of one published model by the algorithm's own `predict`, (n, L) on the CPU."""
        architecture, predict = publication.ref.architecture, publication.predict
        assert architecture is not None
        assert predict is not None
        model = architecture.bind(publication.ref.tensor())
        given = [g.tensor() if isinstance(g, Ref) else g for g in publication.given]
        x = self._shards.x
        logits: Tensor = predict(model, x[torch.from_numpy(rows).to(x.device)], *given)
        return logits.cpu()

    def _judge(
        self, found: dict[str, float], metric: str, node: int, rows: Rows, logits: Tensor
    ) -> None:
        """Add the metrics of the outputs on one split to those found."""
        labels = self._labels[torch.from_numpy(rows)]
        hits = logits.argmax(1) == labels
        found[metric] = float(hits.double().mean())
        if metric == "accuracy":
            found["loss"] = float(F.cross_entropy(logits, labels))
        if metric == "accuracy_all_classes":
            weights = self._shares_of_classes(node)[labels]
            personal = float((weights * hits).sum() / weights.sum())
            if not math.isnan(personal):  # the common samples have none of its classes
                found["accuracy_personal"] = personal

    def log_weights(self) -> None:
        """Write the collaboration weights that have been computed since the last call."""
        self._scheduler.flush()
        for time_ns, node, ids, weights in self._weights_due:
            if isinstance(weights, Ref):
                if self._timing_only:
                    continue
                weights = weights.tensor().tolist()
            for peer, weight in zip(ids, weights, strict=True):
                self._recorder.graph(time_ns, node, peer, float(weight))
        self._weights_due.clear()

    def _published(self, node: NodeParts) -> list[Publication]:
        """What is measured of one node."""
        if not self._stages:
            last = node.publishing.last_published()
            return [] if last is None else [last]
        published = node.publishing.published
        return [published[s] for s in self._stages if s in published]

    def _shares_of_classes(self, node: int) -> Tensor:
        """The class distribution of the node's training and validation samples, (C,)."""
        if node not in self._class_shares:
            shards = self._shards
            own = np.concatenate([shards.rows[node].train, shards.rows[node].validation])
            labels = self._labels[torch.from_numpy(own)]
            classes = self._num_classes
            counts = torch.bincount(labels, minlength=classes).double()
            self._class_shares[node] = counts / counts.sum()
        return self._class_shares[node]


def parameters_sha256(nodes: Sequence[NodeParts], scheduler: Scheduler) -> str | None:
    """Digest of the models published last, node by node; None if there are none."""
    if scheduler.backend is None:
        return None
    scheduler.flush()
    digest = hashlib.sha256()
    rows = 0
    for node in nodes:
        last = node.publishing.last_published()
        if last is not None:
            digest.update(last.ref.tensor().detach().cpu().contiguous().numpy().tobytes())
            rows += 1
    return digest.hexdigest() if rows else None
