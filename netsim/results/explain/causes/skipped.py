"""Skipped wake-ups: a node's clock rang while it was at other work, or off.

Measure: the share of all wake-ups that were skipped; and of these, how many fell into a training.
"""

from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_TRAINING = (
    "pd.merge_asof(wakes[wakes.what == 'skipped'][['t_s', 'node']], "
    "wakes[wakes.what == 'job'].assign(end_s=lambda w: w.t_s + w['count'] * w.node.map("
    "nodes.step_s))[['t_s', 'node', 'end_s']], on='t_s', by='node').eval('end_s > t_s').mean()"
)
"""Of the skipped ones, the share that fell into a training, by its mean duration."""
_WAKES = 'wakes[wakes.what.isin(["woke", "skipped"])]'


def find(run: RunTables) -> list[Finding]:
    """Wake-ups that led to nothing."""
    many = run.ask(f'int(({_WAKES}.what == "skipped").sum())', shown=False)
    if not many or run.schedule == "rounds":  # there who skips one was off, which is told as such
        return []
    share = run.ask(f'({_WAKES}.what == "skipped").mean()')
    node = run.ask('int(wakes[wakes.what == "skipped"].node.mode()[0])')
    own = run.ask(f'({_WAKES}[{_WAKES}.node == {node}].what == "skipped").mean()')
    training = run.ask(_TRAINING)
    text = (
        f"Skipped wake-ups: {percent(share)} of them ({many:,}), most often node {node} "
        f"({percent(own)} of its own): {'all' if training == 1.0 else percent(training)} of these "
        "fell into a training"
    )
    if training < 1.0:
        text += ", the others into other work on the wake-up before, or the node was off"
    text += "."
    return [harm(share, text, run.asked())]
