"""Fates of messages by link: sender to receiver."""

from typing import Any

import numpy as np

from netsim.results.report.panels.fates import known_outcomes
from netsim.results.report.run_tables import RunTables

MOST_ROWS = 300


def gather(run: RunTables) -> dict[str, Any] | None:
    """A row a link, those with the most messages that did not arrive first."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    outcomes = known_outcomes(rows["outcome"].names, rows["outcome"].codes)
    names = rows["outcome"].names
    pair = rows["src"].astype(np.int64) * run.count + rows["dst"].astype(np.int64)
    pairs, link = np.unique(pair, return_inverse=True)
    counts = np.bincount(
        link * len(names) + rows["outcome"].codes, minlength=len(pairs) * len(names)
    ).reshape(len(pairs), len(names))
    sent = counts.sum(axis=1)
    arrived = counts[:, names.index("delivered")] if "delivered" in names else np.zeros_like(sent)
    order = np.argsort(arrived - sent, kind="stable")[:MOST_ROWS]
    columns = [names.index(word) for word in outcomes]
    return {
        "outcomes": outcomes,
        "links": len(pairs),
        "src": (pairs[order] // run.count).tolist(),
        "dst": (pairs[order] % run.count).tolist(),
        "sent": sent[order].tolist(),
        "counts": counts[order][:, columns].tolist(),
    }
