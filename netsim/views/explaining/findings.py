"""Findings about a run: a sentence, its importance, and the queries behind it."""

from dataclasses import dataclass
from typing import Any

HARM, PACE, MINOR, OUTLOOK = "harm", "pace", "minor", "outlook"
"""Ranks: what went wrong; what the time went to; what went wrong a little; what could be."""
LEAST = 0.05
"""A harm of a smaller share is minor, and a part of the time is not told."""


@dataclass(frozen=True)
class Query:
    """A number, and the line of Python that gives it."""

    code: str
    """An expression over the names that `Evidence.loading` makes."""
    value: Any
    """Its value."""


@dataclass(frozen=True)
class Finding:
    """Something that limited a run."""

    rank: str
    """`harm`, `pace`, `minor` or `outlook`."""
    weight: float
    """Share of messages, of the nodes' time or of the chain of work that it took, in [0, 1]."""
    text: str
    """A sentence or two."""
    queries: tuple[Query, ...] = ()
    """The source of its numbers."""
    holds_back: bool = False
    """Of a pace: True where more speed of that part would make the run faster."""


def harm(weight: float, text: str, queries: tuple[Query, ...]) -> Finding:
    """Something that went wrong; minor if its share is below `LEAST`.

    Parameters
    ----------
    weight : float
        In [0, 1].
    """
    return Finding(HARM if weight >= LEAST else MINOR, weight, text, queries)


def percent(share: float) -> str:
    """A share in words: no decimals, but never 0 % of something nor 100 % of not all."""
    if 0.0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1.0:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def count(many: int, one: str, more: str = "") -> str:
    """A number of things.

    Parameters
    ----------
    one : str
        What one of them is called.
    more : str
        What several are called; empty: with an s.
    """
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def listed(names: list[int], most: int = 5) -> str:
    """Nodes by number: `node 3`, `nodes 1, 2 and 5`."""
    if len(names) == 1:
        return f"node {names[0]}"
    if len(names) > most:
        return f"{len(names)} nodes ({', '.join(map(str, names[:most]))}, ...)"
    return f"nodes {', '.join(map(str, names[:-1]))} and {names[-1]}"
