"""The chain of work that rounds waited for: training, transmissions, waiting.

A round ends when every message has arrived or was given up and every node is done, so it is as long
as its longest chain. That is followed backwards from the end of each round: to the message that
ended last, from its sending to the training before it, or to the message that had come before that
at its sender, and so on to the round's beginning. What lies between two of these is waiting.

The log tells when a training was asked for and when the message after it was sent; from one to the
other counts as training. A training after the last message of a round counts up to its mean
duration (`nodes.step_s`), where the round lasted longer for another reason.
"""

from bisect import bisect_right
from typing import Any, NamedTuple

import pandas as pd

from netsim.recording.schema import ARRIVED

AIR, COMPUTE, WAIT = "air", "compute", "wait"


class Leg(NamedTuple):
    """A part of the chain."""

    t_begin_s: float
    t_end_s: float
    node: int
    part: str


def work_ends(messages: Any, wakes: Any, nodes: Any) -> Any:
    """Return the ends of each node's own work in each round, from the round's beginning on.

    That is the later one of its last sending and the end of its last training, which is taken to
    last as long as its steps do on average (`nodes.step_s`).

    Parameters
    ----------
    messages, wakes : pandas.DataFrame
        Tables of the run.
    nodes : pandas.DataFrame
        `nodes.parquet`, indexed by node.

    Returns
    -------
    pandas.DataFrame
        In s: one row per round, one column per node but for servers, which work when others have.
    """
    starts = wakes[wakes.what == "woke"].groupby("count").t_s.min().sort_values()
    jobs = wakes[(wakes.what == "job") & (wakes.t_s >= starts.min())]
    ends = pd.DataFrame(
        {
            "round": starts.index[starts.searchsorted(jobs.t_s, side="right") - 1],
            "node": jobs.node.to_numpy(),
            "t_s": (jobs.t_s + jobs["count"] * jobs.node.map(nodes.step_s)).to_numpy(),
        }
    )
    sent = messages[["round", "src", "t_sent_s"]].set_axis(["round", "node", "t_s"], axis=1)
    work = pd.concat([ends, sent[sent["round"].isin(starts.index)]])
    last = work.groupby(["round", "node"]).t_s.max().unstack()
    last = last[[node for node in last.columns if nodes.role[node] != "server"]]
    lasted = starts.shift(-1).sub(starts)
    return last.sub(starts, axis=0).reindex(starts.index).clip(upper=lasted, axis=0)


class _Log:
    """Messages and trainings of one round, ready to be looked up by node and time."""

    def __init__(self) -> None:
        self.ended: list[tuple[float, float, int]] = []
        self.came: dict[int, list[tuple[float, float, int]]] = {}
        self.jobs: dict[int, list[tuple[float, float, float]]] = {}

    def sort(self) -> None:
        for came in self.came.values():
            came.sort()
        for jobs in self.jobs.values():
            jobs.sort()


def critical_path(messages: Any, wakes: Any, nodes: Any, end_s: float) -> Any:
    """The legs of the chain that the rounds of a run waited for.

    Parameters
    ----------
    messages, wakes : pandas.DataFrame
        Tables of the run.
    nodes : pandas.DataFrame
        `nodes.parquet`, indexed by node.
    end_s : float
        How far the run came.

    Returns
    -------
    pandas.DataFrame
        `t_begin_s`, `t_end_s`, `node`, `part` (`air`: a message from sending to its end, waiting
        for radios included; `compute`; `wait`), from the last leg to the first. They are those of
        the rounds that ended: of the last one, whose end is not in the log, there are none unless
        it is the only one.
    """
    starts = sorted(wakes[wakes.what == "woke"].groupby("count").t_s.min().unique())
    step_s = nodes.step_s.to_dict()
    rounds = [_Log() for _ in starts]
    columns = (messages[name].tolist() for name in ("t_sent_s", "t_done_s", "src", "dst"))
    came = messages.outcome.isin(ARRIVED).tolist()
    for sent_s, done_s, src, dst, arrived in zip(*columns, came, strict=True):
        k = bisect_right(starts, sent_s) - 1
        if k >= 0:
            rounds[k].ended.append((done_s, sent_s, src))
            if arrived:
                rounds[k].came.setdefault(dst, []).append((done_s, sent_s, src))
    jobs = wakes[wakes.what == "job"]
    for at_s, node, steps in zip(
        *(jobs[c].tolist() for c in ("t_s", "node", "count")), strict=True
    ):
        k = bisect_right(starts, at_s) - 1
        if k >= 0:
            lasts_s = steps * float(step_s.get(node, 0.0))
            rounds[k].jobs.setdefault(node, []).append((at_s, at_s, lasts_s))
    legs: list[Leg] = []
    ends = starts[1:] or [end_s] * len(starts)
    for begin_s, finish_s, log in zip(starts, ends, rounds, strict=False):
        log.sort()
        legs += _chain(log, float(begin_s), float(finish_s))
    return pd.DataFrame(legs[::-1], columns=list(Leg._fields))


def _chain(log: _Log, begin_s: float, finish_s: float) -> list[Leg]:
    """The legs of one round, from its end backwards, returned from its beginning on."""
    legs: list[Leg] = []
    at_s, node = finish_s, -1
    done = max((ended for ended in log.ended if ended[0] <= finish_s), default=None)
    late = _last_training(log, finish_s)
    if late is not None and (done is None or late[0] >= done[0] or late[1] > done[0]):
        asked_s, ends_s, node = late
        at_s = _leg(legs, min(ends_s, finish_s), at_s, node, WAIT)
        at_s = _leg(legs, asked_s, at_s, node, COMPUTE)
    elif done is not None:
        done_s, sent_s, node = done
        at_s = _leg(legs, done_s, at_s, node, WAIT)
        at_s = _leg(legs, max(sent_s, begin_s), at_s, node, AIR)
    while at_s > begin_s:
        job = _before(log.jobs.get(node, []), at_s)
        came = _before(log.came.get(node, []), at_s)
        if job is not None and (came is None or job[0] >= came[0]):
            at_s = _leg(legs, job[0], at_s, node, COMPUTE)
        elif came is not None:
            at_s = _leg(legs, came[0], at_s, node, WAIT)
            node = came[2]
            at_s = _leg(legs, max(came[1], begin_s), at_s, node, AIR)
        else:
            break
    _leg(legs, begin_s, at_s, node, WAIT)
    return legs[::-1]


def _last_training(log: _Log, finish_s: float) -> tuple[float, float, int] | None:
    """(asked for, ends, node) of the training that ends last, by its mean duration."""
    found = [
        (asked_s, asked_s + lasts_s, node)
        for node, jobs in log.jobs.items()
        for asked_s, _, lasts_s in jobs[-1:]
        if asked_s < finish_s
    ]
    return max(found, key=lambda training: training[1], default=None)


def _before(table: list[Any], at_s: float) -> Any:
    """The last row of a sorted table whose two times lie before an instant, the first up to it."""
    place = bisect_right(table, at_s, key=lambda row: row[0])
    while place and min(table[place - 1][:2]) >= at_s:
        place -= 1
    return table[place - 1] if place else None


def _leg(legs: list[Leg], begin_s: float, end_s: float, node: int, part: str) -> float:
    """Add a leg, if it takes any time; where it begins."""
    if end_s > begin_s:
        legs.append(Leg(begin_s, end_s, node, part))
        return begin_s
    return end_s
