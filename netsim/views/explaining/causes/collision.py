"""Collisions: messages lost to other senders that sent at the same time.

Measure: the share of all messages that ended as `collision`. Senders that lost messages at the same
receiver, and of which no message ever arrived at the other, are named: hidden from each other, as
far as the log can tell.
"""

from itertools import combinations

from netsim.views.explaining.causes._losses import lost_to
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding

_LOST = 'messages[messages.outcome == "collision"]'
_HEARD = 'set(messages[messages.outcome == "delivered"].groupby(["src", "dst"]).size().index)'
_HIDDEN = (
    "(lambda senders, heard: sorted({(a, b) for some in senders for a in some for b in some "
    "if a < b and not {(a, b), (b, a)} & heard}))"
    f'({_LOST}.groupby("dst").src.apply(set), {_HEARD})'
)
_MOST = 3


def find(run: Evidence) -> list[Finding]:
    """Losses to senders that overlapped."""
    if not (run.messages.outcome == "collision").any():
        return []
    pairs, more = _hidden(run), ""
    if pairs:
        run.shown(_HIDDEN, pairs)
        named = ", ".join(f"{a} and {b}" for a, b in pairs[:_MOST])
        named += f" and {len(pairs) - _MOST} more pairs" if len(pairs) > _MOST else ""
        more = (
            f" Hidden terminals: senders {named} lost messages at one receiver, and no message "
            "ever got from one to the other."
        )
    why = "were lost to other senders that were on the air at the same time"
    return lost_to(run, "collision", "Collisions", why, more)


def _hidden(run: Evidence) -> list[tuple[int, int]]:
    """Pairs of senders that lost messages at one receiver and never heard each other."""
    messages = run.messages
    lost = messages[messages.outcome == "collision"]
    arrived = messages[messages.outcome == "delivered"]
    heard = set(zip(arrived.src.tolist(), arrived.dst.tolist(), strict=True))
    found = {
        (a, b)
        for senders in lost.groupby("dst").src.apply(lambda ids: sorted(set(ids)))
        for a, b in combinations(senders, 2)
        if (a, b) not in heard and (b, a) not in heard
    }
    return sorted(found)
