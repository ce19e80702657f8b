"""Taken radios: messages that found their receiver, or their sender's queue, occupied.

Measure: the share of all messages that ended as `busy`.
"""

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding


def find(run: Evidence) -> list[Finding]:
    """Losses because radios were taken."""
    why = "were lost because the receiver's radio was at another message, or a queue was full"
    return lost_to(run, "busy", "Taken radios", why)
