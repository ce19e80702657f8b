"""Too little airtime: messages that were not through when their time was over.

Measure: the share of all messages that ended as `deadline`, by `ttl_s` or by the patience of
whoever asked; and how many of those never began, because radios or wires were taken.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, percent

_EXPIRED = 'messages[messages.outcome == "deadline"]'


def find(run: Evidence) -> list[Finding]:
    """Losses because there was too little time, or bandwidth."""
    expired = run.messages[run.messages.outcome == "deadline"]
    if not len(expired):
        return []
    waiting = run.shown(f"({_EXPIRED}.attempts == 0).mean()", (expired.attempts == 0).mean())
    if waiting == 0.0:
        whole = "All of them were on their way, too slowly: too little bandwidth for their size."
    elif waiting == 1.0:
        whole = "All of them still waited for a radio or wire: too little bandwidth for so many."
    else:
        whole = (
            f"{percent(waiting)} of these still waited for a radio or wire, the others were on "
            "their way: too little bandwidth for what was sent."
        )
    why = "expired before they were through"
    return lost_to(run, "deadline", "Too little airtime", why, f" {whole}")
