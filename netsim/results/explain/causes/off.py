"""Nodes that were switched off for some time, and what was lost to it.

Measure: the share of the nodes' time for which they were off; nodes that never came back because
their battery was empty are told of by `battery`.
"""

from netsim.results.explain.causes.battery import has_battery
from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_SWITCHES = 'wakes[wakes.what.isin(["on", "off"])]'
OFF_S = (
    f'{_SWITCHES}.groupby("node").apply(lambda w: w.t_s.where(w.what == "on", -w.t_s).sum() '
    '+ T * (w.what.iloc[-1] == "off"))'
)
"""Seconds for which each node was off, of those that were ever switched."""


def find(run: RunTables) -> list[Finding]:
    """Nodes that were off."""
    if has_battery(run) or not run.ask(f"len({_SWITCHES})", shown=False):
        return []
    share = run.ask(f"{OFF_S}.sum() / (T * len(nodes))")
    many = run.ask(f"{_SWITCHES}.query(\"what == 'off'\").node.nunique()")
    text = f"Off: nodes were switched off for {percent(share)} of their time ({many} of them)"
    if run.ask("len(messages)", shown=False):
        lost = run.ask('(messages.outcome == "off").mean()')
        text += f", and {percent(lost)} of all messages were lost to it"
    return [harm(share, text + ".", run.asked())]
