"""Queue: messages that had not come through at the end, more than are on their way in any run.

Measure: their share of all that were asked for, if they are more than all nodes send at two
wake-ups. Only of runs that have ended, in which some message had (`unended` tells of the others).
"""

from netsim.recording.run_warnings import queued_share
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, count, harm, percent
from netsim.views.gathering.numbers import seconds


def find(run: Evidence) -> list[Finding]:
    """Queues that grow."""
    ended, woke = len(run.messages), int((run.wakes.what == "woke").sum())
    in_flight = run.shown("in_flight", run.in_flight)
    share = queued_share(in_flight, ended, woke, len(run.nodes))
    if not share or not ended:
        return []
    text = (
        f"Queue: {percent(share)} of all messages, {in_flight:,} of "
        f"{count(in_flight + ended, 'message')}, had not come through at the end. Nodes ask for "
        "more than their links carry, so queues grow as long as the run does"
    )
    lasts_s = run.messages.t_done_s - run.messages.t_sent_s
    delay_s = run.shown("(messages.t_done_s - messages.t_sent_s).mean()", lasts_s.mean())
    text += f"; those that had ended took {seconds(delay_s)} on average"
    return [harm(share, text + ".", run.queries())]
