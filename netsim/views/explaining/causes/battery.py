"""Empty batteries: nodes that went off and never came back.

Measure: the share of the nodes' time that was left when they went off for good, or that of
messages lost because an end was off, whichever is larger.
"""

from netsim.views.explaining.causes._losses import share_lost
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, listed, percent
from netsim.views.gathering.numbers import seconds

_DEAD = (
    'wakes[wakes.what.isin(["on", "off"])].groupby("node").agg(what=("what", "last"), '
    't_s=("t_s", "last"))[lambda last: last.what == "off"]'
)


def has_battery(run: Evidence) -> bool:
    """Return whether any node of a run has a battery."""
    groups = run.scenario.get("nodes", {}).get("groups", [])
    return any("battery_j" in table for table in (run.scenario.get("energy", {}), *groups))


def find(run: Evidence) -> list[Finding]:
    """Nodes whose battery was empty before the end, and which nothing fills."""
    harvest = run.scenario.get("energy", {}).get("harvest", {})
    if harvest.get("kind", "none") != "none" or not has_battery(run) or not run.end_s:
        return []
    switches = run.wakes[run.wakes.what.isin(["on", "off"])].groupby("node")
    last = switches.agg(what=("what", "last"), t_s=("t_s", "last"))
    off_s = last[last.what == "off"].t_s
    if not len(off_s):
        return []
    dead = run.shown(f"{_DEAD}.t_s.to_dict()", off_s.to_dict())
    left = (run.end_s - off_s).sum() / (run.end_s * len(run.nodes))
    share = run.shown(f"(T - {_DEAD}.t_s).sum() / (T * len(nodes))", left)
    first = min(dead, key=lambda node: dead[node])
    went = f"was off for good from {seconds(dead[first])} on"
    if len(dead) > 1:
        went = f"were off for good, the first (node {first}) from {seconds(dead[first])} on"
    weight = share
    text = f"Empty battery: {listed(sorted(dead))} {went}: {percent(share)} of all nodes' time."
    if len(run.messages):
        lost = share_lost(run, "off")
        text += f" {percent(lost).capitalize()} of all messages were lost because an end was off."
        weight = max(share, lost)
    return [harm(weight, text, run.queries())]
