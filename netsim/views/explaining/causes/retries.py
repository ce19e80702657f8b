"""Packet errors: messages whose attempts were used up.

Measure: the share of all messages that ended as `retries`.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.findings import Finding
from netsim.views.explaining.run_tables import RunTables


def find(run: RunTables) -> list[Finding]:
    """Losses because packets failed more often than they may be repeated."""
    why = "were lost to packet errors: every attempt that retransmission allows failed"
    return lost_to(run, "retries", "Packet errors", why)
