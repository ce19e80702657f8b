"""Packet errors: messages whose attempts were used up.

Measure: the share of all messages that ended as `retries`.
"""

from netsim.results.explain.causes._losses import lost_to
from netsim.results.explain.findings import Finding
from netsim.results.explain.run_tables import RunTables


def find(run: RunTables) -> list[Finding]:
    """Losses because packets failed more often than they may be repeated."""
    why = "were lost to packet errors: every attempt that retransmission allows failed"
    return lost_to(run, "retries", "Packet errors", why)
