"""The tables of one run folder as arrays, as far as they are there."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.recording.parquet_parts import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_NODES = 200
MOMENTS, MOMENTS_OF_MANY = 60, 30

Places = Callable[[Sequence[float]], Floats | None]
"""Times [s] -> positions [m] at each of them, (times, nodes, 2 or 3); None where nobody moves."""


def nowhere(_: Sequence[float]) -> None:
    """Positions of nodes that do not move: None."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of words.

    Attributes
    ----------
    names : tuple of str
        Those that there are.
    codes : (R,) int64
        Which of them each row has.
    """

    names: tuple[str, ...]
    codes: Ints

    def among(self, some: Sequence[str]) -> NDArray[np.bool_]:
        """Return the mask of rows that have one of some words."""
        known = np.array([name in some for name in self.names], dtype=np.bool_)
        return known[self.codes] if len(known) else np.zeros(0, dtype=np.bool_)

    def where(self, chosen: NDArray[np.bool_]) -> "Words":
        """The chosen rows."""
        return Words(self.names, self.codes[chosen])


@dataclass(frozen=True, eq=False)
class RunTables:
    """One run folder.

    Attributes
    ----------
    folder : Path
    places : callable
        Where nodes that move were.
    faults : list of str
        Tables that are there and can't be read; grows while tables are read.
    """

    folder: Path
    places: Places = nowhere
    faults: list[str] = field(default_factory=list)

    @cached_property
    def status(self) -> dict[str, Any]:
        """`status.json`; empty where there is none."""
        try:
            return run_folder.status(self.folder)
        except ScenarioError as problem:
            self.faults.append(str(problem))
            return {}

    @cached_property
    def summary(self) -> dict[str, Any]:
        """`summary.json`; empty where the run has not ended."""
        if not (self.folder / "summary.json").exists():
            return {}
        try:
            return run_folder.summary(self.folder)
        except ScenarioError as problem:
            self.faults.append(str(problem))
            return {}

    @cached_property
    def environment(self) -> dict[str, Any]:
        """`environment.json`; empty where it can't be read."""
        try:
            return run_folder.environment(self.folder)
        except ScenarioError as problem:
            self.faults.append(str(problem))
            return {}

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        """`scenario.toml`; empty where it can't be read."""
        try:
            return run_folder.scenario(self.folder)
        except ScenarioError as problem:
            if (self.folder / "scenario.toml").exists():
                self.faults.append(str(problem))
            return {}

    @cached_property
    def algorithm(self) -> str:
        """Name of the algorithm: as the summary says, else the scenario, else the folder's name."""
        told = self.summary.get("algorithm")
        return str(told or run_folder.algorithm_of(self.scenario, self.folder.name))

    @cached_property
    def nodes(self) -> Rows:
        """`nodes.parquet`; empty where it can't be read."""
        try:
            return {} if run_folder.count(self.folder) is None else run_folder.nodes(self.folder)
        except ScenarioError as problem:
            self.faults.append(str(problem))
            return {}

    @cached_property
    def count(self) -> int:
        """Number of nodes; where nothing says so, of those that the other tables name."""
        if "node" in self.nodes:
            return len(self.nodes["node"])
        tables = self.messages, self.uses, self.graph, self.metrics, self.wakes
        named = [table.get(name, ()) for table in tables for name in ("src", "dst", "node", "peer")]
        return max((int(ids.max()) + 1 for ids in named if len(ids)), default=0)

    @cached_property
    def main(self) -> MainMetric:
        """Main metric of the run; accuracy while its summary is not there."""
        return MainMetric.of(self.summary)

    @cached_property
    def horizon_s(self) -> float:
        """Planned length of the run [s]; 0 where nothing says so."""
        found = self.scenario.get("horizon_s", self.summary.get("virtual_s", 0.0))
        return float(found) if isinstance(found, int | float) else 0.0

    @cached_property
    def end_s(self) -> float:
        """Time that the run reached [s]: at least that of the last record."""
        told = self.summary.get("virtual_s", self.status.get("virtual_s"))
        last = [
            float(table[name].max())
            for table, name in ((self.messages, "t_done_s"), (self.metrics, "t_s"))
            if len(table.get(name, ()))
        ]
        if isinstance(told, int | float):
            last = [float(told)] if self.summary else [*last, float(told)]
        return max(filter(math.isfinite, last), default=0.0)

    @cached_property
    def messages(self) -> dict[str, Any]:
        """`messages/`, its words as `Words`."""
        columns = ("t_sent_s", "t_done_s", "src", "dst", "kind", "bits", "outcome", "age_s")
        return self._table("messages", columns)

    @cached_property
    def wakes(self) -> dict[str, Any]:
        """`wakes/`, its words as `Words`."""
        return self._table("wakes", ("t_s", "node", "what", "count"))

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """`metrics/`, its words as `Words`."""
        return self._table("metrics", None)

    @cached_property
    def graph(self) -> dict[str, Any]:
        """`graph/`."""
        return self._table("graph", None)

    @cached_property
    def uses(self) -> dict[str, Any]:
        """`uses/`, its words as `Words`."""
        return self._table("uses", ("message", "src", "dst", "kind", "fate", "age_at_use_s"))

    @cached_property
    def traffic(self) -> dict[str, Any]:
        """`traffic/`."""
        return self._table("traffic", None)

    def _table(self, name: str, columns: Sequence[str] | None) -> dict[str, Any]:
        """A table; empty where there is none. Parts behind one that is broken are left out."""
        found: list[Any] = []
        try:
            found.extend(run_folder.tables(self.folder, name, columns))
        except ScenarioError as problem:
            self.faults.append(f"{problem}; what follows is left out")
        if not found:
            return {}
        whole = pa.concat_tables(found)
        return {column: _cells(whole.column(column)) for column in whole.column_names}


def _cells(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        if isinstance(whole, pa.ChunkedArray):
            if not whole.num_chunks:
                return Words((), np.zeros(0, dtype=np.int64))
            whole = whole.chunk(0)
        names = tuple(str(word) for word in whole.dictionary.to_pylist())
        return Words(names, whole.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    return column.to_numpy()


def off_spans(run: RunTables) -> tuple[Ints, Floats, Floats]:
    """Node, beginning and end [s] of each time for which a node was switched off.

    A node that is switched on first has been off from the beginning; one that stays off is so up to
    the end of the run.
    """
    what = run.wakes.get("what")
    if what is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    switched = what.among(("on", "off"))
    nodes, times = run.wakes["node"][switched].tolist(), run.wakes["t_s"][switched].tolist()
    since: dict[int, float] = {}
    met: set[int] = set()
    rows: list[tuple[int, float, float]] = []
    for node, t_s, off in zip(nodes, times, what.among(("off",))[switched].tolist(), strict=True):
        if off:
            since[node] = t_s
        elif node in since or node not in met:
            rows.append((node, since.pop(node, 0.0), t_s))
        met.add(node)
    rows += [(node, t_s, run.end_s) for node, t_s in since.items()]
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]


def moments(run: RunTables) -> NDArray[np.float64]:
    """Ends [s] of equally long stretches of the run; those of many nodes are fewer."""
    many = MOMENTS if run.count <= FEW_NODES else MOMENTS_OF_MANY
    if run.end_s <= 0:
        return np.zeros(1)
    return np.linspace(0, run.end_s, many + 1)[1:]


def stretch_of(times_s: NDArray[np.float64], ends_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the stretch of each time: a stretch has its end, not its beginning."""
    found = np.searchsorted(ends_s, times_s, side="left")
    return cast("NDArray[np.int64]", np.minimum(found, len(ends_s) - 1))
