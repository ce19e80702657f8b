"""The command `netsim plot`: figures for papers, of runs that have been played."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.results import plot_style
from netsim.results.played import folders as begun_runs
from netsim.results.plot_sheets import Sheet, paper, width_in
from netsim.results.plot_style import FORMATS
from netsim.results.plots import cdf, curves, graph, numbers, runs
from netsim.results.plots.estimates import Band
from netsim.results.plots.numbers import Drawn
from netsim.results.plots.runs import Run
from netsim.traces.files import is_file

VIEWS = ("accuracy", "bytes", "graph", "cdf", "sweep")
_MOST_CURVES = 12


@dataclass(frozen=True)
class Wanted:
    """Options of the command line.

    Attributes
    ----------
    view : str or None
        One of `VIEWS`; None: `sweep` of a sweep, else `accuracy`.
    form : {"pdf", "svg", "png"} or None
        None: that of `out`, else PDF.
    out : Path or None
        The figure; None: the run's or the sweep's name and the view, in the working folder.
    width : str
        `column`, `text`, or a number of inches.
    metrics : tuple of str
        Empty: the main metric; with `cdf` also delays.
    band : str or None
        See `curves.draw`.
    paired_to : str or None
        A method, or a point of a sweep, to which differences are drawn.
    with_table : bool
        Whether a small table is written, too.
    overwrite : bool
        Whether files that are there are replaced.
    """

    view: str | None = None
    form: str | None = None
    out: Path | None = None
    width: str = "column"
    metrics: tuple[str, ...] = ()
    band: Band | None = None
    paired_to: str | None = None
    with_table: bool = False
    overwrite: bool = False


def plot(paths: Sequence[Path], wanted: Wanted) -> list[Path]:
    """Draw a figure and write it with its numbers.

    Parameters
    ----------
    paths : sequence of Path
        Folders of runs, or of one sweep.
    wanted : Wanted

    Returns
    -------
    list of Path
        What was written: the figure first.

    Raises
    ------
    ScenarioError
        If there is nothing to draw, or a file is there already; nothing was written.
    """
    sheet = paper(width_in(wanted.width, "--width "))
    sweeps = [path for path in paths if _is_sweep(path)]
    if sweeps and len(paths) > 1:
        raise ScenarioError(
            f"{one_line(sweeps[0])}: is the folder of a sweep; draw it by itself, or name folders "
            "of its points or runs"
        )
    view = wanted.view or ("sweep" if sweeps else "accuracy")
    if view == "sweep" and not sweeps:
        raise ScenarioError(
            f"{one_line(paths[0])}: --as sweep: is no folder of a sweep; --as accuracy, bytes, "
            "graph or cdf draws runs"
        )
    form = _form(wanted)
    out = wanted.out or Path(f"{_name(paths[0])}-{view}.{form}")
    _require_free(out, wanted)
    _require_sense(view, wanted)
    with plot_style.style(sheet):
        if view == "sweep":
            drawn = _sweep(paths[0], wanted, sheet)
        else:
            drawn = _runs(paths, view, wanted, sheet)
        return numbers.write(drawn, out, form, wanted.with_table)


def _runs(paths: Sequence[Path], view: str, wanted: Wanted, sheet: Sheet) -> Drawn:
    """Draw runs.

    Parameters
    ----------
    paths : sequence of Path
    view : str
    wanted : Wanted
    sheet : Sheet
    """
    found = [Run.of(folder) for path in paths for folder in folders_of(path)]
    found = list({run.folder.resolve(): run for run in found}.values())
    named = runs.groups(found)
    if len(named) > _MOST_CURVES:
        raise ScenarioError(
            f"{one_line(paths[0])}: has {len(named)} curves, and a figure at most {_MOST_CURVES}; "
            f"name some of them, such as {one_line(_above_seed(found[0].folder))}"
        )
    if view == "graph":
        return graph.draw(found, sheet)
    _require_one_task(found)
    if view == "cdf":
        metrics = wanted.metrics or cdf.default_quantities(found)
        if not metrics:
            found[0].require_metric(found[0].main.name)
        return cdf.draw(found, metrics, sheet, wanted.paired_to)
    metrics = wanted.metrics or (found[0].main.name,)
    for run in found:
        for metric in metrics:
            run.require_metric(metric)
    against: tuple[str, ...] = ("time",)
    if view == "bytes":
        for run in found:
            run.require("traffic")
        against = ("megabytes", "airtime")
    drawn = curves.draw(found, metrics, against, sheet, wanted.band, wanted.paired_to)
    if drawn is None:
        raise ScenarioError(
            f"{found[0].folder / 'metrics'}: {metrics[0]} was measured once, at the start; set "
            "metrics.every_s below horizon_s"
        )
    return drawn


def _sweep(folder: Path, wanted: Wanted, sheet: Sheet) -> Drawn:
    """Draw a sweep.

    Parameters
    ----------
    folder : Path
    wanted : Wanted
    sheet : Sheet
    """
    from netsim.console import sweep_tables  # here: it brings torch, which runs need not
    from netsim.results import sweep_comparison
    from netsim.results.plots import sweep

    design = sweep_tables.design_of(folder)
    minus = _reference(folder, design, wanted.paired_to)
    lines = sweep_comparison.compare_points(folder, design, minus or None)
    show = sweep_tables.measures_of(folder, lines, wanted.metrics)
    way = sweep_tables.way(folder, minus)
    drawn = sweep.draw(lines, show, way, sheet)
    if drawn is None:
        raise ScenarioError(
            f"{folder / 'scenario.toml'}: sweep.over: nothing is varied, or no run has "
            f"{', '.join(show)}; netsim compare {folder} shows what there is"
        )
    sweep_tables.print_left_out(folder)
    return drawn


def _reference(folder: Path, design: Any, named: str | None) -> str:
    """The algorithm or point that a word means; empty: none."""
    if named is None:
        return ""
    if named in design.points:
        return named
    found = {run.algorithm: run for label in design.points for run in _of_point(folder / label)}
    groups = {name: [run] for name, run in found.items()}
    return groups[runs.reference(groups, named)][0].algorithm


def folders_of(path: Path) -> list[Path]:
    """The run folders at `path`: of a run, of several algorithms, of a sweep's point or a sweep.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    deeper = sorted(
        [p.parent for p in path.glob("seed-*/*/status.json")]
        + [p.parent for p in path.glob("*/seed-*/*/status.json")]
    )
    return deeper or begun_runs(path)


def _above_seed(run: Path) -> Path:
    """The folder of all seeds of a point, or the run itself."""
    return run.parents[1] if run.parent.name.startswith("seed-") else run


def _of_point(folder: Path) -> list[Run]:
    return [Run.of(p.parent) for p in sorted(folder.glob("seed-*/*/summary.json"))]


def _is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a sweep."""
    if not is_file(folder / "scenario.toml"):
        return False
    return isinstance(run_folder.scenario(folder).get("sweep"), dict)


def _require_one_task(found: Sequence[Run]) -> None:
    """Raise ScenarioError where runs are judged by different metrics."""
    first = found[0]
    for run in found:
        if run.main.name != first.main.name:
            raise ScenarioError(
                f"{run.folder / 'summary.json'}: task.metric = {run.main.name}: {first.folder} is "
                f"judged by {first.main.name}; draw runs of one task"
            )


def _require_sense(view: str, wanted: Wanted) -> None:
    """Raise ScenarioError for options that a view does not have."""
    if wanted.paired_to is not None and view in ("bytes", "graph"):
        raise ScenarioError(
            f"--paired-to {wanted.paired_to}: differences are taken at equal times; draw them "
            "with --as accuracy, cdf or sweep"
        )
    if wanted.band is not None and view not in ("accuracy", "bytes"):
        raise ScenarioError(f"--band {wanted.band}: --as {view} has no bands; leave it out")
    if wanted.metrics and view == "graph":
        raise ScenarioError(f"--metric {wanted.metrics[0]}: a graph has none; leave it out")


def _form(wanted: Wanted) -> str:
    """The format, from --format or the end of the file's name."""
    ending = "" if wanted.out is None else wanted.out.suffix[1:].lower()
    if wanted.form and ending in FORMATS and ending != wanted.form:
        raise ScenarioError(
            f"--format {wanted.form}: --out {one_line(wanted.out)} ends otherwise; name one of both"
        )
    if wanted.out is not None and not wanted.form and ending not in FORMATS:
        raise ScenarioError(
            f"--out {one_line(wanted.out)}: must end with .{', .'.join(FORMATS)}, or give --format"
        )
    return wanted.form or ending or "pdf"


def _require_free(out: Path, wanted: Wanted) -> None:
    """Raise ScenarioError where a file would be replaced that nobody gave up."""
    if out.is_dir():
        raise ScenarioError(f"--out {one_line(out)}: is a folder; name a file, such as figure.pdf")
    for path in numbers.beside(out, wanted.with_table):
        if path.exists() and not wanted.overwrite:
            raise ScenarioError(
                f"{one_line(path)}: is there already; name another file with --out, or replace it "
                "with --overwrite"
            )


def _name(path: Path) -> str:
    """Return the name of a figure's file."""
    return path.resolve().name or "figure"
