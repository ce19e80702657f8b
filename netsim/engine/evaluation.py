"""Measuring the models that nodes have published, at fixed virtual times and at no cost."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.node.node import Node
from netsim.node.publishing_verbs import Publication
from netsim.node.run_state import Context

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
    stages : sequence of str
        Stages to measure; empty: what each node published last.
    """

    def __init__(self, ctx: Context, stages: Sequence[str]) -> None:
        self._ctx, self._stages = ctx, stages
        self._labels = ctx.shards.y.cpu()
        self._class_shares: dict[int, Tensor] = {}

    def run(self, time_ns: int) -> float | None:
        """Measure now; the mean accuracy over benign nodes, if any published a model."""
        ctx = self._ctx
        if ctx.timing_only:
            return None
        ctx.scheduler.flush()
        shown = [
            (node, publication)
            for node in ctx.nodes
            if ctx.shards.train_size(node.id)
            for publication in self._published(node.published)
        ]
        measured: list[dict[str, float]] = [{} for _ in shown]
        for metric, split in _SPLITS:
            rows = [ctx.shards.split_rows(node.id, split) for node, _ in shown]
            there = [i for i, r in enumerate(rows) if len(r)]
            outputs = self._outputs([(*shown[i], rows[i]) for i in there])
            for i, logits in zip(there, outputs, strict=True):
                self._judge(measured[i], metric, shown[i][0].id, rows[i], logits)
        accuracies = []
        for (node, publication), found in zip(shown, measured, strict=True):
            prefix = "malicious_" if node.id in ctx.malicious else ""
            for metric, value in found.items():
                ctx.recorder.metric(
                    time_ns,
                    node.id,
                    prefix + metric,
                    publication.stage,
                    value,
                    node.local_steps,
                    ctx.link.bits_sent_by(node.id),
                    ctx.meter.spent_j(node.id, time_ns),
                )
            if "accuracy" in found and not prefix:
                accuracies.append(found["accuracy"])
        return sum(accuracies) / len(accuracies) if accuracies else None

    def _outputs(self, asked: Sequence[tuple[Node, Publication, Rows]]) -> list[Tensor]:
        """What each published model says of its samples, (n, L) on the CPU."""
        backend = self._ctx.scheduler.backend
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
        """The same by a prediction of the algorithm's own."""
        architecture, predict = publication.ref.architecture, publication.predict
        assert architecture is not None
        assert predict is not None
        model = architecture.bind(publication.ref.tensor())
        given = [g.tensor() if isinstance(g, Ref) else g for g in publication.given]
        x = self._ctx.shards.x
        logits: Tensor = predict(model, x[torch.from_numpy(rows).to(x.device)], *given)
        return logits.cpu()

    def _judge(
        self, found: dict[str, float], metric: str, node: int, rows: Rows, logits: Tensor
    ) -> None:
        """Add what the outputs on one split come to."""
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
        ctx = self._ctx
        ctx.scheduler.flush()
        due, ctx.weights_due = ctx.weights_due, []
        for time_ns, node, ids, weights in due:
            lazy = isinstance(weights, Ref)
            if lazy and ctx.timing_only:
                continue
            numbers = weights.tensor().tolist() if lazy else weights
            for peer, weight in zip(ids, numbers, strict=True):
                ctx.recorder.graph(time_ns, node, peer, float(weight))

    def _published(self, published: dict[str, Publication]) -> list[Publication]:
        if not self._stages:
            return list(published.values())[-1:]
        return [published[s] for s in self._stages if s in published]

    def _shares_of_classes(self, node: int) -> Tensor:
        """The class distribution of the node's training and validation samples, (C,)."""
        if node not in self._class_shares:
            shards = self._ctx.shards
            own = np.concatenate([shards.rows[node].train, shards.rows[node].validation])
            labels = self._labels[torch.from_numpy(own)]
            classes = self._ctx.architectures[node].num_outputs
            counts = torch.bincount(labels, minlength=classes).double()
            self._class_shares[node] = counts / counts.sum()
        return self._class_shares[node]


def parameters_sha256(ctx: Context) -> str | None:
    """Digest of the models published last, node by node; None if there are none."""
    if ctx.timing_only:
        return None
    ctx.scheduler.flush()
    digest = hashlib.sha256()
    rows = 0
    for node in ctx.nodes:
        for publication in list(node.published.values())[-1:]:
            digest.update(publication.ref.tensor().detach().cpu().contiguous().numpy().tobytes())
            rows += 1
    return digest.hexdigest() if rows else None
