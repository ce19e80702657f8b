"""A row a node: what it had, what it did, what it got."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.main_metric import is_share
from netsim.recording.schema import RECORDED
from netsim.results.report.numbers import short
from netsim.results.report.run_tables import RunTables
from netsim.results.starved import ARRIVED, SHARE, starved
from netsim.units import BITS_PER_MEGABYTE


def gather(run: RunTables) -> dict[str, Any] | None:
    """Columns with their titles and units, and which nodes are starved."""
    if run.count < 1:
        return None
    columns = [_column("node", "node", "", np.arange(run.count))]
    roles = run.nodes.get("role")
    if roles is not None and len(set(roles.tolist())) > 1:
        columns.append(
            {"key": "role", "title": "role", "unit": "", "values": [str(r) for r in roles.tolist()]}
        )
    if "malicious" in run.nodes and run.nodes["malicious"].any():
        words = ["malicious" if bad else "" for bad in run.nodes["malicious"].tolist()]
        columns.append({"key": "malicious", "title": "malicious", "unit": "", "values": words})
    columns += _had(run) + _learned(run) + _messages(run)
    return {
        "columns": columns,
        "starved": np.flatnonzero(_starved(run)).tolist(),
        "starved_share": SHARE,
    }


def _starved(run: RunTables) -> NDArray[np.bool_]:
    """Return the mask of nodes that starved."""
    if not run.messages:
        return np.zeros(run.count, dtype=np.bool_)
    came = run.messages["outcome"].among(ARRIVED)
    got = np.bincount(run.messages["dst"][came].astype(np.int64), minlength=run.count)
    return starved(got[: run.count], run.nodes.get("role"))


def _column(
    key: str, title: str, unit: str, values: NDArray[Any], digits: int = 4
) -> dict[str, Any]:
    return {"key": key, "title": title, "unit": unit, "values": short(values, digits)}


def _had(run: RunTables) -> list[dict[str, Any]]:
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
        columns.append(_column("speed", "speed", "", speed, 3))
    return columns


def _learned(run: RunTables) -> list[dict[str, Any]]:
    """The main metric at the end, and what it had cost the node."""
    rows, n = run.metrics, run.count
    if not rows or not len(rows["t_s"]):
        return []
    main = run.main.name
    chosen = rows["metric"].among((main,)) & ~rows["stage"].among((RECORDED,))
    columns = []
    if chosen.any():
        share = is_share(main)
        values = _last(rows["node"][chosen], rows["value"][chosen], n)
        unit = "%" if share else ""
        columns.append(
            _column("metric", f"{main} at the end", unit, values * (100 if share else 1))
        )
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


def _messages(run: RunTables) -> list[dict[str, Any]]:
    """Return the messages that a node sent and received."""
    rows, n = run.messages, run.count
    if not rows or not len(rows["src"]):
        return []
    src, dst = rows["src"].astype(np.int64), rows["dst"].astype(np.int64)
    came = rows["outcome"].among(("delivered", "partial"))
    sent, arrived = np.bincount(src, minlength=n), np.bincount(src[came], minlength=n)
    meant, got = np.bincount(dst, minlength=n), np.bincount(dst[came], minlength=n)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_sent = np.where(sent > 0, 100 * arrived / sent, np.nan)
        of_meant = np.where(meant > 0, 100 * got / meant, np.nan)
    latest = _latest(dst[came], rows["t_done_s"][came], n)
    columns = [
        _column("sent", "messages sent", "", sent),
        _column("sent_delivered", "of these delivered", "%", of_sent, 3),
        _column("received", "messages received", "", got),
        _column("received_share", "of those sent to it", "%", of_meant, 3),
        _column("last_received", "last received at", "s", latest),
    ]
    if run.uses:
        age, users = run.uses["age_at_use_s"], run.uses["dst"]
        used = np.isfinite(age)
        arrivals = np.bincount(users, minlength=n)
        total = np.bincount(users[used], weights=age[used], minlength=n)
        many = np.bincount(users[used], minlength=n)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = 100 * many / arrivals
            columns.append(_column("used", "models used of those that came", "%", share, 3))
            columns.append(_column("age", "mean age at use", "s", total / many, 3))
    return columns


def _latest(node: NDArray[Any], times: NDArray[Any], n: int) -> NDArray[np.float64]:
    """The greatest time of each node; NaN where it has none."""
    found = np.full(n, -np.inf)
    np.maximum.at(found, node, times)
    return np.where(np.isfinite(found), found, np.nan)
