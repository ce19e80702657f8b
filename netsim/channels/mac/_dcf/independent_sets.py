"""Contenders of which not all hear each other: the stationary law of who is on the air."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NEVER, _SLOWEST = 1e-300, 1e-3
"""In place of a probability of 0; the least share of its silence in which a sender counts down."""
_MOST_SETS, _MOST_SENDERS = 2048, 62
"""Of more contenders, or with more independent sets, the law of a single group is taken."""

Floats = NDArray[np.float64]


class IndependentSets:
    """Contenders of which not all hear each other; who sends is an independent set of their graph.

    Parameters
    ----------
    who : list of int
        The senders.
    hears : (n, n) float64
        1 where the sender of a row hears that of a column.
    """

    def __init__(self, who: list[int], hears: Floats) -> None:
        self.who = np.array(who)
        near = hears[np.ix_(who, who)]
        masks = [int(sum(1 << j for j in np.flatnonzero(row))) for row in near]
        sets = [0]
        for i, mask in enumerate(masks):
            if len(sets) <= _MOST_SETS:
                sets += [one | 1 << i for one in sets if not one & mask]
        self.tractable = len(sets) <= _MOST_SETS and len(who) <= _MOST_SENDERS
        if self.tractable:
            bits = np.array(sets)[:, None] >> np.arange(len(who))
            self.on: Floats = (bits & 1).astype(float)
            self.off: Floats = 1.0 - self.on
            self.idle: Floats = (self.on @ (near + np.eye(len(who))) == 0.0).astype(float)

    def stationary_law(self, ratios: Floats) -> Law:
        """The stationary law, from the time of an exchange over that of a backoff: (senders,)."""
        logs = self.on @ np.log(ratios)
        weights = np.exp(logs - np.maximum.reduce(logs))
        weights /= np.add.reduce(weights)
        when_idle, when_on = (self.idle * weights[:, None]).T, (self.on * weights[:, None]).T
        idle = np.maximum(np.add.reduce(when_idle, 1), _NEVER)[:, None]
        silent = np.maximum(when_on @ self.off, _NEVER)
        return Law(
            weights @ self.on,
            when_idle @ self.idle / idle,
            when_idle @ self.on / idle,
            np.maximum(when_on @ self.idle / silent, _SLOWEST),
        )


class Law(NamedTuple):
    """Of senders in a group, the first by sender, the others by two senders i and j.

    Attributes
    ----------
    shares : (senders,) float64
        Of the time that it is on the air.
    counts : (senders, senders) float64
        Probability that j counts down when i does.
    beside : (senders, senders) float64
        Probability that j is on the air when i counts down.
    paces : (senders, senders) float64
        Share of its silence in which j counts down while i is on the air.
    """

    shares: Floats
    counts: Floats
    beside: Floats
    paces: Floats


@lru_cache(maxsize=64)
def partial_groups(contenders: tuple[tuple[int, ...], ...]) -> tuple[IndependentSets, ...]:
    """The groups among senders, by whom each hears: those whose sets are few enough."""
    apart = _contending_groups(contenders)
    if not apart:
        return ()
    hears = np.zeros((len(contenders), len(contenders)))
    for i, heard in enumerate(contenders):
        hears[i, list(heard)] = 1.0
    return tuple([group for who in apart if (group := IndependentSets(who, hears)).tractable])


def _contending_groups(contenders: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    """Groups of senders connected by hearing in which not all hear each other."""
    left, found = set(range(len(contenders))), []
    while left:
        group = [min(left)]
        for one in group:
            group += [j for j in contenders[one] if j not in group]
        left -= set(group)
        if any(len(contenders[one]) + 1 < len(group) for one in group):
            found.append(sorted(group))
    return found
