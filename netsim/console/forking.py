"""The command `netsim fork`: play a run again with a change from time T on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from netsim.console import progress, terminal
from netsim.console.ending import warnings_of
from netsim.engine import runner
from netsim.errors import ScenarioError
from netsim.recording import folder_lock, run_folder
from netsim.recording.summary import load, run_folders
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario.draft import Draft, parse_assignment
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.kinds import Kinds, keys_on_disk, kinds_of
from netsim.scenario.labels import shown


def fork(
    run: Path,
    at_s: float,
    sets: Sequence[str],
    out: Path | None,
    components: Sequence[Path],
    data: Path | None,
    figures: bool,
    quiet: bool,
) -> None:
    """Play a run again with a change from one instant on; compare the two node by node.

    Parameters
    ----------
    run : Path
        The folder of a finished run.
    at_s : float
        Virtual time of the change.
    sets : sequence of str
        Assignments `a.b=value` that hold from then on.
    out : Path or None
        The fork's folder; None: the first free of runs/NAME-fork, runs/NAME-fork-2, ...
    components : sequence of Path
        Folders of components of the user's own.
    data : Path or None
        The data folder; None: the run's, else `NETSIM_DATA`.
    figures : bool
        Whether to draw figures.
    quiet : bool
        Neither progress nor tables.

    Raises
    ------
    ScenarioError
        If the input is bad; nothing was written.
    RunFailedError
        If the run failed on its way.
    ForkDiffersError
        If the fork is not equal to the run before the change.
    """
    modules = kinds_of(components)
    original = _one_run(run)
    here = [] if data is None else [f"data.path={json.dumps(str(data.absolute()))}"]
    draft, change = forked(original, at_s, sets, here, modules)
    scenario = check(draft, modules)
    _play(original, draft, scenario, change, out, (modules, components), figures, quiet)


def _one_run(run: Path) -> Path:
    folders = run_folders(run)
    if len(folders) > 1:
        raise ScenarioError(f"{run}: several runs; name one, such as {folders[0]}")
    return folders[0]


def forked(
    folder: Path,
    at_s: float,
    sets: Sequence[str],
    always: Sequence[str],
    modules: Kinds,
) -> tuple[Draft, dict[str, Any]]:
    """The scenario of a run with one more change.

    Parameters
    ----------
    folder : Path
        The run's.
    at_s : float
        When the change comes.
    sets : sequence of str
        Assignments `a.b=value` that hold from then on.
    always : sequence of str
        Assignments that hold from the start, about this machine.
    modules : Kinds
        What scenarios can name.

    Returns
    -------
    draft : Draft
    change : dict
        The keys that are changed and their values.

    Raises
    ------
    ScenarioError
        If the run's scenario can't be read, or an assignment is none.
    """
    draft = draft_of(str(run_folder.scenario_file(folder)), always, modules)
    draft.raw.pop("sweep", None)
    named, change = keys_on_disk(modules), {}
    for text in sets:
        key, value = parse_assignment(text)
        change[key] = with_absolute_paths(value, Path(), named, tuple(key.split(".")))
    changes = list(draft.raw.get("changes", ()))
    known = [c for c in changes if c["at_s"] == at_s]
    if known:
        known[0]["set"] = {**known[0]["set"], **change}
    else:
        changes.append({"at_s": at_s, "set": change})
    draft.raw["changes"] = sorted(changes, key=lambda c: float(c["at_s"]))
    return draft, change


def _play(
    original: Path,
    draft: Draft,
    scenario: Scenario,
    change: dict[str, Any],
    out: Path | None,
    known: tuple[Kinds, Sequence[Path]],
    figures: bool,
    quiet: bool,
) -> None:
    """Play a fork, check that it is its original up to the change, and compare.

    Parameters
    ----------
    original : Path
        The folder of the run.
    draft : Draft
    scenario : Scenario
        The fork's.
    change : dict
        What is otherwise.
    out : Path or None
    known : (Kinds, sequence of Path)
        What scenarios can name, and the folders of the user's own components.
    figures, quiet : bool
    """
    modules, components = known
    timing_only = _environment(original)["timing_only"]
    problems = runner.machine_problems(scenario, draft.path, modules, timing_only)
    out_problem = runner.out_problem(out) if out is not None else None
    if problems or out_problem:
        raise ScenarioError("\n".join([*problems, *([out_problem] if out_problem else [])]))
    console = terminal.err()
    at_s = next(c.at_s for c in scenario.changes if change.keys() <= c.set.keys())
    made: list[Path] = []

    def make_folder() -> Path:
        made.append(runner.claim(out, f"{scenario.name}-fork"))
        if not quiet:
            progress.announce(console, scenario)
        return made[0]

    ending = _ForkEnding(original, at_s, change, figures)
    try:
        with progress.watched(console, scenario, quiet) as watch:
            runner.play(
                scenario,
                make_folder,
                draft.path,
                timing_only,
                watch,
                components=components,
                doing=None if watch is None else watch.doing,
                ending=ending,
            )
        if not quiet:
            ending.tell(made[0])
    finally:
        for folder in made:
            folder_lock.release(folder)


class _ForkEnding:
    """Comparison of an ended fork with its original; see `runner.Ending`.

    Parameters
    ----------
    original : Path
        The folder of the run that was forked.
    at_s : float
        When the change came.
    change : dict
        What was otherwise from then on.
    figures : bool
    """

    def __init__(self, original: Path, at_s: float, change: dict[str, Any], figures: bool) -> None:
        self._original, self._at_s, self._change = original, at_s, change
        self.drawn = (figures, False)
        self._compared: dict[str, int] = {}
        self._table: Any = None

    def run(self, folder: Path, alone: bool) -> None:
        """Write what differs, and draw the curves of both beside each other."""
        from netsim.views.gathering import fork_comparison as forks  # here: once there is something

        pair = forks.Pair(self._original, folder, self._at_s)
        self._compared = forks.require_equal_past(pair)
        nodes = run_folder.nodes_of(folder, load(folder))
        self._table = forks.write(pair, self._change, self._compared, nodes)
        if self.drawn[0]:
            from netsim.views.render.pictures import draw, draw_comparison

            draw(folder)
            draw_comparison(folder, [self._original, folder])

    def together(self, top: Path, folders: Sequence[Path]) -> None:
        """Do nothing: a fork is of one algorithm."""

    def tell(self, folder: Path) -> None:
        """Print the change, the two runs beside each other, and the check of their common past."""
        console = terminal.out()
        change = ", ".join(f"{key} = {shown(value)}" for key, value in self._change.items())
        console.print(
            f"{folder} is {self._original} up to {self._at_s:g} s; from then on it has {change}."
        )
        console.print(self._table)
        measures = json.loads((folder / "fork.json").read_text(encoding="utf-8"))["measures"]
        if measures and not any(m["higher"] or m["lower"] for m in measures.values()):
            console.print("The change made no difference to any node.")
        rows = [f"{count:,} of {name}" for name, count in self._compared.items() if count]
        if rows:
            console.print(f"Before {self._at_s:g} s all rows are equal: {', '.join(rows)}.")
        for warning in warnings_of(folder):
            terminal.err().print(Text(warning, style="yellow"))
        console.print(Text("results in ") + Text(str(folder), style="bold"))


def _environment(folder: Path) -> dict[str, Any]:
    found = run_folder.environment(folder)
    if "timing_only" not in found:
        path = folder / "environment.json"
        raise ScenarioError(f"{path}: does not say whether the run had timing_only")
    return found
