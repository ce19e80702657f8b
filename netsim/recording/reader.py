"""One run folder, opened: its state, its files and its tables, read when they are asked for."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.errors import ScenarioError, one_line
from netsim.recording import metrics as measures
from netsim.recording import run_folder, status
from netsim.recording.main_metric import MainMetric
from netsim.recording.parquet_parts import Rows
from netsim.recording.table_check import whole_words
from netsim.recording.verified_files import require_written
from netsim.registry import did_you_mean
from netsim.traces.files import is_file
from netsim.units import to_ns

T = TypeVar("T")
Places = Callable[[Sequence[float]], NDArray[np.float64] | None]
"""Times [s] -> positions [m] at each of them, (times, nodes, 2 or 3); None where nobody moves."""
_ITS_OWN = ("name", "seed", "run", "sweep", "paper")
"""Keys of a scenario in which seeds of one curve may differ."""


def _no_scenario(folder: Path) -> dict[str, Any]:
    """Tables of a scenario that is not there; raises where the run has written one."""
    run_folder.scenario_file(folder)
    return {}


def no_positions(_: Sequence[float]) -> None:
    """Positions of nodes that do not move: None."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of words."""

    names: tuple[str, ...]  # those that there are
    codes: NDArray[np.int64]  # (R,) int64: which of them each row has

    def isin(self, some: Sequence[str]) -> NDArray[np.bool_]:
        """Return the mask of rows that have one of some words."""
        known = np.array([name in some for name in self.names], dtype=np.bool_)
        return known[self.codes] if len(known) else np.zeros(0, dtype=np.bool_)

    def select(self, chosen: NDArray[np.bool_]) -> "Words":
        """The chosen rows."""
        return Words(self.names, self.codes[chosen])


@dataclass(frozen=True, eq=False)
class RunFolder:
    """One run folder, of a run that has ended or not.

    Tables are columns by name, words as `Words`; one that was not written is empty.
    """

    folder: Path
    # what tells it from those beside it: swept keys, `seed`, `algorithm`
    labels: Mapping[str, int | float | str] = field(default_factory=dict)
    # where it is a list, what can't be read counts as empty and is told here; None: it raises
    # ScenarioError
    faults: list[str] | None = None
    places: Places = no_positions  # where nodes that move were

    @staticmethod
    def ended(folder: Path, labels: Mapping[str, int | float | str] | None = None) -> "RunFolder":
        """That of a run that has ended.

        Raises
        ------
        ScenarioError
            If it has not, or it is none of a run.
        """
        run = RunFolder(folder, labels or {})
        try:
            run.__dict__["summary"] = run_folder.summary(folder)
        except ScenarioError:
            state = status.read(folder).get("state")
            if state in (None, "done") or (folder / "summary.json").exists():
                raise
            raise ScenarioError(
                f'{folder / "status.json"}: state = "{state}": only a run that has ended is drawn; '
                f"netsim resume {folder} goes on with it, netsim report {folder} shows how far it "
                "came"
            ) from None
        return run

    @staticmethod
    def begun(folder: Path) -> "RunFolder":
        """That of a run that has begun, whether it has ended or not.

        Raises
        ------
        ScenarioError
            If it is not the folder of one.
        """
        run = RunFolder(folder)
        contents = run.summary, run.status  # both are read, so that neither is broken in silence
        if any(contents):
            require_written(folder / run_folder.NODES, run_folder.NODES)
        if not any(contents) or not is_file(folder / run_folder.NODES):
            raise ScenarioError(f"{one_line(folder)}: not the folder of a run that has begun")
        return run

    # -- files -----------------------------------------------------------------------------------

    @cached_property
    def summary(self) -> dict[str, Any]:
        """`summary.json`; empty where the run has not ended."""
        return self._read(run_folder.summary_if_any, None) or {}

    @cached_property
    def status(self) -> dict[str, Any]:
        """`status.json`; empty where there is none."""
        return self._read(run_folder.status, {})

    @cached_property
    def environment(self) -> dict[str, Any]:
        """`environment.json`; empty where there is none."""
        return self._read(run_folder.environment, {})

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        """`scenario.toml`, see `run_folder.scenario`."""
        if self.faults is not None and not (self.folder / "scenario.toml").exists():
            return self._read(_no_scenario, {})
        return self._read(run_folder.scenario, {})

    @cached_property
    def settings(self) -> str:
        """Return the settings that seeds of one curve share, as one text; empty if unknown."""
        try:
            tables = run_folder.scenario_tables(self.folder)
        except ScenarioError:
            return ""
        return repr(sorted((k, v) for k, v in tables.items() if k not in _ITS_OWN))

    def _read(self, reader: Callable[[Path], T], otherwise: T) -> T:
        try:
            return reader(self.folder)
        except ScenarioError as problem:
            if self.faults is None:
                raise
            self.faults.append(str(problem))
            return otherwise

    # -- what it was -----------------------------------------------------------------------------

    @cached_property
    def algorithm(self) -> str:
        """Name of the algorithm: as the summary says, else the scenario, else the folder's name."""
        name = self.summary.get("algorithm")
        return str(name or run_folder.algorithm_of(self.scenario, self.folder.name))

    @property
    def label(self) -> str:
        """Scenario and algorithm of a run that has ended, else the folder's name."""
        names = [str(self.summary[key]) for key in ("name", "algorithm") if key in self.summary]
        return ", ".join(names) or self.folder.name

    @property
    def seed(self) -> Any:
        """Seed of a run that has ended."""
        return self.summary.get("seed")

    @property
    def state(self) -> str:
        """`done`, or what `status.state` says; `unknown` where nothing tells it."""
        return "done" if self.summary else status.state(self.folder) or "unknown"

    @cached_property
    def main(self) -> MainMetric:
        """Main metric of the run; accuracy while its summary is not there."""
        return MainMetric.of(self.summary)

    @cached_property
    def count(self) -> int:
        """Number of nodes; where nothing says so, of those that the other tables name."""
        if "node" in self.nodes:
            return len(self.nodes["node"])
        tables = self.messages, self.uses, self.graph, self.metrics, self.wakes
        named = [table.get(name, ()) for table in tables for name in ("src", "dst", "node", "peer")]
        return max((int(ids.max()) + 1 for ids in named if len(ids)), default=0)

    @cached_property
    def horizon_s(self) -> float:
        """Planned length of the run [s]; 0 where nothing says so."""
        found = self.scenario.get("horizon_s", self.summary.get("virtual_s", 0.0))
        return float(found) if isinstance(found, int | float) else 0.0

    @cached_property
    def end_s(self) -> float:
        """Time that the run reached [s]: of one that has not ended that of its last record."""
        end_s = self.summary.get("virtual_s")
        if isinstance(end_s, int | float):
            return float(end_s) if math.isfinite(end_s) else 0.0
        end_s = self.status.get("virtual_s")
        last = [float(end_s)] if isinstance(end_s, int | float) else []
        for table, name in ((self.messages, "t_done_s"), (self.metrics, "t_s")):
            last += [float(table[name].max())] if len(table.get(name, ())) else []
        if not last and len(self.wakes.get("t_s", ())):
            last = [float(self.wakes["t_s"].max())]
        return max(filter(math.isfinite, last), default=0.0)

    @property
    def end_ns(self) -> int:
        """The same [ns]."""
        return to_ns(self.end_s)

    # -- tables ----------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> Rows:
        """`nodes.parquet`, words as strings; empty where there is none."""
        return self._read(run_folder.nodes_if_any, {})

    @cached_property
    def messages(self) -> dict[str, Any]:
        """`messages/`; columns that few figures need are read when one of them asks."""
        columns = ("t_sent_s", "t_done_s", "src", "dst", "kind", "bits", "outcome", "age_s")
        return self._table("messages", columns)

    @cached_property
    def wakes(self) -> dict[str, Any]:
        """`wakes/`."""
        return self._table("wakes", ("t_s", "node", "what", "count"))

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """`metrics/`."""
        return self._table("metrics", None)

    @cached_property
    def measured(self) -> Rows:
        """`metrics/` with words as strings, for `recording.metrics`; raises where it is broken."""
        return run_folder.read(self.folder, "metrics")

    @cached_property
    def graph(self) -> dict[str, Any]:
        """`graph/`."""
        return self._table("graph", None)

    @cached_property
    def uses(self) -> dict[str, Any]:
        """`uses/`."""
        return self._table("uses", ("message", "src", "dst", "kind", "fate", "age_at_use_s"))

    def _table(self, name: str, columns: Sequence[str] | None) -> dict[str, Any]:
        """A table; parts behind one that is broken are left out where faults are told."""

        def read(names: Sequence[str] | None) -> Any:
            found: list[Any] = []
            try:
                found.extend(run_folder.tables(self.folder, name, names))
            except ScenarioError as problem:
                if self.faults is None:
                    raise
                if names is columns:
                    self.faults.append(f"{problem}; what follows is left out")
            return pa.concat_tables(found) if found else pa.table({})

        return _Table(read(columns), read)

    def require(self, table: str) -> None:
        """Raise ScenarioError where a table is missing."""
        run_folder.require(self.folder, table)

    def require_metric(self, metric: str) -> None:
        """Raise ScenarioError where a metric was not measured."""
        known = measures.names(self.measured)
        if metric not in known:
            nothing = "none: no node had a model at any evaluation"
            if self.environment.get("timing_only") is True:
                nothing = "none: the run was played with --timing-only"
            raise ScenarioError(
                f"{self.folder / 'metrics'}: metric = {metric}: was not measured; there are "
                f"{', '.join(known) or nothing}" + did_you_mean(metric, known)
            )


class _Table(dict[str, Any]):
    """Columns of a table by their names; a further one is read when it is asked for.

    A run that goes on appends rows, so a column that is read later is cut to as many rows.

    `first`: the columns that are read at once. `read`: names -> these columns, from the folder.
    """

    def __init__(self, first: Any, read: Callable[[Sequence[str] | None], Any]) -> None:
        super().__init__({name: _cells(first.column(name)) for name in first.column_names})
        self._rows, self._read = first.num_rows, read

    def __missing__(self, name: str) -> Any:
        found = self._read([name]) if self else None
        if found is None or name not in found.column_names or found.num_rows < self._rows:
            raise ScenarioError(f"{name}: is no column that this table can be read with")
        self[name] = _cells(found.column(name).slice(0, self._rows))
        return self[name]


def _cells(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        whole = whole_words(column)
        names = tuple(str(word) for word in whole.dictionary.to_pylist())
        return Words(names, whole.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    return column.to_numpy()


def begun_folders(path: Path) -> list[Path]:
    """The run folders at `path`, finished or not: itself, or its sub-folders, see `ordered`.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    found = run_folder.found_at(path, "summary.json", "status.json")
    if not found:
        raise ScenarioError(f"{one_line(path)}: no run here or one folder below")
    return found
