"""Overrides of the scenario for single algorithms (`set` in `[[algorithm]]`)."""

import json
from collections.abc import Callable

from netsim.errors import ScenarioError
from netsim.scenario.draft import Draft
from netsim.scenario.labels import shown
from netsim.scenario.tables import Scenario

SHARED = ("algorithm", "changes", "name", "paper", "seed", "sweep")
"""Tables that all compared algorithms share: no `set` changes them."""


def algorithm_overrides(
    draft: Draft, scenario: Scenario, checked: Callable[[Draft], Scenario]
) -> dict[str, Scenario]:
    """Return the scenario that the `set` of each algorithm makes, by the algorithm's name.

    Parameters
    ----------
    draft : Draft
        The scenario as written.
    scenario : Scenario
        What it says for algorithms without a `set`.
    checked : callable
        Draft -> Scenario; raises ScenarioError.

    Returns
    -------
    dict of str to Scenario
        Algorithms whose `set` is the same have the same object.

    Raises
    ------
    ScenarioError
        If a `set` makes no valid scenario, or changes what all algorithms have in common.
    """
    stated = draft.raw["algorithm"]
    tables = [stated] if isinstance(stated, dict) else stated
    groups: dict[str, list[int]] = {}
    for i, entry in enumerate(scenario.algorithm):
        if entry.set:
            groups.setdefault(json.dumps(entry.set, sort_keys=True, default=str), []).append(i)
    found: dict[str, Scenario] = {}
    problems: list[str] = []
    for group in groups.values():
        first = scenario.algorithm[group[0]]
        label = f"{draft.source(('algorithm', group[0]))}: [algorithm] {first.name}: set"
        shared = [key for key in first.set if key.partition(".")[0] in SHARED]
        if shared:
            problems.append(
                f"{label} = {{ {shared[0]} = {shown(first.set[shared[0]])} }}: all algorithms of a "
                f"scenario have the same {shared[0].partition('.')[0]}; play two scenarios"
            )
            continue
        trainings = [scenario.algorithm[i].training for i in group]
        twice = [
            key
            for key in first.set
            if key.startswith("training.")
            and any(getattr(own, key[len("training.") :], None) is not None for own in trainings)
        ]
        if twice:
            problems.append(
                f"{label} = {{ {twice[0]} = {shown(first.set[twice[0]])} }}: has no effect, as the "
                "algorithm states this key in its own training; leave one out"
            )
            continue
        own = draft.copy()
        own.raw.pop("sweep", None)
        own.raw["algorithm"] = [{k: v for k, v in tables[i].items() if k != "set"} for i in group]
        try:
            own.assign_all((key, value, label) for key, value in first.set.items())
            world = checked(own)
        except ScenarioError as error:
            problems += str(error).splitlines()
            continue
        found |= {scenario.algorithm[i].name: world for i in group}
    if problems:
        raise ScenarioError("\n".join(dict.fromkeys(problems)))
    return found
