"""Nothing that ended: no message, or nothing at all.

Measure: messages on their way at the end, where none had ended before; wake-ups, trainings and
messages, where there is none of any.
"""

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, count, harm
from netsim.views.gathering.numbers import seconds


def find(run: Evidence) -> list[Finding]:
    """A run of which shares and delays say nothing."""
    if run.shown("len(messages)", len(run.messages)):
        return []
    in_flight, lasts = run.in_flight, seconds(run.shown("T", run.end_s))
    if in_flight:
        run.shown("in_flight", in_flight)
        were = "was" if in_flight == 1 else "were"
        text = (
            f"No message ended: {count(in_flight, 'message')} {were} on the way at the end of "
            f"{lasts}. What is sent takes longer than the run."
        )
        return [harm(1.0, text, run.queries())]
    did = run.wakes.what.isin(["woke", "job"]).any()
    if run.shown('wakes.what.isin(["woke", "job"]).any()', did):
        return []
    text = (
        f"Nothing happened: in {lasts} no node woke, trained or sent. They were off, or their "
        "first wake-up would have come later."
    )
    return [harm(1.0, text, run.queries())]
