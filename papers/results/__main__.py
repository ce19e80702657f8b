"""Play the tables of the papers and write papers: `python -m papers.results --help`.

    python -m papers.results list --runs FOLDER
    python -m papers.results estimate TABLE --runs FOLDER
    python -m papers.results play TABLE --runs FOLDER
    python -m papers.results page TABLE --runs FOLDER

FOLDER lies outside the repository. `play` goes on with what is missing both there and in
papers/numbers, `page` adds what is there to these.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from netsim import NetsimError, ScenarioError
from papers.results import numbers as kept_numbers
from papers.results import page as pages
from papers.results import playing, records, table_files, tables
from papers.results.cell_runs import run_of
from papers.results.collecting import collect
from papers.results.files import alone, write_text
from papers.results.tables import RESULTS, PaperTable
from papers.results.tuned import blocks

BEGIN, END = "<!-- written by papers.results -->", "<!-- end -->"
OVER_RADIO = "over_radio"
"""The page of `over_radio`, which is no table of a paper."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the tables of the papers, and write papers; 1 if a run failed, 2 for bad input."""
    given = _parser().parse_args(arguments)
    if given.data:
        os.environ["NETSIM_DATA"] = str(given.data.absolute())
    try:
        found: int = given.do(given)
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    except (NetsimError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: the same command goes on", file=sys.stderr)
        return 130
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="papers.results", description=main.__doc__)
    commands = parser.add_subparsers(required=True)
    for name, do, what in (
        ("list", _list, "the tables and how far they are"),
        ("estimate", _estimate, "CPU hours of a table's runs, timed here and kept with them"),
        ("play", _play, "play what is missing of a table"),
        ("page", _page, "write the page of a table from what is played"),
        ("tuned", _tuned, "the algorithms of a scenario with what a search has found"),
    ):
        command = commands.add_parser(name, help=what)
        command.set_defaults(do=do)
        command.add_argument("--data", type=Path, help="the data sets [$NETSIM_DATA]")
        needed = name in ("estimate", "play")
        told = "the folder of all tables' runs"
        command.add_argument("--runs", type=Path, required=needed, help=told)
        if name == "list":
            continue
        if name == "tuned":
            command.add_argument("scenario")
            command.add_argument("search", type=Path, help="the folder of its search")
            continue
        special = () if name == "estimate" else (OVER_RADIO,)
        command.add_argument("table", choices=[*table_files.names(), *special])
        if name == "page":
            continue
        command.add_argument("--seeds", type=int, nargs="+", default=(), help="instead of its own")
        command.add_argument("--rounds", type=int, help="fewer than the table's")
        command.add_argument("--columns", nargs="+", default=(), help="names of columns")
        command.add_argument("--rows", nargs="+", default=(), help="names of rows")
        command.add_argument("--groups", nargs="+", default=(), help='"table", or of readings')
        if name == "play":
            command.add_argument("--threads", type=_threads, default=1, help="of the native kernel")
            again = "what papers/numbers has, too"
            command.add_argument("--again", action="store_true", help=again)
    return parser


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of threads: 1 or more")
    return int(text)


def _list(given: argparse.Namespace) -> int:
    folder = _there(given.runs)
    for table in _all_tables():
        planned = [(cell, seed) for cell in tables.cells(table) for seed in cell.seeds]
        kept, _ = kept_numbers.counted(table, kept_numbers.kept(table))
        have = sum(seed in kept.get(kept_numbers.where(cell), {}) for cell, seed in planned)
        told = f"{len(planned)} runs, {have} kept"
        cut = sum(len(seeds) for (*_, rounds), seeds in kept.items() if rounds)
        told += f", {cut} of fewer rounds" if cut else ""
        if folder:
            done = sum(run_of(table, cell, seed, None, folder).is_done for cell, seed in planned)
            told += f", {done} done there"
        print(f"{table.name}: {table.paper}, {table.title}: {told}")
    return 0


def _there(runs: Path | None) -> Path | None:
    """A folder to read from, which has to be there if it is given."""
    if runs is not None and not runs.is_dir():
        raise ScenarioError(f"--runs {runs}: there is no such folder")
    return runs


def _writable(runs: Path) -> Path:
    """A folder to play into, made if it is not there."""
    if runs.resolve().is_relative_to(tables.ROOT):
        raise ScenarioError(f"--runs {runs}: lies inside the repository; name one outside")
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"can't be made ({error.strerror}); name a folder that can be written"
        raise ScenarioError(f"--runs {runs}: {told}") from error
    if not os.access(runs, os.W_OK | os.X_OK):
        raise ScenarioError(f"--runs {runs}: may not be written; name another folder")
    return runs


def _cells(given: argparse.Namespace) -> tuple[PaperTable, list[tables.Cell]]:
    table = table_files.load(given.table)
    return table, playing.chosen(table, given.columns, given.rows, given.groups)


def _estimate(given: argparse.Namespace) -> int:
    table, some = _cells(given)
    runs = playing.to_play(table, some, _writable(given.runs), given.rounds, given.seeds)
    known = playing.estimated_s(table, some, given.runs, given.rounds)
    by_group: dict[str, float] = {}
    for run in runs:
        group = run.cell.reading.group if run.cell.reading else table_files.WHOLE
        seconds = known[playing.estimate_key(table, run.cell, given.rounds)]
        by_group[group] = by_group.get(group, 0.0) + seconds
        if run.seed == runs[0].seed:
            print(f"{' / '.join(run.cell.id)}: {seconds:.0f} s a run")
    for group, seconds in by_group.items():
        print(f"{group}: {seconds / 3600:.2f} CPU hours")
    return 0


def _play(given: argparse.Namespace) -> int:
    commit = records.commit()  # before a run takes its hours
    if given.table == OVER_RADIO:
        return _play_over_radio(given)
    table, some = _cells(given)
    runs = playing.to_play(table, some, given.runs, given.rounds, given.seeds)
    kept = {} if given.again else kept_numbers.kept(table)
    is_kept = [kept_numbers.has(table, kept, run) for run in runs]
    missing = [run for run, one in zip(runs, is_kept, strict=True) if not one]
    playing.check_all(table, missing)
    _writable(given.runs)
    failed = 0
    for number, (run, one) in enumerate(zip(runs, is_kept, strict=True), 1):
        found = playing.Played("is kept")
        if not one:
            found = playing.play(table, run, given.runs, commit, given.threads)
        failed += found.failed
        where = run.folder.relative_to(given.runs)
        print(f"{number}/{len(runs)} {where}: {found.told}", flush=True)
    return 1 if failed else 0


def _play_over_radio(given: argparse.Namespace) -> int:
    from papers.results import over_radio  # here: it brings the benchmarks

    refused = [k for k in ("rounds", "columns", "rows", "groups") if getattr(given, k)]
    refused += ["threads"] if given.threads != 1 else []
    if refused:
        raise ScenarioError(f"--{refused[0]}: {OVER_RADIO} has none; leave it out")
    folder = _writable(given.runs) / OVER_RADIO
    over_radio.play(folder, given.seeds or over_radio.SEEDS, given.again)
    return 0


def _page(given: argparse.Namespace) -> int:
    folder = _there(given.runs)
    if given.table == OVER_RADIO:
        from papers.results import over_radio

        with alone(RESULTS):
            if folder and (folder / OVER_RADIO).is_dir():
                over_radio.collect(folder / OVER_RADIO)
            write_text(over_radio.PAGE, over_radio.page())
        return 0
    table = table_files.load(given.table)
    _all_tables()  # what is wrong with another one is told before anything is written
    _index()
    damaged: list[str] = []
    with alone(RESULTS):
        if folder and (folder / table.name).is_dir():
            found = collect(table, folder)
            damaged = found.damaged
            for line in [*found.told, *damaged]:
                print(line, file=sys.stderr)
        for line in kept_numbers.counted(table, kept_numbers.kept(table))[1]:
            print(line, file=sys.stderr)
        write_page(table.page)
    return 1 if damaged else 0


def _tuned(given: argparse.Namespace) -> int:
    print(blocks(given.scenario, given.search))
    return 0


def write_page(name: str) -> None:
    """Write a page from the numbers that are kept, and the list of all verdicts."""
    index = _index()
    write_text(RESULTS / f"{name}.md", page_text(name))
    if index is not None:
        write_text(RESULTS / "README.md", with_verdicts(index))


def _index() -> str | None:
    """The list of results as it is, if there is one.

    Raises
    ------
    ScenarioError
        If the two marks between which the verdicts stand are not there, each once.
    """
    path = RESULTS / "README.md"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    if [text.count(mark) for mark in (BEGIN, END)] != [1, 1] or text.index(BEGIN) > text.index(END):
        told = f"must have the lines {BEGIN} and {END}, each once and in this order"
        raise ScenarioError(f"{path}: {told}: verdicts are written between them")
    return text


def page_text(name: str) -> str:
    """A page from the numbers that are kept."""
    return pages.page([(t, *_counted(t)) for t in _all_tables() if t.page == name])


def _counted(
    table: PaperTable,
) -> tuple[kept_numbers.Numbers, list[kept_numbers.CurvePoint]]:
    found, _ = kept_numbers.counted(table, kept_numbers.kept(table))
    curves = kept_numbers.counted_curves(table, kept_numbers.kept_curves(table), found)
    return found, kept_numbers.curve_points(curves)


def with_verdicts(text: str) -> str:
    """The index with the verdicts of all tables between its two marks."""
    told = (pages.verdict_line(table, _counted(table)[0]) for table in _all_tables())
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", "", *filter(None, told), "", f"{END}{after}"])


def _all_tables() -> list[PaperTable]:
    return sorted(map(table_files.load, table_files.names()), key=lambda t: (t.page, t.order))


if __name__ == "__main__":
    sys.exit(main())
