"""Nodes that were switched off for some time, and what was lost to it.

Measure: the share of the nodes' time for which they were off; nodes that never came back because
their battery was empty are told of by `battery`, those that harvest by `harvest`.
"""

from typing import Any

import numpy as np

from netsim.views.explaining.causes._losses import share_lost
from netsim.views.explaining.causes.battery import has_battery
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent

_SWITCHES = 'wakes[wakes.what.isin(["on", "off"])]'
OFF_S = (
    f'{_SWITCHES}.groupby("node").apply(lambda w: w.t_s.where(w.what == "on", -w.t_s).sum() '
    '+ T * (w.what.iloc[-1] == "off"))'
)
"""Seconds for which each node was off, of those that were ever switched."""


def seconds_off(run: Evidence) -> Any:
    """Seconds for which each node was off, of those that were ever switched."""
    switches = run.wakes[run.wakes.what.isin(["on", "off"])]
    sign = np.where(switches.what == "on", 1.0, -1.0)
    spent = (switches.t_s * sign).groupby(switches.node).sum()
    return spent + run.end_s * (switches.groupby("node").what.last() == "off")


def find(run: Evidence) -> list[Finding]:
    """Nodes that were off."""
    if has_battery(run) or not run.end_s or not run.wakes.what.isin(["on", "off"]).any():
        return []
    off = seconds_off(run).sum() / (run.end_s * len(run.nodes))
    share = run.shown(f"{OFF_S}.sum() / (T * len(nodes))", off)
    went_off = run.wakes[run.wakes.what == "off"]
    many = run.shown('wakes[wakes.what == "off"].node.nunique()', went_off.node.nunique())
    text = f"Off: nodes were switched off for {percent(share)} of their time ({many} of them)"
    if len(run.messages):
        lost = share_lost(run, "off")
        text += f", and {percent(lost)} of all messages were lost to it"
    return [harm(share, text + ".", run.queries())]
