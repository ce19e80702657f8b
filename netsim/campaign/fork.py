"""Fork a run: play it again with a change from one instant on, and compare the two."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.campaign.resume import Unfinished
from netsim.engine import output_folder, runner
from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.schema import TABLES
from netsim.recording.summary import json_value, run_folders
from netsim.recording.verified_files import require_tables, require_written
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario.draft import Draft, flat_paths, in_words, parse_assignment
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.kinds import Kinds, keys_on_disk


@dataclass(frozen=True)
class Fork:
    """A fork that can be played."""

    original: Path  # the folder of the run
    at_s: float  # virtual time of the change
    change: dict[str, Any]  # the keys that are changed and their values
    path: str  # the scenario's file, for errors
    scenario: Scenario  # the run's, with one more change
    timing_only: bool  # as the run was

    @property
    def record(self) -> dict[str, Any]:
        """Record of it that the folder of an unfinished fork keeps."""
        return {
            "original": str(self.original.resolve()),
            "at_s": self.at_s,
            "set": json_value(self.change),
        }


def prepare(
    run: Path,
    at_s: float,
    sets: Sequence[str],
    always: Sequence[str],
    modules: Kinds,
    out: Path | None,
) -> Fork:
    """Check that a run can be forked here; nothing is written.

    Parameters
    ----------
    run : Path
        The folder of a finished run.
    at_s : float
        Virtual time of the change.
    sets : sequence of str
        Assignments `a.b=value` that hold from then on.
    always : sequence of str
        Assignments that hold from the start, about this machine.
    modules : Kinds
        What scenarios can name.
    out : Path or None
        The fork's folder; None: one that is free.

    Raises
    ------
    ScenarioError
        If the run or the change is none that can be played here, or the folder is taken.
    """
    folders = run_folders(run)
    if len(folders) > 1:
        raise ScenarioError(f"{run}: several runs; name one, such as {folders[0]}")
    [original] = folders
    draft, change = _changed(original, at_s, sets, always, modules)
    scenario = check(draft, modules)
    environment = run_folder.environment(original)
    if "timing_only" not in environment:
        path = original / "environment.json"
        raise ScenarioError(f"{path}: does not say whether the run had timing_only")
    timing_only = environment["timing_only"]
    problems = runner.machine_problems(scenario, draft.path, modules, timing_only)
    out_problem = output_folder.out_problem(out) if out is not None else None
    if problems or out_problem:
        raise ScenarioError("\n".join([*problems, *([out_problem] if out_problem else [])]))
    run_folder.summary(original)  # what the end compares, before all of it is played
    require_written(original / run_folder.NODES, run_folder.NODES)
    require_tables(original, TABLES)
    return Fork(original, float(at_s), change, draft.path, scenario, timing_only)


def _changed(
    folder: Path, at_s: float, sets: Sequence[str], always: Sequence[str], modules: Kinds
) -> tuple[Draft, dict[str, Any]]:
    """The scenario of a run with one more change, and the keys that it changes; see `prepare`."""
    draft = draft_of(str(run_folder.scenario_file(folder)), always, modules)
    draft.raw.pop("sweep", None)
    named = keys_on_disk(modules)
    change: dict[str, Any] = {}
    for text in sets:
        key, value = parse_assignment(text)
        change |= flat_paths(
            {key: with_absolute_paths(value, Path(), named, tuple(key.split(".")))},
            in_words("--set", text),
        )
    changes = list(draft.raw.get("changes", ()))
    known = [c for c in changes if c["at_s"] == at_s]
    if known:
        known[0]["set"] = {**known[0]["set"], **change}
    else:
        changes.append({"at_s": at_s, "set": change})
    draft.raw["changes"] = sorted(changes, key=lambda c: float(c["at_s"]))
    return draft, change


def ending_of(run: Unfinished, figures: bool, tell: Callable[[str], object]) -> "ForkEnding | None":
    """Ending of an unfinished run that is a fork; None: it is none, or can't be compared.

    Parameters
    ----------
    tell : callable
        Told in words why a fork can't be compared.
    """
    request = run.command.fork
    if request is None:
        return None
    try:
        original, at_s, change = (
            Path(request["original"]),
            float(request["at_s"]),
            dict(request["set"]),
        )
        run_folder.summary(original)
        require_tables(original, TABLES)
    except (ScenarioError, OSError, KeyError, TypeError, ValueError) as problem:
        tell(
            f"{run.folder}: is a fork, and its original can't be read ({one_line(problem)}): it is "
            "played to its end, without fork.json, which compares the two; netsim compare does so "
            "once the original is there"
        )
        return None
    timing_only = run.command.timing_only
    return ForkEnding(Fork(original, at_s, change, run.path, run.scenario, timing_only), figures)


class ForkEnding:
    """Comparison of an ended fork with its original; see `runner.Ending`.

    `figures`: whether to draw figures.

    Attributes
    ----------
    equal_rows : dict of str to int
        By table how many rows were equal before the change.
    table : object
        The two runs beside each other, for a terminal.
    """

    def __init__(self, fork: Fork, figures: bool) -> None:
        self._fork = fork
        self.figures, self.report = figures, False
        self.equal_rows: dict[str, int] = {}
        self.table: Any = None

    def run(self, folder: Path, alone: bool) -> None:
        """Write what differs, and draw the curves of both beside each other.

        Raises
        ------
        ForkDiffersError
            If the fork is not equal to the run before the change.
        """
        from netsim.views.gathering import fork_comparison as forks  # here: once there is something

        fork = self._fork
        pair = forks.Pair(fork.original, folder, fork.at_s)
        self.equal_rows = forks.require_equal_past(pair)
        nodes = run_folder.nodes_of(folder, run_folder.summary(folder))
        self.table = forks.write(pair, fork.change, self.equal_rows, nodes)
        if self.figures:
            from netsim.views.render.pictures import draw, draw_comparison

            draw(folder)
            draw_comparison(folder, [fork.original, folder])

    def finish_all(self, top: Path, folders: Sequence[Path]) -> None:
        """Do nothing: a fork is of one algorithm."""
