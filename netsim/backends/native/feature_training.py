"""Training by any loss: PyTorch differentiates it, the kernel computes the model's features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from torch import Tensor, nn

from netsim.backends.native.features import Features, standing_in
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.parameter_store import ParameterStore
from netsim.backends.stacked.loss_training import LossSteps, LossTraining
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.global_draws import generator, mask_seed
from netsim.learning.jobs import BatchKey, Job
from netsim.learning.minibatches import Rows
from netsim.learning.shards import Shards
from netsim.rng import Streams


class FeatureTraining:
    """Trainer of jobs by a loss of the algorithm's own.

    Parameters
    ----------
    architecture : Architecture
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where models and states lie.
    divergences : Divergences
        To be told of every training.
    streams : Streams
        Seeds the masks of random layers.
    features : sequence of Features
        What the kernel computes.

    Raises
    ------
    UnsupportedError
        If there are no such parts, or layers elsewhere draw masks.
    """

    def __init__(
        self,
        architecture: Architecture,
        shards: Shards,
        store: ParameterStore,
        divergences: Divergences,
        streams: Streams,
        features: Sequence[Features],
    ) -> None:
        if not features:
            raise UnsupportedError("a model without features")
        inside = set(features[0].module.modules())
        if any(_is_random(m) for m in set(architecture.module.modules()) - inside):
            raise UnsupportedError("layers behind the features that draw in PyTorch")
        self._features, self._streams = features, streams
        self._is_random = architecture.is_random
        self._training = LossTraining(architecture, shards, store, divergences, self._prepare_lanes)

    def run(self, jobs: Sequence[Job[LossSteps]]) -> list[list[Tensor]]:
        """Results of jobs of one signature; see `LossTraining.run`."""
        return self._training.run(jobs)

    @contextmanager
    def _prepare_lanes(self, works: Sequence[LossSteps], lanes: Rows, step: int) -> Iterator[None]:
        width = len(np.unique(lanes))  # a lone lane runs twice
        drawn = []
        if self._is_random:
            for i in lanes[:width].tolist():
                batches = works[i].batches
                key = BatchKey(batches.shard, batches.stream, batches.first + step)
                drawn.append(generator(self._features[0].device, mask_seed(self._streams, key)))
        for part in self._features:
            part.width, part.generators = width, drawn
        with standing_in([(part.module, part) for part in self._features]):
            yield


def _is_random(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd)
