"""Compute: how much of the time training took, on the chain of work or of all processors' time.

Measure: under `rounds`, the share of the critical path between asking for a training and the
message after it. Under other schedules, the mean time of all local steps over the nodes' time, of
each node no more than the run.
"""

from netsim.views.explaining.causes._chain import pace
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import LEAST, PACE, Finding, percent

_STEPS = 'wakes[wakes.what == "job"].groupby("node")["count"].sum()'
_FULL = 0.5


def find(run: Evidence) -> list[Finding]:
    """Report the share of training."""
    if run.schedule == "rounds":
        return pace(run, "compute", "Compute", "training")
    if not run.end_s:
        return []
    steps = run.wakes[run.wakes.what == "job"].groupby("node")["count"].sum()
    trained_s = (steps * run.nodes.step_s).clip(upper=run.end_s).sum()
    share = run.shown(
        f"({_STEPS} * nodes.step_s).clip(upper=T).sum() / (T * len(nodes))",
        trained_s / (run.end_s * len(run.nodes)),
    )
    if share < LEAST:
        return []
    text = f"Compute: nodes trained for {percent(share)} of the run, by their mean time of a step."
    return [Finding(PACE, share, text, run.queries(), holds_back=share > _FULL)]
