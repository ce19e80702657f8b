"""The story of one node of a run: what it did, what came to it, what held it up."""

from netsim.errors import ScenarioError
from netsim.recording.schema import ARRIVED
from netsim.views.explaining.causes.off import OFF_S, seconds_off
from netsim.views.explaining.causes.starved import GOT, WHY, arrivals
from netsim.views.explaining.evidence import Evidence
from netsim.views.explaining.findings import PACE, Finding, count, percent
from netsim.views.gathering.numbers import seconds


def story(run: Evidence, node: int) -> list[Finding]:
    """Return the findings about a node, in the order of its work.

    Raises
    ------
    ScenarioError
        If the run has no such node.
    """
    if node not in run.nodes.index:
        raise ScenarioError(f"--node {node}: the run has nodes 0 to {len(run.nodes) - 1}")
    run.begin()
    return [
        Finding(PACE, 0.0, text, run.queries())
        for part in (_learned, _worked, _spent, _sent, _came, _off, _was_last)
        if (text := part(run, node))
    ]


def _learned(run: Evidence, node: int) -> str:
    """Describe its model at the end."""
    metrics, main = run.metrics, run.run.main.name
    mine = metrics[metrics.metric == main]
    if not (mine.node == node).any():
        return ""
    last = mine.groupby("node").value.last()
    code = f'metrics[metrics.metric == {main!r}].groupby("node").value.last()'
    own = run.shown(f"{code}[{node}]", last[node])
    mean = run.shown(f"{code}.mean()", last.mean())
    lower = run.run.main.is_lower_better
    place = last.rank(ascending=lower, method="min", na_option="bottom")[node]
    query = f"int({code}.rank(ascending={lower}, method='min', na_option='bottom')[{node}])"
    at = run.shown(query, int(place))
    return f"Result: its last {main} was {own:.4g}, the mean {mean:.4g}: place {at} of {len(last)}."


def _worked(run: Evidence, node: int) -> str:
    """Its wake-ups and local steps."""
    wakes, counts = run.wakes, []
    for what in ("woke", "skipped"):
        many = int(((wakes.node == node) & (wakes.what == what)).sum())
        code = f'int(((wakes.node == {node}) & (wakes.what == "{what}")).sum())'
        counts.append(run.shown(code, many))
    made = wakes[wakes.what == "job"].groupby("node")["count"].sum()
    made = made.reindex(run.nodes.index, fill_value=0)
    steps = (
        'wakes[wakes.what == "job"].groupby("node")["count"].sum()'
        ".reindex(nodes.index, fill_value=0)"
    )
    own = run.shown(f"int({steps}[{node}])", int(made[node]))
    median = run.shown(f"float({steps}.median())", float(made.median()))
    sentence = (
        f"Work: it woke {count(counts[0], 'time')} and skipped {counts[1]:,}; "
        f"{count(own, 'local step')} (the median node {median:,.0f})"
    )
    if not run.end_s:
        return f"{sentence}."
    code = f"{steps}[{node}] * nodes.step_s[{node}] / T"
    share = run.shown(code, made[node] * run.nodes.step_s[node] / run.end_s)
    return f"{sentence}, {percent(min(share, 1.0))} of the run at the mean time of a step."


def _spent(run: Evidence, node: int) -> str:
    """Describe the use of its time, where that was recorded."""
    if run.intervals is None:
        return ""
    mine = run.intervals[run.intervals.node == node]
    found = mine.groupby("what", observed=True).busy_s.sum().to_dict()
    code = f'intervals[intervals.node == {node}].groupby("what", observed=True).busy_s.sum()'
    spent = run.shown(f"{code}.to_dict()", found)
    parts = [f"{what} {seconds(spent[what])}" for what in sorted(spent)]
    return f"Time: {', '.join(parts)}." if parts else ""


def _fates(run: Evidence, end: str, node: int) -> str:
    """Describe the messages at one of its ends: their number and their fates."""
    found = run.messages[run.messages[end] == node].outcome.value_counts().to_dict()
    code = f"messages[messages.{end} == {node}].outcome.value_counts().to_dict()"
    fates = run.shown(code, found)
    total = sum(fates.values())
    if not total:
        return "none"
    arrived = sum(many for fate, many in fates.items() if fate in ARRIVED)
    lost = sorted(((many, fate) for fate, many in fates.items() if fate not in ARRIVED), key=str)
    sentence = (
        f"{count(total, 'message')}, of which {arrived:,} arrived ({percent(arrived / total)})"
    )
    causes = [f"{many:,} lost to {WHY.get(fate, fate)}" for many, fate in lost if many]
    return ", ".join([sentence, *causes])


def _sent(run: Evidence, node: int) -> str:
    return f"Sent: {_fates(run, 'src', node)}."


def _came(run: Evidence, node: int) -> str:
    sentences = f"To it were sent: {_fates(run, 'dst', node)}."
    if len(run.messages):
        median = run.shown(f"float({GOT}.median())", float(arrivals(run).median()))
        sentences += f" The median node got {median:,.0f}."
    return sentences


def _off(run: Evidence, node: int) -> str:
    switched = (run.wakes.node == node) & run.wakes.what.isin(["on", "off"])
    if not switched.any() or not run.end_s:
        return ""
    share = run.shown(f"{OFF_S}[{node}] / T", seconds_off(run)[node] / run.end_s)
    return f"Off: it was off for {percent(share)} of the run."


def _was_last(run: Evidence, node: int) -> str:
    """Describe the rounds in which all waited for it, and its own waiting."""
    if run.schedule != "rounds" or node not in run.ready.columns or not run.end_s:
        return ""
    ready = run.ready.dropna(how="all")
    if not len(ready):
        return ""
    many = int((ready.idxmax(axis=1) == node).sum())
    last = run.shown(f'int((ready.dropna(how="all").idxmax(axis=1) == {node}).sum())', many)
    if not (ready.max(axis=1) > ready.min(axis=1)).any():
        return "Barrier: all nodes had done their own work at once in every round."
    waited_s = (run.ready.max(axis=1) - run.ready[node]).sum()
    waited = run.shown(f"(ready.max(axis=1) - ready[{node}]).sum() / T", waited_s / run.end_s)
    return (
        f"Barrier: it was the last to have done its own work in {last:,} of {len(ready):,} rounds, "
        f"and waited for others for {percent(waited)} of the run."
    )
