"""Activity of nodes over time: the share of each stretch that a node spent in a state.

`netsim export RUN --as timeline` writes the same stretches one by one, for ui.perfetto.dev.
"""

from typing import Any

import numpy as np

from netsim.recording import node_states, run_folder
from netsim.recording.reader import RunFolder
from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering.moments import moments

TITLE = "Activity of nodes over time"
PLACE = 75
NOTHING = f"activities were {node_states.NOT_RECORDED}"


def of_run(run: RunFolder) -> Shown | None:
    """Return one map per state, one row per node and one column per stretch; None without any."""
    if run.end_ns <= 0 or not run_folder.has(run.folder, "intervals"):
        return None
    ends_ns = np.rint(moments(run) * 1e9).astype(np.int64)
    edges = np.append(0, ends_ns)
    shares: dict[str, dict[int, Any]] = {}
    for node, spans in node_states.by_node(run.folder, run.end_ns):
        for state, spent in spans.items():
            inside = _inside(spent, edges) / np.diff(edges)
            if inside.any() and state != node_states.WAIT:
                shares.setdefault(state, {})[node] = inside
    if not shares:
        return None
    times = tuple(f"{t_ns / 1e9:.4g}" for t_ns in edges[:-1].tolist())
    nodes = tuple(str(node) for node in range(run.count))
    panels = []
    for state in (name for name in node_states.STATES if name in shares):
        found = shares[state]
        table = {
            "node": np.repeat(list(found), len(times)),
            "stretch": np.tile(np.arange(len(times)), len(found)),
            "t_begin_s": np.tile(edges[:-1] / 1e9, len(found)),
            "t_end_s": np.tile(edges[1:] / 1e9, len(found)),
            "share": np.concatenate(list(found.values())),
        }
        mark = Cells(
            Quantity("node", "Node"),
            Quantity("stretch", "Virtual time", "s"),
            Quantity("share", "Share of the stretch", "%"),
            run.count,
            "never",
            top=100.0,
            ticks=(nodes, times),
        )
        panels.append(Panel(mark, table, state))
    return Shown(
        panels, "one column per stretch from its time on; the rest of a node's time is waiting"
    )


def _inside(spent: node_states.Spans, edges: Any) -> Any:
    """Time of some spans that lies between each edge and the next [ns]."""
    lasts = spent.end_ns - spent.begin_ns
    rate = spent.busy_ns / np.maximum(lasts, 1)
    overlap = np.minimum(spent.end_ns[:, None], edges[None, 1:])
    overlap = overlap - np.maximum(spent.begin_ns[:, None], edges[None, :-1])
    return (rate[:, None] * np.maximum(overlap, 0)).sum(axis=0)
