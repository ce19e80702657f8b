"""Packet errors: messages whose attempts were used up.

Measure: the share of all messages that ended as `retries`.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding


def find(run: Evidence) -> list[Finding]:
    """Losses because packets failed more often than they may be repeated."""
    why = "were lost to packet errors: every attempt that retransmission allows failed"
    return lost_to(run, "retries", "Packet errors", why)
