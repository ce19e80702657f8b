"""Sleeping radios: messages that came while their receiver's radio slept.

Measure: the share of all messages that ended as `asleep`.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, percent


def find(run: Evidence) -> list[Finding]:
    """Losses because receivers slept."""
    sleep = run.scenario.get("radio", {}).get("sleep", {})
    more = ""
    if isinstance(sleep.get("awake_fraction"), float):
        more = f" Radios are awake for {percent(sleep['awake_fraction'])} of the time."
    why = "were lost because the receiver's radio slept"
    return lost_to(run, "asleep", "Sleeping radios", why, more)
