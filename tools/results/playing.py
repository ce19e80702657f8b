"""Playing the runs of a table: one after the other, into folders that a later call goes on with.

A run is RUNS/TABLE/COLUMN/ROW/READING/seed-S/ENTRY, with `rounds-N` before the seed where the
table's rounds are cut. Several processes may play one table: what another plays is passed over.
`played.jsonl` beside them has a line a run and process: commit, seconds, what went wrong.
"""

import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from netsim.engine import sweep_folder
from netsim.engine.sweep import Job, Point
from netsim.engine.workers.play_job import play_job
from netsim.errors import ScenarioError
from netsim.recording import folder_lock
from netsim.recording.whole_files import write_text
from netsim.scenario import Scenario, algorithm_files, check, draft_of, to_toml
from tools.results.problems import unknown
from tools.results.tables import ROOT, Cell, PaperTable, cells, keys

LEDGER, ESTIMATES = "played.jsonl", "estimates.json"

FREE = ("run", "sweep", "paper", "name")
"""Tables of a scenario on which no result depends."""

_DIGEST = 12

MODULES = algorithm_files.algorithms()


@dataclass(frozen=True)
class Run:
    """One run of a cell.

    Attributes
    ----------
    cell : Cell
    seed : int
    rounds : int or None
        Fewer than the table's; None: all.
    folder : Path
        Of the seed; the run itself is in `own`.
    """

    cell: Cell
    seed: int
    rounds: int | None
    folder: Path

    @property
    def own(self) -> Path:
        """The run's folder."""
        return self.folder / self.cell.row.entry

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is left to play."""
        return sweep_folder.state(self.own) == "done"


def run_of(table: PaperTable, cell: Cell, seed: int, rounds: int | None, runs: Path) -> Run:
    """Where a run of a cell is.

    Parameters
    ----------
    table : PaperTable
    cell : Cell
    seed : int
    rounds : int or None
    runs : Path
        The folder of all tables' runs.
    """
    if rounds == table.rounds:
        rounds = None
    cut = () if rounds is None else (f"rounds-{rounds}",)
    folder = runs.joinpath(table.name, *cell.id, *cut, f"seed-{seed}")
    return Run(cell, seed, rounds, folder)


def job_of(table: PaperTable, run: Run, threads: int = 1) -> Job:
    """The run as a sweep's worker plays it.

    Parameters
    ----------
    table : PaperTable
    run : Run
    threads : int
        Of the native kernel; no bit depends on it.
    """
    cell = run.cell
    scenario = cell.row.scenario or cell.column.scenario or table.scenario
    draft = draft_of(scenario, (), MODULES)
    draft.raw.pop("sweep", None)
    for key, value in keys(table, cell, run.rounds).items():
        draft.assign(key, value, table.name)
    draft.assign("seed", run.seed, table.name)
    draft.assign("run.threads", threads, table.name)
    label = " / ".join(cell.id)
    return Job(Point(label, {}), run.seed, draft, run.folder, (), False, (cell.row.entry,))


def wanted(table: PaperTable, run: Run) -> Scenario:
    """The scenario that a run has to be of, with its one algorithm."""
    whole = check(job_of(table, run).draft, MODULES)
    entry = tuple(e for e in whole.algorithm if e.name == run.cell.row.entry)
    if not entry:
        known, row = [e.name for e in whole.algorithm], run.cell.row
        raise ScenarioError(unknown(row.entry, known, f'{table.name}: row "{row.name}"'))
    return whole.model_copy(update={"algorithm": entry})


def other_settings(table: PaperTable, run: Run) -> list[str]:
    """What of a finished run's scenario is not as the table has it now; empty: all is."""
    now = _flat(wanted(table, run))
    path = str(run.own / "scenario.toml")
    then = _flat(check(draft_of(path, (), MODULES), MODULES))
    return sorted(key for key in now | then if now.get(key) != then.get(key))


def settings(table: PaperTable, run: Run) -> str:
    """A digest of what a run's scenario says, seed apart.

    Keys that are left to their defaults are not in it, so a new one changes no digest.

    Raises
    ------
    ScenarioError
        If the scenario has no algorithm of the row's entry.
    """
    raw = {k: v for k, v in job_of(table, run).draft.raw.items() if k not in (*FREE, "seed")}
    entry = run.cell.row.entry
    labels = [one.get("name", one["kind"]) for one in raw["algorithm"]]
    if entry not in labels:
        raise ScenarioError(unknown(entry, labels, f'{table.name}: row "{run.cell.row.name}"'))
    raw["algorithm"] = [raw["algorithm"][labels.index(entry)]]
    text = json.dumps(raw, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def _flat(scenario: Scenario) -> dict[str, Any]:
    tables = tomllib.loads(to_toml(scenario))
    return dict(_leaves({k: v for k, v in tables.items() if k not in FREE}))


def _leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


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
        If there is none of a name.
    """
    headings = ["table", *(reading.group for reading in table.readings)]
    for what, names, known in (
        ("columns", columns, [column.name for column in table.columns]),
        ("rows", rows, [row.name for row in table.rows]),
        ("groups", groups, headings),
    ):
        for name in names:
            if name not in known:
                raise ScenarioError(unknown(name, known, f"--{what}"))

    def fits(cell: Cell) -> bool:
        group = cell.reading.group if cell.reading else "table"
        named = ((columns, cell.column.name), (rows, cell.row.name), (groups, group))
        return all(not some or name in some for some, name in named)

    return [cell for cell in cells(table) if fits(cell)]


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


def play(table: PaperTable, run: Run, runs: Path, threads: int = 1) -> str:
    """Play a run unless it is done or another process plays it; what became of it, in a line.

    Parameters
    ----------
    table : PaperTable
    run : Run
    runs : Path
    threads : int
    """
    if run.is_done:
        return "is there"
    wanted(table, run)
    if _is_others(run):
        return "is being played"
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    wall_s, cpu_s = time.monotonic(), time.process_time()
    problem = "interrupted"
    try:
        outcome = play_job(job_of(table, run, threads), lambda *_: None, lambda *_: True)
        problem = outcome.problem
        if problem and (run.is_done or _is_others(run)):  # which was quicker
            return "is being played"
    finally:
        line = {
            "run": str(run.folder.relative_to(runs / table.name)),
            "commit": commit(),
            "machine": platform.processor() or platform.machine(),
            "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "cpu_s": round(time.process_time() - cpu_s, 2),
            "wall_s": round(time.monotonic() - wall_s, 2),
            "problem": problem,
        }
        _append(runs / table.name / LEDGER, line)
    return problem or f"{line['cpu_s']:.1f} s"


def _is_others(run: Run) -> bool:
    """Whether another process plays a run."""
    return run.folder.is_dir() and folder_lock.holder(run.folder) is not None


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line, after the end of one that was broken off."""
    with path.open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + json.dumps(line).encode() + b"\n")


def ledger(table: PaperTable, runs: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of `played.jsonl` by run; a line that was broken off is left out."""
    path = runs / table.name / LEDGER
    found: dict[str, list[dict[str, Any]]] = {}
    if path.is_file():
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            found.setdefault(line["run"], []).append(line)
    return found


def commit() -> str:
    """The commit of this checkout, with `+` where files differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "netsim", "algorithms")
    return git("rev-parse", "--short=9", "HEAD") + ("+" if changed else "")


def estimated_s(
    table: PaperTable, some: Iterable[Cell], runs: Path, rounds: int | None
) -> dict[str, float]:
    """CPU seconds of one run of each cell as timed on this machine; kept beside the runs.

    Parameters
    ----------
    table : PaperTable
    some : iterable of Cell
    runs : Path
    rounds : int or None
    """
    from netsim.console.papers import KeptTimes, kept_times
    from netsim.engine import estimate

    say = partial(print, file=sys.stderr, flush=True)
    timer = KeptTimes(kept_times(), anew=False, say=say)
    path, found = runs / table.name / ESTIMATES, kept_estimates(table, runs)
    for cell in some:
        run = run_of(table, cell, cell.seeds[0], rounds, runs)
        key = estimate_key(table, cell, rounds)
        found[key] = round(estimate.seconds(wanted(table, run), timer), 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(found, indent=1, sort_keys=True))
    return found


def estimate_key(table: PaperTable, cell: Cell, rounds: int | None) -> str:
    """Under what a cell's estimate is kept: its folder's path in the table's."""
    folder = run_of(table, cell, cell.seeds[0], rounds, Path()).folder.parent
    return str(folder.relative_to(table.name))


def kept_estimates(table: PaperTable, runs: Path) -> dict[str, float]:
    """What `estimated_s` has kept."""
    path = runs / table.name / ESTIMATES
    found: dict[str, float] = json.loads(path.read_text()) if path.is_file() else {}
    return found
