"""Warning where methods that are compared have not trained about as much."""

from collections.abc import Mapping, Sequence
from typing import Any

MOST_RATIO = 1.5
"""Methods with more than so many times the local steps of another are not compared alike."""


def sentence(steps: Mapping[str, float], what: str) -> str | None:
    """A warning where the most local steps are more than `MOST_RATIO` times the fewest.

    Parameters
    ----------
    steps : mapping of str to float
        Local steps by method; those with none are left out.
    what : str
        What they are, such as `local steps in all`.
    """
    trained = {label: n for label, n in steps.items() if n > 0}
    if len(trained) < 2:
        return None
    fewest, most = min(trained, key=trained.__getitem__), max(trained, key=trained.__getitem__)
    ratio = trained[most] / trained[fewest]
    if ratio <= MOST_RATIO:
        return None
    return (
        f"{most} takes {ratio:,.3g} times as many {what} as {fewest} ({trained[most]:,.6g} and "
        f"{trained[fewest]:,.6g}): differences between them are of training as well"
    )


def of_runs(summaries: Sequence[Mapping[str, Any]]) -> str | None:
    """The warning on runs of one scenario that have ended, one an algorithm."""
    steps = {
        str(one.get("algorithm", k)): float(one["local_steps"])
        for k, one in enumerate(summaries)
        if isinstance(one.get("local_steps"), int)
    }
    return sentence(steps, "local steps")
