"""The command `netsim plot`: figures for papers, of runs that have been played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from netsim.console import terminal
from netsim.errors import ScenarioError, one_line

if TYPE_CHECKING:
    from netsim.views import Ask, Shown
    from netsim.views.gathering.sweep_tables import SweepTables

ALSO_CALLED = ("draw", "figure", "figures", "graphs", "chart")

_MOST_CURVES = 12


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of runs, or of a sweep, or of a point of one."
        ),
    ],
    view: Annotated[
        str | None, typer.Option("--as", metavar="VIEW", help="What is drawn \\[accuracy].")
    ] = None,
    form: Annotated[
        Literal["pdf", "svg", "png", "text"] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="pdf, svg, png, or text: print a table \\[that of --out, else pdf].",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The figure \\[NAME-VIEW.pdf in the working folder]."),
    ] = None,
    width: Annotated[
        str,
        typer.Option(
            metavar="WIDTH", help="column (3.5 in), text (7.16 in, as the IEEE has it), or inches."
        ),
    ] = "column",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A metric, of a sweep a measure, of cdf also delay or age; repeated: more panels.",
        ),
    ] = None,
    band: Annotated[
        Literal["interval", "std", "nodes", "none"] | None,
        typer.Option(
            metavar="BAND",
            help="What bands span: interval, std, nodes, or none \\[interval of four seeds and "
            "more, nodes of one; else seeds].",
        ),
    ] = None,
    paired_to: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A panel more: paired differences to this method."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Also write a small table as Markdown.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there.")
    ] = False,
) -> None:
    """Draw a figure for a paper, of runs or of a sweep, with its numbers beside it as CSV.

    accuracy: the main metric over virtual time; bytes: over what was transmitted and over airtime;
    graph: who weighs whom; cdf: distributions over nodes and messages; fates: what became of
    messages; time_use: what nodes were at; age_by_pair, deliveries, weights: by pair of nodes; map;
    delays; weights_by_shared_classes; sweep: over the swept key.
    """
    from netsim.views import Ask

    ask = Ask(tuple(metric or ()), band, paired_to, on_paper=True)
    name = _view(runs, view, ask)
    if form == "text":
        from netsim.views.render.terminal import tables

        if not (found := tables(_gathered(runs, name, ask))):
            raise ScenarioError(f"--as {name}: has no table; netsim report writes its page")
        for shown in found:
            terminal.out().print(shown)
        return
    from netsim.views.render.figure import files, panels, style
    from netsim.views.render.figure.sheets import paper, width_in

    sheet = paper(width_in(width, "--width "))
    ending = _form(form, out)
    path = out or Path(f"{runs[0].resolve().name or 'figure'}-{name}.{ending}")
    _require_free(path, table, overwrite)
    with style.style(sheet):
        try:
            drawn = panels.draw(_gathered(runs, name, ask), sheet=sheet)
        except panels.OnPageOnlyError as error:
            raise ScenarioError(f"--as {name}: {error}; --format text prints tables") from None
        for written in files.write(drawn, path, ending, table):
            terminal.out().print(f"wrote {written}")


def _view(paths: Sequence[Path], named: str | None, ask: Ask) -> str:
    """The name of the view, which suits what lies in the folders."""
    from netsim.views import find

    sweeps = [path for path in paths if _is_sweep(path)]
    if sweeps and len(paths) > 1:
        raise ScenarioError(
            f"{one_line(sweeps[0])}: is the folder of a sweep; draw it by itself, or name folders "
            "of its points or runs"
        )
    view = named or ("sweep" if sweeps else "accuracy")
    _require_sense(view, ask)
    if hasattr(find(view), "of_sweep") and not sweeps:
        raise ScenarioError(
            f"{one_line(paths[0])}: --as {view}: is no folder of a sweep; --as accuracy, bytes, "
            "graph or cdf draws runs"
        )
    return view


def _gathered(paths: Sequence[Path], view: str, ask: Ask) -> Shown:
    from netsim.recording.reader import RunFolder
    from netsim.recording.run_mismatches import made_unlike
    from netsim.views import find
    from netsim.views.gathering import runs

    if hasattr(find(view), "of_sweep"):
        return _sweep(paths[0], view, ask)
    left = [line for path in paths for line in _left_out(path)]
    found = [RunFolder.ended(folder) for path in paths for folder in folders_of(path)]
    found = list({run.folder.resolve(): run for run in found}.values())
    named = runs.groups(found)
    if len(named) > _MOST_CURVES:
        first = found[0].folder
        some = first.parents[1] if first.parent.name.startswith("seed-") else first  # all seeds
        raise ScenarioError(
            f"{one_line(paths[0])}: has {len(named)} curves, and a figure at most {_MOST_CURVES}; "
            f"name some of them, such as {one_line(some)}"
        )
    labels = [one_line(run.folder) for run in found]
    for line in dict.fromkeys([*left, *made_unlike([run.folder for run in found], labels)]):
        terminal.err().print(line)
    return runs.shown_of(view, found, ask)


def _sweep(folder: Path, view: str, ask: Ask) -> Shown:
    from netsim.campaign import sweep_results
    from netsim.views import find, sweep

    tables, found = sweep_results.tables_of(folder), find(view)
    if view != "sweep":
        shown = found.of_sweep(tables)
        if shown is None:
            raise ScenarioError(f"{folder}: has no {view}: {getattr(found, 'NOTHING', 'nothing')}")
    else:
        minus = _reference(tables, ask.paired_to)
        lines = tables.lines_to(minus or None)
        show = _measures_of(folder, lines, ask.metrics)
        shown = sweep.gather(lines, show, minus, sweep_results.is_search(folder, minus))
        if shown is None:
            raise ScenarioError(
                f"{folder / 'scenario.toml'}: sweep.over: nothing is varied, or no run has "
                f"{', '.join(show)}; netsim compare {folder} shows what there is"
            )
    for line in _left_out(folder):
        terminal.err().print(line)
    return shown


def _left_out(path: Path) -> list[str]:
    """Sentences on the runs that no figure of a folder has."""
    from netsim.recording import summary

    if _is_sweep(path):
        from netsim.campaign import sweep_results  # here: it brings torch, which runs need not

        return sweep_results.left_out(path)
    return summary.left_out(path, only_to_come=True)


def _measures_of(folder: Path, lines: Any, named: Sequence[str]) -> list[str]:
    """The measures of a figure: those named, which a run must have, else the main metric."""
    from netsim.recording.summary_fields import MEASURES
    from netsim.recording.summary_fields import measure_name as measure_named

    there = [name for name in MEASURES if any(name in line.estimates for line in lines)]
    if not named:
        main: list[str] = [name for name in ("accuracy", "main_metric") if name in there]
        return main or [name for name in ("delay_s", *there) if name in there][:1]
    try:
        found = [measure_named(word) for word in named]
    except ValueError as error:
        raise ScenarioError(f"--metric {error}") from None
    for name in found:
        if name not in there:
            raise ScenarioError(
                f"{folder}: --metric {name}: no run has it; there are {', '.join(there)}"
            )
    return found


def _reference(tables: SweepTables, named: str | None) -> str:
    """The algorithm or point that a word means; empty: none."""
    from netsim.views.gathering import runs

    if named is None:
        return ""
    if named in tables.design.points:
        return named
    groups = {run.algorithm: [run] for run in tables.runs}
    return groups[runs.reference(groups, named)][0].algorithm


def folders_of(path: Path) -> list[Path]:
    """The run folders at `path`: of a run, of several algorithms, of a sweep's point or a sweep.

    Of a sweep these are the runs that have ended; what it has put aside is none of them.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    from netsim.recording import run_folder
    from netsim.recording.reader import begun_folders

    if _is_sweep(path):
        from netsim.campaign import sweep_results  # here: it brings torch, which runs need not

        return [run.folder for run in sweep_results.tables_of(path).runs] or begun_folders(path)
    deeper = sorted(
        found.parent
        for pattern in ("seed-*/*/status.json", "*/seed-*/*/status.json")
        for found in path.glob(pattern)
        if run_folder.UNFINISHED not in found.parent.parent.name
    )
    return deeper or begun_folders(path)


def _is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a sweep."""
    from netsim.recording import run_folder
    from netsim.traces.files import is_file

    if not is_file(folder / "scenario.toml"):
        return False
    return isinstance(run_folder.scenario(folder).get("sweep"), dict)


def _require_sense(view: str, ask: Ask) -> None:
    """Raise ScenarioError for a view that there is not, and for options that it does not take."""
    from netsim.export import formats
    from netsim.views import find

    if view.replace("_", "-") in formats.formats():
        raise ScenarioError(f"--as {view}: is a format: netsim export RUN --as {view}")
    takes = getattr(find(view, "--as "), "TAKES", ())
    if ask.paired_to is not None and "paired_to" not in takes:
        raise ScenarioError(
            f"--paired-to {ask.paired_to}: differences are taken at equal times; draw them "
            "with --as accuracy, cdf or sweep"
        )
    if ask.band is not None and "band" not in takes:
        raise ScenarioError(f"--band {ask.band}: --as {view} has no bands; leave it out")
    if ask.metrics and "metrics" not in takes:
        raise ScenarioError(f"--metric {ask.metrics[0]}: a {view} has none; leave it out")


def _form(named: str | None, out: Path | None) -> str:
    """The format, from --format or the end of the file's name."""
    from netsim.views.render.figure.style import FORMATS

    ending = "" if out is None else out.suffix[1:].lower()
    if named and ending in FORMATS and ending != named:
        raise ScenarioError(
            f"--format {named}: --out {one_line(out)} ends otherwise; name one of both"
        )
    if out is not None and not named and ending not in FORMATS:
        raise ScenarioError(
            f"--out {one_line(out)}: must end with .{', .'.join(FORMATS)}, or give --format"
        )
    return named or ending or "pdf"


def _require_free(out: Path, with_table: bool, overwrite: bool) -> None:
    """Raise ScenarioError where a file would be replaced that nobody gave up."""
    from netsim.recording.whole_files import require_place
    from netsim.views.render.figure import files as numbers

    require_place(out, "--out")
    if out.is_dir():
        raise ScenarioError(f"--out {one_line(out)}: is a folder; name a file, such as figure.pdf")
    for path in numbers.output_paths(out, with_table):
        if path.exists() and not overwrite:
            raise ScenarioError(
                f"{one_line(path)}: is there already; name another file with --out, or replace it "
                "with --overwrite"
            )
