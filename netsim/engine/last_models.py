"""Models that nodes published last, as a run keeps them: all of it, features, heads."""

from collections.abc import Collection
from typing import Any

import torch
from numpy.typing import NDArray

from netsim.backends.plain import looking
from netsim.learning.shards import Shards
from netsim.node.internals import NodeInternals

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
        with looking(last.ref.architecture):
            some = [model.features(x) for x in torch.split(test.x, AT_ONCE)]
        found["features"] = torch.cat(some)
        found["labels"] = test.y
    return {name: values.detach().cpu().numpy().copy() for name, values in found.items()}
