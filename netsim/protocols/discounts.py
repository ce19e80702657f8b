"""Weights of mixtures, discounted by the age of the messages that are mixed.

The kinds are those of `netsim.protocols.staleness`; every method that mixes messages takes one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.node.node import Node
from netsim.protocols.staleness import Staleness
from netsim.protocols.staleness.none import NoStaleness
from netsim.registry import Table, choice

Weights = TypeVar("Weights", Sequence[float], Ref)

if TYPE_CHECKING:
    Chosen = Staleness
else:
    Chosen = choice("netsim.protocols.staleness")


class StalenessParams(Table):
    """Effect of the age of a message on its weight.

    Attributes
    ----------
    staleness
        Factor of the weight of a message in a mixture, by its age; what it loses stays with the
        node's own model. By default the method's own weights hold. Source: Xie et al. 2019,
        FedAsync. Example: `{ kind = "polynomial", a = 0.5 }`
    """

    staleness: Chosen = NoStaleness()


def discounted(
    node: Node, params: Any, values: Sequence[Ref], weights: Weights, own: int | None = 0
) -> Weights:
    """The weights of a mixture, those of messages multiplied by what their age leaves of them.

    Parameters
    ----------
    node : Node
        Node that mixes.
    params : StalenessParams
    values : sequence of Ref
        Values that are mixed, by which the age is known; m.
    weights : sequence of float or Ref
        (m,)
    own : int or None
        Place of what is the node's own, which gets what messages lose; None: there is none, and
        the weights keep their sum.

    Returns
    -------
    sequence of float or Ref
        (m,), with the same sum; `weights` itself where nothing is lost.

    Examples
    --------
    >>> shares = discounted(node, params, [theta, *thetas], [1 / m] * m)
    >>> node.log_weights([node.id, *ids], shares)
    >>> theta = node.mix([theta, *thetas], shares)
    """
    s = staleness_factors(node, params, values, own)
    if all(each == 1.0 for each in s):
        return weights
    if isinstance(weights, Ref):
        return node.compute(_scaled, weights, s, own)  # type: ignore[no-any-return]
    scaled = [w * each for w, each in zip(weights, s, strict=True)]
    if own is not None:
        scaled[own] += sum(w - left for w, left in zip(weights, scaled, strict=True))
        return scaled
    total = sum(scaled)
    return [w / total * sum(weights) for w in scaled] if total > 0 else weights


def staleness_factors(
    node: Node, params: Any, values: Sequence[Ref], own: int | None = 0
) -> tuple[float, ...]:
    """Factor s of each value, for rules that are no mixtures; 1 for that at place `own`.

    Parameters
    ----------
    node : Node
    params : StalenessParams
    values : sequence of Ref
        m.
    own : int or None
        Place of what is the node's own; None: there is none.

    Returns
    -------
    tuple of float
        (m,)
    """
    kind: Staleness = getattr(params, "staleness", NoStaleness())
    return tuple(1.0 if k == own else kind.of(node, value) for k, value in enumerate(values))


@batched
def _scaled(weights: Tensor, s: tuple[float, ...], own: int | None) -> Tensor:
    """Weights (m,) times s; what is lost goes to the entry `own`, or to all as they are now."""
    scaled = weights * weights.new_tensor(s)
    if own is None:
        total = scaled.sum()
        return torch.where(total > 0, scaled / total * weights.sum(), weights)
    kept = weights.new_zeros(len(s))
    kept[own] = (weights - scaled).sum()
    return scaled + kept
