"""What losses to one cause have in common: their share, and whom they concern."""

from netsim.results.explain.findings import Finding, harm, percent
from netsim.results.explain.run_tables import RunTables

_CONCENTRATED, _MORE = 0.8, 1.5
"""A node is named if so many of the losses concern it, and so many times as often as on average."""


def lost_to(run: RunTables, outcome: str, name: str, why: str, more: str = "") -> list[Finding]:
    """The finding that messages were lost to a cause.

    Parameters
    ----------
    run : RunTables
    outcome : str
        In the table `messages`.
    name : str
        Begins the sentence.
    why : str
        Ends it.
    more : str
        A further sentence.

    Returns
    -------
    list of Finding
        Empty if none was lost to it.
    """
    if not run.ask(f'(messages.outcome == "{outcome}").any()', shown=False):
        return []
    lost = run.ask(f'int((messages.outcome == "{outcome}").sum())')
    share = run.ask(f'(messages.outcome == "{outcome}").mean()')
    text = f"{name}: {percent(share)} of all messages ({lost:,} of {_all(run)}) {why}."
    text += _whom(run, outcome, lost, share) + more
    return [harm(share, text, run.asked())]


def _all(run: RunTables) -> str:
    return f"{run.ask('len(messages)', shown=False):,}"


def _whom(run: RunTables, outcome: str, lost: int, share: float) -> str:
    """Which node most of the losses concern, if there is one."""
    picked = f'messages[messages.outcome == "{outcome}"]'
    node = run.ask(f"int(pd.concat([{picked}.src, {picked}.dst]).mode()[0])", shown=False)
    of_node = f"messages[(messages.src == {node}) | (messages.dst == {node})]"
    own = run.ask(f'(({of_node}).outcome == "{outcome}").mean()', shown=False)
    many = run.ask(f'int((({of_node}).outcome == "{outcome}").sum())', shown=False)
    if many < _CONCENTRATED * lost or own < _MORE * share:
        return ""
    run.ask(f'int((({of_node}).outcome == "{outcome}").sum())')
    some = "All" if many == lost else f"{many:,}"
    return (
        f" {some} of them went to node {node} or came from it: {percent(own)} of its messages."
        if lost > 1
        else f" It concerned node {node}."
    )
