"""Delays of messages, and their ages at use: distributions by kind."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.results.report.numbers import short
from netsim.results.report.run_tables import RunTables, Words

MOST_KINDS = 6
POINTS = 160


def gather(run: RunTables) -> dict[str, Any] | None:
    """Share of messages at or below a time, by kind; medians and 95 % quantiles."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    arrived = rows["outcome"].among(("delivered", "partial"))
    delay = rows["t_done_s"] - rows["t_sent_s"]
    found = {}
    shown = _distribution(rows["kind"], arrived & (delay >= 0), delay)
    if shown:
        found["delay"] = shown
    if run.uses:
        age = run.uses["age_at_use_s"]
        shown = _distribution(run.uses["kind"], np.isfinite(age), age)
        if shown:
            found["staleness"] = shown
    return found or None


def _distribution(
    kinds: Words, chosen: NDArray[np.bool_], values: NDArray[np.float64]
) -> dict[str, Any] | None:
    """Cumulative shares on one axis of times, which is logarithmic where they differ much."""
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
    lines = []
    for k in most:
        mine = np.sort(some[codes == k])
        share = np.searchsorted(mine, at, side="right") / len(mine)
        lines.append(
            {
                "kind": kinds.names[k],
                "messages": len(mine),
                "median_s": short(np.quantile(mine, 0.5)),
                "p95_s": short(np.quantile(mine, 0.95)),
                "max_s": short(mine[-1]),
                "share": short(share),
            }
        )
    return {"at_s": short(at, 5), "is_log": is_log, "lines": lines}
