"""Waiting for the slowest at the barrier of rounds.

Measure: the share of the run for which nodes, on average, had done their own work of a round, while
another one still trained or had not yet sent; `critical_path.work_ends` says when that is. Servers,
which work when others have, are left out, and so are rounds that lasted no longer than the least
that the schedule sets, `interval_s`.
"""

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent

_LEAST = 0.01
_SLOWER = 1.05
"""A node is said to be slow from so many times the median step on."""


def find(run: Evidence) -> list[Finding]:
    """Nodes that waited for the last."""
    if run.schedule != "rounds" or not run.held.size or not run.end_s:
        return []
    held, step_s = run.held, run.nodes.step_s
    waited_s = (held.max(axis=1) - held.mean(axis=1)).sum()
    share = run.shown("(held.max(axis=1) - held.mean(axis=1)).sum() / T", waited_s / run.end_s)
    if not share >= _LEAST:
        return []
    slowest = held.dropna(how="all").idxmax(axis=1)
    every = 'held.dropna(how="all").idxmax(axis=1)'
    last = run.shown(f"int({every}.mode()[0])", int(slowest.mode()[0]))
    rounds = run.shown(f"int(({every} == {last}).sum())", int((slowest == last).sum()))
    of = len(held)
    text = (
        f"Barrier: for {percent(share)} of the run nodes had done their own work, on average, and "
        f"waited for the slowest: node {last} in {rounds:,} of {of:,} rounds."
    )
    slower = step_s[last] / step_s.median() if step_s.median() else 0.0
    if slower > _SLOWER:
        run.shown(f"nodes.step_s[{last}] / nodes.step_s.median()", slower)
        text += f" Its local step takes {slower:.3g} times as long as the median node's."
    return [harm(share, text, run.queries())]
