"""Contenders of which not all hear each other: the stationary law of who is on the air."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NEVER, _SLOWEST = 1e-300, 1e-3
"""In place of a probability of 0; the least share of its silence in which a sender counts down."""
_MOST_SETS = 2048
"""Of contenders that form more independent sets than these, the law of a single group is taken."""

Floats = NDArray[np.float64]


class Crowd:
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
            sets += [one | 1 << i for one in sets if not one & mask]
            if len(sets) > _MOST_SETS:
                break
        self.tractable = len(sets) <= _MOST_SETS
        self.on = np.array([[one >> i & 1 for i in range(len(who))] for one in sets], dtype=float)
        self.idle = (self.on @ (near + np.eye(len(who))) == 0.0).astype(float)

    def law(self, ratios: Floats) -> Law:
        """The stationary law, from the time of an exchange over that of a backoff: (senders,)."""
        logs = self.on @ np.log(ratios)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        when_idle, when_on = (self.idle * weights[:, None]).T, (self.on * weights[:, None]).T
        idle = np.maximum(when_idle.sum(1), _NEVER)[:, None]
        silent = np.maximum(when_on @ (1.0 - self.on), _NEVER)
        return Law(
            weights @ self.on,
            when_idle @ self.idle / idle,
            when_idle @ self.on / idle,
            np.maximum(when_on @ self.idle / silent, _SLOWEST),
        )


class Law(NamedTuple):
    """Of senders in a crowd, the first by sender, the others by two senders i and j.

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


def crowds(contenders: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    """The senders that hang together by hearing, where not all of them hear each other."""
    left, crowds = set(range(len(contenders))), []
    while left:
        crowd = [min(left)]
        for one in crowd:
            crowd += [j for j in contenders[one] if j not in crowd]
        left -= set(crowd)
        if any(len(contenders[one]) + 1 < len(crowd) for one in crowd):
            crowds.append(sorted(crowd))
    return crowds
