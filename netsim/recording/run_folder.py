"""Tables and JSON files of a run folder, read as data that anybody may have written.

Every command that takes a run reads it here. A table is what `netsim.recording.schema` says, a
JSON file what `json_files.FILES` says: columns, types, ranges and ids are checked, and anything
else is refused in one sentence that names file, column and row. Of a run that has ended a file that
is not what the run has written is refused, too (`verified_files`). Links, pipes and devices are not
opened, sizes are looked at before anything is read, and nothing that is read is ever executed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.errors import ScenarioError, one_line
from netsim.recording.json_files import (
    ANY,
    MAYBE,
    NUMBER,
    TEXT,
    WHOLE,
    Form,
    declared,
    json_file,
    require_form,
)
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import IN_ORDER, NODE_COLUMNS, TABLES, WHY_MISSING
from netsim.recording.table_check import TableCheck, refused, whole_words
from netsim.recording.verified_files import parts_of, require_written
from netsim.recording.whole_files import while_unchanged
from netsim.traces import bounded
from netsim.traces.bounded_tables import rows_of
from netsim.traces.bounded_toml import read_toml
from netsim.traces.files import is_file

NODES = "nodes.parquet"
UNFINISHED = ".unfinished-"
"""Mark in the names of folders that a sweep has put aside."""
MOST_NODES = 1_000_000
"""A run has fewer nodes."""
MOST_BYTES, MOST_GROWTH = 1 << 28, 100
"""A table may take so much memory, or so many times what its files have."""

# -- tables --------------------------------------------------------------------------------------


def has(folder: Path, name: str) -> bool:
    """Return whether a run folder has any part of a table.

    Raises
    ------
    ScenarioError
        If parts of it are missing that the run has written, or others lie there.
    """
    return bool(parts_of(folder, name))


def rows(folder: Path, name: str) -> int:
    """Number of rows that the parts of a table state.

    Raises
    ------
    ScenarioError
        If one can't be read.
    """
    found = 0
    for path in parts_of(folder, name):
        with refused(path):
            found += rows_of(path)
    return found


def require(folder: Path, name: str) -> None:
    """Raise ScenarioError where a run folder has no part of a table."""
    if not has(folder, name):
        why = f": {WHY_MISSING[name]}" if name in WHY_MISSING else ""
        raise ScenarioError(f"{one_line(folder)}: has no table {name}{why}")


def count(folder: Path) -> int | None:
    """Number of nodes of a run by its `nodes.parquet`; None where it has none.

    Raises
    ------
    ScenarioError
        If it can't be read.
    """
    path = folder / NODES
    try:
        found = _rows_of(path)
    except (OSError, ValueError):
        require_written(path, NODES)
        return None
    if found > MOST_NODES:
        raise ScenarioError(f"{path}: has {found:,} rows, at most {MOST_NODES:,} are read")
    return int(found)


@while_unchanged
def _rows_of(path: Path) -> int:
    with refused(path):
        return rows_of(path)


def nodes_of(folder: Path, told: Mapping[str, Any]) -> int:
    """Number of nodes of a run.

    Raises
    ------
    ScenarioError
        If summary and `nodes.parquet` tell different numbers, or neither tells one.
    """
    there = count(folder)
    found = told.get("nodes", there)
    if found is None:
        raise ScenarioError(f"{folder / 'summary.json'}: nodes: is missing")
    if not 0 < found <= MOST_NODES or there not in (None, found):
        also = "" if there is None else f", {NODES} has {there:,}"
        raise ScenarioError(f"{folder / 'summary.json'}: nodes: is {found}{also}")
    return int(found)


def tables(folder: Path, name: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Parts of a table, one after the other.

    Parameters
    ----------
    folder : Path
        Of the run.
    name : str
        One of `schema.TABLES`.
    columns : sequence of str or None
        Which to read; None: all that are there.

    Yields
    ------
    pyarrow.Table
        Times and reals as float64, ids as int32, counts as int64, words as dictionaries.

    Raises
    ------
    ScenarioError
        If a part is not what `schema` says.
    """
    paths = parts_of(folder, name)
    if not paths:
        return
    if (folder / name).is_symlink():
        raise ScenarioError(f"{folder / name}: is a link; copy what is to be read into the folder")
    most = count(folder)
    check = TableCheck(TABLES[name], MOST_NODES if most is None else most, IN_ORDER.get(name))
    left = max(MOST_BYTES, MOST_GROWTH * sum(map(_size, paths)))
    for path in paths:
        found = check.part(path, columns)
        require_written(path, f"{name}/{path.name}")
        left -= found.nbytes
        if left < 0:
            raise ScenarioError(
                f"{path}: the table takes more than {MOST_GROWTH} times the memory of its files, "
                "which no run's does"
            )
        yield found


def table(folder: Path, name: str, columns: Sequence[str] | None = None) -> Any:
    """A whole table as one pyarrow table, in the types of `tables`.

    Parameters
    ----------
    folder, name, columns
        As of `tables`.

    Raises
    ------
    ScenarioError
        If it is missing, or a part is not what `schema` says.
    """
    require(folder, name)
    return pa.concat_tables(tables(folder, name, columns)).unify_dictionaries()


def read(folder: Path, name: str, columns: Iterable[str] | None = None) -> Rows:
    """A whole table as arrays, words as strings; empty arrays if it has no parts.

    Parameters
    ----------
    folder, name, columns
        As of `tables`.

    Raises
    ------
    ScenarioError
        If a part is not what `schema` says.
    """
    names = None if columns is None else list(columns)
    if not has(folder, name):
        return {column: np.array([]) for column in names or ()}
    return arrays(table(folder, name, names))


def arrays(table: Any) -> Rows:
    """The columns of a pyarrow table as arrays, words as strings."""
    return {name: _cells(table.column(name)) for name in table.column_names}


def _cells(column: Any) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        whole = whole_words(column)
        words = np.array(whole.dictionary.to_pylist(), dtype=object)
        return np.asarray(words[whole.indices.to_numpy()])
    return np.asarray(column.to_numpy())


def node_table(folder: Path) -> Any:
    """`nodes.parquet` as a pyarrow table.

    Raises
    ------
    ScenarioError
        If it is missing, or not what `schema.NODE_COLUMNS` says.
    """
    path = folder / NODES
    found = TableCheck(NODE_COLUMNS, MOST_NODES).part(path, None)
    require_written(path, NODES)
    ids = found["node"].to_numpy()
    wrong = ids != np.arange(len(ids))
    if wrong.any():
        row = int(wrong.argmax())
        raise ScenarioError(
            f"{path}: column node, row {row}: is {ids[row]}, must be {row}: nodes are in order"
        )
    return found


def nodes(folder: Path) -> Rows:
    """`nodes.parquet` as arrays, words as strings; see `node_table`."""
    return arrays(node_table(folder))


def nodes_if_any(folder: Path) -> Rows:
    """Columns of `nodes.parquet`; empty where there is none, as of an older run."""
    return {} if count(folder) is None else nodes(folder)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


# -- JSON and TOML -------------------------------------------------------------------------------

_BLOCK = {
    "mean": MAYBE,
    "std": MAYBE,
    "worst_10pct": MAYBE,
    "best_on_validation": MAYBE,
    "best": {"t_s": MAYBE, "mean": MAYBE, "std": MAYBE},
}
"""Form of a metric's entry in the summary."""
_SCENARIO: Form = {
    "name": TEXT,
    "seed": WHOLE,
    "horizon_s": NUMBER,
    "exchange": {"schedule": TEXT, "interval_s": NUMBER, "deadline_s": NUMBER},
    "nodes": {"count": WHOLE, "groups": [{"count": WHOLE, "battery_j": MAYBE}]},
    "churn": {"kind": TEXT},
    "radio": {
        "mac": {"kind": TEXT},
        "sleep": {"kind": TEXT, "awake_fraction": NUMBER},
        "path_loss": {"kind": TEXT, "path": TEXT},
    },
    "mobility": {"kind": TEXT},
    "run": {"backend": TEXT},
    "metrics": {"every_s": NUMBER},
    "energy": {"battery_j": MAYBE, "harvest": {"kind": TEXT}},
    "sweep": {"*": ANY},
    "algorithm": ANY,
}
"""Form of a run's scenario, as far as it is read without being checked as a scenario."""


def summary(folder: Path) -> dict[str, Any]:
    """`summary.json` of a run that has ended.

    Raises
    ------
    ScenarioError
        If there is none, or it is not what a run writes.
    """
    found = summary_if_any(folder)
    if found is None:
        raise ScenarioError(
            f"{one_line(folder)}: not the folder of a finished run: no summary.json"
        )
    return found


def summary_if_any(folder: Path) -> dict[str, Any] | None:
    """`summary.json` of a run; None where it has not ended.

    Raises
    ------
    ScenarioError
        If it is not what a run writes.
    """
    path = folder / "summary.json"
    found = _json_if_any(path)
    if found is None:
        return None
    for name, block in found.items():
        if isinstance(block, dict) and "mean" in block:
            require_form(str(path), name, block, _BLOCK)
    return found | {name: one_line(found[name]) for name in ("algorithm", "name") if name in found}


def status(folder: Path) -> dict[str, Any]:
    """`status.json` of a run; empty where there is none.

    Raises
    ------
    ScenarioError
        If it is not what a run writes.
    """
    try:
        return json_file(folder / "status.json", most_bytes=1 << 20)
    except FileNotFoundError:
        return {}


def environment(folder: Path) -> dict[str, Any]:
    """`environment.json` of a run; empty where there is none.

    Raises
    ------
    ScenarioError
        If it is not what a run writes.
    """
    return _json_if_any(folder / "environment.json") or {}


def _json_if_any(path: Path) -> dict[str, Any] | None:
    """A JSON file of a run, as it was written; None where there is none."""
    try:
        found = json_file(path)
    except FileNotFoundError:
        found = None
    require_written(path, path.name)
    return found


def scenario(folder: Path) -> dict[str, Any]:
    """Tables of `scenario.toml` of a run or a sweep, without the check of a scenario.

    Keys whose form is not declared are left out, so that nobody relies on what is unchecked.

    Raises
    ------
    ScenarioError
        If there is none, or what is read of it here is not of its type.
    """
    found: dict[str, Any] = declared(scenario_tables(folder), _SCENARIO)
    return found


def scenario_tables(folder: Path) -> dict[str, Any]:
    """All tables of `scenario.toml`, to be compared or shown as they are.

    Raises
    ------
    ScenarioError
        As `scenario`.
    """
    found = read_toml(scenario_file(folder), one_line(folder))
    label = one_line(folder / "scenario.toml")
    require_form(label, "", found, _SCENARIO)
    entries = found.get("algorithm", {})
    for entry in entries if isinstance(entries, list) else [entries]:
        require_form(label, "algorithm", entry, {"kind": TEXT, "name": TEXT})
    return found


def algorithm_of(tables: Mapping[str, Any], otherwise: str) -> str:
    """The name of the first algorithm of a scenario that `scenario` has read.

    `otherwise`: what is said where it names none.
    """
    entry = tables.get("algorithm", {})
    entry = entry[0] if isinstance(entry, list) and entry else entry
    named = entry if isinstance(entry, Mapping) else {}
    return str(named.get("name") or named.get("kind") or otherwise)


def found_at(path: Path, *files: str) -> list[Path]:
    """The folders that have one of some files: `path`, else those one folder below it, `ordered`.

    `path`: may be anything, also what can't be read; then there are none.
    """

    def has_one(folder: Path) -> bool:
        return any(is_file(folder / file) for file in files)

    try:
        return [path] if has_one(path) else ordered(path, filter(has_one, path.glob("*")))
    except (OSError, ValueError):
        return []


def ordered(folder: Path, runs: Iterable[Path]) -> list[Path]:
    """Order the runs below a folder as its scenario does their algorithms; others follow by name.

    `runs`: sub-folders, called as their algorithms are.
    """
    places = {name: k for k, name in enumerate(algorithms_in(folder))}
    return sorted(runs, key=lambda run: (places.get(run.name, len(places)), run.name))


@while_unchanged
def _algorithms(path: Path) -> tuple[str, ...]:
    """The algorithms of a folder's scenario; empty where it can't be read."""
    try:
        entries = scenario_tables(path.parent).get("algorithm")
    except ScenarioError:
        entries = None
    named = entries if isinstance(entries, list) else ()
    return tuple(dict.fromkeys(algorithm_of({"algorithm": one}, "") for one in named))


def algorithms_in(folder: Path) -> list[str]:
    """Names of the algorithms of a folder's scenario, in its order; empty where it says none."""
    try:
        return list(_algorithms(folder / "scenario.toml"))
    except OSError:  # there is none
        return []


def scenario_file(folder: Path) -> Path:
    """The path of a folder's `scenario.toml`, once it is known to be no link.

    Raises
    ------
    ScenarioError
        If it is one, or, of a run that has ended, is not what the run has written.
    """
    path = folder / "scenario.toml"
    problem = bounded.kind_problem(path, follow_links=False)
    if problem is not None:
        raise ScenarioError(f"{one_line(path)}: {problem}")
    require_written(path, path.name)
    return path
