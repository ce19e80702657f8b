"""Numbers of a scenario that are possible and most often slips of a unit.

Keys carry the limits beyond which they are remarked on, `netsim.registry.Plausible`; a component of
one's own brings its own.
"""

from netsim.registry import Plausible
from netsim.scenario.annotations import numbers
from netsim.scenario.draft import KeyPath
from netsim.scenario.labels import shown
from netsim.scenario.tables import Scenario


def remarks(scenario: Scenario) -> list[str]:
    """A sentence for each number beyond what its key says is plausible."""
    found = []
    for path, value, marks in numbers(scenario):
        for mark in marks:
            if isinstance(mark, Plausible):
                problem = _beyond(value, mark) or _not_in_run(path, value, mark, scenario)
                if problem:
                    found.append(f"{_named(path)} = {shown(value)}: {problem}; is the unit right?")
    return list(dict.fromkeys(found))


def _beyond(value: float, mark: Plausible) -> str:
    """Name of the limit that a value is beyond; empty: none."""
    why = f" ({mark.why})" if mark.why else ""
    if value < mark.least:
        return f"is less than {shown(mark.least)}{why}"
    return f"is more than {shown(mark.most)}{why}" if value > mark.most else ""


def _not_in_run(path: KeyPath, value: float, mark: Plausible, scenario: Scenario) -> str:
    """Why nothing comes of a time or a rate within the run; empty: something does."""
    if not mark.in_run or not value:
        return ""
    is_rate = str(path[-1]).endswith("_hz")
    period_s, horizon_s = 1 / value if is_rate else value, scenario.horizon_s
    if period_s <= horizon_s:
        return ""
    said = f"once in {period_s:,.6g} s, which" if is_rate else "it"
    return f"{said} is longer than the whole run, horizon_s = {horizon_s:g}"


def _named(path: KeyPath) -> str:
    """`[table] key` of a path."""
    *tables, key = (str(part) for part in path)
    return f"[{'.'.join(tables)}] {key}" if tables else key
