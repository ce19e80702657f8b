"""Losses to one cause: their share, and the nodes that they concern."""

import pandas as pd

from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import Finding, harm, percent

_CONCENTRATED, _MORE = 0.8, 1.5
"""A node is named if so many of the losses concern it, and so many times as often as on average."""


def lost_to(run: Evidence, outcome: str, name: str, why: str, more: str = "") -> list[Finding]:
    """The finding that messages were lost to a cause; none if no message was.

    Parameters
    ----------
    outcome : str
        In the table `messages`.
    name : str
        Begins the sentence.
    why : str
        Ends it.
    more : str
        A further sentence.
    """
    ended_so = run.messages.outcome == outcome
    if not ended_so.any():
        return []
    lost = run.shown(f'int((messages.outcome == "{outcome}").sum())', int(ended_so.sum()))
    share = share_lost(run, outcome)
    text = f"{name}: {percent(share)} of all messages ({lost:,} of {len(run.messages):,}) {why}."
    text += _most_affected_node(run, outcome, lost, share) + more
    return [harm(share, text, run.queries())]


def share_lost(run: Evidence, outcome: str) -> float:
    """The share of all messages that ended so, with its query."""
    ended_so = run.messages.outcome == outcome
    return float(run.shown(f'(messages.outcome == "{outcome}").mean()', ended_so.mean()))


def _most_affected_node(run: Evidence, outcome: str, lost: int, share: float) -> str:
    """Name the node that most of the losses concern, if there is one."""
    messages = run.messages
    picked = messages[messages.outcome == outcome]
    node = int(pd.concat([picked.src, picked.dst]).mode()[0])
    of_node = messages[(messages.src == node) | (messages.dst == node)]
    own, many = (of_node.outcome == outcome).mean(), int((of_node.outcome == outcome).sum())
    if many < _CONCENTRATED * lost or own < _MORE * share:
        return ""
    code = f"messages[(messages.src == {node}) | (messages.dst == {node})]"
    run.shown(f'int((({code}).outcome == "{outcome}").sum())', many)
    some = "All" if many == lost else f"{many:,}"
    return (
        f" {some} of them went to node {node} or came from it: {percent(own)} of its messages."
        if lost > 1
        else f" It concerned node {node}."
    )
