"""Runs of a sweep: the points of its grid, and every run at each.

Folders are `<out>/<point>/seed-<s>/<algorithm>/`; tables over seeds come from
`netsim.views`. A search's points come from `netsim.campaign.search`, one after
the other; `netsim.campaign.pool` plays the runs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.campaign.sweep_points import Point, place_of, points_of
from netsim.engine import runner
from netsim.errors import ScenarioError, one_line
from netsim.recording.summary_fields import MEASURES
from netsim.scenario import Scenario, check
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of
from netsim.scenario.labels import shown
from netsim.scenario.sweep import Draw, Sweep

_WHOLE = "must be a whole number"
_NO_RANGE = "; ranges are of numbers with a point: list the values to draw from, as in 4,8,16"
COMMAND_LINE = "command line"
"""The layer of a draft that the options of `netsim sweep` make."""


@dataclass(frozen=True)
class Job:
    """One run of a sweep, ready to be sent to another process."""

    point: Point
    seed: int
    draft: Draft  # the scenario with the point's values and the seed
    folder: Path  # of the run; each algorithm has a folder in it
    components: tuple[Path, ...]  # folders of components of the user's own
    timing_only: bool  # without tensor work
    names: tuple[str, ...]  # the algorithms to play
    reports: bool = False  # whether it tells of its evaluations, and ends where it is told to

    @property
    def title(self) -> str:
        """The run's name for people."""
        return f"{self.point.label}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run."""

    job: Job
    problem: str = ""  # why it failed; empty if it did not
    bad_input: bool = False  # whether the problem was found before anything was written
    pruned: bool = False  # whether a search ended it early


def plan(
    draft: Draft,
    scenario: Scenario,
    out: Path,
    components: tuple[Path, ...],
    timing_only: bool = False,
) -> list[Job]:
    """Every run of a grid; each point is checked, once for all its seeds.

    Parameters
    ----------
    draft : Draft
        The scenario before validation; each run is a copy with its point's values and its seed.
    scenario : Scenario
        The same, validated; with a sweep.
    out : Path
        The sweep's folder; nothing is written.
    components : tuple of Path
        Folders of components of the user's own.
    timing_only : bool
        Without tensor work.

    Returns
    -------
    list of Job
        Of a search: the runs of a trial at each point of its grid that changes no other key.

    Raises
    ------
    ScenarioError
        With the problems of all runs; nothing was written.
    """
    sweep = scenario.sweep
    assert sweep is not None
    modules = kinds_of(components)
    jobs: list[Job] = []
    problems: list[str] = []
    learned = [name for name in sweep.show if MEASURES[name].learned]
    if timing_only and learned:
        problems.append(
            f"{draft.path}: [sweep] show = {shown(learned[0])}: takes learning, so --timing-only "
            "does not tell"
        )
    select = scenario.chosen_by
    if select and "validation" in select and scenario.data.validation == 0:
        problems.append(
            f'{draft.path}: [sweep] select = "{select}": needs samples set aside; '
            "set [data] validation, such as 0.2"
        )
    if select and not scenario.main_metric.knows_the_best(select):
        problems.append(
            f'{draft.path}: [sweep] select = "{one_line(select)}": of this neither the highest '
            "nor the lowest is known to be the best; choose by a metric such as "
            "accuracy_validation, or by what is paid (times, energy, bits, messages lost)"
        )
    names = tuple(entry.name for entry in scenario.algorithm)
    played: dict[str, str] = {}
    for point in points_of(sweep.over):
        for further in ({}, *_ends(sweep.draw)):
            try:
                own = at_point(draft, Point(point.label, point.values | further))
                checked = check(own, modules)
                problems += runner.machine_problems(checked, own.path, modules, timing_only)
                problems += _other_algorithms(draft.path, point, further, names, checked)
            except ScenarioError as error:
                lines = str(error).splitlines()
                ranged = any(not sweep.draw[key].values for key in further)
                problems += [
                    f"{line}{_NO_RANGE}" if ranged and _WHOLE in line else line for line in lines
                ]
        if problems:
            continue
        own = at_point(draft, point)
        same = played.setdefault(json.dumps(own.raw, sort_keys=True, default=repr), point.label)
        if same != point.label:
            problems.append(
                f"{draft.path}: [sweep] over: {same} and {point.label} are the same scenario, as "
                "one key is laid over another; take one of both keys out"
            )
        for seed in seeds(sweep, scenario.seed):
            folder, seeded = out / place_of(point.label, seed), with_seed(own, seed)
            jobs.append(Job(point, seed, seeded, folder, components, timing_only, names))
    if problems:
        raise ScenarioError("\n".join(dict.fromkeys(problems)))
    return jobs


def _other_algorithms(
    path: str, point: Point, further: dict[str, Any], names: Sequence[str], checked: Scenario
) -> list[str]:
    """Problem of a point whose algorithms have other names than the scenario's, if it has one.

    `path`: the scenario's file, for errors. `further`: keys and values beside the point's, such as
    an end of a search's range. `names`: those of the scenario's algorithms.
    """
    theirs = [entry.name for entry in checked.algorithm]
    if theirs == list(names):
        return []
    values = {**point.values, **further}
    key = next((key for key in values if key.partition(".")[0] == "algorithm"), "")
    return [
        f"{path}: [sweep] {key} = {shown(values.get(key))}: would play {', '.join(theirs)} in "
        f"place of {', '.join(names)}, and every point of a sweep has the same algorithms; list "
        "all of them as [[algorithm]], which are compared at each point"
    ]


def _ends(draw: Mapping[str, Draw]) -> Iterable[dict[str, Any]]:
    """Each key of a search alone, at the ends of its range or every value of its list."""
    for key, span in draw.items():
        for value in span.values or (span.low, span.high):
            yield {key: value}


def at_point(draft: Draft, point: Point) -> Draft:
    """A copy of a scenario with a point's values, and without its sweep.

    Raises
    ------
    ScenarioError
        If a key leads nowhere, or one value undoes another, so that the point would not be what it
        is called.
    """
    own = draft.copy()
    own.raw.pop("sweep", None)
    own.assign_all((key, value, _origin(draft, key, value)) for key, value in point.values.items())
    return own


def with_seed(draft: Draft, seed: int) -> Draft:
    """A copy of a scenario with another seed."""
    own = draft.copy()
    own.assign("seed", seed, draft.path)
    return own


def seeds(sweep: Sweep, seed: int) -> tuple[int, ...]:
    """The seeds of a sweep; the scenario's own where it lists none."""
    return sweep.seeds or (seed,)


def _origin(draft: Draft, key: str, value: Any) -> str:
    """Describe the origin of a point's value, for errors."""
    for table, option in (("over", "--over"), ("draw", "--draw")):
        stated = draft.raw.get("sweep", {}).get(table, {})
        if key in stated and draft.source(("sweep", table, key)) == COMMAND_LINE:
            return f"{option} {key}={shown(value)}"
    return f"{draft.path}: [sweep] {key} = {shown(value)}"
