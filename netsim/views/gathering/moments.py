"""Stretches of a run's virtual time, and the times for which nodes were off."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from netsim.recording.reader import RunFolder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_NODES = 200
MOMENTS, MOMENTS_OF_MANY = 60, 30


def off_spans(run: RunFolder) -> tuple[Ints, Floats, Floats]:
    """Node, beginning and end [s] of each time for which a node was switched off.

    A node that is switched on first, in a run of an older version, has been off from the beginning;
    one that stays off is so up to the end of the run.
    """
    what = run.wakes.get("what")
    if what is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    switched = what.isin(("on", "off"))
    nodes, times = run.wakes["node"][switched].tolist(), run.wakes["t_s"][switched].tolist()
    since: dict[int, float] = {}
    met: set[int] = set()
    rows: list[tuple[int, float, float]] = []
    for node, t_s, off in zip(nodes, times, what.isin(("off",))[switched].tolist(), strict=True):
        if off:
            since[node] = t_s
        elif node in since or node not in met:
            rows.append((node, since.pop(node, 0.0), t_s))
        met.add(node)
    rows += [(node, t_s, run.end_s) for node, t_s in since.items()]
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]


def moments(run: RunFolder) -> Floats:
    """Ends [s] of equally long stretches of the run; those of many nodes are fewer."""
    many = MOMENTS if run.count <= FEW_NODES else MOMENTS_OF_MANY
    if run.end_s <= 0:
        return np.zeros(1)
    return np.linspace(0, run.end_s, many + 1)[1:]


def stretch_of(times_s: Floats, ends_s: Floats) -> Ints:
    """Return the stretch of each time: a stretch has its end, not its beginning."""
    found = np.searchsorted(ends_s, times_s, side="left")
    return cast("Ints", np.minimum(found, len(ends_s) - 1))
