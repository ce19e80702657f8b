"""Accuracies and losses from the outputs of models, for many models at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.learning.minibatches import Rows
from netsim.learning.shards import Shards
from netsim.node.publishing_verbs import Publication

SPLITS = (
    ("accuracy", "test"),
    ("accuracy_all_classes", "common_test"),
    ("accuracy_validation", "validation"),
    ("accuracy_all_classes_validation", "common_validation"),
)
"""Metrics, each with the samples that it is taken on."""

NODES_AT_ONCE = 256
"""Nodes whose samples are weighted at once; each takes a weight a sample."""

Metrics = dict[str, float]
"""Values by name, of one model of one node."""


@dataclass
class Pass:
    """One model on one set of samples, and the nodes that have both.

    Attributes
    ----------
    metric : str
        What the accuracy is called; see `SPLITS`.
    publication : Publication
        The model.
    rows : (n,) int64
        Row numbers of the samples.
    found : list of (int, dict)
        Each of the nodes, with its metrics so far; `Scores.add` adds to them.
    """

    metric: str
    publication: Publication
    rows: Rows
    found: list[tuple[int, Metrics]] = field(default_factory=list)


class Scores:
    """Turns outputs into metrics.

    Parameters
    ----------
    shards : Shards
        The samples of all nodes.
    num_classes : int
    """

    def __init__(self, shards: Shards, num_classes: int) -> None:
        self._shards, self._num_classes = shards, num_classes
        self._labels = shards.y.cpu()
        self._class_shares: dict[int, Tensor] = {}

    def add(self, passes: Sequence[Pass], outputs: Sequence[Tensor]) -> None:
        """Add the metrics of passes to what is known of their nodes.

        Parameters
        ----------
        passes : sequence of Pass
            Those of one metric beside each other.
        outputs : sequence of torch.Tensor
            (n, L) on the CPU, of each pass.
        """
        both = zip(passes, outputs, strict=True)
        for metric, some in groupby(both, key=lambda one: one[0].metric):
            self._add(metric, *zip(*some, strict=True))

    def _add(self, metric: str, passes: Sequence[Pass], outputs: Sequence[Tensor]) -> None:
        """Add one metric, and what goes with it."""
        sizes = np.array([len(p.rows) for p in passes])
        starts = np.cumsum(sizes) - sizes
        labels = self._labels[torch.from_numpy(np.concatenate([p.rows for p in passes]))]
        hits = torch.cat([one.argmax(1) for one in outputs]) == labels
        shares = np.add.reduceat(hits.numpy(), starts, dtype=np.int64) / sizes
        for one, share in zip(passes, shares.tolist(), strict=True):
            for _, found in one.found:
                found[metric] = share
        if metric == "accuracy":
            for one, logits, wanted in zip(
                passes, outputs, torch.split(labels, sizes.tolist()), strict=True
            ):
                loss = float(F.cross_entropy(logits, wanted))
                for _, found in one.found:
                    found["loss"] = loss
        if metric == "accuracy_all_classes":  # on the same samples for all
            self._add_personal(passes, labels[: sizes[0]], hits.view(len(passes), -1))

    def _add_personal(self, passes: Sequence[Pass], labels: Tensor, hits: Tensor) -> None:
        """Add accuracies that weigh each sample by its class's share at the node; hits: (W, n)."""
        every = [(k, node, found) for k, p in enumerate(passes) for node, found in p.found]
        for start in range(0, len(every), NODES_AT_ONCE):
            some = every[start : start + NODES_AT_ONCE]
            weights = torch.stack([self._shares_of_classes(node) for _, node, _ in some])[:, labels]
            right = weights * hits[[k for k, _, _ in some]]
            values = (right.sum(1) / weights.sum(1)).tolist()
            for (_, _, found), value in zip(some, values, strict=True):
                if not math.isnan(value):  # the common samples have none of its classes
                    found["accuracy_personal"] = value

    def _shares_of_classes(self, node: int) -> Tensor:
        """The class distribution of the node's training and validation samples, (C,)."""
        if node not in self._class_shares:
            shards = self._shards
            own = np.concatenate([shards.rows[node].train, shards.rows[node].validation])
            labels = self._labels[torch.from_numpy(own)]
            counts = torch.bincount(labels, minlength=self._num_classes).double()
            self._class_shares[node] = counts / counts.sum()
        return self._class_shares[node]
