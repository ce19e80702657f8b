"""The tables of one run under the names that queries use, and the lines that load them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from netsim.errors import ScenarioError, one_line
from netsim.recording.parquet_parts import part_files
from netsim.recording.schema import MESSAGE_COLUMNS, METRIC_COLUMNS, TRAFFIC_COLUMNS, WHY_MISSING
from netsim.results import frames, played
from netsim.results.explain.critical_path import critical_path, work_ends
from netsim.results.explain.findings import Query
from netsim.results.starved import starved
from netsim.results.summary import load
from netsim.traces import bounded_toml

_COLUMNS = {
    "messages": [column.name for column in MESSAGE_COLUMNS],
    "metrics": [column.name for column in METRIC_COLUMNS],
    "traffic": [column.name for column in TRAFFIC_COLUMNS],
}
_LOADING = """\
import tomllib
from pathlib import Path
import pandas as pd
from netsim.results.starved import starved  # (messages got, roles) -> which nodes are
run, T = Path({run!r}), {end_s!r}  # T: virtual seconds played
scenario = tomllib.loads((run / "scenario.toml").read_text(encoding="utf-8"))
nodes = pd.read_parquet(run / "nodes.parquet").set_index("node")
wakes = pd.read_parquet(run / "wakes")
"""
_IN_FLIGHT = """\
import json
summary = json.loads((run / "summary.json").read_text())
in_flight = summary["counts"]["messages_in_flight"]
diverged, caught = summary["diverged"], summary.get("diverged_by_message", [])
"""
_STARTS = 'starts = wakes[wakes.what == "woke"].groupby("count").t_s.min()  # of rounds\n'
_PATH = """\
from netsim.results.explain.critical_path import critical_path, work_ends
ready = work_ends(messages, wakes, nodes)  # rounds x nodes [s]
held = ready[starts.diff().shift(-1) > scenario["exchange"].get("interval_s", 0) * (1 + 1e-9)]
path = critical_path(messages, wakes, nodes, T)  # t_begin_s, t_end_s, node, part
"""


class RunTables:
    """One run's tables as pandas frames, for queries.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    played : Played
        How far the run came.
    schedule : str
        `rounds`, `star`, `poisson`, `periodic`.
    names : dict of str to object
        What queries can name: `scenario`, `nodes`, `messages`, `wakes`, `metrics`, `traffic`, `T`
        [s], `in_flight` (messages that had not ended), `diverged` and `caught` (nodes whose models
        were not sound, as the summary has them); where they were recorded `intervals`; under
        `rounds` also `starts` [s], `ready`, `held` and `path`.

    Raises
    ------
    ScenarioError
        If it is no run folder, or has no log.
    """

    def __init__(self, folder: Path) -> None:
        self.played = played.look(folder)
        if not part_files(folder / "wakes"):
            why = WHY_MISSING["wakes"]
            raise ScenarioError(f"{folder}: there is no log to explain it by: {why}")
        run = [frames.PlayedRun(folder, {})]
        end_s = self.played.virtual_s
        loading = _LOADING.format(run=str(folder), end_s=end_s)
        scenario = bounded_toml.read_toml(folder / "scenario.toml", str(folder))
        self.names: dict[str, Any] = {
            "pd": pd,
            "starved": starved,
            "T": end_s,
            "run": folder,
            "scenario": scenario,
            "nodes": frames.nodes(run).set_index("node"),
            "wakes": frames.table(run, "wakes"),
        }
        for name, columns in _COLUMNS.items():
            if part_files(folder / name):
                self.names[name] = frames.table(run, name)
                loading += f'{name} = pd.read_parquet(run / "{name}")\n'
            else:
                self.names[name] = pd.DataFrame(columns=columns)
                loading += f"{name} = pd.DataFrame(columns={columns})\n"
        self.names |= {"in_flight": 0, "diverged": [], "caught": []}
        if (folder / "summary.json").exists():
            summary = load(folder)
            counts = summary.get("counts", {})
            self.names["in_flight"] = counts.get("messages_in_flight", 0)
            self.names["diverged"] = summary.get("diverged", [])
            self.names["caught"] = summary.get("diverged_by_message", [])
            loading += _IN_FLIGHT
        if part_files(folder / "intervals"):
            self.names["intervals"] = frames.table(run, "intervals")
            loading += 'intervals = pd.read_parquet(run / "intervals")\n'
        self.schedule = ""
        with self._told():
            self.schedule = str(scenario["exchange"]["schedule"])
            loading += self._rounds() if self.schedule == "rounds" else ""
        self.loading = loading
        self._asked: list[Query] = []

    def _rounds(self) -> str:
        """Add what only rounds have; the lines that load it."""
        scenario, end_s = self.names["scenario"], self.names["T"]
        messages, wakes, nodes = (self.names[name] for name in ("messages", "wakes", "nodes"))
        starts = wakes[wakes.what == "woke"].groupby("count").t_s.min()
        least_s = scenario["exchange"].get("interval_s", 0)
        ready = work_ends(messages, wakes, nodes)
        self.names |= {
            "starts": starts,
            "ready": ready,
            "held": ready[starts.diff().shift(-1) > least_s * (1 + 1e-9)],
            "path": critical_path(messages, wakes, nodes, end_s),
        }
        return _STARTS + _PATH

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what a query makes of tables that no run wrote in words."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            raise ScenarioError(
                f"{self.played.folder}: its tables are not those of a run: {one_line(problem)}"
            ) from problem

    def begin(self) -> None:
        """Forget which queries have been asked."""
        self._asked = []

    def ask(self, code: str, shown: bool = True) -> Any:
        """The value of a query.

        Parameters
        ----------
        code : str
            An expression over `names`, written in this package. It is executed, so text of the run
            may be in it as a literal (`repr`) only.
        shown : bool
            Whether it is one of those that `asked` returns.

        Returns
        -------
        object
            Numbers of numpy as those of Python.
        """
        with self._told():
            value = eval(code, self.names)
        value = value.item() if hasattr(value, "item") and not hasattr(value, "index") else value
        if shown:
            self._asked.append(Query(code, value))
        return value

    def asked(self) -> tuple[Query, ...]:
        """The queries that were asked since the last call, in order."""
        found, self._asked = tuple(self._asked), []
        return found
