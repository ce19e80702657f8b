"""Empty batteries: nodes that went off and never came back.

Measure: the share of the nodes' time that was left when they went off for good, or that of
messages lost because an end was off, whichever is larger.
"""

from netsim.results.explain.findings import Finding, harm, listed, percent, seconds
from netsim.results.explain.run_tables import RunTables

_DEAD = (
    'wakes[wakes.what.isin(["on", "off"])].groupby("node").agg(what=("what", "last"), '
    't_s=("t_s", "last")).query("what == \'off\'")'
)


def has_battery(run: RunTables) -> bool:
    """Whether any node of a run has a battery."""
    scenario = run.names["scenario"]
    groups = scenario.get("nodes", {}).get("groups", [])
    return any("battery_j" in table for table in (scenario.get("energy", {}), *groups))


def find(run: RunTables) -> list[Finding]:
    """Nodes whose battery was empty before the end."""
    if not has_battery(run) or not run.ask(f"len({_DEAD})", shown=False):
        return []
    dead = run.ask(f"{_DEAD}.t_s.to_dict()")
    share = run.ask(f"(T - {_DEAD}.t_s).sum() / (T * len(nodes))")
    first = min(dead, key=lambda node: dead[node])
    went = f"was off for good from {seconds(dead[first])} on"
    if len(dead) > 1:
        went = f"were off for good, the first (node {first}) from {seconds(dead[first])} on"
    weight = share
    text = f"Empty battery: {listed(sorted(dead))} {went}: {percent(share)} of all nodes' time."
    if run.ask("len(messages)", shown=False):
        lost = run.ask('(messages.outcome == "off").mean()')
        text += f" {percent(lost).capitalize()} of all messages were lost because an end was off."
        weight = max(share, lost)
    return [harm(weight, text, run.asked())]
