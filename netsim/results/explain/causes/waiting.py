"""Waiting: how much of the rounds' time was neither training nor messages.

Measure: the share of the critical path in which nothing was under way that the round waited for:
the least length of a round (`interval_s`), time-outs, and work that the log does not tell.
"""

from netsim.results.explain.causes._chain import pace
from netsim.results.explain.findings import Finding, seconds
from netsim.results.explain.run_tables import RunTables


def find(run: RunTables) -> list[Finding]:
    """What the schedule's own pace took."""
    if run.schedule != "rounds":
        return []
    interval_s = run.names["scenario"].get("exchange", {}).get("interval_s", 0.0)
    what = "neither training nor messages: for time-outs, or work that the log does not tell"
    if interval_s:
        what = (
            "neither training nor messages: by interval_s each lasts at least "
            f"{seconds(float(interval_s))}"
        )
    return pace(run, "wait", "Waiting", what, holds_back=False)
