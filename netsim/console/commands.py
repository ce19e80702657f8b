"""The commands behind the command line, without its parsing."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from netsim import plugins, runner
from netsim import sweep as sweeping
from netsim.console import listing, progress, terminal
from netsim.errors import ScenarioError
from netsim.scenario import Scenario, check, draft_of, to_toml
from netsim.scenario.draft import Draft, parse_value, split_values
from netsim.scenario.problems import shown


def run(
    name: str,
    sets: Sequence[str],
    out: Path | None,
    algorithms: Path | None,
    timing_only: bool,
    figures: bool,
    quiet: bool,
) -> None:
    """Play a scenario, or all of its sweep if it has one."""
    modules = plugins.algorithms(algorithms)
    draft, scenario = _checked(name, sets, {}, modules, out, timing_only)
    if scenario.sweep is not None:
        _sweep(draft, scenario, out, algorithms, timing_only, quiet)
        return
    console = terminal.err()
    made: list[Path] = []

    def make_folder() -> Path:
        made.append(runner.claim(out, scenario.name))
        if not quiet:
            _announce(console, scenario)
        return made[0]

    with progress.watched(console, quiet) as watch:
        folders = runner.play(scenario, make_folder, draft.path, timing_only, watch)
    _conclude(made[0], folders, figures, quiet)


def _announce(console: Console, scenario: Scenario) -> None:
    console.print(Text(scenario.name, style="bold") + Text("  " + progress.headline(scenario)))


def _conclude(top: Path, folders: Sequence[Path], figures: bool, quiet: bool) -> None:
    from netsim.results.compare import table  # here: pictures and tables only once there are any

    several = len(folders) > 1
    compared = table(folders, top / "comparison.csv" if several else None)
    if figures:
        from netsim.results.figures import draw, draw_comparison

        for folder in folders:
            draw(folder)
        if several:
            draw_comparison(top, folders)
    if not quiet:
        console = terminal.out()
        console.print(compared)
        for folder in folders:
            for warning in _warnings(folder):
                terminal.err().print(Text(warning, style="yellow"))
        console.print(Text("results in ") + Text(str(top), style="bold"))


def _warnings(folder: Path) -> list[str]:
    """What of a run its user should know before reading its numbers."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    found = [
        f"{summary['algorithm']}: {subject} ran node after node: {reason}"
        for subject, reason in summary["engine"]["one_by_one"].items()
    ]
    graph = summary["topology"]
    if graph["components"] > 1:
        found.append(
            f"{summary['algorithm']}: the topology is not connected: {graph['components']} "
            f"components, the largest of {graph['largest_component']} of {summary['nodes']} nodes, "
            f"{graph['isolated_nodes']} nodes without neighbours"
        )
    diverged = summary["diverged"]
    if diverged:
        first = min(diverged, key=lambda d: d["t_s"])
        found.append(
            f"{summary['algorithm']}: {len(diverged)} of {summary['nodes']} nodes diverged (nan or "
            f"infinite parameters), node {first['node']} first, at {first['t_s']:g} s, in "
            f"{first['job']}; all are in summary.json"
        )
    return found


def tune(
    name: str, sets: Sequence[str], algorithms: Path | None, out: Path | None, quiet: bool
) -> None:
    """Measure a scenario's models and keep the routes that follow."""
    from netsim import tuning
    from netsim.compute import routes

    draft, scenario = _checked(name, sets, {}, plugins.algorithms(algorithms), None, False)
    path = out or routes.user_table()
    routes.read_measured(path)  # a file that could not be kept must fail before the measuring
    found = tuning.tune(runner.build(scenario, draft.path))
    try:
        tuning.keep(found, path)
    except OSError as error:
        raise ScenarioError(f"--out {path}: cannot be written: {error.strerror}") from error
    if quiet:
        return
    table = Table(box=box.SIMPLE_HEAD, title="times faster stacked than node after node")
    table.add_column("model, minibatch, precision, threads", overflow="fold")
    for column in ("nodes", "train", "loss", "look", "lanes"):
        table.add_column(column, justify="right")
    for m in found:
        cells = [f"{m.ratios[p]:.2f}" for p in ("train", "loss", "look")]
        table.add_row(m.signature, str(m.nodes), *cells, str(m.route.lanes))
    console = terminal.out()
    console.print(table)
    console.print(Text("kept in ") + Text(str(path), style="bold"))


def sweep_table(
    over: Iterable[str],
    draw: Iterable[str],
    trials: int | None,
    seeds: str | None,
    select: str | None,
    jobs: int | None,
) -> dict[str, Any]:
    """The `[sweep]` table that a command line describes.

    Raises
    ------
    ScenarioError
    """
    table: dict[str, Any] = {}
    problems: list[str] = []
    for text in over:
        key, _, values = text.partition("=")
        if not values:
            problems.append(f"--over {text}: is not of the form key.path=value,value")
        table.setdefault("over", {})[key] = split_values(values)
    for text in draw:
        key, _, span = text.partition("=")
        low, _, rest = span.partition(":")
        high, _, log = rest.partition(":")
        if "," in span:
            table.setdefault("draw", {})[key] = split_values(span)
        elif not (low and high) or log not in ("", "log"):
            problems.append(f"--draw {text}: is not of the form key.path=low:high[:log] or =a,b,c")
        else:
            limits = {"low": parse_value(low), "high": parse_value(high), "log": log == "log"}
            table.setdefault("draw", {})[key] = limits
    try:
        if seeds is not None:
            table["seeds"] = _seeds(seeds)
    except ValueError:
        problems.append(f"--seeds {seeds}: is neither a range such as 0:5 nor a list such as 0,3,7")
    if problems:
        raise ScenarioError("\n".join(problems))
    given = {"trials": trials, "select": select, "jobs": jobs}
    return table | {key: value for key, value in given.items() if value is not None}


def _seeds(text: str) -> list[int]:
    if ":" in text:
        low, high = (int(end) for end in text.split(":"))
        if not 0 <= low < high:
            raise ValueError
        return list(range(low, high))
    return [int(seed) for seed in text.split(",")]


def sweep(
    name: str,
    sets: Sequence[str],
    table: dict[str, Any],
    out: Path | None,
    algorithms: Path | None,
    timing_only: bool,
    quiet: bool,
) -> None:
    """Play a scenario's sweep, changed or made by the command line's."""
    modules = plugins.algorithms(algorithms)
    draft, scenario = _checked(name, sets, table, modules, out, timing_only)
    if scenario.sweep is None:
        raise ScenarioError(
            f"{draft.path}: has no [sweep] table; say what to vary: --over key.path=1,2 --seeds 0:5"
        )
    _sweep(draft, scenario, out, algorithms, timing_only, quiet)


def _checked(
    name: str,
    sets: Sequence[str],
    sweep: dict[str, Any],
    modules: dict[str, ModuleType],
    out: Path | None,
    timing_only: bool,
) -> tuple[Draft, Scenario]:
    """The scenario, after every check that needs no data; all problems at once."""
    problems = []
    out_problem = runner.out_problem(out) if out is not None else None
    if out_problem:
        problems.append(out_problem)
    try:
        draft = draft_of(name, sets)
        if sweep:
            draft.lay_over({"sweep": sweep}, "command line")
        scenario = check(draft, modules)
        problems += runner.machine_problems(scenario, draft.path, modules, timing_only)
    except ScenarioError as error:
        raise ScenarioError("\n".join([*str(error).splitlines(), *problems])) from None
    if problems:
        raise ScenarioError("\n".join(problems))
    return draft, scenario


def _sweep(
    draft: Draft,
    scenario: Scenario,
    out: Path | None,
    algorithms: Path | None,
    timing_only: bool,
    quiet: bool,
) -> None:
    from netsim.results.compare import sweep_table as summed

    assert scenario.sweep is not None
    sweeping.plan(draft, scenario, Path(), algorithms, timing_only)  # before any folder
    top = runner.claim(out, scenario.name)
    try:
        jobs = sweeping.plan(draft, scenario, top, algorithms, timing_only)
        workers = min(sweeping.workers(scenario.sweep), len(jobs))
        console = terminal.err()
        if not quiet:
            _announce(console, scenario)
            console.print(f"{len(jobs)} runs, {workers} at a time, into {top}")
        told = _Counter(console, len(jobs), quiet)
        outcomes = sweeping.run_jobs(jobs, workers, told)
    finally:
        runner.release(top)  # only if nothing was written
    failed = [outcome for outcome in outcomes if outcome.problem]
    if len(failed) == len(outcomes):
        texts = list(dict.fromkeys(outcome.problem for outcome in failed))
        if all(outcome.bad_input for outcome in failed) and not top.exists():
            raise ScenarioError("\n".join(texts))
        raise runner.RunFailedError("\n".join(texts))
    (top / "scenario.toml").write_text(to_toml(scenario), encoding="utf-8")
    table = summed(top, csv_path=top / "sweep.csv")
    best = {}
    if scenario.sweep.trials:
        best = sweeping.best_trials(outcomes, scenario.sweep.select, top)
    if not quiet:
        _show_sweep(scenario, table, best, top)
    if failed:
        raise runner.RunFailedError(
            f"{len(failed)} of {len(outcomes)} runs; the others are in {top}\n"
            + "\n".join(outcome.problem for outcome in failed)
        )


def _show_sweep(
    scenario: Scenario, table: RenderableType, best: dict[str, dict[str, Any]], top: Path
) -> None:
    assert scenario.sweep is not None
    console = terminal.out()
    console.print(table)
    for algorithm, found in best.items():
        options = " ".join(f"--set {k}={shown(v)}" for k, v in found["values"].items())
        line = f"  {scenario.sweep.select} {found['score']:.4g} at {found['point']}: {options}"
        console.print(Text(f"best {algorithm}", style="bold") + Text(line))
    if scenario.sweep.trials and not best:
        console.print(f"no run has the metric {scenario.sweep.select}: no best trial")
    console.print(Text("results in ") + Text(str(top), style="bold"))


class _Counter:
    """One line for every run that ends."""

    def __init__(self, console: Console, total: int, quiet: bool) -> None:
        self.console, self.total, self.quiet, self.done = console, total, quiet, 0

    def __call__(self, outcome: sweeping.Outcome) -> None:
        self.done += 1
        if not self.quiet:
            how = Text("failed", style="bold red") if outcome.problem else Text("done", "green")
            where = (
                f"{self.done:>{len(str(self.total))}} of {self.total}  {outcome.job.point.label}"
            )
            self.console.print(Text(f"{where}, seed {outcome.job.seed}  ") + how)


def validate(
    names: Sequence[str],
    sets: Sequence[str],
    algorithms: Path | None,
    world: bool,
) -> None:
    """Check scenarios; every point of their sweeps, too.

    Raises
    ------
    ScenarioError
        With the problems of all of them.
    """
    modules = plugins.algorithms(algorithms)
    problems: list[str] = []
    for name in names:
        try:
            draft, scenario = _checked(name, sets, {}, modules, None, False)
            if scenario.sweep is not None:
                sweeping.plan(draft, scenario, Path(), algorithms)
            if world:
                runner.build(scenario, draft.path)
            terminal.out().print(
                Text("ok ", style="green") + Text(f"{name}: ") + Text(progress.headline(scenario))
            )
        except ScenarioError as error:
            problems += str(error).splitlines()
    if problems:
        raise ScenarioError("\n".join(problems))


def list_choices(what: str, algorithms: Path | None, keys: bool) -> None:
    """Print the groups that a word names."""
    modules = plugins.algorithms(algorithms)
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for group, entries in listing.choices(what, modules).items():
        table.add_row(Text(group, style="bold"), "")
        for entry in entries:
            about = Text(entry.about)
            if keys and entry.keys:
                about += Text("\n" + entry.keys, style="dim")
            table.add_row(Text("  " + entry.name), about)
        table.add_section()
    terminal.out().print(table)
