"""Leads: a method against its best baseline, by differences of runs that share a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from netsim import spread
from papers.results.numbers import Result
from papers.results.tables import Column, Row

Word = Literal["holds", "behind", "not clear", "one seed", "not played"]

Seeds = Mapping[int, Result]


@dataclass(frozen=True)
class Difference:
    """A mean of paired differences, half its 95 % interval, and the number of pairs."""

    mean: float
    half: float | None
    pairs: int


@dataclass(frozen=True)
class Lead:
    """A method against its best baseline in one column.

    Attributes
    ----------
    column : Column
    method : str
    row, baseline : Row or None
        Those compared; None: nothing is played of them.
    difference : Difference or None
    printed_baseline : Row or None
        The best in the paper.
    printed : float or None
        The lead over it there.
    """

    column: Column
    method: str
    row: Row | None
    baseline: Row | None
    difference: Difference | None
    printed_baseline: Row | None
    printed: float | None

    @property
    def word(self) -> Word:
        """Return the word for the difference."""
        if self.difference is None:
            return "not played"
        return word(self.difference)

    @property
    def is_below_printed(self) -> bool:
        """Return whether the paper's lead is above the whole interval."""
        difference = self.difference
        if difference is None or difference.half is None or self.printed is None:
            return False
        return difference.mean + difference.half < self.printed


def word(difference: Difference) -> Word:
    """Return the word for a difference of a lead."""
    mean, half = difference.mean, difference.half
    if half is None:
        return "one seed"
    if mean - half > 0:
        return "holds"
    return "behind" if mean + half < 0 else "not clear"


def values_of(seeds: Seeds, measure: str) -> dict[int, float]:
    """A measure by seed."""
    return {s: r.values[measure] for s, r in seeds.items() if measure in r.values}


def paired(a: Seeds, b: Seeds, measure: str) -> Difference | None:
    """The mean of a - b over the seeds that both have; None if they have none in common.

    Parameters
    ----------
    a, b : mapping of int to Result
    measure : str
    """
    left, right = values_of(a, measure), values_of(b, measure)
    both = [left[s] - right[s] for s in left if s in right]
    if not both:
        return None
    return Difference(*spread(both))
