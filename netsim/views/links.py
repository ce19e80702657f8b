"""Outcomes of messages by link: sender to receiver."""

import numpy as np

from netsim.recording.reader import RunFolder
from netsim.views import Columns, Panel, Quantity, Shown
from netsim.views.fates import known_outcomes

TITLE = "Messages by link"
PLACE = 50

MOST_ROWS = 300


def of_run(run: RunFolder) -> Shown | None:
    """Return one row per link, those with the most messages that did not arrive first."""
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
    shown = counts[order]
    table = {
        "src": pairs[order] // run.count,
        "dst": pairs[order] % run.count,
        "sent": sent[order],
        "delivered_share": arrived[order] / sent[order],
        **{word: shown[:, names.index(word)] for word in outcomes},
        "missed": (sent - arrived)[order],
    }
    columns = [
        Quantity("src", "from"),
        Quantity("dst", "to"),
        Quantity("sent", "messages"),
        Quantity("delivered_share", "delivered", "%"),
        *(Quantity(word, word, "messages") for word in outcomes),
        Quantity("missed", "not delivered", "messages"),
    ]
    every = "all" if len(pairs) == len(order) else f"{len(order)} of"
    caption = (
        f"Messages from a sender to a receiver and how they ended: {every} {len(pairs):,} links, "
        "those with the most messages not delivered first."
    )
    return Shown([Panel(Columns(columns, caption, "missed", descending=True), table)])
