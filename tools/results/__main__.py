"""Plays the tables of the papers and writes docs/results: `python -m tools.results --help`.

    python -m tools.results list --runs FOLDER
    python -m tools.results estimate TABLE --runs FOLDER
    python -m tools.results play TABLE --runs FOLDER
    python -m tools.results page TABLE --runs FOLDER

FOLDER lies outside the repository. `play` goes on with what is missing both there and in
docs/results/numbers, `page` adds what is there to these.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from netsim.engine.runner import DATA_VARIABLE
from netsim.errors import NetsimError, ScenarioError
from netsim.recording.whole_files import write_text
from tools.results import numbers as kept_numbers
from tools.results import page as pages
from tools.results import playing, tables
from tools.results.collecting import collect
from tools.results.tables import RESULTS, PaperTable
from tools.results.tuned import blocks

BEGIN, END = "<!-- written by tools.results -->", "<!-- end -->"
OVER_RADIO = "over_radio"
"""The page of `over_radio`, which is no table of a paper."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the tables of the papers, and write docs/results; 1 if a run failed, 2 for bad input."""
    given = _parser().parse_args(arguments)
    if given.data:
        os.environ[DATA_VARIABLE] = str(given.data.absolute())
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
    parser = argparse.ArgumentParser(prog="tools.results", description=main.__doc__)
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
        command.add_argument("table", choices=[*tables.names(), *special])
        if name == "page":
            continue
        command.add_argument("--seeds", type=int, nargs="+", default=(), help="instead of its own")
        command.add_argument("--rounds", type=int, help="fewer than the table's")
        command.add_argument("--columns", nargs="+", default=(), help="names of columns")
        command.add_argument("--rows", nargs="+", default=(), help="names of rows")
        command.add_argument("--groups", nargs="+", default=(), help='"table", or of readings')
        if name == "play":
            command.add_argument("--threads", type=int, default=1, help="of the native kernel")
            again = "what docs/results/numbers has, too"
            command.add_argument("--again", action="store_true", help=again)
    return parser


def _list(given: argparse.Namespace) -> int:
    for name in tables.names():
        table = tables.load(name)
        planned = [(cell, seed) for cell in tables.cells(table) for seed in cell.seeds]
        kept = kept_numbers.kept(table)
        have = sum(seed in kept.get(kept_numbers.where(cell), {}) for cell, seed in planned)
        told = f"{len(planned)} runs, {have} kept"
        if given.runs:
            done = sum(
                playing.run_of(table, cell, seed, None, given.runs).is_done
                for cell, seed in planned
            )
            told += f", {done} done there"
        print(f"{name}: {table.paper}, {table.title}: {told}")
    return 0


def _cells(given: argparse.Namespace) -> tuple[PaperTable, list[tables.Cell]]:
    table = tables.load(given.table)
    return table, playing.chosen(table, given.columns, given.rows, given.groups)


def _estimate(given: argparse.Namespace) -> int:
    table, some = _cells(given)
    runs = playing.to_play(table, some, given.runs, given.rounds, given.seeds)
    known = playing.estimated_s(table, some, given.runs, given.rounds)
    by_group: dict[str, float] = {}
    for run in runs:
        group = run.cell.reading.group if run.cell.reading else "table"
        seconds = known[playing.estimate_key(table, run.cell, given.rounds)]
        by_group[group] = by_group.get(group, 0.0) + seconds
        if run.seed == runs[0].seed:
            print(f"{' / '.join(run.cell.id)}: {seconds:.0f} s a run")
    for group, seconds in by_group.items():
        print(f"{group}: {seconds / 3600:.2f} CPU hours")
    return 0


def _play(given: argparse.Namespace) -> int:
    if given.table == OVER_RADIO:
        from tools.results import over_radio  # here: it brings the benchmarks

        over_radio.play(given.runs / OVER_RADIO, given.seeds or over_radio.SEEDS)
        return 0
    table, some = _cells(given)
    runs = playing.to_play(table, some, given.runs, given.rounds, given.seeds)
    kept = {} if given.again else kept_numbers.kept(table)
    failed = 0
    for number, run in enumerate(runs, 1):
        if kept_numbers.has(table, kept, run):
            told = "is kept"
        else:
            told = playing.play(table, run, given.runs, given.threads)
        failed += not (told.endswith(" s") or told.startswith("is "))
        print(f"{number}/{len(runs)} {run.folder.relative_to(given.runs)}: {told}", flush=True)
    return 1 if failed else 0


def _page(given: argparse.Namespace) -> int:
    if given.table == OVER_RADIO:
        from tools.results import over_radio

        if given.runs and (given.runs / OVER_RADIO).is_dir():
            over_radio.collect(given.runs / OVER_RADIO)
        write_text(over_radio.PAGE, over_radio.page())
        return 0
    table = tables.load(given.table)
    if given.runs and (given.runs / table.name).is_dir():
        for line in collect(table, given.runs):
            print(line, file=sys.stderr)
    write_page(table.page)
    return 0


def _tuned(given: argparse.Namespace) -> int:
    print(blocks(given.scenario, given.search))
    return 0


def write_page(name: str) -> None:
    """Write a page from the numbers that are kept, and the list of all verdicts."""
    write_text(RESULTS / f"{name}.md", page_text(name))
    index = RESULTS / "README.md"
    if index.is_file():
        write_text(index, with_verdicts(index.read_text(encoding="utf-8")))


def page_text(name: str) -> str:
    """A page from the numbers that are kept."""
    own = [table for table in _all_tables() if table.page == name]
    return pages.page([(t, kept_numbers.kept(t), _points(t)) for t in own])


def _points(table: PaperTable) -> list[kept_numbers.CurvePoint]:
    return kept_numbers.curve_points(kept_numbers.kept_curves(table))


def with_verdicts(text: str) -> str:
    """The index with the verdicts of all tables between its two marks."""
    told = (pages.verdict_line(table, kept_numbers.kept(table)) for table in _all_tables())
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", "", *filter(None, told), "", f"{END}{after}"])


def _all_tables() -> list[PaperTable]:
    return sorted(map(tables.load, tables.names()), key=lambda t: (t.page, t.order))


if __name__ == "__main__":
    sys.exit(main())
