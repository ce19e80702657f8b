"""The map of nodes and links, and the collaboration graph, at the same moments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.reader import RunFolder
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.moments import Floats, Ints, moments, off_spans, stretch_of
from netsim.views.gathering.numbers import rounded_list

TITLE = "The network over time"
PLACE = 30

MOST_LINKS = 4000
"""Drawn at most: those with the most messages."""
MOST_COUNTS = 150_000
"""Numbers of messages by link and moment; of more, several moments share one."""
MOST_WEIGHTS = 250_000
"""Weights that changed, over all moments; of more, several moments share one."""
MOST_PEERS = 250
"""Of one node, where one moment alone has more weights than that."""
_EXACT = 300
"""Of more nodes a sample of the others pushes each away."""
_CHANGED = 5e-4
"""A weight that changed by less is as before."""


def of_run(run: RunFolder) -> Shown | None:
    """Return moments, places, messages by link, weights, who is off; None without any of these."""
    if run.count < 1:
        return None
    ends_s = moments(run)
    links = _links(run, ends_s)
    weights = _weights(run, ends_s)
    starts = _starts(run)
    if links is None and weights is None and starts is None:
        return None
    found: dict[str, Any] = {
        "moments_s": rounded_list(ends_s, 7),
        "nodes": run.count,
        "has_places": starts is not None,
        **_coordinates(run, ends_s, starts, links, weights),
    }
    roles = run.nodes.get("role")
    if roles is not None and len(set(roles.tolist())) > 1:
        found["roles"] = [str(role) for role in roles.tolist()]
    if links is not None:
        found["links"] = links
    if weights is not None:
        found["weights"] = weights
    switched = _off(run, ends_s)
    if switched:
        found["off"] = switched
    return Shown([Panel(OnPage("network", found))])


def has_map(run: RunFolder) -> bool:
    """Return whether nodes have places, or messages that link them."""
    return run.count > 0 and (_starts(run) is not None or len(run.messages.get("src", ())) > 0)


def _starts(run: RunFolder) -> Floats | None:
    """(N, 2) positions [m] at the start; None where nodes have none."""
    if not {"x_m", "y_m"} <= set(run.nodes):
        return None
    places = np.stack([run.nodes["x_m"], run.nodes["y_m"]], axis=1).astype(np.float64)
    return places if np.isfinite(places).all() else None


def _coordinates(
    run: RunFolder,
    ends_s: Floats,
    starts: Floats | None,
    links: dict[str, Any] | None,
    weights: dict[str, Any] | None,
) -> dict[str, Any]:
    """`x` and `y`: (N,), or (moments, N) where nodes move."""
    if starts is not None:
        moving = run.places(ends_s.tolist())
        at = starts if moving is None else moving
        return {
            "x": rounded_list(at[..., 0], 5),
            "y": rounded_list(at[..., 1], 5),
            "moves": moving is not None,
            "may_move": run.scenario.get("mobility", {}).get("kind", "static") != "static",
        }
    if links is not None:
        a, b = np.array(links["a"], dtype=np.int64), np.array(links["b"], dtype=np.int64)
    else:
        assert weights is not None
        a, b = (np.array(weights[end], dtype=np.int64) for end in ("node", "peer"))
        apart = (a != b) & (np.array(weights["weight"]) > 0)
        a, b = a[apart], b[apart]
    pairs = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1), axis=0)
    at = spring(run.count, pairs[:, 0], pairs[:, 1], 60 if run.count <= 300 else 25)
    return {"x": rounded_list(at[:, 0], 4), "y": rounded_list(at[:, 1], 4), "moves": False}


def _links(run: RunFolder, ends_s: Floats) -> dict[str, Any] | None:
    """Messages begun and delivered by pair of nodes, both ways together, and by moment."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    src, dst = rows["src"].astype(np.int64), rows["dst"].astype(np.int64)
    pair = np.minimum(src, dst) * run.count + np.maximum(src, dst)
    pairs, link = np.unique(pair, return_inverse=True)
    counts = np.bincount(link, minlength=len(pairs))
    chosen = np.sort(np.argsort(counts, kind="stable")[::-1][:MOST_LINKS])
    place = np.full(len(pairs), -1)
    place[chosen] = np.arange(len(chosen))
    stretch = stretch_of(rows["t_done_s"], ends_s)
    arrived = rows["outcome"].isin(("delivered",))
    inside = place[link] >= 0
    many, per = len(chosen), 1
    while True:
        key = (stretch // per)[inside] * many + place[link][inside]
        keys, which = np.unique(key, return_inverse=True)
        if len(keys) <= MOST_COUNTS or per >= len(ends_s):
            break
        per *= 2
    delivered = np.bincount(which, weights=arrived[inside], minlength=len(keys))
    return {
        "a": (pairs[chosen] // run.count).tolist(),
        "b": (pairs[chosen] % run.count).tolist(),
        "left_out": len(pairs) - len(chosen),
        "moments_each": per,
        "moment": (keys // many).tolist(),
        "link": (keys % many).tolist(),
        "sent": np.bincount(which, minlength=len(keys)).tolist(),
        "delivered": delivered.astype(np.int64).tolist(),
    }


def _weights(run: RunFolder, ends_s: Floats) -> dict[str, Any] | None:
    """Weights that changed, by the moment at which they hold: the last that was logged by then."""
    rows = run.graph
    if not rows or not len(rows["node"]):
        return None
    what = "applied"
    if "what" in rows and (learned := rows["what"].isin(("learned",))).any():
        what = "learned"
        rows = {name: rows[name][learned] for name in ("t_s", "node", "peer", "weight")}
    pair = rows["node"].astype(np.int64) * run.count + rows["peer"].astype(np.int64)
    stretch = stretch_of(rows["t_s"], ends_s)
    per = 1
    while True:
        chosen, moment = _last_changes(pair, stretch // per, rows["weight"])
        if len(chosen) <= MOST_WEIGHTS or per >= len(ends_s):
            break
        per *= 2
    kept = _strongest(pair[chosen] // run.count, moment, rows["weight"][chosen])
    chosen, moment = chosen[kept], moment[kept]
    return {
        "what": what,
        "moments_each": per,
        "moment": moment.tolist(),
        "node": (pair[chosen] // run.count).tolist(),
        "peer": (pair[chosen] % run.count).tolist(),
        "weight": rounded_list(np.nan_to_num(rows["weight"][chosen]), 3),
        "left_out": int((~kept).sum()),
    }


def _last_changes(pair: Ints, moment: Ints, weight: Floats) -> tuple[Ints, Ints]:
    """Rows that hold a pair's last weight of a moment, and one other than that before; in order."""
    order = np.lexsort((np.arange(len(pair)), moment, pair))
    pair, moment, weight = pair[order], moment[order], weight[order]
    last = np.append((pair[1:] != pair[:-1]) | (moment[1:] != moment[:-1]), True)
    order, pair, moment, weight = order[last], pair[last], moment[last], weight[last]
    before = np.where(np.append(False, pair[1:] == pair[:-1]), np.append(0.0, weight[:-1]), 0.0)
    new = np.abs(weight - before) > _CHANGED
    order, moment = order[new], moment[new]
    in_time = np.argsort(moment, kind="stable")
    return order[in_time], moment[in_time]


def _strongest(node: Ints, moment: Ints, weight: Floats) -> NDArray[np.bool_]:
    """Choose the weights to keep: all, or of each node and moment the greatest."""
    kept = np.ones(len(node), dtype=np.bool_)
    if len(node) <= MOST_WEIGHTS:
        return kept
    order = np.lexsort((-weight, node, moment))
    ahead = np.append(True, (node[order][1:] != node[order][:-1])
                      | (moment[order][1:] != moment[order][:-1]))  # fmt: skip
    begins = np.maximum.accumulate(np.where(ahead, np.arange(len(order)), 0))
    kept[order] = np.arange(len(order)) - begins < MOST_PEERS
    return kept


def _off(run: RunFolder, ends_s: Floats) -> list[list[int]]:
    """Return the nodes that are off at each moment; empty where none ever is."""
    node, begin, end = off_spans(run)
    until = np.where(end < run.end_s, end, np.inf)  # those that are off at the end stay so
    return [sorted(node[(begin <= t) & (t < until)].tolist()) for t in ends_s] if len(node) else []


def spring(nodes: int, a: Ints, b: Ints, rounds: int = 60) -> Floats:
    """(N, 2) positions in the unit square by attraction along links and repulsion.

    The layout is Fruchterman's and Reingold's, the same for the same links.

    Parameters
    ----------
    a, b : (L,) int64
        The ends of each link.
    rounds : int
        Steps of the layout, each shorter than the last.
    """
    angle = 2 * np.pi * np.arange(nodes) / max(nodes, 1)
    at = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if nodes > 2 and len(a):
        draws = np.random.default_rng(nodes)
        near = np.sqrt(np.pi / nodes)
        for step in np.linspace(0.15, 0.005, rounds):
            others = (
                np.broadcast_to(np.arange(nodes), (nodes, nodes))
                if nodes <= _EXACT
                else draws.integers(nodes, size=(nodes, _EXACT))
            )
            apart = at[:, None] - at[others]
            squared = np.maximum((apart**2).sum(axis=2), 1e-6)
            scale = nodes / others.shape[1]
            push = (apart * (near**2 / squared)[..., None]).sum(axis=1) * scale
            along = at[a] - at[b]
            pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
            for axis in range(2):
                push[:, axis] -= np.bincount(a, pull[:, axis], nodes)
                push[:, axis] += np.bincount(b, pull[:, axis], nodes)
            push -= 0.3 * at  # parts that are not linked stay on the page
            length = np.maximum(np.linalg.norm(push, axis=1), 1e-9)
            at = at + push / length[:, None] * np.minimum(length, step)[:, None]
    low, extent = at.min(axis=0), np.ptp(at, axis=0)
    return np.asarray((at - low) / np.where(extent > 0, extent, 1.0), dtype=np.float64)
