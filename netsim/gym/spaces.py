"""Gymnasium's form of the spaces that methods declare."""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from gymnasium import spaces

from netsim.node.decisions import Best, Choice, Choices, Numbers, Shares, Space, Subset


@singledispatch
def of(space: Space) -> spaces.Space[Any]:
    """Return the Gymnasium space of the same values.

    Parameters
    ----------
    space : Space
        As a method declares it.

    Returns
    -------
    gymnasium.Space
        `Numbers`, `Best` and `Shares` are boxes of float64, `Choice` is discrete, `Choices`
        multi-discrete, `Subset` multi-binary.
    """
    raise NotImplementedError(type(space).__name__)


@of.register
def _(space: Numbers) -> spaces.Space[Any]:
    return spaces.Box(space.low, space.high, space.shape, np.float64)


@of.register
def _(space: Choice) -> spaces.Space[Any]:
    return spaces.Discrete(space.n)


@of.register
def _(space: Choices) -> spaces.Space[Any]:
    return spaces.MultiDiscrete(np.array(space.sizes))


@of.register
def _(space: Subset) -> spaces.Space[Any]:
    return spaces.MultiBinary(space.n)


@of.register
def _(space: Best) -> spaces.Space[Any]:
    return spaces.Box(0.0, 1.0, (space.n,), np.float64)


@of.register
def _(space: Shares) -> spaces.Space[Any]:
    return spaces.Box(0.0, 1.0, (space.n,), np.float64)


def of_each(declared: Mapping[str, Space]) -> spaces.Dict:
    """The space of an observation, by name."""
    return spaces.Dict({name: of(space) for name, space in declared.items()})


def shown(space: Space, value: Any) -> Any:
    """Give a value, in the form that methods get, in the form that agents get."""
    if isinstance(space, Subset):
        chosen = np.zeros(space.n, dtype=np.int8)
        chosen[list(value)] = 1
        return chosen
    if isinstance(space, Choices):
        return np.array(value, dtype=np.int64)
    if isinstance(space, Choice):
        return np.int64(value)
    return np.array(value, dtype=np.float64)


def observed(declared: Mapping[str, Space], values: Mapping[str, Any] | None) -> dict[str, Any]:
    """An observation as agents get it; None: nothing is known yet."""
    return {
        name: shown(space, space.unknown_value() if values is None else values[name])
        for name, space in declared.items()
    }
