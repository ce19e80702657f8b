"""The command `netsim sweep`, and a sweep's folder in `netsim compare`."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from netsim.console import terminal
from netsim.console.checking import checked
from netsim.console.progress import announce
from netsim.console.sweep_options import measures_named
from netsim.engine import runner
from netsim.engine import sweep as sweeps
from netsim.engine.trials import best_trials
from netsim.errors import ScenarioError
from netsim.recording import folder_lock
from netsim.recording.folder_lock import is_lock
from netsim.recording.whole_files import write_text
from netsim.results.terminal_tables import WrappedTable
from netsim.scenario import Scenario, Sweep, algorithm_files, to_toml
from netsim.scenario.draft import Draft
from netsim.scenario.labels import shown

NAMED = 12
"""Runs that did not end are listed up to this many."""


def sweep(
    name: str,
    sets: Sequence[str],
    table: dict[str, Any],
    out: Path | None,
    algorithms: Path | None,
    timing_only: bool,
    quiet: bool,
) -> None:
    """Play a scenario's sweep, changed or made by the command line's.

    Parameters
    ----------
    name : str
        A file, or a shipped scenario's name.
    sets : sequence of str
        Assignments `a.b=value`.
    table : dict
        What the command line says of `[sweep]`; see `options`.
    out : Path or None
        Folder of the results; None: the first free of runs/NAME, runs/NAME-2, ...
    algorithms : Path or None
        A folder of the user's own algorithm files.
    timing_only : bool
        Without tensor work.
    quiet : bool
        Neither progress nor tables.

    Raises
    ------
    ScenarioError
        If there is anything wrong with the input; nothing was written.
    RunFailedError
        If a run failed; the others' results are there.
    """
    modules = algorithm_files.algorithms(algorithms)
    draft, scenario = checked(name, sets, table, modules, out, timing_only)
    if scenario.sweep is None:
        raise ScenarioError(
            f"{draft.path}: has no [sweep] table; say what to vary: --over key.path=1,2 --seeds 0:5"
        )
    play(draft, scenario, out, algorithms, timing_only, quiet)


def play(
    draft: Draft,
    scenario: Scenario,
    out: Path | None,
    algorithms: Path | None,
    timing_only: bool,
    quiet: bool,
) -> None:
    """Play a sweep; whatever ends it, what has been played is summed up.

    Parameters
    ----------
    draft : Draft
        The scenario before validation: each run changes it and checks it again.
    scenario : Scenario
        With a sweep.
    out, algorithms, timing_only, quiet
        As of `sweep`.

    Raises
    ------
    ScenarioError, RunFailedError
        As `sweep`.
    """
    assert scenario.sweep is not None
    sweeps.plan(draft, scenario, Path(), algorithms, timing_only)  # before any folder
    top = runner.claim(out, scenario.name)
    told = _Told(terminal.err(), scenario, top, quiet)
    stopped: KeyboardInterrupt | None = None
    try:
        jobs = sweeps.plan(draft, scenario, top, algorithms, timing_only)
        sweeps.run_jobs(jobs, told.begin(jobs), told)
    except KeyboardInterrupt as stop:
        stopped = stop
    finally:
        runner.release(top)  # only if nothing was written
    failed = [outcome for outcome in told.outcomes if outcome.problem]
    played = len(told.outcomes) > len(failed)
    try:
        if played:
            _conclude(scenario, told.outcomes, top, quiet)
    except KeyboardInterrupt as stop:
        stopped = stop
    finally:
        folder_lock.release(top)
    if stopped is not None:
        raise _with_what_is_missing(stopped, jobs, told.outcomes, top)
    if not played:
        texts = list(dict.fromkeys(outcome.problem for outcome in failed))
        if all(outcome.bad_input for outcome in failed) and not top.exists():
            raise ScenarioError("\n".join(texts))
        raise runner.RunFailedError("\n".join(texts))
    if failed:
        raise runner.RunFailedError(
            f"{len(failed)} of {len(jobs)} runs; the others are in {top}\n"
            + "\n".join(outcome.problem for outcome in failed)
        )


def _with_what_is_missing(
    stop: KeyboardInterrupt, jobs: Sequence[sweeps.Job], ended: Sequence[sweeps.Outcome], top: Path
) -> KeyboardInterrupt:
    """Say what an interrupted sweep has, which runs failed, and which have not ended."""
    if not top.exists():
        return stop
    stop.__notes__ = [f"{len(ended)} of {len(jobs)} runs had ended; their results are in {top}"]
    stop.__notes__ += [outcome.problem for outcome in ended if outcome.problem]
    known = {outcome.job.folder for outcome in ended}
    missing = [job.where for job in jobs if job.folder not in known]
    stop.__notes__ += [f"not ended: {where}" for where in missing[:NAMED]]
    if len(missing) > NAMED:
        stop.__notes__.append(f"and {len(missing) - NAMED} more")
    return stop


def _conclude(
    scenario: Scenario, outcomes: Sequence[sweeps.Outcome], top: Path, quiet: bool
) -> None:
    from netsim.results import plot_style, sweep_comparison, sweep_figure
    from netsim.results.compare import write_csv

    assert scenario.sweep is not None
    swept = _swept(scenario.sweep, scenario.seed)
    lines = sweep_comparison.compare_points(top, swept)
    write_csv(top / "sweep.csv", sweep_comparison.tidy_rows(lines))
    select = scenario.sweep.chosen_by
    best = best_trials(outcomes, select, top) if select else {}
    if not scenario.sweep.trials:
        n = len(swept.seeds)
        bars = f"{n} seeds, bars: 95 % intervals" if n > 1 else "one seed"
        figure = sweep_figure.draw(
            lines, sweep_comparison.measures_to_show(lines, swept.show), f"{scenario.name} · {bars}"
        )
        if figure is not None:
            with plot_style.style():
                plot_style.save(figure, top / "sweep.png")
    if quiet:
        return
    console = terminal.out()
    console.print(_table(lines, swept))
    for algorithm, found in best.items():
        options = " ".join(f"--set {k}={shown(v)}" for k, v in found["values"].items())
        line = f"  {select} {found['score']:.4g} at {found['point']}: {options}"
        console.print(Text(f"best {algorithm}", style="bold") + Text(line))
    if select and not best:
        console.print(f"no run has the metric {select}: no best trial")
    console.print(Text("results in ") + Text(str(top), style="bold"))


def _swept(sweep: Sweep, seed: int) -> Any:
    from netsim.results.sweep_comparison import SweepDesign

    points = {point.label: point.values for point in sweeps.points(sweep, seed)}
    return SweepDesign(points, sweeps.seeds(sweep, seed), sweep.target, sweep.show)


def _table(lines: Any, swept: Any) -> WrappedTable:
    from netsim.results import sweep_comparison, sweep_table

    return sweep_table.table(lines, sweep_comparison.measures_to_show(lines, swept.show), swept)


def is_sweep(folder: Path) -> bool:
    """Whether results of a sweep are in a folder."""
    return "sweep" in _played(folder)


def compared(
    folder: Path, target: float | None, show: str | None, csv: Path | None
) -> WrappedTable:
    """The table of a sweep that has been played, by its folder.

    Parameters
    ----------
    folder : Path
    target : float or None
        Accuracy whose first crossing is told; None: the sweep's own.
    show : str or None
        Names of measures, separated by commas; None: the sweep's own.
    csv : Path or None
        Where to write the rows as CSV.

    Raises
    ------
    ScenarioError
    """
    from netsim.results import sweep_comparison
    from netsim.results.compare import write_csv

    raw = _played(folder)
    table = raw["sweep"]
    if target is not None:
        table["target"] = target
    if show is not None:
        table["show"] = measures_named(show)
    try:
        sweep = Sweep.model_validate(table)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ScenarioError(f"{folder / 'scenario.toml'}: [sweep]: {problem}") from None
    swept = _swept(sweep, raw.get("seed", 0))
    lines = sweep_comparison.compare_points(folder, swept)
    if csv is not None:
        write_csv(csv, sweep_comparison.tidy_rows(lines))
    return _table(lines, swept)


def _played(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


class _Told:
    """Keeps what became of each run, with a line for each; a folder with results says whose."""

    def __init__(self, console: Console, scenario: Scenario, top: Path, quiet: bool) -> None:
        self.outcomes: list[sweeps.Outcome] = []
        self._console, self._scenario, self._top, self._quiet = console, scenario, top, quiet
        self._total = 0

    def begin(self, jobs: Sequence[sweeps.Job]) -> int:
        """Announce the sweep; returns how many runs there are to be at a time."""
        assert self._scenario.sweep is not None
        self._total = len(jobs)
        workers = min(sweeps.workers(self._scenario.sweep), self._total)
        if not self._quiet:
            announce(self._console, self._scenario)
            self._console.print(f"{self._total} runs, {workers} at a time, into {self._top}")
        return workers

    def __call__(self, outcome: sweeps.Outcome) -> None:
        self.outcomes.append(outcome)
        resolved = self._top / "scenario.toml"
        if (
            self._top.exists()
            and not resolved.exists()
            and not all(map(is_lock, self._top.iterdir()))
        ):
            write_text(resolved, to_toml(self._scenario))
        if not self._quiet:
            how = Text("failed", style="bold red") if outcome.problem else Text("done", "green")
            number = f"{len(self.outcomes):>{len(str(self._total))}} of {self._total}"
            self._console.print(Text(f"{number}  {outcome.job.where}  ") + how)
