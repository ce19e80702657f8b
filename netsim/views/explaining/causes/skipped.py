"""Skipped wake-ups: a node's clock rang while it was at other work, or off.

Measure: the share of all wake-ups that were skipped; and of these, how many fell into a training.
"""

import pandas as pd

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent

_TRAINING = (
    "pd.merge_asof(wakes[wakes.what == 'skipped'][['t_s', 'node']].sort_values('t_s', "
    "kind='stable'), wakes[wakes.what == 'job'].assign(end_s=lambda w: w.t_s + w['count'] * "
    "w.node.map(nodes.step_s))[['t_s', 'node', 'end_s']].sort_values('t_s', kind='stable'), "
    "on='t_s', by='node').pipe(lambda both: (both.end_s > both.t_s).mean())"
)
"""Of the skipped ones, the share that fell into a training, by its mean duration."""
_WAKES = 'wakes[wakes.what.isin(["woke", "skipped"])]'


def find(run: Evidence) -> list[Finding]:
    """Wake-ups that led to nothing."""
    wakes = run.wakes[run.wakes.what.isin(["woke", "skipped"])]
    was_skipped = wakes.what == "skipped"
    many = int(was_skipped.sum())
    if not many or run.schedule == "rounds":  # there who skips one was off, which is told as such
        return []
    share = run.shown(f'({_WAKES}.what == "skipped").mean()', was_skipped.mean())
    node = int(wakes[was_skipped].node.mode()[0])
    run.shown('int(wakes[wakes.what == "skipped"].node.mode()[0])', node)
    code = f'({_WAKES}[{_WAKES}.node == {node}].what == "skipped").mean()'
    own = run.shown(code, was_skipped[wakes.node == node].mean())
    training = run.shown(_TRAINING, _in_training(run))
    text = (
        f"Skipped wake-ups: {percent(share)} of them ({many:,}), most often node {node} "
        f"({percent(own)} of its own): {'all' if training == 1.0 else percent(training)} of these "
        "fell into a training"
    )
    if training < 1.0:
        text += ", the others into other work on the wake-up before, or the node was off"
    text += "."
    return [harm(share, text, run.queries())]


def _in_training(run: Evidence) -> float:
    """Of the skipped wake-ups, the share that fell into a training, by its mean duration."""
    skipped = run.wakes[run.wakes.what == "skipped"][["t_s", "node"]]
    jobs = run.wakes[run.wakes.what == "job"]
    jobs = jobs.assign(end_s=jobs.t_s + jobs["count"] * jobs.node.map(run.nodes.step_s))
    in_time = [frame.sort_values("t_s", kind="stable") for frame in (skipped, jobs)]
    both = pd.merge_asof(in_time[0], in_time[1][["t_s", "node", "end_s"]], on="t_s", by="node")
    return float((both.end_s > both.t_s).mean())
