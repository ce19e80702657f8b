"""Fates of messages over time, by kind."""

from typing import Any

import numpy as np

from netsim.recording.schema import OUTCOMES
from netsim.results.report.moments import moments, stretch_of
from netsim.results.report.numbers import short
from netsim.results.report.run_tables import RunTables

MOST_KINDS = 8


def gather(run: RunTables) -> dict[str, Any] | None:
    """Messages by kind, outcome and stretch of time (that in which they ended)."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    ends_s = moments(run)
    stretch = stretch_of(rows["t_done_s"], ends_s)
    outcomes = known_outcomes(rows["outcome"].names, rows["outcome"].codes)
    kinds = rows["kind"]
    by_kind = np.bincount(kinds.codes, minlength=len(kinds.names))
    shown = [k for k in np.argsort(-by_kind, kind="stable").tolist() if by_kind[k]][:MOST_KINDS]
    place = {name: k for k, name in enumerate(rows["outcome"].names)}
    size = len(ends_s)
    key = (kinds.codes * len(place) + rows["outcome"].codes) * size + stretch
    counts = np.bincount(key, minlength=len(kinds.names) * len(place) * size)
    counts = counts.reshape(len(kinds.names), len(place), size)
    return {
        "ends_s": short(ends_s, 7),
        "outcomes": outcomes,
        "kinds": [kinds.names[k] for k in shown],
        "counts": [[counts[k, place[word]].tolist() for word in outcomes] for k in shown],
        "left_out": sum(1 for count in by_kind.tolist() if count) - len(shown),
    }


def known_outcomes(names: tuple[str, ...], codes: Any) -> list[str]:
    """The outcomes that occur, in the order of `schema.OUTCOMES`, those that it lacks behind."""
    counts = np.bincount(codes, minlength=len(names))
    there = [name for name, count in zip(names, counts, strict=True) if count]
    return sorted(there, key=lambda n: (OUTCOMES.index(n) if n in OUTCOMES else len(OUTCOMES), n))
