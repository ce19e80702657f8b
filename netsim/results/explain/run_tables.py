"""The tables of one run under the names that queries use, and the lines that load them."""

from pathlib import Path
from typing import Any

import pandas as pd

from netsim.errors import ScenarioError
from netsim.recording.parquet_parts import part_files
from netsim.recording.schema import MESSAGE_COLUMNS, METRIC_COLUMNS, TRAFFIC_COLUMNS
from netsim.results import frames, played
from netsim.results.explain.critical_path import critical_path, work_ends
from netsim.results.explain.findings import Query
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
run, T = Path({run!r}), {end_s!r}  # T: virtual seconds played
scenario = tomllib.loads((run / "scenario.toml").read_text(encoding="utf-8"))
nodes = pd.read_parquet(run / "nodes.parquet").set_index("node")
wakes = pd.read_parquet(run / "wakes")
"""
_STARTS = 'starts = wakes[wakes.what == "woke"].groupby("count").t_s.min()  # of rounds\n'
_PATH = """\
from netsim.results.explain.critical_path import critical_path, work_ends
ready = work_ends(messages, wakes, nodes)  # rounds x nodes [s]
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
        [s]; under `rounds` also `starts` [s], `ready` and `path`.

    Raises
    ------
    ScenarioError
        If it is no run folder, or has no log.
    """

    def __init__(self, folder: Path) -> None:
        self.played = played.look(folder)
        if not part_files(folder / "wakes"):
            why = frames.WHY_MISSING["wakes"]
            raise ScenarioError(f"{folder}: there is no log to explain it by: {why}")
        run = [frames.PlayedRun(folder, {})]
        end_s = self.played.virtual_s
        loading = _LOADING.format(run=str(folder), end_s=end_s)
        scenario = bounded_toml.read_toml(folder / "scenario.toml", str(folder))
        self.names: dict[str, Any] = {
            "pd": pd,
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
        self.schedule = str(scenario.get("exchange", {}).get("schedule", ""))
        if self.schedule == "rounds":
            wakes = self.names["wakes"]
            self.names["starts"] = wakes[wakes.what == "woke"].groupby("count").t_s.min()
            log = [self.names[name] for name in ("messages", "wakes", "nodes")]
            self.names["ready"] = work_ends(*log)
            self.names["path"] = critical_path(*log, end_s)
            loading += _STARTS + _PATH
        self.loading = loading
        self._asked: list[Query] = []

    def begin(self) -> None:
        """Forget which queries have been asked."""
        self._asked = []

    def ask(self, code: str, shown: bool = True) -> Any:
        """The value of a query.

        Parameters
        ----------
        code : str
            An expression over `names`, written in this package: no text of the run is in it.
        shown : bool
            Whether it is one of those that `asked` returns.

        Returns
        -------
        object
            Numbers of numpy as those of Python.
        """
        value = eval(code, self.names)
        value = value.item() if hasattr(value, "item") and not hasattr(value, "index") else value
        if shown:
            self._asked.append(Query(code, value))
        return value

    def asked(self) -> tuple[Query, ...]:
        """The queries that were asked since the last call, in order."""
        found, self._asked = tuple(self._asked), []
        return found
