"""Late arrivals: messages that came after the deadline of the round in which they were sent.

Measure: the share of all messages that arrived later than `deadline_s` after their round began.
Only under `rounds` with a deadline.
"""

from netsim.recording.schema import ARRIVED
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent
from netsim.views.gathering.numbers import seconds

_LATE = (
    '(messages.outcome.isin(["delivered", "partial"]) & (messages.t_done_s > '
    'messages["round"].map(starts) + scenario["exchange"]["deadline_s"])).mean()'
)


def find(run: Evidence) -> list[Finding]:
    """Arrivals for which the barrier did not wait."""
    deadline_s = run.scenario["exchange"].get("deadline_s")
    if run.schedule != "rounds" or deadline_s is None or not len(run.messages):
        return []
    came = run.messages.outcome.isin(ARRIVED)
    began_s = run.messages["round"].map(run.starts)
    share = run.shown(_LATE, (came & (run.messages.t_done_s > began_s + deadline_s)).mean())
    if not share:
        return []
    text = (
        f"Late: {percent(share)} of all messages arrived after their round's deadline, "
        f"{seconds(float(deadline_s))} after its beginning: what was to be exchanged took longer."
    )
    return [harm(share, text, run.queries())]
