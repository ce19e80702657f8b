"""Models that can't be trained on minibatches of the sizes that nodes have, found before a run.

BatchNorm has no variance of one value a channel: a node with one training sample, or `batch_size =
1`, would end the run in its first step. Other models fail for sizes of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from netsim.errors import ScenarioError, one_line
from netsim.learning.architecture import Architecture
from netsim.learning.global_draws import ALONE
from netsim.learning.shards import Shards
from netsim.scenario.tables import Scenario

_MOST_SIZES = 64
"""So many sizes of a model are tried: the smallest ones and the largest."""


def require_trainable(
    scenario: Scenario, architectures: tuple[Architecture, ...], shards: Shards
) -> None:
    """Try every model on a minibatch of each size that a node trains on.

    Parameters
    ----------
    scenario : Scenario
    architectures : tuple of Architecture
        By node.
    shards : Shards
        Those that nodes have later are among them.

    Raises
    ------
    ScenarioError
        Naming node, size and remedy.
    """
    known: dict[Architecture, set[int]] = {}
    for batch_size in {scenario.training_of(entry).batch_size for entry in scenario.algorithm}:
        first: dict[Architecture, dict[int, int]] = {}
        for shard, node in enumerate(shards.holders):
            for size in _sizes(shards.train_size(shard), batch_size):
                first.setdefault(architectures[node], {}).setdefault(size, shard)
        for architecture, at in first.items():
            tried = known.setdefault(architecture, set())
            new = {s: at[s] for s in at if s not in tried}
            kind = scenario.model[architectures.index(architecture) % len(scenario.model)]
            if type(kind).__module__.startswith("netsim.models."):  # these take all other sizes
                new = {s: new[s] for s in new if s == 1 and architecture.normalises_batches}
            _try_sizes(architecture, new, batch_size, shards)
            tried |= at.keys()


def _sizes(samples: int, batch_size: int) -> set[int]:
    """Sizes of the minibatches of a shard; see `netsim.learning.minibatches`."""
    full, rest = divmod(samples, batch_size)
    return ({batch_size} if full else set()) | (
        {rest} if rest > 1 or (rest and not full) else set()
    )


def _sizes_to_try(sizes: Iterable[int]) -> list[int]:
    """The sizes to try, ascending."""
    ordered = sorted(sizes)
    return ordered if len(ordered) <= _MOST_SIZES else [*ordered[: _MOST_SIZES - 1], ordered[-1]]


def _try_sizes(
    architecture: Architecture, shard_of: Mapping[int, int], batch_size: int, shards: Shards
) -> None:
    """Run a model in training mode on so many samples, the smallest minibatch first.

    Parameters
    ----------
    architecture : Architecture
    shard_of : mapping of int to int
        By size of a minibatch, the first shard that has one.
    batch_size : int
    shards : Shards
    """
    sizes = _sizes_to_try(shard_of)
    if not sizes:
        return
    try:
        module = copy.deepcopy(architecture.module).train()
    except Exception as error:  # whatever a copy may raise
        raise ScenarioError(
            f"[model] {architecture.name}: can't be copied "
            f"({one_line(str(error).partition(chr(10))[0])}), which a run has to; hold what can't "
            "be outside of the module"
        ) from error
    for size in sizes:
        problem = _problem(module, size, shard_of[size], shards)
        if problem is None:
            continue
        node = shards.holders[shard_of[size]]
        samples = shards.train_size(shard_of[size])
        what = f"{size} sample{'s' if size > 1 else ''}"
        raise ScenarioError(
            f"[model] {architecture.name}: can't be trained on a minibatch of {what}, as node "
            f"{node} has with {samples} training sample{'s' if samples > 1 else ''} and batch_size "
            f"= {batch_size}: {problem}; {_remedy(architecture, size, batch_size)}"
        )


def _problem(module: nn.Module, size: int, shard: int, shards: Shards) -> str | None:
    """Error of a model on the first samples of a shard; None: none."""
    rows = torch.from_numpy(shards.rows[shard].train[:size]).to(shards.x.device)
    devices = [shards.x.device] if shards.x.device.type == "cuda" else []
    try:
        with ALONE, torch.no_grad(), torch.random.fork_rng(devices=devices):
            module(shards.x[rows])
    except Exception as error:  # a user's model raises what it likes
        return one_line(str(error).partition("\n")[0])[:300] or type(error).__name__
    return None


def _remedy(architecture: Architecture, size: int, batch_size: int) -> str:
    if size > 1 or not architecture.normalises_batches:
        return "change the model, or [training] batch_size"
    more = (
        "take [training] batch_size = 2 or more"
        if batch_size == 1
        else "give every node two training samples or more, such as by min_samples of "
        "[data.partition] or fewer nodes"
    )
    return f"{more}, or a model that normalises each sample alone (GroupNorm, LayerNorm)"
