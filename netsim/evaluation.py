"""Measuring the models that nodes have published, at fixed virtual times and at no cost."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from netsim.compute.refs import Ref
from netsim.compute.shards import Batch
from netsim.compute.showing import Publication
from netsim.context import Context

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
        self._splits: dict[tuple[int, str], Batch] = {}
        self._class_shares: dict[int, torch.Tensor] = {}

    def run(self, time_ns: int) -> float | None:
        """Measure now; the mean accuracy over benign nodes, if any published a model."""
        ctx = self._ctx
        if ctx.timing_only:
            return None
        ctx.scheduler.flush()
        accuracies = []
        for node in ctx.nodes:
            if not ctx.shards.train_size(node.id):
                continue
            prefix = "malicious_" if node.id in ctx.malicious else ""
            for publication in self._published(node.published):
                measured = self._measure(node.id, publication)
                for metric, value in measured.items():
                    ctx.recorder.metric(
                        time_ns,
                        node.id,
                        prefix + metric,
                        publication.stage,
                        value,
                        node.local_steps,
                        ctx.link.bits_sent[node.id],
                        ctx.link.radiated_j[node.id],
                    )
                if "accuracy" in measured and not prefix:
                    accuracies.append(measured["accuracy"])
        return sum(accuracies) / len(accuracies) if accuracies else None

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

    def _measure(self, node: int, publication: Publication) -> dict[str, float]:
        architecture = publication.ref.architecture
        assert architecture is not None
        model = architecture.bind(publication.ref.tensor())
        predict: Callable[..., Any] = publication.predict or type(model).__call__
        given = [g.tensor() if isinstance(g, Ref) else g for g in publication.given]
        found = {}
        for metric, split in _SPLITS:
            batch = self._split(node, split)
            if len(batch.y) == 0:
                continue
            with torch.no_grad():
                logits = predict(model, batch.x, *given)
            hits = logits.argmax(1) == batch.y
            found[metric] = float(hits.double().mean())
            if metric == "accuracy":
                found["loss"] = float(F.cross_entropy(logits, batch.y))
            if split == "common_test":
                weights = self._shares_of_classes(node)[batch.y]
                personal = float((weights * hits).sum() / weights.sum())
                if not math.isnan(personal):  # the common samples have none of its classes
                    found["accuracy_personal"] = personal
        return found

    def _shares_of_classes(self, node: int) -> torch.Tensor:
        """The class distribution of the node's training and validation samples, (C,)."""
        if node not in self._class_shares:
            shards = self._ctx.shards
            own = np.concatenate([shards.rows[node].train, shards.rows[node].validation])
            labels = shards.y[torch.from_numpy(own).to(shards.y.device)]
            classes = self._ctx.architectures[node].num_outputs
            counts = torch.bincount(labels, minlength=classes).double()
            self._class_shares[node] = counts / counts.sum()
        return self._class_shares[node]

    def _split(self, node: int, name: str) -> Batch:
        key = (-1 if name in self._ctx.shards.common else node, name)
        if key not in self._splits:
            self._splits[key] = self._ctx.shards.split(node, name)
        return self._splits[key]


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
