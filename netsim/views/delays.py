"""Delays of messages, and their ages when they were used: distributions by kind."""

import numpy as np
from numpy.typing import NDArray

from netsim.recording.reader import RunFolder, Words
from netsim.recording.schema import ARRIVED
from netsim.views import Lines, Panel, Quantity, Shown
from netsim.views.gathering.numbers import seconds

TITLE = "Delay and age of messages"
PLACE = 60

MOST_KINDS = 6
POINTS = 160


def of_run(run: RunFolder) -> Shown | None:
    """Return the share of messages at or below a time, by kind; None where none arrived."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    arrived = rows["outcome"].isin(ARRIVED)
    delay = rows["t_done_s"] - rows["t_sent_s"]
    delays = Quantity("at_s", "Delay", "s"), "messages that arrived"
    panels = [_panel(rows["kind"], arrived & (delay >= 0), delay, *delays)]
    if run.uses:
        age = run.uses["age_at_use_s"]
        used = Quantity("at_s", "Age at use", "s"), "messages used"
        panels.append(_panel(run.uses["kind"], np.isfinite(age), age, *used))
    kept = [panel for panel in panels if panel is not None]
    return Shown(kept, "delay: from sending to arrival; age: from sending to use") if kept else None


def _panel(
    kinds: Words, chosen: NDArray[np.bool_], values: NDArray[np.float64], axis: Quantity, of: str
) -> Panel | None:
    """Cumulative shares `of` something on one axis of times, logarithmic where they differ much."""
    if not chosen.any():
        return None
    codes, some = kinds.codes[chosen], values[chosen].astype(np.float64)
    top, above = float(some.max()), some[some > 0]
    if top <= 0:
        return None
    low = float(np.quantile(above, 0.001))
    is_log = top / low > 30
    at = np.geomspace(low, top, POINTS) if is_log else np.linspace(0, top, POINTS)
    at[-1] = top
    counts = np.bincount(codes, minlength=len(kinds.names))
    most = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]][:MOST_KINDS]
    shares, legends = [], {}
    for k in most:
        mine = np.sort(some[codes == k])
        shares.append(np.searchsorted(mine, at, side="right") / len(mine))
        median, p95, largest = map(seconds, [*np.quantile(mine, (0.5, 0.95)).tolist(), mine[-1]])
        legends[kinds.names[k]] = f"median {median}, 95 % {p95}, most {largest}"
    table = {
        "kind": np.repeat([kinds.names[k] for k in most], POINTS),
        "at_s": np.tile(at, len(most)),
        "share_at_or_below": np.concatenate(shares),
        "messages": np.repeat(counts[most], POINTS),
    }
    y = Quantity("share_at_or_below", f"Share of {of}", "%")
    mark = Lines(axis, y, "kind", axis="distribution", is_log=is_log, told=legends)
    return Panel(mark, table, axis.label)
