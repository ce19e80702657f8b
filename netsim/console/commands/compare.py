"""The command `netsim compare`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Against, Show, Target

ALSO_CALLED = ("diff", "table", "summary", "results", "latex")


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table here.")] = None,
    latex: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table that is printed as LaTeX."),
    ] = None,
    target: Target = None,
    against: Against = None,
    show: Show = None,
) -> None:
    """Compare finished runs side by side; a sweep by means over its seeds."""
    from netsim.campaign import sweep_results
    from netsim.errors import ScenarioError, one_line
    from netsim.recording.csv_files import write_csv
    from netsim.recording.run_warnings import warnings_of
    from netsim.recording.summary import left_out, run_folders
    from netsim.recording.whole_files import require_place
    from netsim.views import differences, trials
    from netsim.views.compare import table
    from netsim.views.gathering.comparison import tidy_rows
    from netsim.views.render.latex import write_latex
    from netsim.views.render.terminal import WrappedTable

    for option, path in (("--csv", csv), ("--latex", latex)):
        if path is not None:
            require_place(path, option)
            if path.exists():
                raise ScenarioError(f"{option} {path}: is there already; name another file")
    if csv is not None and latex is not None and csv.resolve() == latex.resolve():
        raise ScenarioError(f"--latex {latex}: is the file of --csv, too; name another file")
    if len(runs) == 1 and sweep_results.is_sweep(runs[0]):
        named = None if show is None else sweep_results.measures_named(show)
        sweep = sweep_results.tables_of(runs[0], target, named, against)
        printed = (trials if sweep.trials else differences).printed(sweep)
        missing = sweep_results.left_out(runs[0])
        if csv is not None:  # after all that reads the runs
            write_csv(csv, tidy_rows(sweep.lines))
        if latex is not None:
            write_latex(latex, printed)
        terminal.out().print(WrappedTable(printed))
        for line in missing:
            terminal.err().print(line)
        return
    for option, said in (("--show", show), ("--against", against)):
        if said is not None:
            raise ScenarioError(f"{option} is for the folder of a sweep")
    for path in runs:
        if sweep_results.is_sweep(path):
            raise ScenarioError(f"{path}: is the folder of a sweep; compare it by itself")
    folders = {path: run_folders(path) for path in runs}
    every = [folder for of_path in folders.values() for folder in of_path]
    printed = table(every, csv, target)
    if latex is not None:
        write_latex(latex, printed)
    terminal.out().print(WrappedTable(printed))
    for path, of_path in folders.items():
        about = f"{one_line(path)}: " if len(folders) > 1 else ""
        for line in [*left_out(path), *(f"{about}{warning}" for warning in warnings_of(of_path))]:
            terminal.err().print(line)
