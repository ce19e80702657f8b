"""Metrics from the outputs of models, for many models at a time.

Each is taken on four sets of samples and named after them. A classification has `accuracy` on all
of them and `loss` on a node's own test samples; any other task has `loss` and the metrics of its
own on all of them. Metrics of a model whose outputs are not finite are nan; samples without a
target that counts are in none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.learning.minibatches import Rows
from netsim.learning.shards import Shards
from netsim.node.publishing_verbs import Publication

SPLITS = ("test", "common_test", "validation", "common_validation")
"""Samples that metrics are taken on: a node's own, and those that all nodes share."""


def suffix(split: str, has_classes: bool) -> str:
    """Suffix of a metric's name: `accuracy_all_classes_validation`, `rmse_common`, ..."""
    common = "_all_classes" if has_classes else "_common"
    where = common if split.startswith("common") else ""
    return where + ("_validation" if split.endswith("validation") else "")


NODES_AT_ONCE = 256
"""Nodes whose samples are weighted at once; each takes a weight a sample."""

Metrics = dict[str, float]
"""Values by name, of one model of one node."""


@dataclass
class Pass:
    """One model on one set of samples, and the nodes' shards that go with both."""

    split: str  # which samples these are; see `SPLITS`
    publication: Publication  # the model
    rows: Rows  # (n,) int64: row numbers of the samples
    # the shard of each of these nodes, and its metrics so far; `Scores.add` adds to them
    found: list[tuple[int, Metrics]] = field(default_factory=list)
    # whether its outputs are numbers that it can be judged by; else its metrics are nan
    is_finite: bool = True


class Scores:
    """Turns outputs into metrics.

    `shards`: the samples of all nodes.
    """

    def __init__(self, shards: Shards, num_classes: int) -> None:
        self._shards, self._num_classes = shards, num_classes
        self._task, self._targets = shards.task, shards.y.cpu()
        self._class_shares: dict[int, Tensor] = {}

    def add(self, passes: Sequence[Pass], outputs: Sequence[Tensor]) -> None:
        """Add the metrics of passes to what is known of their nodes.

        `passes`: those of one split beside each other. `outputs`: (n, L) on the CPU, of each pass.
        """
        both = zip(passes, outputs, strict=True)
        for split, some in groupby(both, key=lambda one: one[0].split):
            self._add(split, *zip(*some, strict=True))

    def _add(self, split: str, passes: Sequence[Pass], outputs: Sequence[Tensor]) -> None:
        """Add what is measured on one split."""
        task = self._task
        end = suffix(split, task.has_classes)
        sizes = np.array([len(p.rows) for p in passes])
        targets = self._targets[torch.from_numpy(np.concatenate([p.rows for p in passes]))]
        each = torch.split(targets, sizes.tolist())
        hits = self._add_accuracies(f"accuracy{end}", passes, outputs, targets, sizes)
        for one, given, wanted in zip(passes, outputs, each, strict=True):
            counted = task.counted(wanted)
            if counted is not None and not counted.all():
                given, wanted = given[counted], wanted[counted]
            if not len(wanted):
                continue  # no target counts: there is nothing to measure
            more = {f"{name}{end}": v for name, v in task.metrics(given, wanted).items()}
            if split == "test" or not task.has_classes:
                more[f"loss{end}"] = float(task.loss(given, wanted))
            one.is_finite = task.are_finite(given, wanted)
            if not one.is_finite:
                accuracy = (f"accuracy{end}",) if task.has_classes else ()
                more = dict.fromkeys([*more, *accuracy], math.nan)
            for _, found in one.found:
                found |= more
        if split == "common_test" and hits is not None:  # on the same samples for all
            shape = len(passes), -1
            self._add_personal(passes, targets.view(shape), hits.view(shape))

    def _add_accuracies(
        self,
        name: str,
        passes: Sequence[Pass],
        outputs: Sequence[Tensor],
        targets: Tensor,
        sizes: NDArray[np.int64],
    ) -> Tensor | None:
        """Add accuracies where samples have classes; which of all samples are right, (n,).

        `targets`: (n, ...) of all samples, pass after pass. `sizes`: how many are of each.
        """
        if not self._task.has_classes:
            return None
        hits = torch.cat([one.argmax(1) for one in outputs]) == targets
        starts = np.cumsum(sizes) - sizes
        shares = np.add.reduceat(hits.numpy(), starts, dtype=np.int64) / sizes
        for one, share in zip(passes, shares.tolist(), strict=True):
            for _, found in one.found:
                found[name] = share
        return hits

    def _add_personal(self, passes: Sequence[Pass], labels: Tensor, hits: Tensor) -> None:
        """Add accuracies that weigh each sample by its class's share at the node.

        `labels` and `hits`: (W, n) of the common samples: as each of W passes has them, and whether
        it is right.
        """
        every = [(k, shard, found) for k, p in enumerate(passes) for shard, found in p.found]
        for start in range(0, len(every), NODES_AT_ONCE):
            some = every[start : start + NODES_AT_ONCE]
            which = [k for k, _, _ in some]
            shares = torch.stack([self._shares_of_classes(shard) for _, shard, _ in some])
            weights = shares.gather(1, labels[which])
            right = weights * hits[which]
            values = (right.sum(1) / weights.sum(1)).tolist()
            for (k, _, found), value in zip(some, values, strict=True):
                if not math.isnan(value):  # the common samples have none of its classes
                    found["accuracy_personal"] = value if passes[k].is_finite else math.nan

    def _shares_of_classes(self, shard: int) -> Tensor:
        """The class distribution of a shard's training and validation samples, (C,)."""
        if shard not in self._class_shares:
            shards = self._shards
            own = np.concatenate([shards.rows[shard].train, shards.rows[shard].validation])
            labels = self._targets[torch.from_numpy(own)]
            counts = torch.bincount(labels, minlength=self._num_classes).double()
            self._class_shares[shard] = counts / counts.sum()
        return self._class_shares[shard]
