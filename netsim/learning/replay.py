"""The past of a run that is played again without its tensor work.

What tensors decide in the course of a run goes through `node.value` alone. So the numbers that it
gave, in order, take the place of all training and mixing: the same events happen, and the same jobs
are submitted, of which none runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ReplayError
from netsim.learning.jobs import Job
from netsim.learning.refs import Ref

Numbers = NDArray[np.float64]


class Replay:
    """Stand-in for tensor work while a run is replayed.

    Parameters
    ----------
    numbers : (n,) float64
        All that `node.value` gave, in the order in which it was asked.
    kept : collection of int
        Numbers of cells whose jobs are needed afterwards.

    Attributes
    ----------
    jobs : dict of int to Job
        Those jobs, as they are submitted, by number.
    """

    def __init__(self, numbers: Numbers, kept: Collection[int]) -> None:
        self._numbers, self._given = numbers, 0
        self.kept = frozenset(kept)
        self.jobs: dict[int, Job[Any]] = {}

    @property
    def unread_count(self) -> int:
        """Number of recorded numbers that have not been read."""
        return len(self._numbers) - self._given

    def recorded_values(self, refs: Sequence[Ref]) -> list[Numbers]:
        """Return the numbers that `node.value` gave for Refs of these shapes.

        Raises
        ------
        ReplayError
            If it never gave so many numbers.
        """
        found = []
        for ref in refs:
            start, self._given = self._given, self._given + ref.num_values
            if self._given > len(self._numbers):
                raise ReplayError("more values were asked for than at first")
            found.append(self._numbers[start : self._given].reshape(ref.shape).copy())
        return found
