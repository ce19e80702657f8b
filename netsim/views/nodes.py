"""One row per node: its data and device, its work, its messages and accuracy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.main_metric import is_share
from netsim.recording.metrics import STARVED_SHARE, starved
from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED, RECORDED
from netsim.units import BITS_PER_MEGABYTE
from netsim.views import Columns, Panel, Quantity, Shown

TITLE = "Nodes"
PLACE = 80

_Cells = tuple[Quantity, NDArray[Any]]
"""A column and its values."""


def of_run(run: RunFolder) -> Shown | None:
    """Return one row per node; those that starve are marked."""
    if run.count < 1:
        return None
    columns = [_column("node", "node", "", np.arange(run.count))]
    is_starved = _starved(run)
    if is_starved.any():
        columns.append(_word_column("starved", is_starved))
    roles = run.nodes.get("role")
    if roles is not None and len(set(roles.tolist())) > 1:
        columns.append((Quantity("role", "role"), np.array([str(r) for r in roles.tolist()])))
    if "malicious" in run.nodes and run.nodes["malicious"].any():
        columns.append(_word_column("malicious", run.nodes["malicious"]))
    columns += _had(run) + _learned(run) + _messages(run)
    starved_nodes = frozenset(np.flatnonzero(is_starved).tolist())
    mark = Columns(
        [quantity for quantity, _ in columns],
        "One row per node. A heading sorts; a node's number picks it out in the figures.",
        "node",
        picks=True,
        marked=starved_nodes,
    )
    table = {quantity.column: cells for quantity, cells in columns}
    return Shown([Panel(mark, table)], _starved_sentence(len(starved_nodes)))


def _starved_sentence(starved_nodes: int) -> str:
    """A sentence on nodes that starve; empty where none does."""
    if not starved_nodes:
        return ""
    named = "One node is" if starved_nodes == 1 else f"{starved_nodes} nodes are"
    return (
        f"{named} starved: fewer than {100 * STARVED_SHARE:g} % as many messages arrived as at the "
        "median node. Their rows are marked."
    )


def _word_column(word: str, chosen: NDArray[np.bool_]) -> _Cells:
    """A column with a word at some nodes."""
    return Quantity(word, word), np.where(chosen, word, "")


def _starved(run: RunFolder) -> NDArray[np.bool_]:
    """Return the mask of nodes that starved."""
    if not run.messages:
        return np.zeros(run.count, dtype=np.bool_)
    came = run.messages["outcome"].isin(ARRIVED)
    got = np.bincount(run.messages["dst"][came].astype(np.int64), minlength=run.count)
    return starved(got[: run.count], run.nodes.get("role"))


def _column(key: str, title: str, unit: str, values: NDArray[Any]) -> _Cells:
    return Quantity(key, title, unit), np.asarray(values)


def _had(run: RunFolder) -> list[_Cells]:
    """Data and speed, where they differ or tell something."""
    columns = []
    if "train_samples" in run.nodes and run.nodes["train_samples"].any():
        samples = run.nodes["train_samples"]
        columns.append(_column("train_samples", "training samples", "", samples))
    if "class_counts" in run.nodes:
        classes = np.array([int((np.asarray(c) > 0).sum()) for c in run.nodes["class_counts"]])
        if classes.any():
            columns.append(_column("classes", "classes", "", classes))
    speed = run.nodes.get("speed")
    if speed is not None and len(set(speed.tolist())) > 1:
        columns.append(_column("speed", "speed", "", speed))
    return columns


def _learned(run: RunFolder) -> list[_Cells]:
    """The main metric at the end, and what it had cost the node."""
    rows, n = run.metrics, run.count
    if not rows or not len(rows["t_s"]):
        return []
    main = run.main.name
    chosen = rows["metric"].isin((main,)) & ~rows["stage"].isin((RECORDED,))
    columns = []
    if chosen.any():
        share = is_share(main)
        values = _last(rows["node"][chosen], rows["value"][chosen], n)
        unit = "%" if share else ""
        columns.append(_column("metric", f"{main} at the end", unit, values))
    for key, title, unit, per in (
        ("steps", "local steps", "", 1.0),
        ("bits_transmitted", "transmitted", "MB", 1 / BITS_PER_MEGABYTE),
        ("energy_j", "energy", "J", 1.0),
    ):
        if key in rows:
            values = _last(rows["node"], rows[key] * per, n)
            if np.nanmax(values, initial=0.0) > 0:
                columns.append(_column(key, title, unit, values))
    return columns


def _last(node: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[np.float64]:
    """The last value of each node; NaN where it has none."""
    found = np.full(n, np.nan)
    found[node.astype(np.int64)] = values  # of several the last is kept
    return found


def _messages(run: RunFolder) -> list[_Cells]:
    """Numbers of messages that it sent and received."""
    rows, n = run.messages, run.count
    if not rows or not len(rows["src"]):
        return []
    src, dst = rows["src"].astype(np.int64), rows["dst"].astype(np.int64)
    came = rows["outcome"].isin(ARRIVED)
    sent, arrived = np.bincount(src, minlength=n), np.bincount(src[came], minlength=n)
    meant, got = np.bincount(dst, minlength=n), np.bincount(dst[came], minlength=n)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_sent = np.where(sent > 0, arrived / sent, np.nan)
        of_meant = np.where(meant > 0, got / meant, np.nan)
    latest = _latest(dst[came], rows["t_done_s"][came], n)
    columns = [
        _column("sent", "messages sent", "", sent),
        _column("sent_delivered", "of these delivered", "%", of_sent),
        _column("received", "messages received", "", got),
        _column("received_share", "of those sent to it", "%", of_meant),
        _column("last_received", "last received at", "s", latest),
    ]
    if run.uses:
        age, users = run.uses["age_at_use_s"], run.uses["dst"]
        used = np.isfinite(age)
        arrivals = np.bincount(users, minlength=n)
        total = np.bincount(users[used], weights=age[used], minlength=n)
        many = np.bincount(users[used], minlength=n)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = many / arrivals
            columns.append(_column("used", "models used of those that came", "%", share))
            columns.append(_column("age", "mean age at use", "s", total / many))
    return columns


def _latest(node: NDArray[Any], times: NDArray[Any], n: int) -> NDArray[np.float64]:
    """The greatest time of each node; NaN where it has none."""
    found = np.full(n, -np.inf)
    np.maximum.at(found, node, times)
    return np.where(np.isfinite(found), found, np.nan)
