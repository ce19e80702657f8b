"""Share of a run's time that each part of the program takes."""

import cProfile
import pstats
from collections import Counter
from collections.abc import Callable

PartOf = Callable[[str, str], str | None]
"""The part that a function belongs to, by its source file and its name; None if to none."""


def own_times(profile: cProfile.Profile, part_of: PartOf) -> Counter[str]:
    """Seconds spent in each part; builtins and libraries, which belong to none, count for callers.

    Parameters
    ----------
    profile : cProfile.Profile
        Of a run that is over.
    part_of : callable
    """
    spent: Counter[str] = Counter()
    for (path, _, name), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():
        part = part_of(path, name)
        if part is not None:
            spent[part] += own
            continue
        for (caller, _, calling), (_, _, share, _) in callers.items():
            spent[part_of(caller, calling) or "the rest"] += share
    return spent
