"""Playing the runs of a table: one after the other, into folders that a later call goes on with.

A run is RUNS/TABLE/COLUMN/ROW/READING/seed-S/ENTRY, with `rounds-N` before the seed where the
table's rounds are cut. Several processes may play one table: what another plays is passed over.
`played.jsonl` beside them has a line a run and process: commit, seconds, what went wrong.
"""

import datetime
import platform
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import netsim
from netsim import FolderBusyError, ScenarioError
from papers import work
from papers.results import records
from papers.results.cell_runs import Run, other_settings, run_of, scenario_of
from papers.results.problems import unknown
from papers.results.table_files import WHOLE
from papers.results.tables import Cell, PaperTable, cells


def chosen(
    table: PaperTable,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    groups: Sequence[str] = (),
) -> list[Cell]:
    """The cells of some columns, rows and groups; where none is named, of all.

    Parameters
    ----------
    table : PaperTable
    columns, rows : sequence of str
        Names.
    groups : sequence of str
        Headings of readings; `table` is the table itself.

    Raises
    ------
    ScenarioError
        If there is none of a name, or no cell of all of them together.
    """
    headings = [WHOLE, *(reading.group for reading in table.readings)]
    for what, names, known in (
        ("columns", columns, [column.name for column in table.columns]),
        ("rows", rows, [row.name for row in table.rows]),
        ("groups", groups, headings),
    ):
        for name in names:
            if name not in known:
                raise ScenarioError(unknown(name, known, f"--{what}"))

    def fits(cell: Cell) -> bool:
        group = cell.reading.group if cell.reading else WHOLE
        named = ((columns, cell.column.name), (rows, cell.row.name), (groups, group))
        return all(not some or name in some for some, name in named)

    found = [cell for cell in cells(table) if fits(cell)]
    if not found:
        told = "no cell is of these columns, rows and groups together; leave one of them out"
        raise ScenarioError(f"{table.name}: {told}")
    return found


def to_play(
    table: PaperTable, some: Iterable[Cell], runs: Path, rounds: int | None, seeds: Sequence[int]
) -> list[Run]:
    """The runs of some cells, seed by seed, so that a table grows as a whole.

    Parameters
    ----------
    table : PaperTable
    some : iterable of Cell
    runs : Path
    rounds : int or None
    seeds : sequence of int
        Instead of each cell's own; none: those.
    """
    each = [(cell, tuple(seeds) or cell.seeds) for cell in some]
    most = max((len(own) for _, own in each), default=0)
    return [
        run_of(table, cell, own[i], rounds, runs)
        for i in range(most)
        for cell, own in each
        if i < len(own)
    ]


def check_all(table: PaperTable, some: Iterable[Run]) -> None:
    """Raise, before anything is played, what would stop one of the runs later.

    Parameters
    ----------
    table : PaperTable
    some : iterable of Run

    Raises
    ------
    ScenarioError
        If a cell's scenario is wrong, or if a folder has a run of other settings.
    """
    known, strange = set(), []
    for run in some:
        if run.cell.id not in known:
            known.add(run.cell.id)
            scenario_of(table, run)
        if (run.own / "scenario.toml").is_file():
            differing = other_settings(table, run)
            strange += [f"{run.own}: a run with other {', '.join(differing)}"] if differing else []
    if strange:
        told = "move these away, or play into another folder, to have them played as the table is"
        raise ScenarioError("\n".join([*strange, f"{table.name}: {told} now"]))


@dataclass(frozen=True)
class Played:
    """Outcome of a run.

    Attributes
    ----------
    told : str
        In a line.
    failed : bool
    """

    told: str
    failed: bool = False


def play(table: PaperTable, run: Run, runs: Path, commit: str, threads: int = 1) -> Played:
    """Play a run unless it is done or another process plays it.

    Parameters
    ----------
    table : PaperTable
    run : Run
    runs : Path
    commit : str
        Of the program that plays it, for the ledger.
    threads : int
    """
    if run.is_done:
        return Played("is there")
    scenario = scenario_of(table, run).replace(run__threads=threads)
    run.folder.mkdir(parents=True, exist_ok=True)
    wall_s, cpu_s = time.monotonic(), time.process_time()
    problem: str | None = "interrupted"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", netsim.RunWarning)  # the page tells what is odd
            netsim.run(scenario, out=run.own, resume=True)
        problem = ""
    except FolderBusyError:
        problem = None
    except Exception as error:  # a run's crash is its outcome; the others go on
        problem = str(error) or type(error).__name__
    finally:
        took_s = round(time.process_time() - cpu_s, 2)
        line = {
            "run": str(run.folder.relative_to(runs / table.name)),
            "commit": commit,
            "machine": platform.processor() or platform.machine(),
            "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "cpu_s": took_s,
            "wall_s": round(time.monotonic() - wall_s, 2),
            "problem": problem,
        }
        if problem is not None:
            records.append(table, runs, line)
    if problem is None:
        return Played("is being played")
    return Played(problem, failed=True) if problem else Played(f"{took_s:.1f} s")


def estimated_s(
    table: PaperTable, some: Iterable[Cell], runs: Path, rounds: int | None
) -> dict[str, float]:
    """CPU seconds of one run of each cell at this machine's rates; kept beside the runs.

    Parameters
    ----------
    table : PaperTable
    some : iterable of Cell
    runs : Path
    rounds : int or None
    """
    found = records.kept_estimates(table, runs)
    for cell in some:
        run = run_of(table, cell, cell.seeds[0], rounds, runs)
        key = estimate_key(table, cell, rounds)
        seconds = sum(
            trained / cost.step_flop_per_s + looked / cost.sample_flop_per_s
            for cost, trained, looked in work.counted(scenario_of(table, run), measure=True)
        )
        found[key] = round(seconds, 1)
    records.keep_estimates(table, runs, found)
    return found


def estimate_key(table: PaperTable, cell: Cell, rounds: int | None) -> str:
    """Key of a cell's estimate: its folder's path in the table's."""
    folder = run_of(table, cell, cell.seeds[0], rounds, Path()).folder.parent
    return str(folder.relative_to(table.name))
