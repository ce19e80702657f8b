"""Limits of a run, and nodes that starved: findings, the most important first.

What can limit a run is a file of `causes`, found by its name; each says what it measures. With the
numbers of a finding go the queries that give them, lines of Python over the tables of the run
folder: they are shown and never executed here.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from netsim.registry import public_modules
from netsim.views.explaining import causes
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import HARM, MINOR, OUTLOOK, PACE, Finding

__all__ = ["Evidence", "Finding", "explained", "limits"]

_ORDER = (HARM, PACE, MINOR, OUTLOOK)


def explained(folder: Path) -> tuple[Evidence, list[Finding]]:
    """The tables of a run and all findings about it.

    Raises
    ------
    ScenarioError
        If it is no run folder, or holds neither messages nor wake-ups.
    """
    run = Evidence(folder)
    found: list[Finding] = []
    for module in public_modules(causes.__name__).values():
        find = cast(Callable[[Evidence], Iterable[Finding]], module.find)
        run.begin()
        found += find(run)
    found.sort(key=lambda each: (_ORDER.index(each.rank), -each.weight))
    return run, found


def limits(found: Iterable[Finding]) -> bool:
    """Return whether any finding held the run back: a harm, or a pace that is not waiting."""
    return any(f.rank == HARM or (f.rank == PACE and f.holds_back) for f in found)
