"""Nodes that were off until they had harvested enough, and what was lost to it.

Measure: the share of the nodes' time for which they were off, or that of messages lost because an
end was off, whichever is larger.
"""

from netsim.views.explaining.causes._losses import share_lost
from netsim.views.explaining.causes.off import OFF_S, seconds_off
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent


def find(run: Evidence) -> list[Finding]:
    """Nodes that went off for want of energy, where they harvest some."""
    energy = run.scenario.get("energy", {})
    harvests = energy.get("harvest", {}).get("kind", "none") != "none"
    if not harvests or not run.end_s or not run.wakes.what.isin(["on", "off"]).any():
        return []
    off = seconds_off(run).sum() / (run.end_s * len(run.nodes))
    share = run.shown(f"{OFF_S}.sum() / (T * len(nodes))", off)
    times = run.shown('(wakes.what == "off").sum()', int((run.wakes.what == "off").sum()))
    also = "" if run.scenario.get("churn", {}).get("kind", "none") == "none" else ", or by churn"
    text = (
        f"Out of energy: nodes went off {times} times for want of energy{also}, and were off for "
        f"{percent(share)} of their time"
    )
    weight = share
    if len(run.messages):
        lost = share_lost(run, "off")
        text += f"; {percent(lost)} of all messages were lost to it"
        weight = max(share, lost)
    return [harm(weight, text + ".", run.queries())]
