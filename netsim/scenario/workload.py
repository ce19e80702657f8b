"""Count the events of a scenario before it is played.

What would never end is refused. Keys that say how often something happens again carry the mark
`netsim.registry.Recurs`; what they come to over the horizon follows from their values. Keys in
seconds that the clock would take for no time at all are refused, too.
"""

from netsim.registry import OffClock, Recurs
from netsim.scenario.annotations import numbers, written
from netsim.scenario.draft import Draft, KeyPath
from netsim.scenario.labels import shown
from netsim.scenario.problems import line
from netsim.scenario.schema import at
from netsim.scenario.tables import Scenario
from netsim.units import to_ns, unit_of

MOST_TURNS = 1e9
"""Of all nodes that move."""


def workload_problems(scenario: Scenario, draft: Draft) -> list[str]:
    """List the events that would happen too often to ever be played, one problem a line.

    Parameters
    ----------
    scenario : Scenario
    draft : Draft
        Knows which keys were stated, and where.
    """
    horizon_s, nodes = scenario.horizon_s, scenario.nodes.count
    problems = []
    for path, value, marks in numbers(scenario):
        off_clock = any(isinstance(mark, OffClock) for mark in marks)
        if unit_of(str(path[-1])) == "s" and value and not to_ns(value) and not off_clock:
            problems.append(
                line(
                    draft,
                    written(path, draft.raw),
                    "is no time for the clock, which counts nanoseconds; write 0, where that is "
                    "allowed, or at least 1e-9",
                )
            )
        mark = next((mark for mark in marks if isinstance(mark, Recurs)), None)
        if mark is None:
            continue
        count = horizon_s * value if mark.rate else horizon_s / value
        count *= nodes if mark.per_node else 1
        if count > mark.most:
            of = f" of {nodes} nodes" if mark.per_node else ""
            remedy = f"{'lower' if mark.rate else 'raise'} it, or shorten horizon_s"
            what = f"{count:.3g} {mark.what}{of} in horizon_s = {horizon_s:g}; at most"
            problems.append(
                _problem(draft, path, value, f"{what} {mark.most:,.0f} are possible", remedy)
            )
    laws = scenario.per_node("mobility")
    each_s = [law.turn_every_s(scenario.nodes.radius_m) for law in laws]
    turns = sum(horizon_s / max(turn_s, 1e-300) for turn_s in each_s if turn_s is not None)
    if turns > MOST_TURNS:
        problems.append(
            line(
                draft,
                ("mobility",),
                f"{turns:.3g} turns of {nodes} nodes in horizon_s = {horizon_s:g}; at most "
                f"{MOST_TURNS:,.0f} are possible; move slower, widen nodes.radius_m, or shorten "
                "horizon_s",
            )
        )
    return problems


def _problem(draft: Draft, path: KeyPath, value: float, what: str, remedy: str) -> str:
    """The problem at the key, or, where it has its default, at the horizon."""
    if at(draft.raw, path) is not None:
        return line(draft, path, f"{what}; {remedy}")
    *table, key = map(str, path)
    return line(draft, ("horizon_s",), f"{what} ([{'.'.join(table)}] {key} = {shown(value)})")
