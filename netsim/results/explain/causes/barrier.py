"""Waiting for the slowest at the barrier of rounds.

Measure: the share of the run for which nodes, on average, had done their own work of a round, while
another one still trained or had not yet sent; `critical_path.work_ends` says when that is. Servers,
which work when others have, are left out, and so are rounds that lasted no longer than the least
that the schedule sets, `interval_s`.
"""

from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_LEAST = 0.01
_SLOWER = 1.05
"""A node is said to be slow from so many times the median step on."""


def find(run: RunTables) -> list[Finding]:
    """Nodes that waited for the last."""
    if run.schedule != "rounds" or not run.ask("held.size", shown=False):
        return []
    share = run.ask("(held.max(axis=1) - held.mean(axis=1)).sum() / T")
    if not share >= _LEAST:
        return []
    last = run.ask("int(held.idxmax(axis=1).mode()[0])")
    rounds = run.ask(f"int((held.idxmax(axis=1) == {last}).sum())")
    of = run.ask("len(held)", shown=False)
    text = (
        f"Barrier: for {percent(share)} of the run nodes had done their own work, on average, and "
        f"waited for the slowest: node {last} in {rounds:,} of {of:,} rounds."
    )
    slower = run.ask(f"nodes.step_s[{last}] / nodes.step_s.median()", shown=False)
    if slower > _SLOWER:
        run.ask(f"nodes.step_s[{last}] / nodes.step_s.median()")
        text += f" Its local step takes {slower:.3g} times as long as the median node's."
    return [harm(share, text, run.asked())]
