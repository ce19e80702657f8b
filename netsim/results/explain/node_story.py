"""The story of one node of a run: what it did, what came to it, what held it up."""

from netsim.errors import ScenarioError
from netsim.results.explain.causes.off import OFF_S
from netsim.results.explain.causes.starved import GOT, WHY
from netsim.results.explain.findings import PACE, Finding, count, percent, seconds
from netsim.results.explain.run_tables import RunTables

_ARRIVED = ("delivered", "partial")


def story(run: RunTables, node: int) -> list[Finding]:
    """What there is to tell of a node, in the order of its work.

    Raises
    ------
    ScenarioError
        If the run has no such node.
    """
    nodes = run.names["nodes"]
    if node not in nodes.index:
        raise ScenarioError(f"--node {node}: the run has nodes 0 to {len(nodes) - 1}")
    run.begin()
    return [
        Finding(PACE, 0.0, text, run.asked())
        for part in (_learned, _worked, _spent, _sent, _came, _off, _was_last)
        if (text := part(run, node))
    ]


def _learned(run: RunTables, node: int) -> str:
    """Where its model stood at the end."""
    metrics = run.names["metrics"]
    main = run.played.main_metric
    if not len(metrics) or not ((metrics.metric == main) & (metrics.node == node)).any():
        return ""
    last = f'metrics[metrics.metric == {main!r}].groupby("node").value.last()'
    own, mean = run.ask(f"{last}[{node}]"), run.ask(f"{last}.mean()")
    lower = run.played.is_lower_better
    place = run.ask(f"int({last}.rank(ascending={lower}, method='min')[{node}])")
    of = run.ask(f"len({last})", shown=False)
    return f"Result: its last {main} was {own:.4g}, the mean {mean:.4g}: place {place} of {of}."


def _worked(run: RunTables, node: int) -> str:
    """Its wake-ups and local steps."""
    woke = run.ask(f'int(((wakes.node == {node}) & (wakes.what == "woke")).sum())')
    skipped = run.ask(f'int(((wakes.node == {node}) & (wakes.what == "skipped")).sum())')
    steps = (
        'wakes[wakes.what == "job"].groupby("node")["count"].sum()'
        ".reindex(nodes.index, fill_value=0)"
    )
    own, median = run.ask(f"int({steps}[{node}])"), run.ask(f"float({steps}.median())")
    share = run.ask(f"{steps}[{node}] * nodes.step_s[{node}] / T")
    return (
        f"Work: it woke {count(woke, 'time')} and skipped {skipped:,}; {count(own, 'local step')} "
        f"(the median node {median:,.0f}), {percent(min(share, 1.0))} of the run at the mean time "
        "of a step."
    )


def _spent(run: RunTables, node: int) -> str:
    """What its time went to, where that was recorded."""
    if "intervals" not in run.names:
        return ""
    query = f'intervals[intervals.node == {node}].groupby("what", observed=True).busy_s.sum()'
    spent = run.ask(f"{query}.to_dict()")
    told = [f"{what} {seconds(spent[what])}" for what in sorted(spent)]
    return f"Time: {', '.join(told)}." if told else ""


def _fates(run: RunTables, end: str, node: int) -> str:
    """How many messages at one of its ends, and what became of them."""
    fates = run.ask(f"messages[messages.{end} == {node}].outcome.value_counts().to_dict()")
    total = sum(fates.values())
    if not total:
        return "none"
    arrived = sum(many for fate, many in fates.items() if fate in _ARRIVED)
    lost = sorted(((many, fate) for fate, many in fates.items() if fate not in _ARRIVED), key=str)
    told = f"{count(total, 'message')}, of which {arrived:,} arrived ({percent(arrived / total)})"
    causes = [f"{many:,} lost to {WHY.get(fate, fate)}" for many, fate in lost if many]
    return ", ".join([told, *causes])


def _sent(run: RunTables, node: int) -> str:
    return f"Sent: {_fates(run, 'src', node)}."


def _came(run: RunTables, node: int) -> str:
    told = f"To it were sent: {_fates(run, 'dst', node)}."
    if run.ask("len(messages)", shown=False):
        told += f" The median node got {run.ask(f'float({GOT}.median())'):,.0f}."
    return told


def _off(run: RunTables, node: int) -> str:
    switched = f'((wakes.node == {node}) & wakes.what.isin(["on", "off"])).any()'
    if not run.ask(switched, shown=False):
        return ""
    return f"Off: it was off for {percent(run.ask(f'{OFF_S}[{node}] / T'))} of the run."


def _was_last(run: RunTables, node: int) -> str:
    """How often all waited for it, and how long it waited for others."""
    if run.schedule != "rounds" or node not in run.names["ready"].columns:
        return ""
    rounds = run.ask('len(ready.dropna(how="all"))', shown=False)
    if not rounds:
        return ""
    last = run.ask(f'int((ready.dropna(how="all").idxmax(axis=1) == {node}).sum())')
    if not run.ask("(ready.max(axis=1) > ready.min(axis=1)).any()", shown=False):
        return "Barrier: all nodes had done their own work at once in every round."
    waited = run.ask(f"(ready.max(axis=1) - ready[{node}]).sum() / T")
    return (
        f"Barrier: it was the last to have done its own work in {last:,} of {rounds:,} rounds, and "
        f"waited for others for {percent(waited)} of the run."
    )
