"""A fork beside the run that it was forked from: equal until then, and what differs after.

Both share every draw that their scenarios have in common, so the difference at a node is what the
change did there. Its spread is `std_nodes`, over the nodes of this one pair of runs: how much
another seed would differ, only other seeds tell.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetsimError
from netsim.recording import run_folder
from netsim.recording.csv_files import write_csv
from netsim.recording.metrics import names
from netsim.recording.run_difference import EVENTS, MEASURED, first_differences
from netsim.recording.run_mismatches import made_unlike
from netsim.recording.schema import ARRIVED, LOST
from netsim.recording.summary import write_json
from netsim.units import BITS_PER_MEGABYTE, NS_PER_S
from netsim.views import Column, Printed, Row
from netsim.views.gathering.comparison import NodePairs, node_pairs

UNITS = {
    "messages": ("messages sent", "", 1.0),
    "delivered_share": ("arrived", "%", 100.0),
    "lost_share": ("lost", "%", 100.0),
    "delay_s": ("message delay", "ms", 1e3),
    "transmitted_megabytes": ("transmitted", "MB", 1.0),
    "energy_j": ("energy", "J", 1.0),
    "local_steps": ("local steps", "", 1.0),
}
"""Title, unit and scale of what nodes are compared by; metrics are shown by their own names."""


class ForkDiffersError(NetsimError):
    """A fork is not equal to its original before the change."""


@dataclass(frozen=True)
class Pair:
    """A run and its fork."""

    original: Path
    fork: Path
    """Run folders."""
    at_s: float
    """The instant of the change."""


def require_equal_past(pair: Pair) -> dict[str, int]:
    """Check that both runs are equal before the change; how many rows of which tables were.

    Raises
    ------
    ForkDiffersError
        If a row differs; names the first.
    """
    known = {table: time for table, time in (EVENTS | MEASURED).items() if _have(pair, table)}
    rows = {
        table: [
            int((run_folder.read(f, table, [time])[time] < pair.at_s).sum()) for f in _folders(pair)
        ]
        for table, time in known.items()
    }
    parted = [d for d in first_differences(*_folders(pair)) if d.table in known]
    early = [d for d in parted if d.t_s < pair.at_s or d.row < min(rows[d.table])]
    if early or any(old != new for old, new in rows.values()):
        difference = str(early[0]) if early else f"rows before that: {rows}"
        raise ForkDiffersError(
            f"{pair.fork}: is not {pair.original} up to {pair.at_s:g} s: {difference}. Was "
            f"{pair.original} played by another version of netsim, on another machine or device, "
            f"or with other data or algorithm files? netsim verify {pair.original} tells; play it "
            "again here and fork that"
        )
    return {table: old for table, (old, _) in rows.items()}


def _have(pair: Pair, table: str) -> bool:
    return all(run_folder.has(folder, table) for folder in _folders(pair))


def _folders(pair: Pair) -> tuple[Path, Path]:
    return pair.original, pair.fork


def node_results(pair: Pair, nodes: int) -> dict[str, NodePairs]:
    """Pair the nodes' results in the fork and in the original, by measure.

    Metrics at the last common evaluation; energy and local steps by then; and of the messages that
    a node sent from the change on, how many, shares that arrived and were lost, mean delay of those
    that arrived, and what they took in transmissions.
    """
    found: dict[str, NodePairs] = {}
    if _have(pair, "metrics"):
        old, new = (run_folder.read(folder, "metrics") for folder in _folders(pair))
        for name in (metric for metric in names(old) if metric in names(new)):
            for measure, column in (
                (name, "value"),
                ("energy_j", "energy_j"),
                ("local_steps", "steps"),
            ):
                paired = node_pairs(new, old, name, column=column)
                if paired is not None:
                    found[measure] = paired
    if _have(pair, "messages"):
        old, new = (_messages(folder, pair.at_s, nodes) for folder in _folders(pair))
        for measure in old:
            both = np.flatnonzero(~(np.isnan(old[measure]) | np.isnan(new[measure])))
            found[measure] = NodePairs(both, new[measure][both], old[measure][both])
    return found


def _messages(folder: Path, at_s: float, nodes: int) -> dict[str, NDArray[np.float64]]:
    log = run_folder.read(folder, "messages")
    log = {name: cells[log["t_sent_s"] >= at_s] for name, cells in log.items()}

    def total(rows: NDArray[Any], of: NDArray[Any] | None = None) -> NDArray[np.float64]:
        weights = None if of is None else of[rows].astype(np.float64)
        return np.bincount(log["src"][rows], weights, nodes).astype(np.float64)

    every = np.ones(len(log["src"]), dtype=bool)
    arrived = np.isin(log["outcome"].astype(str), ARRIVED)
    lost = np.isin(log["outcome"].astype(str), LOST)
    sent, came = total(every), total(arrived)
    delay_ns = np.rint(log["age_s"] * NS_PER_S)  # sums are exact: equal delays have equal means
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "messages": sent,
            "delivered_share": came / sent,
            "lost_share": total(lost) / sent,
            "delay_s": total(arrived, delay_ns) / came / NS_PER_S,
            "transmitted_megabytes": total(every, log["bits_transmitted"]) / BITS_PER_MEGABYTE,
        }


def compare(pair: Pair, nodes: int) -> tuple[dict[str, dict[str, Any]], list[Row]]:
    """The paired differences by measure, over the nodes that have it in both, and node by node.

    By measure `original` and `fork`, means over nodes; `difference` and `std_nodes`, mean and
    standard deviation (divisor n) over nodes of fork - original; `nodes` that have it, and those of
    them where the fork's is `higher` or `lower`. Rows: `measure node original fork difference`.
    """
    found: dict[str, dict[str, Any]] = {}
    rows: list[Row] = []
    for measure, both in node_results(pair, nodes).items():
        old, new, diff = both.others, both.values, both.differences
        cells = zip(*(c.tolist() for c in (both.nodes, old, new, diff)), strict=True)
        columns = ("node", "original", "fork", "difference")
        rows += [{"measure": measure, **dict(zip(columns, row, strict=True))} for row in cells]
        if len(diff):
            found[measure] = {
                "original": float(old.mean()),
                "fork": float(new.mean()),
                "difference": float(diff.mean()),
                "std_nodes": float(diff.std()),
                "nodes": len(diff),
                "higher": int((diff > 0).sum()),
                "lower": int((diff < 0).sum()),
            }
    return found, rows


def write(pair: Pair, change: dict[str, Any], compared: dict[str, int], nodes: int) -> Printed:
    """Write `fork.json` and `fork_nodes.csv` into the fork's folder; the table to print.

    Parameters
    ----------
    change : dict
        The keys that were changed.
    compared : dict of str to int
        What `require_equal_past` found.
    """
    found, rows = compare(pair, nodes)
    unlike = made_unlike(_folders(pair), [str(folder) for folder in _folders(pair)])
    contents = {
        "original": str(pair.original.resolve()),
        "at_s": pair.at_s,
        "set": change,
        "rows_equal_before": compared,
        "unlike": unlike,
        "measures": found,
    }
    write_json(pair.fork / "fork.json", contents)
    if rows:
        write_csv(pair.fork / "fork_nodes.csv", rows)
    printed = _printed(found, pair.at_s)
    return replace(printed, note="\n".join([printed.note, *unlike]))


def _printed(found: dict[str, dict[str, Any]], at_s: float) -> Printed:
    names, cells = [], []
    for measure, of in found.items():
        title, unit, scale = UNITS.get(measure, (measure.replace("_", " "), "%", 100.0))
        if measure not in UNITS and "accuracy" not in measure:
            unit, scale = "", 1.0
        names.append(f"{title} [{unit}]".replace(" []", ""))
        row = [
            f"{of['original'] * scale:,.4g}",
            f"{of['fork'] * scale:,.4g}",
            f"{of['difference'] * scale:+,.3g} ± {of['std_nodes'] * scale:,.2g}",
            f"{of['higher']} of {of['nodes']}",
            str(of["lower"]),
        ]
        if not math.isfinite(of["difference"]):  # a node's model is not finite, in one or in both
            known = [math.isfinite(of[side]) for side in ("original", "fork")]
            row = [cell if k else "-" for cell, k in zip(row, [*known, *[False] * 3], strict=True)]
        cells.append(row)
    titles = ("original", "fork", "difference", "nodes higher", "lower")
    columns = [Column(t, [row[k] for row in cells]) for k, t in enumerate(titles)]
    note = (
        f"means over nodes; messages are those sent from {at_s:g} s on, all else is at the end; "
        "± is the standard deviation over nodes of the paired difference"
    )
    return Printed({"": names}, columns, note)
