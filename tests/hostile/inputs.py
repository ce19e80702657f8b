"""Malformed inputs of every kind, as Hypothesis draws them, and how each is given to netsim.

A kind is a strategy and a function that plays what it draws. Playing it may end well or in a
`ScenarioError`; anything else is a fault of netsim. `guarded` adds that it ends soon.
"""

import copy
import hashlib
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w
from hypothesis import strategies as st

from netsim import scenario
from netsim.campaign import sweep_results
from netsim.campaign import verify as verification
from netsim.console.commands.sweep import options
from netsim.engine import runner
from netsim.engine.checkpoints import journal
from netsim.errors import AlteredError, ScenarioError, printable
from netsim.recording import checksums, folder_lock
from netsim.recording.summary import run_folders
from netsim.scenario import json_schema
from netsim.scenario.file import shipped
from netsim.scenario.kinds import kinds_of
from netsim.traces.bounded_toml import read_toml
from netsim.views.compare import table
from netsim.views.gathering.sweep_tables import SweepTables

from . import seeds

MOST_S = 10.0
"""Time after which a test counts as hanging [s]."""


class Hang(BaseException):
    """A case took too long."""


@contextmanager
def guarded(most_s: float = MOST_S) -> Iterator[None]:
    """Raise Hang in what takes more CPU time, or waits for ten times as long."""

    def stop(*_: Any) -> None:
        raise Hang(f"longer than {most_s:g} s")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 10))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, times in timers:
        signal.setitimer(timer, times * most_s)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def refused(play: Callable[[Any, Path], None], case: Any, folder: Path) -> bool:
    """Play a case; whether it was refused as bad input. Any other error goes on."""
    try:
        play(case, folder)
    except ScenarioError as error:
        if not str(error).strip() or printable(str(error)) != str(error):
            raise ValueError(f"it says {str(error)!r}") from None
        return True
    return False


# -- bytes ---------------------------------------------------------------------------------------

_TOKENS = [
    *(b"nan inf -inf 1e999 -1 0 1e-320 999999999999999999999999 0x10 true null".split()),
    *(
        b"\x00",
        b"\xff\xfe",
        b"\n",
        b"\r",
        b"\t",
        b",",
        b'"',
        b"'",
        b"[",
        b"{",
        b"<",
        b">",
        b"=",
        b".",
    ),
    *(b"\x1b[31m", b"\x1b]0;x\x07", "\u2028\u202e\x85".encode(), b"<!DOCTYPE a [<!ENTITY b 'c'>]>"),
    *(
        b"9" * 5000,
        b"[" * 2000,
        b"{" * 500,
        b"<a>" * 3000,
        b"a." * 3000,
        b"0 1\n" * 5000,
        b"," * 9000,
    ),
]
_PLACE = st.floats(0, 1, exclude_max=True)
_EDIT = st.one_of(
    st.tuples(st.just("set"), _PLACE, st.integers(0, 255)),
    st.tuples(st.just("flip"), _PLACE, st.integers(0, 7)),
    st.tuples(
        st.just("insert"), _PLACE, st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=8))
    ),
    st.tuples(st.just("over"), _PLACE, st.sampled_from(_TOKENS)),
    st.tuples(st.just("drop"), _PLACE, st.integers(1, 200)),
    st.tuples(st.just("double"), _PLACE, st.integers(1, 200)),
    st.tuples(st.just("cut"), _PLACE, st.just(0)),
)


def _edited(content: bytes, edits: list[tuple[str, float, Any]]) -> bytes:
    for how, place, what in edits:
        at = int(place * len(content))
        before, after = content[:at], content[at:]
        if how == "set":
            content = before + bytes([what]) + after[1:]
        elif how == "flip" and after:
            content = before + bytes([after[0] ^ (1 << what)]) + after[1:]
        elif how == "insert":
            content = before + what + after
        elif how == "over":
            content = before + what + after[len(what) :]
        elif how == "drop":
            content = before + after[what:]
        elif how == "double":
            content = before + after[:what] * 3 + after[what:]
        elif how == "cut":
            content = before
    return content


def broken(content: bytes) -> st.SearchStrategy[bytes]:
    """The content with one to four faults, or any bytes."""
    edits = st.lists(_EDIT, min_size=1, max_size=4)
    return st.one_of(edits.map(lambda some: _edited(content, some)), st.binary(max_size=200))


# -- values --------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "",
            " ",
            "\x1b[31m",
            "a\nok s.toml: fine",
            "[bold]",
            "[/]",
            "../..",
            "/dev/zero",
            "/",
            ".",
            "\u202eb",
        ]
    ),
    st.sampled_from(
        ["comparison.csv", "5 ms", "nan", "1e5", "x" * 5000, "none", "fixed", "trace", "auto"]
    ),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(
        [
            2**31,
            2**53,
            2**63,
            2**64,
            -(2**63),
            10**30,
            10**400,
            1e-9,
            1e-300,
            5e-324,
            1e300,
            1e9,
            1e18,
        ]
    ),
    st.floats(),
)
SCALARS = st.one_of(NUMBERS, TEXTS, st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
DEEP = st.integers(1, 400).map(lambda depth: _nested(depth))


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# -- scenarios -----------------------------------------------------------------------------------

KeyPath = tuple[str, ...]


@cache
def known_keys() -> tuple[tuple[KeyPath, dict[str, Any]], ...]:
    """Every key that a scenario may have, with the tables (and their kinds) that lead to it."""
    schema = json_schema(kinds_of())
    found: list[tuple[KeyPath, dict[str, Any]]] = []

    def walk(node: Any, path: KeyPath, tables: dict[str, Any], depth: int) -> None:
        if depth > 12 or not isinstance(node, dict):
            return
        if "$ref" in node:
            walk(schema["$defs"][node["$ref"].rpartition("/")[2]], path, tables, depth + 1)
            return
        for branch in (*node.get("anyOf", ()), *node.get("oneOf", ())):
            walk(branch, path, tables, depth + 1)
        for key, inner in node.get("properties", {}).items():
            said = dict(tables)
            for tag in ("kind", "schedule"):
                if tag in node["properties"] and "const" in node["properties"][tag]:
                    said[".".join((*path, tag))] = node["properties"][tag]["const"]
            found.append(((*path, key), said))
            walk(inner, (*path, key), said, depth + 1)

    walk(schema, (), {}, 0)
    return tuple(found)


@cache
def _raw_scenarios() -> tuple[dict[str, Any], ...]:
    small = [read_toml(path, name) for name, path in shipped().items()]
    return (seeds.BASE, *(raw for raw in small if "extends" not in raw))


def _set(tables: dict[str, Any], path: KeyPath, value: Any) -> dict[str, Any]:
    """The tables, copied along a path, with a value at its end."""
    head, *rest = path
    inner = tables.get(head)
    found = dict(tables)
    found[head] = (
        _set(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    )
    return found


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario's tables with one to three keys that are wrong, or may be."""
    tables = dict(draw(st.sampled_from(_raw_scenarios())))
    for _ in range(draw(st.integers(1, 3))):
        path, said = draw(st.sampled_from(known_keys()))
        for dotted, kind in said.items():
            where = tuple(dotted.split("."))
            if _at(tables, where) != kind:
                tables = _set(tables, where[:-1], {where[-1]: kind}) if where[:-1] else tables
        how = draw(st.sampled_from(["value", "value", "value", "drop", "deep", "extra"]))
        if how == "drop":
            tables.pop(path[0], None)
        elif how == "extra":
            tables = _set(tables, (*path[:-1], draw(TEXTS)), draw(SCALARS))
        else:
            tables = _set(tables, path, draw(DEEP if how == "deep" else VALUES))
    return tables


def _at(tables: Any, path: KeyPath) -> Any:
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def play_tables(tables: dict[str, Any], folder: Path) -> None:
    """Check tables as Python gives them, and, where TOML can say them, as a file."""
    try:
        text = tomli_w.dumps(tables)
    except Exception:  # what TOML cannot say: Python can
        scenario.from_dict(tables)
        return
    play_toml(text.encode("utf-8", "surrogatepass"), folder)


def play_toml(content: bytes, folder: Path) -> None:
    """Check a scenario file."""
    path = folder / "s.toml"
    path.write_bytes(content)
    scenario.load(str(path))


@st.composite
def toml_bytes(draw: st.DrawFn) -> bytes:
    """A shipped scenario file with faults in its text."""
    path = draw(st.sampled_from(sorted(shipped().values())))
    return draw(broken(path.read_bytes()))


# -- options -------------------------------------------------------------------------------------


@st.composite
def assignments(draw: st.DrawFn) -> list[str]:
    """Options `--set`."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        path = ".".join(draw(st.sampled_from(known_keys()))[0])
        value = draw(st.one_of(VALUES, DEEP))
        spelled = draw(st.sampled_from(["json", "plain", "any"]))
        if spelled == "any":
            found.append(draw(st.text(max_size=30)))
        else:
            text = json.dumps(value) if spelled == "json" else str(value)
            found.append(f"{path}={text}")
    return found


@cache
def _good_file() -> tuple[str, object]:
    """A file, and its folder, which goes with the process."""
    folder = TemporaryDirectory(prefix="netsim-hostile-")
    path = Path(folder.name) / "good.toml"
    path.write_text(tomli_w.dumps(seeds.BASE))
    return str(path), folder


def play_assignments(sets: list[str], folder: Path) -> None:
    """Check a good file with options."""
    scenario.load(_good_file()[0], sets)


OPTION = st.one_of(
    st.text(max_size=20),
    st.builds(
        "{}={}".format,
        st.sampled_from(["nodes.count", "horizon_s", "seed", "a.b", ""]),
        st.one_of(
            st.text(max_size=20), st.lists(NUMBERS, max_size=4).map(lambda v: ",".join(map(str, v)))
        ),
    ),
    st.builds(
        "horizon_s={}:{}{}".format, NUMBERS, NUMBERS, st.sampled_from(["", ":log", ":x", ":"])
    ),
)
SEEDS = st.one_of(
    st.text(max_size=10), st.builds("{}:{}".format, NUMBERS, NUMBERS), NUMBERS.map(str)
)
SWEEPS = st.tuples(
    st.lists(OPTION, max_size=2), st.lists(OPTION, max_size=2), SEEDS, st.one_of(st.none(), NUMBERS)
)


def play_sweep(case: tuple[list[str], list[str], str, Any], folder: Path) -> None:
    """Check a good file with options of `netsim sweep`."""
    over, draw, seed_range, trials = case
    said = options(over, draw, seed_range, None, trials=trials)
    modules = kinds_of()
    draft = scenario.draft_of(_good_file()[0], (), modules)
    draft.lay_over({"sweep": said}, "command line")
    scenario.check(draft, modules)


# -- files that a scenario names -----------------------------------------------------------------


def play_file(name: str) -> Callable[[bytes, Path], None]:
    """Lay out the world of a scenario that names the file."""
    kind = seeds.FILES[name]

    def play(content: bytes, folder: Path) -> None:
        path = folder / f"given{kind.suffix}"
        path.write_bytes(content)
        given = scenario.from_dict({**seeds.BASE, **kind.tables(str(path))})
        runner.build(given, "s.toml")

    return play


def play_images(content: bytes, folder: Path) -> None:
    """Read a data set."""
    for part in ("train", "test"):
        (folder / "mnist").mkdir(exist_ok=True)
        (folder / "mnist" / f"{part}-00000-of-00001.parquet").write_bytes(content)
    data = {"kind": "mnist", "path": str(folder)}
    scenario.from_dict({**seeds.BASE, "data": data}).data.read(folder)


# -- run folders ---------------------------------------------------------------------------------

SUMMARIES = st.one_of(
    broken(json.dumps(seeds.SUMMARY).encode()),
    st.tuples(st.sampled_from(sorted(seeds.SUMMARY)), VALUES).map(
        lambda pair: json.dumps({**seeds.SUMMARY, pair[0]: pair[1]}).encode()
    ),
    VALUES.map(lambda value: json.dumps(value).encode()),
)


def play_run(case: tuple[bytes, bytes], folder: Path) -> None:
    """Compare two runs, of which one has these files."""
    for name, files in (
        ("good", (json.dumps(seeds.SUMMARY).encode(), seeds.metrics())),
        ("bad", case),
    ):
        (folder / name / "metrics").mkdir(parents=True, exist_ok=True)
        (folder / name / "summary.json").write_bytes(files[0])
        (folder / name / "metrics" / "part-00000.parquet").write_bytes(files[1])
    table(run_folders(folder), folder / "comparison.csv", 0.2)


def play_sweep_folder(content: bytes, folder: Path) -> None:
    """Compare the runs of a sweep whose scenario this is."""
    (folder / "scenario.toml").write_bytes(content)
    if sweep_results.is_sweep(folder):
        SweepTables(folder, sweep_results.design_of(folder)).lines_to(None)


CHECKSUMS = json.dumps({"sha256": {"summary.json": "0" * 64, "metrics/part-00000.parquet": "1"}})
ENVIRONMENT = json.dumps(
    {
        "inputs": [{"file": "/nowhere", "bytes": 3, "sha256": "0"}],
        "algorithm": [],
        "versions": {"netsim": "0.1.0", "python": "3.11"},
    }
)
LISTS = st.tuples(
    *(
        st.one_of(
            broken(text.encode()),
            VALUES.map(lambda value: json.dumps(value).encode()),
            st.tuples(st.sampled_from(sorted(json.loads(text))), VALUES).map(
                lambda pair, text=text: json.dumps({**json.loads(text), pair[0]: pair[1]}).encode()
            ),
        )
        for text in (CHECKSUMS, ENVIRONMENT, json.dumps({"state": "finished"}))
    )
)


def play_verify(case: tuple[bytes, bytes, bytes], folder: Path) -> None:
    """Verify a run folder with these lists, and ask who holds it."""
    for name, content in zip(("checksums", "environment", "status"), case, strict=True):
        (folder / f"{name}.json").write_bytes(content)
    (folder / "summary.json").write_text(json.dumps(seeds.SUMMARY))
    for content in case:
        (folder / ".lock-by").write_bytes(content)
        folder_lock.left_by(folder)
    (folder / ".lock-by").unlink()
    verification.verify(folder, {}, (), False, None)


@st.composite
def checkpoints(draw: st.DrawFn) -> dict[str, bytes]:
    """The files of a checkpoint with faults, most with checksums that agree with the faults."""
    files, contents = dict(seeds.CHECKPOINT_FILES), copy.deepcopy(seeds.CHECKPOINT)
    for name in files:
        if draw(st.integers(0, 3)) == 0:
            files[name] = draw(broken(files[name]))
    for described in (contents["cells"], *contents["values"]):
        content = files[described["name"]]
        described["sha256"] = hashlib.sha256(content).hexdigest()
        described["bytes"] = len(content)
    for _ in range(draw(st.integers(0, 3))):
        place = contents
        while True:
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
                place[key] = draw(VALUES)
                break
            place = place[key]
    text = json.dumps(contents)
    signed = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "checkpoint": text}
    whole = json.dumps(signed).encode()
    files["checkpoint-000000.json"] = draw(st.one_of(st.just(whole), broken(whole)))
    return files


def play_checkpoint(case: dict[str, bytes], folder: Path) -> None:
    """Read a checkpoint and its values."""
    (folder / journal.NAME).mkdir()
    (folder / "metrics").mkdir()
    (folder / "metrics" / "part-00000.parquet").write_bytes(seeds.metrics())
    for name, content in case.items():
        (folder / journal.NAME / name).write_bytes(content)
    found = journal.Journal(folder)
    checkpoint, _, damaged = found.read()
    if checkpoint is None:
        raise ScenarioError("; ".join(damaged))
    for _ in found.cells(checkpoint):
        pass
    try:
        checksums.require_as_written(folder, checkpoint.written, later=True)
    except AlteredError as error:
        raise ScenarioError(str(error)) from error


SWEEP_FILE = b'name = "s"\nseed = 3\n[sweep]\nseeds = [0, 1]\n[sweep.over]\n"radio.loss" = [1, 2]\n'


@dataclass(frozen=True)
class Kind:
    """A kind of malformed input.

    Attributes
    ----------
    cases : strategy
    play : callable
        (case, empty folder) -> None; raises ScenarioError if it is refused.
    """

    cases: st.SearchStrategy[Any]
    play: Callable[[Any, Path], None]


KINDS: dict[str, Kind] = {
    "scenario file, bytes": Kind(toml_bytes(), play_toml),
    "scenario file, values": Kind(scenarios(), play_tables),
    "--set": Kind(assignments(), play_assignments),
    "sweep options": Kind(SWEEPS, play_sweep),
    "summary": Kind(st.tuples(SUMMARIES, st.just(seeds.metrics())), play_run),
    "metrics": Kind(
        st.tuples(st.just(json.dumps(seeds.SUMMARY).encode()), broken(seeds.metrics())), play_run
    ),
    "lists of a run": Kind(LISTS, play_verify),
    "checkpoint": Kind(checkpoints(), play_checkpoint),
    "sweep folder": Kind(broken(SWEEP_FILE), play_sweep_folder),
    "images": Kind(broken(seeds.images()), play_images),
    **{name: Kind(broken(kind.content), play_file(name)) for name, kind in seeds.FILES.items()},
}
