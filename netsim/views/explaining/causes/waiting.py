"""Waiting: how much of the rounds' time was neither training nor messages.

Measure: the share of the critical path that is neither training nor a message: the rest of a round
that has a least length (`interval_s`), time-outs, and work that the log does not have. In a run of
one round that never ended it includes messages, which the log has only once they end.
"""

from netsim.views.explaining.causes._chain import pace
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding
from netsim.views.gathering.numbers import seconds

_MOST = 0.5
"""If so many rounds last no longer than `interval_s` says, that is what they waited for."""


def find(run: Evidence) -> list[Finding]:
    """Report the share of the schedule's own pace."""
    if run.schedule != "rounds":
        return []
    interval_s = run.scenario["exchange"].get("interval_s", 0.0)
    least = '(starts.diff().dropna() <= scenario["exchange"]["interval_s"] * (1 + 1e-9)).mean()'
    what = "neither training nor messages: for time-outs, or work that the log does not tell"
    lengths_s = run.starts.diff().dropna()
    one = len(lengths_s) == 0
    if one:
        lasted = run.end_s <= interval_s
    else:
        share = (lengths_s <= interval_s * (1 + 1e-9)).mean()
        lasted = interval_s and run.shown(least, share) >= _MOST
    if lasted:
        lasts = seconds(float(interval_s))
        what = f"neither training nor messages: by interval_s each lasts at least {lasts}"
    elif one and run.in_flight:
        run.shown("in_flight", run.in_flight)
        what = "messages that had not come through at the end"
        return pace(run, "wait", "Waiting", what)
    return pace(run, "wait", "Waiting", what, holds_back=False)
