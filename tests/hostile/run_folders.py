"""Run folders as somebody might send them: good ones, broken in many ways, and who reads them.

`folders` makes three small ones: a run that has ended, one that was broken off, and a sweep.
`broken` changes a copy of one as a seed says. `Readers.play` gives it to every command that takes a
run, and to `netsim.open`, and says what went wrong: an error that is none of netsim's own, an exit
code that is none of the README's, text that controls the terminal, something that was executed.
"""

import io
import json
import os
import random
import shutil
import signal
import socket
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w
from typer.main import get_command
from typer.testing import CliRunner

import netsim
from netsim import engine, scenario, views, world
from netsim.console import terminal
from netsim.console.app import app
from netsim.engine.interruption import Interrupted
from netsim.errors import NetsimError, RunWarning, ScenarioError, printable
from netsim.recording import checksums
from netsim.recording.observers import EvaluationEvent, Observers

from .inputs import Hang, guarded

SCENARIO: dict[str, Any] = {
    "name": "sent",
    "horizon_s": 6.0,
    "nodes": {"count": 4, "placement": "disc", "radius_m": 40.0},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "dpsgd"},
    "radio": {"rate": {"kind": "fixed", "rate_bps": 1e6}, "ttl_s": 0.5},
    "metrics": {"every_s": 2.0, "weights": True, "timeline": True, "keep": ["head"]},
}
CANARY = "executed"
"""A file that is there once a payload has been executed."""
PAYLOADS = (
    f"(__import__('pathlib').Path('{CANARY}').touch() or '')",
    f"__import__('os').system('touch {CANARY}')",
    f"'] + [open('{CANARY}', 'w')] + ['",
    f"$(touch {CANARY})",
    f"; touch {CANARY} #",
    f"=cmd|'/c touch {CANARY}'!A1",
    "@SUM(1+1)*2",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "$\\frac{1}{",
    "[red]x[/blue]",
    "\x1b]0;title\x07\x1b[2J",
    "a\nok: forged\r\u202e",
    "{0.__class__.__mro__}",
    "%(name)s%n",
    "../../../../etc/passwd",
    "/dev/zero",
    "\udc80".encode("utf-8", "surrogateescape").decode("latin-1"),
    "",
    "x" * 3000,
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**30, 10**400, -(2**63), 1e308, -1e-320, 0.5,
    [], {}, [[]], {"mean": None}, [None], {"a": {"b": {"c": 1}}}, [1, "a", None],
)  # fmt: skip
LINKS = ("/etc/passwd", "/dev/zero", "/nowhere/at/all", "summary.json", ".")
VIEWS = tuple(views.names())
FORMATS = (
    "timeline", "messages-csv", "messages-parquet", "gains", "ns2", "trace", "bonnmotion",
    "per-table", "sumo", "tensorboard",
)  # fmt: skip
MOST_S = 30.0
LARGE_BYTES = 2 << 30
"""More than any reader of a run's files takes."""


def folders(top: Path) -> dict[str, Path]:
    """Make `ended`, `cut` (broken off) and `sweep` in a folder; by name."""
    checked = scenario.from_dict(SCENARIO, "sent")
    built = world.build(checked)
    engine.play(built, checked.algorithm[0], folder=top / "ended", timing_only=False)
    _draw(top / "ended")
    with suppress(Interrupted, KeyboardInterrupt):
        observers = Observers(on_evaluation=_strike)
        engine.play(built, checked.algorithm[0], folder=top / "cut", observers=observers)
    (top / "sweep.toml").write_text(tomli_w.dumps(SCENARIO))
    words = ["sweep", str(top / "sweep.toml"), "--over", "radio.ttl_s=0.4,0.5", "--timing-only"]
    made = CliRunner().invoke(app, [*words, "--out", str(top / "sweep"), "--jobs", "1", "-q"])
    assert made.exit_code == 0, made.output
    assert (top / "cut" / "journal").is_dir()
    return {name: top / name for name in ("ended", "cut", "sweep")}


def _draw(folder: Path) -> None:
    (folder / "figures").mkdir(exist_ok=True)


def _strike(event: EvaluationEvent) -> None:
    """Interrupt a run in its middle."""
    if event.t_s >= 3.0:
        signal.raise_signal(signal.SIGTERM)  # in the background a shell ignores SIGINT


# -- breaking ------------------------------------------------------------------------------------


def broken(folder: Path, draw: random.Random) -> list[str]:
    """Change what is in a folder in one to three ways; what was done, in words."""
    told = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        ways = (_table, _table, _table, _json, _json, _toml, _kind, _bytes, _canaries, _nested)
        way = draw.choice(ways)
        told.append(f"{way.__name__.strip('_')}: {way(folder, draw)}")
    return told


def _files(folder: Path, pattern: str) -> list[Path]:
    return [p for p in sorted(folder.rglob(pattern)) if p.is_file() and not p.is_symlink()]


def _chosen(folder: Path, pattern: str, draw: random.Random) -> Path | None:
    found = _files(folder, pattern)
    return draw.choice(found) if found else None


def _table(folder: Path, draw: random.Random) -> str:
    """Other values, types, columns, words or ids in one Parquet file."""
    path = _chosen(folder, "*.parquet", draw)
    if path is None:
        return "none"
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException, ValueError):
        return "unreadable"
    name = draw.choice(table.column_names)
    place, rows = table.column_names.index(name), table.num_rows
    way = draw.choice(_COLUMN_WAYS)
    with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        changed = way(table, place, name, rows, draw)
        pq.write_table(changed, path)
    return f"{path.name} of {path.parent.name}, {name}: {way.__name__}"


def one_cell(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    cells, kind = table.column(place).to_pylist(), table.schema.field(place).type
    strange: list[Any] = [None, -1, 2**31 - 1, 2**40, -(2**62), 10**9]
    if pa.types.is_floating(kind):
        strange = [None, -1.0, float("nan"), float("inf"), 1e308, -1e308, 1e-320, 9.3e9]
    elif not pa.types.is_integer(kind):
        strange = [None, *PAYLOADS]
        kind = pa.string()
        cells = [cell if isinstance(cell, str) else str(cell) for cell in cells]
    if rows:
        cells[draw.randrange(rows)] = draw.choice(strange)
    return table.set_column(place, name, pa.array(cells, kind))


def other_type(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    made: list[Callable[[], Any]] = [
        lambda: pa.array([draw.choice(PAYLOADS) for _ in range(rows)]),
        lambda: pa.array([draw.choice(PAYLOADS) for _ in range(rows)]).dictionary_encode(),
        lambda: pa.nulls(rows),
        lambda: pa.array([True] * rows),
        lambda: pa.array([[1, 2]] * rows),
        lambda: pa.array([{"a": 1}] * rows),
        lambda: pa.array([b"\xff\xfe"] * rows),
        lambda: pa.array([1.5] * rows),
        lambda: pa.array(range(rows), pa.uint64()),
        lambda: pa.array(range(rows), pa.timestamp("ns")),
        lambda: pa.array([0] * rows, pa.int8()),
        lambda: table.column(place).cast(pa.float32()),
    ]
    return table.set_column(place, name, draw.choice(made)())


def without_column(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    return table.remove_column(place)


def doubled_column(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    return table.append_column(draw.choice((name, draw.choice(PAYLOADS))), table.column(place))


def without_rows(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    return table.slice(0, draw.choice((0, 0, 1, rows // 2)))


def many_rows(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    return pa.concat_tables([table.slice(0, 1)] * draw.choice((2, 500))).combine_chunks()


def shuffled(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    return table.take(draw.sample(range(rows), rows))


def described(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    told = {"pandas": json.dumps({"columns": [], "index_columns": [draw.choice(PAYLOADS)]})}
    return table.replace_schema_metadata(draw.choice((told, {"pandas": "{"}, {"a": PAYLOADS[0]})))


def far_ids(table: Any, place: int, name: str, rows: int, draw: random.Random) -> Any:
    step = draw.choice((1, -1, 1000, 2**31 - 8))
    cells = [c + step if isinstance(c, int) else c for c in table.column(place).to_pylist()]
    return table.set_column(place, name, pa.array(cells, table.schema.field(place).type))


_COLUMN_WAYS = (
    one_cell, one_cell, one_cell, other_type, other_type, other_type, without_column,
    doubled_column, without_rows, many_rows, shuffled, described, far_ids, far_ids,
)  # fmt: skip


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested tables and lists."""
    yield at
    inner = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else inner:
        yield from _places(item, (*at, key))


def _changed(value: Any, draw: random.Random) -> tuple[Any, str]:
    """A value with another one at one place; where."""
    at = draw.choice([place for place in _places(value) if place] or [()])
    if not at:
        return draw.choice(VALUES), "all of it"
    holder = value
    for key in at[:-1]:
        holder = holder[key]
    way = draw.randrange(4)
    if way == 0:
        del holder[at[-1]]
    elif way == 1:
        holder[at[-1]] = draw.choice(PAYLOADS)
    else:
        holder[at[-1]] = draw.choice(VALUES)
    return value, ".".join(map(str, at))


def _json(folder: Path, draw: random.Random) -> str:
    """Another value at one place of a JSON file, or no JSON."""
    path = _chosen(folder, "*.json", draw)
    if path is None:
        return "none"
    ways = ["", "null", "[" * 100_000, '{"a": NaN}', '{"virtual_s": 1e999}', "9" * 5000, '{"a":']
    if draw.random() < 0.15:
        path.write_text(draw.choice(ways))
        return f"{path.name}: no JSON"
    with suppress(ValueError, OSError, RecursionError):
        value, where = _changed(json.loads(path.read_text()), draw)
        path.write_text(json.dumps(value))
        return f"{path.name}: {where}"
    return "unreadable"


def _toml(folder: Path, draw: random.Random) -> str:
    """Another value at one place of a scenario."""
    path = _chosen(folder, "scenario.toml", draw)
    if path is None:
        return "none"
    with suppress(ValueError, TypeError, AttributeError, OSError):
        value, where = _changed(tomllib.loads(path.read_text()), draw)
        path.write_text(tomli_w.dumps(value))
        return where
    return "unreadable"


def _kind(folder: Path, draw: random.Random) -> str:
    """Something else than a file, or nothing, in the place of one; also of a table's folder."""
    found = [p for p in sorted(folder.rglob("*")) if not p.is_symlink()]
    path = draw.choice(found)
    what = draw.choice(("link", "link", "pipe", "socket", "folder", "nothing", "empty", "sparse"))
    if path.is_dir() and what in ("pipe", "link", "nothing", "empty"):
        shutil.rmtree(path)
    elif path.is_dir():
        return "left"
    else:
        path.unlink()
    if what == "link":
        path.symlink_to(draw.choice(LINKS))
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "socket":
        with suppress(OSError), socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))
    elif what == "folder":
        path.mkdir()
    elif what == "empty":
        path.touch()
    elif what == "sparse":
        with path.open("wb") as file:
            file.truncate(LARGE_BYTES)
    return f"{path.relative_to(folder)}: {what}"


def _bytes(folder: Path, draw: random.Random) -> str:
    """Flipped, cut or repeated bytes."""
    path = _chosen(folder, "*", draw)
    if path is None or path.stat().st_size > 1 << 24:
        return "none"
    content = bytearray(path.read_bytes())
    if not content:
        return "none"
    way = draw.choice(("flip", "flip", "cut", "double"))
    if way == "flip":
        for _ in range(draw.choice((1, 8))):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif way == "cut":
        del content[draw.randrange(len(content)) :]
    else:
        content *= 2
    path.write_bytes(content)
    return f"{path.name}: {way}"


def _canaries(folder: Path, draw: random.Random) -> str:
    """One payload in every text of all JSON and TOML files, and in the free words of tables."""
    payload = draw.choice(PAYLOADS)
    which = draw.choice(("*.json", "*.toml", "*.parquet", "summary.json", "environment.json"))

    def planted(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: planted(item) for key, item in value.items()}
        if isinstance(value, list):
            return [planted(item) for item in value]
        return payload if isinstance(value, str) else value

    for path in _files(folder, which):
        with suppress(
            ValueError, TypeError, AttributeError, OSError, RecursionError, pa.ArrowException
        ):
            if path.suffix == ".json":
                path.write_text(json.dumps(planted(json.loads(path.read_text()))))
            elif path.suffix == ".toml":
                path.write_text(tomli_w.dumps(planted(tomllib.loads(path.read_text()))))
            else:
                table = pq.read_table(path)
                for name in ("kind", "metric", "stage", "role"):
                    if name in table.column_names:
                        words = pa.array([payload] * table.num_rows).dictionary_encode()
                        table = table.set_column(table.column_names.index(name), name, words)
                pq.write_table(table, path)
    return f"{which}: {payload[:30]!r}"


def _nested(folder: Path, draw: random.Random) -> str:
    """More folders and files than a run has."""
    inside = draw.choice([p for p in sorted(folder.rglob("*")) if p.is_dir()] or [folder])
    made = inside / draw.choice(("sub", "a b", "=1+1", "\x1b[31m"))
    made.mkdir(exist_ok=True)
    for name in draw.sample(("checksums.json", "summary.json", "status.json", "a.py"), 2):
        (made / name).write_text(draw.choice(("{}", '{"sha256": {}}', '{"state": "done"}', "x")))
    return str(made.relative_to(folder))


# -- reading -------------------------------------------------------------------------------------


class Readers:
    """Callers of everything that takes a run's folder.

    Parameters
    ----------
    place : Path
        An empty folder to work in.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.out = place, place / "out"
        self._failed: list[BaseException] = []
        self._netsim = get_command(app)

    def commands(self, run: Path, kind: str, draw: random.Random | None = None) -> list[list[str]]:
        """Command lines that read a folder; with `draw` one of each that has many forms."""
        out, at = str(self.out), str(run)
        views, formats = list(VIEWS), list(FORMATS)
        if draw is not None:
            views, formats = [draw.choice(VIEWS)], draw.sample(FORMATS, 2)
        found = [
            ["compare", at, "--csv", f"{out}/c.csv", "--target", "0.5"],
            ["report", at, "--out", f"{out}/p.html"],
            ["report", at],
            ["explain", at],
            ["explain", at, "--node", "1"],
            ["verify", at, "--no-rerun"],
            ["verify", at],
            ["resume", at, "-q", "--no-figures"],
            ["fork", at, "--at", "2", "--set", "radio.ttl_s=0.3", "--out", f"{out}/f", "-q",
             "--no-figures"],
        ]  # fmt: skip
        found += [
            ["plot", at, "--as", v, "--table", "--format", "svg", "--out", f"{out}/{v}.svg"]
            for v in views
        ]
        found += [["export", at, "--as", f, "--out", f"{out}/{f}"] for f in formats]
        found += [["export", at, "--for", "ns3", "--out", f"{out}/ns3"]]
        if kind == "sweep":
            words = ["--over", "radio.ttl_s=0.4,0.5", "--timing-only", "--jobs", "1", "-q"]
            found.append(["sweep", str(run.with_name("sweep.toml")), *words, "--out", at])
        return found

    def play(self, make: Callable[[], Path], kind: str, draw: random.Random | None) -> list[str]:
        """List the faults of all commands and `netsim.open` on a folder.

        Parameters
        ----------
        make : callable
            () -> the folder, made anew: some commands write into it.
        kind : {"ended", "cut", "sweep"}
        draw : random.Random or None
            Chooses among views and formats; None: all of them.
        """
        wrong = []
        for words in self.commands(make(), kind, draw):
            if words[0] in ("resume", "sweep", "report", "fork"):
                make()
            wrong += [f"netsim {' '.join(words)[:120]}: {what}" for what in self._command(words)]
        wrong += [f"netsim.open: {what}" for what in self._opened(make())]
        return wrong

    @contextmanager
    def _watched(self) -> Iterator[list[str]]:
        wrong: list[str] = []
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        before = Path.cwd()
        os.chdir(self.place)
        try:
            with guarded(MOST_S):
                yield wrong
        except Hang:
            wrong.append("hangs")
        finally:
            os.chdir(before)
        for canary in self.place.rglob(CANARY):
            wrong.append("a payload was executed")
            canary.unlink()

    def _command(self, words: list[str]) -> list[str]:
        self._failed.clear()
        told = terminal._failure
        terminal._failure = self._note(told)
        try:
            with self._watched() as wrong:
                with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
                    try:
                        self._netsim(words)  # made once: that takes longer than many commands
                    except SystemExit as ended:
                        if ended.code not in (0, 1, 2):
                            wrong.append(f"exit code {ended.code}")
                    except Exception as error:
                        wrong.append(_where(error))
                said = out.getvalue()
                if "Traceback" in said:
                    wrong.append("prints a traceback")
                if printable(said) != said:
                    wrong.append(f"controls the terminal: {said[:80]!r}")
                wrong += [_where(e) for e in self._failed if not isinstance(e, NetsimError)]
                wrong += _formulas(self.out)
        finally:
            terminal._failure = told
        return wrong

    def _note(self, told: Callable[[Exception], str]) -> Callable[[Exception], str]:
        def say(error: Exception) -> str:
            self._failed.append(error)
            return told(error)

        return say

    def _opened(self, folder: Path) -> list[str]:
        """Everything that `netsim.open` gives."""
        with self._watched() as wrong, catch_warnings():
            simplefilter("ignore", RunWarning)  # of runs of a sweep that are not there
            try:
                run = netsim.open(folder)
            except ScenarioError:
                return wrong
            names = ("algorithms", "metrics", "messages", "wakeups", "traffic", "graph", "nodes",
                     "summary", "summaries", "warnings", "scenario", "points")  # fmt: skip
            asked: list[Callable[[], Any]] = [lambda n=n: getattr(run, n) for n in names]
            asked += [run._repr_html_, lambda: repr(run), lambda: run.compare(run)]
            asked += [run.plot.accuracy, run.plot.weights, run.plot.deliveries]
            for ask in asked:
                try:
                    ask()
                except ScenarioError:
                    continue
                except AttributeError as error:
                    if "points" not in str(error):
                        wrong.append(_where(error))
                except Exception as error:
                    wrong.append(_where(error))
        return wrong


def copied(folder: Path, place: Path) -> Path:
    """A folder anew at the one place where folders are read."""
    to = place / "run"
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to, symlinks=True)
    (place / "sweep.toml").write_text(tomli_w.dumps(SCENARIO))
    return to


def played_case(
    readers: Readers, good: Mapping[str, Path], number: int
) -> tuple[str, list[str], list[str]]:
    """Break one folder as a number says and give it to all readers.

    Parameters
    ----------
    readers : Readers
    good : mapping of str to Path
        See `folders`.
    number : int

    Returns
    -------
    kind : str
        Which was broken.
    told : list of str
        How.
    wrong : list of str
        What went wrong.
    """
    draw = random.Random(number)
    kind = draw.choice(("ended", "ended", "cut", "sweep"))
    kept = readers.place / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(good[kind], kept, symlinks=True)
    before = Path.cwd()
    os.chdir(kept)
    try:
        told = broken(kept, draw)
        if number % 4:  # whoever sends a folder can list what is in it
            listed_anew(kept)
    finally:
        os.chdir(before)

    def make() -> Path:
        to = readers.place / "run"
        shutil.rmtree(to, ignore_errors=True)
        _copy(kept, to)
        return to

    (readers.place / "sweep.toml").write_text(tomli_w.dumps(SCENARIO))
    return kind, told, readers.play(make, kind, draw)


def listed_anew(folder: Path) -> None:
    """List what lies in a folder and in those inside that have a list, as if a run had done so."""
    for path in (folder / "checksums.json", *sorted(folder.glob("*/*/*/checksums.json"))):
        if path.is_file() and not path.is_symlink():
            with suppress(OSError, ValueError, ScenarioError, RecursionError):
                checksums.write(path.parent)


def _copy(folder: Path, to: Path) -> None:
    """Copy a folder with links, pipes and sockets, and what is sparse as such."""
    to.mkdir()
    for path in folder.iterdir():
        there = to / path.name
        if path.is_symlink():
            there.symlink_to(os.readlink(path))
        elif path.is_dir():
            _copy(path, there)
        elif path.is_file() and path.stat().st_size < 1 << 28:
            shutil.copyfile(path, there)
        elif path.is_file():
            with there.open("wb") as file:
                file.truncate(path.stat().st_size)
        else:
            os.link(path, there)


def _formulas(folder: Path) -> list[str]:
    """Cells of CSV that a spreadsheet would compute."""
    wrong = []
    for path in folder.rglob("*.csv"):
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = line.replace('"', "").split(",")
            wrong += [f"{path.name}: {c[:40]!r}" for c in cells if c.startswith(("=", "@", "+c"))]
    return wrong


def _where(error: BaseException) -> str:
    import traceback

    at = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in at if "/netsim/" in frame.filename] or list(at)
    place = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else "nowhere"
    return f"{type(error).__name__}: {str(error)[:150]} at {place}"
