"""The command `netsim compare`: finished runs side by side, or a sweep over its seeds."""

from collections.abc import Sequence
from pathlib import Path

from netsim.console import sweep_tables, terminal
from netsim.errors import ScenarioError
from netsim.recording.summary import run_folders
from netsim.views.compare import table
from netsim.views.render.terminal import WrappedTable


def compare(
    runs: Sequence[Path],
    csv: Path | None,
    target: float | None,
    show: str | None,
    against: str | None = None,
) -> None:
    """Print a table, and write it if wanted.

    Parameters
    ----------
    runs : sequence of Path
        Folders of runs; or that of one sweep.
    csv : Path or None
        A file that is not there yet.
    target : float or None
        Accuracy of which to say when it was reached first.
    show : str or None
        Columns of a sweep's table.
    against : str or None
        Algorithm over which the lead of a sweep's others is told.

    Raises
    ------
    ScenarioError
        If the file is there, or runs and sweeps are mixed.
    """
    if csv is not None and csv.exists():
        raise ScenarioError(f"--csv {csv}: is there already; name another file")
    if len(runs) == 1 and sweep_tables.is_sweep(runs[0]):
        terminal.out().print(sweep_tables.compared(runs[0], target, show, csv, against))
        sweep_tables.print_left_out(runs[0])
        return
    for option, said in (("--show", show), ("--against", against)):
        if said is not None:
            raise ScenarioError(f"{option} is for the folder of a sweep")
    for path in runs:
        if sweep_tables.is_sweep(path):
            raise ScenarioError(f"{path}: is the folder of a sweep; compare it by itself")
    folders = [folder for path in runs for folder in run_folders(path)]
    terminal.out().print(WrappedTable(table(folders, csv, target)))
