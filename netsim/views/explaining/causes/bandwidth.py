"""Bound on the gain of twice the bandwidth.

Measure: under `rounds`, the critical path with its messages in half the time, the same messages
lost. Under other schedules wake-ups come by a clock, which bandwidth does not change: the messages
that expired, collided or found radios taken, if all of them came; and the models and other values
that came too late or too old to be used, if all of them were.
"""

from netsim.recording.schema import ARRIVED
from netsim.views.explaining.causes._chain import share_of
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import LEAST, OUTLOOK, Finding, percent
from netsim.views.gathering.numbers import seconds

_CAME = 'messages.outcome.isin(["delivered", "partial"])'
_COULD = ["deadline", "collision", "busy"]
_SLOW = ["late", "too_old"]


def find(run: Evidence) -> list[Finding]:
    """The most that bandwidth could do."""
    messages = run.messages
    if not len(messages):
        return []
    if run.schedule == "rounds":
        share = share_of(run, "air")
        if share < LEAST:
            text = (
                "Twice the bandwidth would give next to nothing: messages took "
                f"{percent(share)} of the time that rounds waited."
            )
            return [Finding(OUTLOOK, share, text, run.queries())]
        text = (
            f"Twice the bandwidth could give at most {1 / (1 - share / 2):.2f} times as many "
            "rounds in the same time: every message in half the time, the same ones lost."
        )
        return [Finding(OUTLOOK, share, text, run.queries())]
    came = messages.outcome.isin(ARRIVED)
    now = run.shown(f"{_CAME}.mean()", came.mean())
    could = messages.outcome.isin(_COULD)
    most = run.shown(f"({_CAME} | messages.outcome.isin({_COULD})).mean()", (came | could).mean())
    text = "Twice the bandwidth gives no more wake-ups, which come by a clock. "
    if most > now:
        text += (
            f"It could raise the share of messages that arrive from {percent(now)} to at most "
            f"{percent(most)}, if none expired, collided or found a radio taken and all others "
            "fared as they did"
        )
    else:
        text += "No message was lost for want of airtime"
    in_time = _in_time(run)
    delays_s = (messages.t_done_s - messages.t_sent_s)[came]
    if delays_s.mean() > 0:
        code = f"(messages.t_done_s - messages.t_sent_s)[{_CAME}].mean()"
        delay_s = run.shown(code, delays_s.mean())
        text += (
            f"; of the mean delay of {seconds(delay_s)} the time on the air would be half, waiting "
            "for radios less than half where messages queue"
        )
    text += in_time
    if messages.outcome.isin(["outage", "retries"]).any():
        text += ". What weak links lose is another matter: at the same power it halves their SNR"
    return [Finding(OUTLOOK, most - now, text + ".", run.queries())]


def _in_time(run: Evidence) -> str:
    """A clause on models that came in vain, if faster ones had come in time."""
    uses = run.uses
    if not len(uses) or not uses.fate.isin(_SLOW).any():
        return ""
    used = run.shown('(uses.fate == "used").mean()', (uses.fate == "used").mean())
    most = run.shown(
        f"uses.fate.isin({['used', *_SLOW]}).mean()", uses.fate.isin(["used", *_SLOW]).mean()
    )
    return (
        f"; of the models and other values that arrive {percent(used)} are used, and at most "
        f"{percent(most)} would be, if none came too late or too old"
    )
