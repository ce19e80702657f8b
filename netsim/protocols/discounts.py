"""Weights of mixtures, discounted by the age of the messages that are mixed.

The kinds are those of `netsim.protocols.staleness`; every method that mixes messages takes one.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
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


SMALLEST = 1e-290
"""Sums of discounted weights from which on numbers hold their shares in full precision."""


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
    """Weights of a mixture, those of messages multiplied by the factor of their age.

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
        (m,), with the same sum; `weights` itself where nothing is lost. Without an own model they
        are exact at any age: of messages of which next to nothing is left, the freshest count most.

    Raises
    ------
    ProtocolError
        If there is no own model, and nothing is left of any message.

    Examples
    --------
    >>> shares = discounted(node, params, [theta, *thetas], [1 / m] * m)
    >>> node.log_weights([node.id, *ids], shares)
    >>> theta = node.mix([theta, *thetas], shares)
    """
    s = staleness_factors(node, params, values, own)
    if all(each == 1.0 for each in s):
        return weights
    if own is None:
        return _normalise_weights(node, params, values, weights, s)
    if isinstance(weights, Ref):
        return node.compute(_scaled, weights, s, own)  # type: ignore[no-any-return]
    scaled = [w * each for w, each in zip(weights, s, strict=True)]
    scaled[own] += sum(w - left for w, left in zip(weights, scaled, strict=True))
    return scaled


def _normalise_weights(
    node: Node, params: Any, values: Sequence[Ref], weights: Weights, s: tuple[float, ...]
) -> Weights:
    """Weights times s over their new sum, by logarithms where all are too small for numbers.

    Raises
    ------
    ProtocolError
        If nothing is left: each s is 0, and not only too small.
    """
    kind: Staleness = params.staleness
    logs = tuple(kind.log_of(node, value) for value in values)
    if isinstance(weights, Ref):
        _require_some(logs, kind)
        return node.compute(_rescaled, weights, s, logs)  # type: ignore[no-any-return]
    scaled, before = [w * each for w, each in zip(weights, s, strict=True)], sum(weights)
    total = sum(scaled)
    if total >= SMALLEST or min(weights, default=0.0) < 0:
        return [w / total * before for w in scaled] if total > 0 else weights
    of_logs = [
        math.log(w) + each if w > 0 else -math.inf for w, each in zip(weights, logs, strict=True)
    ]
    if not any(weights):
        return weights
    _require_some(of_logs, kind)
    left = [math.exp(each - max(of_logs)) for each in of_logs]
    return [w / sum(left) * before for w in left]


def _require_some(logs: Sequence[float], kind: Staleness) -> None:
    """Refuse messages of which nothing is left, by the logarithms of what they count."""
    if max(logs, default=0.0) == -math.inf:
        raise ProtocolError(
            f"discounted: staleness = {kind.model_dump()} leaves nothing of any of the "
            f"{len(logs)} messages, and there is no model of the node's own; give own=, or leave "
            f"out messages that count nothing{calling_line()}"
        )


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
def _scaled(weights: Tensor, s: tuple[float, ...], own: int) -> Tensor:
    """Weights (m,) times s; what is lost goes to the entry `own`."""
    scaled = weights * weights.new_tensor(s)
    kept = weights.new_zeros(len(s))
    kept[own] = (weights - scaled).sum()
    return scaled + kept


@batched
def _rescaled(weights: Tensor, s: tuple[float, ...], logs: tuple[float, ...]) -> Tensor:
    """Weights (m,) times s over their new sum; by their logarithms where that is nearly 0."""
    scaled = weights * weights.new_tensor(s)
    total = scaled.sum()
    usual = torch.where(total > 0, scaled / total * weights.sum(), weights)
    apart = [each - max(logs) for each in logs]  # in Python's precision
    of_logs = torch.where(weights > 0, weights.log() + weights.new_tensor(apart), -math.inf)
    is_small = total < torch.finfo(weights.dtype).tiny * 1e8
    by_logs = is_small & (weights >= 0).all() & (of_logs.max() > -math.inf)
    return torch.where(by_logs, torch.softmax(of_logs, 0) * weights.sum(), usual)
