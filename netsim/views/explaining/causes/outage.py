"""Outage: messages of which no attempt could get through.

Measure: the share of all messages that ended as `outage`.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding


def find(run: Evidence) -> list[Finding]:
    """Losses because the link was too weak, or its ends were not in contact."""
    why = "were lost because the link was too weak for any attempt, or its ends were out of contact"
    return lost_to(run, "outage", "Outage", why)
