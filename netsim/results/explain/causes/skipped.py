"""Skipped wake-ups: a node's clock rang while it was at other work, or off.

Measure: the share of all wake-ups that were skipped.
"""

from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_WAKES = 'wakes[wakes.what.isin(["woke", "skipped"])]'


def find(run: RunTables) -> list[Finding]:
    """Wake-ups that led to nothing."""
    many = run.ask(f'int(({_WAKES}.what == "skipped").sum())', shown=False)
    if not many or run.schedule == "rounds":  # there who skips one was off, which is told as such
        return []
    share = run.ask(f'({_WAKES}.what == "skipped").mean()')
    node = run.ask('int(wakes[wakes.what == "skipped"].node.mode()[0])')
    own = run.ask(f'({_WAKES}[{_WAKES}.node == {node}].what == "skipped").mean()')
    text = (
        f"Skipped wake-ups: {percent(share)} of them ({many:,}), because the node was still at "
        f"work on the last one, or off; most often node {node} ({percent(own)} of its own)."
    )
    return [harm(share, text, run.asked())]
