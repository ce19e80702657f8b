"""The command `netsim plot`: figures for papers, of runs that have been played."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.played import folders as begun_runs
from netsim.traces.files import is_file
from netsim.views import Ask, Shown, find
from netsim.views.gathering import runs
from netsim.views.gathering.asked import shown_of
from netsim.views.gathering.estimates import Band
from netsim.views.gathering.runs import Run
from netsim.views.render import terminal
from netsim.views.render.figure import files as numbers
from netsim.views.render.figure import marks
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import paper, width_in
from netsim.views.render.figure.style import FORMATS
from netsim.views.render.terminal import WrappedTable

_MOST_CURVES = 12


@dataclass(frozen=True)
class Wanted:
    """Options of the command line.

    Attributes
    ----------
    view : str or None
        The name of a view; None: `sweep` of a sweep, else `accuracy`.
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
    view = _view(paths, wanted)
    form = _form(wanted)
    out = wanted.out or Path(f"{_name(paths[0])}-{view}.{form}")
    _require_free(out, wanted)
    with plot_style.style(sheet):
        shown, rows = _gathered(paths, view, wanted)
        try:
            drawn = marks.drawn(shown, sheet=sheet)
        except marks.OnPageOnlyError as error:
            raise ScenarioError(f"--as {view}: {error}; --format text prints tables") from None
        if rows is not None:
            drawn = replace(drawn, rows=rows)
        return numbers.write(drawn, out, form, wanted.with_table)


def tables(paths: Sequence[Path], wanted: Wanted) -> list[WrappedTable]:
    """The tables of a view for the terminal.

    Parameters
    ----------
    paths : sequence of Path
        As of `plot`.
    wanted : Wanted

    Raises
    ------
    ScenarioError
        If there is nothing to show.
    """
    view = _view(paths, wanted)
    found = terminal.tables(_gathered(paths, view, wanted)[0])
    if not found:
        raise ScenarioError(f"--as {view}: has no table; netsim report writes its page")
    return found


def _view(paths: Sequence[Path], wanted: Wanted) -> str:
    """The name of the view, which suits what lies in the folders."""
    sweeps = [path for path in paths if _is_sweep(path)]
    if sweeps and len(paths) > 1:
        raise ScenarioError(
            f"{one_line(sweeps[0])}: is the folder of a sweep; draw it by itself, or name folders "
            "of its points or runs"
        )
    view = wanted.view or ("sweep" if sweeps else "accuracy")
    _require_sense(view, wanted)
    if hasattr(find(view), "of_sweep") and not sweeps:
        raise ScenarioError(
            f"{one_line(paths[0])}: --as {view}: is no folder of a sweep; --as accuracy, bytes, "
            "graph or cdf draws runs"
        )
    return view


def _gathered(
    paths: Sequence[Path], view: str, wanted: Wanted
) -> tuple[Shown, list[dict[str, Any]] | None]:
    """Gather a view, and the rows of its file where they are not those of its table.

    Parameters
    ----------
    paths : sequence of Path
    view : str
    wanted : Wanted
    """
    if hasattr(find(view), "of_sweep"):
        return _sweep(paths[0], view, wanted)
    found = [Run.of(folder) for path in paths for folder in folders_of(path)]
    found = list({run.folder.resolve(): run for run in found}.values())
    named = runs.groups(found)
    if len(named) > _MOST_CURVES:
        raise ScenarioError(
            f"{one_line(paths[0])}: has {len(named)} curves, and a figure at most {_MOST_CURVES}; "
            f"name some of them, such as {one_line(_above_seed(found[0].folder))}"
        )
    ask = Ask(wanted.metrics, wanted.band, wanted.paired_to, on_paper=True)
    return shown_of(view, found, ask), None


def _sweep(folder: Path, view: str, wanted: Wanted) -> tuple[Shown, list[dict[str, Any]] | None]:
    """Gather a view of a sweep.

    Parameters
    ----------
    folder : Path
    view : str
    wanted : Wanted
    """
    from netsim.console import sweep_tables  # here: it brings torch, which runs need not
    from netsim.views import sweep
    from netsim.views.gathering import comparison
    from netsim.views.gathering.sweep_tables import SweepTables

    design = sweep_tables.design_of(folder)
    if view != "sweep":
        found = find(view)
        shown = found.of_sweep(SweepTables(folder, design))
        if shown is None:
            raise ScenarioError(f"{folder}: has no {view}: {getattr(found, 'NOTHING', 'nothing')}")
        return shown, None
    minus = _reference(folder, design, wanted.paired_to)
    lines = comparison.compare_points(folder, design, minus or None)
    show = sweep_tables.measures_of(folder, lines, wanted.metrics)
    way = sweep_tables.way(folder, minus)
    shown = sweep.gather(lines, show, way)
    if shown is None:
        raise ScenarioError(
            f"{folder / 'scenario.toml'}: sweep.over: nothing is varied, or no run has "
            f"{', '.join(show)}; netsim compare {folder} shows what there is"
        )
    sweep_tables.print_left_out(folder)
    return shown, sweep.csv_rows(lines, show, way)


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


def _require_sense(view: str, wanted: Wanted) -> None:
    """Raise ScenarioError for a view that there is not, and for options that it does not take."""
    takes = getattr(find(view, "--as "), "TAKES", ())
    if wanted.paired_to is not None and "paired_to" not in takes:
        raise ScenarioError(
            f"--paired-to {wanted.paired_to}: differences are taken at equal times; draw them "
            "with --as accuracy, cdf or sweep"
        )
    if wanted.band is not None and "band" not in takes:
        raise ScenarioError(f"--band {wanted.band}: --as {view} has no bands; leave it out")
    if wanted.metrics and "metrics" not in takes:
        raise ScenarioError(f"--metric {wanted.metrics[0]}: a {view} has none; leave it out")


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
