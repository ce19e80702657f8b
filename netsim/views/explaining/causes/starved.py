"""Starved nodes: those to which less than a quarter as many messages came as to the median node.

Measure: their share of all nodes. For each, up to three: how many were sent to it, and what most of
those that did not come were lost to.
"""

from typing import Any

from netsim.recording.metrics import starved
from netsim.recording.schema import ARRIVED
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, count, harm, listed

GOT = (
    'messages[messages.outcome.isin(["delivered", "partial"])].dst.value_counts()'
    ".reindex(nodes.index, fill_value=0)"
)
"""Messages that came to each node."""
_STARVED = f'(lambda got: got[starved(got, nodes.get("role"))])({GOT})'
_MOST = 3
WHY = {
    "outage": "too weak a link",
    "retries": "packet errors",
    "deadline": "too little time",
    "collision": "other senders",
    "busy": "a taken radio",
    "off": "an end that was off",
    "asleep": "its radio's sleep",
    "withdrawn": "senders that withdrew them",
}
"""Words for the causes of lost messages."""


def arrivals(run: Evidence) -> Any:
    """Messages that came to each node."""
    came = run.messages[run.messages.outcome.isin(ARRIVED)]
    return came.dst.value_counts().reindex(run.nodes.index, fill_value=0)


def find(run: Evidence) -> list[Finding]:
    """Nodes to which little came."""
    every = arrivals(run)
    few = every[starved(every, run.nodes.get("role"))]
    if not len(few):
        return []
    got = run.shown(f"{_STARVED}.sort_values().to_dict()", few.sort_values().to_dict())
    median = run.shown(f"float({GOT}.median())", float(every.median()))
    share = len(got) / len(run.nodes)
    worst = list(got)
    text = (
        f"Starved: {listed(sorted(worst))} got {_range(list(got.values()))}, the median node "
        f"{median:,.0f}. "
    )
    text += " ".join(f"{_reason(run, node).capitalize()}." for node in worst[:_MOST])
    return [harm(share, text, run.queries())]


def _range(many: list[int]) -> str:
    low, high = min(many), max(many)
    return count(low, "message") if low == high else f"{low:,} to {high:,} messages"


def _were(many: int) -> str:
    return f"{many:,} {'was' if many == 1 else 'were'}"


def _reason(run: Evidence, node: int) -> str:
    code = f"messages[messages.dst == {node}].outcome.value_counts().to_dict()"
    found = run.messages[run.messages.dst == node].outcome.value_counts()
    fates = run.shown(code, found.to_dict())
    sent = sum(fates.values())
    lost = {fate: n for fate, n in fates.items() if fate not in ARRIVED and n}
    if not lost:
        sent_itself = int((run.messages.src == node).sum())
        own = run.shown(f"int((messages.src == {node}).sum())", sent_itself)
        few = f"only {_were(sent)} sent, and all came" if sent else "none was sent"
        return f"to node {node} {few}; itself it sent {own:,}"
    most = max(lost, key=lambda fate: lost[fate])
    return f"to node {node} {_were(sent)} sent, {lost[most]:,} lost to {WHY.get(most, most)}"
