"""Use of virtual time, by node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.reader import RunFolder
from netsim.recording.schema import ARRIVED
from netsim.views import Layers, Panel, Quantity, Shown
from netsim.views.gathering.moments import off_spans

Floats = NDArray[np.float64]

Spans = tuple[NDArray[np.int64], Floats, Floats]
"""Node, begin and end [s] of each."""

TITLE = "Where virtual time went"
PLACE = 70

RECORDED = (
    "As recorded. A radio and a processor work at the same time: the columns of a node may add up "
    "to more than the run."
)
WORKED_OUT = (
    "Worked out from messages and training jobs, at their mean time; of what happens at "
    "the same time the first counts: off, train, transmit (waiting for the medium included), "
    "receive, asleep, wait."
)
ROUNDING = 1e-12
"""Share of a run below which a time is what sums round off."""

STATES = ("train", "compute", "transmit", "receive", "wait", "asleep", "off")


def of_run(run: RunFolder) -> Shown | None:
    """Return seconds by state and node: as recorded, else worked out from messages and jobs."""
    if run.count < 1 or run.end_s <= 0:
        return None
    recorded = run.summary.get("time_s")
    is_recorded = isinstance(recorded, dict) and all(len(v) == run.count for v in recorded.values())
    if isinstance(recorded, dict) and is_recorded:
        seconds = {name: np.asarray(recorded[name]) for name in STATES if name in recorded}
    elif not run.messages and not run.wakes:
        return None
    else:
        seconds = worked_out(run)
    shown = {name: cells for name, cells in seconds.items() if cells.any()}
    if not set(shown) - {"wait"}:
        return None
    table = {
        "node": np.tile(np.arange(run.count), len(shown)),
        "state": np.repeat(list(shown), run.count),
        "time_s": np.concatenate(list(shown.values())).astype(np.float64),
    }
    mark = Layers(
        Quantity("node", "Node"),
        Quantity("time_s", "Virtual time", "s"),
        "state",
        "states",
        1.0,
        order=True,
        whole=run.count * run.end_s,
    )
    return Shown([Panel(mark, table)], RECORDED if is_recorded else WORKED_OUT)


def worked_out(run: RunFolder) -> dict[str, Floats]:
    """Seconds of each node in states that exclude each other, the first that applies.

    Off; training, for the mean time of such a job, one job after another, standing still while
    the node is off; own messages under way, their waiting included; messages to it under way that
    arrived; asleep, the share of the rest for which its radio sleeps by its schedule; waiting.
    """
    end_s, n = run.end_s, run.count
    off = off_spans(run)
    layers = [off, _training(run, off)]
    rows = run.messages
    if rows:  # they last from sending to arrival
        begin, end = rows["t_sent_s"], rows["t_done_s"]
        layers.append((rows["src"], begin, end))
        came = rows["outcome"].isin(ARRIVED)
        layers.append((rows["dst"][came], begin[came], end[came]))
    covered: list[Floats] = []
    taken = np.zeros(n)
    met: Spans = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    for node, first, last in layers:
        met = union(
            np.concatenate([met[0], node]),
            np.concatenate([met[1], first]),
            np.concatenate([met[2], last]),
            end_s,
        )
        total = np.asarray(np.bincount(met[0], met[2] - met[1], minlength=n)[:n], dtype=np.float64)
        more = total - taken
        covered.append(np.where(more > ROUNDING * end_s, more, 0.0))
        taken = total
    found = dict(zip(("off", "train", "transmit", "receive"), covered, strict=False))
    idle = np.maximum(end_s - taken, 0.0)
    share = _share_asleep(run)
    return found | {"wait": idle * (1 - share), "asleep": idle * share}


def union(node: NDArray[Any], begin: Floats, end: Floats, end_s: float) -> Spans:
    """Stretches of time without overlap that cover the same, by node and time.

    Parameters
    ----------
    node : (K,) int
    begin, end : (K,) float64
        [s]
    end_s : float
        Where time ends [s].
    """
    node = np.asarray(node, dtype=np.int64)
    begin, end = np.clip(begin, 0.0, end_s), np.clip(end, 0.0, end_s)
    some = end > begin
    node, begin, end = node[some], begin[some], end[some]
    if not len(node):
        return node, begin, end
    order = np.lexsort((begin, node))
    node, begin, end = node[order], begin[order], end[order]
    shift = node * (2.0 * end_s)  # nodes one after another, so that one pass does for all
    reach = np.maximum.accumulate(end + shift)
    first = np.append(True, begin[1:] + shift[1:] > reach[:-1])
    starts = np.flatnonzero(first)
    last = np.append(starts[1:] - 1, len(node) - 1)
    return node[starts], begin[starts], reach[last] - shift[last]


def _training(run: RunFolder, off: Spans) -> Spans:
    """Return the training times of nodes: jobs in turn, each of its average length."""
    nothing = np.zeros(0)
    if "what" not in run.wakes or "step_s" not in run.nodes:
        return nothing.astype(np.int64), nothing, nothing
    jobs = run.wakes["what"].isin(("job",))
    node, asked = run.wakes["node"][jobs].astype(np.int64), run.wakes["t_s"][jobs]
    lasts = run.wakes["count"][jobs] * np.asarray(run.nodes["step_s"], dtype=np.float64)[node]
    if "delay_s" in run.nodes:
        lasts = lasts + np.asarray(run.nodes["delay_s"], dtype=np.float64)[node]
    order = np.lexsort((asked, node))
    node, asked, lasts = node[order], asked[order], lasts[order]
    # of each node end_k = max(asked_k, end_k-1) + lasts_k: a running maximum of asked - work before
    work = np.cumsum(lasts)
    before = work - lasts
    firsts = np.append(True, node[1:] != node[:-1]) if len(node) else np.zeros(0, dtype=bool)
    base = before[np.maximum.accumulate(np.where(firsts, np.arange(len(node)), 0))]
    apart = 2.0 * (run.end_s + float(work[-1] if len(work) else 0.0))
    slack = np.maximum.accumulate(asked - (before - base) + node * apart) - node * apart
    begin = slack + (before - base)
    end = begin + lasts
    whose, from_s, to_s = off
    for one, first, last in zip(whose.tolist(), from_s.tolist(), to_s.tolist(), strict=True):
        held = (node == one) & (begin < last) & (end > first)
        end[held] += last - first  # what is under way stands still
    return node, begin, end


def _share_asleep(run: RunFolder) -> Floats:
    """Share of the time for which each radio sleeps by its schedule; 0 where nothing says so."""
    if {"sleep_period_s", "sleep_awake_s"} <= set(run.nodes):
        period, awake = (run.nodes[f"sleep_{k}_s"].astype(np.float64) for k in ("period", "awake"))
        return np.nan_to_num(1.0 - awake / period)
    sleep = run.scenario.get("radio", {}).get("sleep", {})
    awake_share = sleep.get("awake_fraction")
    if sleep.get("kind") != "duty_cycle" or awake_share is None:
        return np.zeros(run.count)
    return np.full(run.count, 1.0 - awake_share)
