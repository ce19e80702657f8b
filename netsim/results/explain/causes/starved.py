"""Starved nodes: those to which less than a quarter as many messages came as to the median node.

Measure: their share of all nodes. For each, up to three: how many were sent to it, and what most of
those that did not come were lost to.
"""

from netsim.results.explain.findings import Finding, count, harm, listed
from netsim.results.explain.run_tables import RunTables

GOT = (
    'messages[messages.outcome.isin(["delivered", "partial"])].dst.value_counts()'
    ".reindex(nodes.index, fill_value=0)"
)
"""Messages that came to each node."""
STARVED = f'(lambda got: got[starved(got, nodes.get("role"))])({GOT})'
_MOST = 3
WHY = {
    "outage": "too weak a link",
    "retries": "packet errors",
    "deadline": "too little time",
    "collision": "other senders",
    "busy": "a taken radio",
    "off": "an end that was off",
    "asleep": "its radio's sleep",
}
"""What messages are lost to, in words."""


def find(run: RunTables) -> list[Finding]:
    """Nodes to which little came."""
    if not run.ask(f"len({STARVED})", shown=False):
        return []
    got = run.ask(f"{STARVED}.sort_values().to_dict()")
    median = run.ask(f"float({GOT}.median())")
    share = len(got) / len(run.names["nodes"])
    worst = list(got)
    text = (
        f"Starved: {listed(sorted(worst))} got {_range(list(got.values()))}, the median node "
        f"{median:,.0f}. "
    )
    text += " ".join(f"{_why(run, node).capitalize()}." for node in worst[:_MOST])
    return [harm(share, text, run.asked())]


def _range(many: list[int]) -> str:
    low, high = min(many), max(many)
    return count(low, "message") if low == high else f"{low:,} to {high:,} messages"


def _why(run: RunTables, node: int) -> str:
    fates = run.ask(f"messages[messages.dst == {node}].outcome.value_counts().to_dict()")
    sent = sum(fates.values())
    lost = {fate: n for fate, n in fates.items() if fate not in ("delivered", "partial") and n}
    if not lost:
        own = run.ask(f"int((messages.src == {node}).sum())")
        few = f"only {sent:,} were sent, and all came" if sent else "none was sent"
        return f"to node {node} {few}; itself it sent {own:,}"
    most = max(lost, key=lambda fate: lost[fate])
    return f"to node {node} {sent:,} were sent, {lost[most]:,} lost to {WHY.get(most, most)}"
