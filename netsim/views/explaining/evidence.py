"""The tables of one run under the names that queries use, and the lines that load them."""

from pathlib import Path
from typing import Any

import pandas as pd

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.recording.schema import TABLES, WHY_MISSING
from netsim.views.explaining.critical_path import critical_path, work_ends
from netsim.views.explaining.findings import Query
from netsim.views.gathering import frames

_COLUMNS = {
    name: [column.name for column in TABLES[name]]
    for name in ("messages", "metrics", "traffic", "uses")
}
_LOADING = """\
import tomllib
from pathlib import Path
import pandas as pd
from netsim.recording.metrics import starved  # (messages got, roles) -> which nodes are
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
_DELAYS = """\
jobs = wakes[wakes.what == "job"].groupby("node")["count"]
nodes["step_s"] += (nodes.delay_s * jobs.size() / jobs.sum()).fillna(0.0)  # of a training's delay
"""
_STARTS = 'starts = wakes[wakes.what == "woke"].groupby("count").t_s.min()  # of rounds\n'
_PATH = """\
from netsim.views.explaining.critical_path import critical_path, work_ends
ready = work_ends(messages, wakes, nodes)  # rounds x nodes [s]
held = ready[starts.diff().shift(-1) > scenario["exchange"].get("interval_s", 0) * (1 + 1e-9)]
path = critical_path(messages, wakes, nodes, T)  # t_begin_s, t_end_s, node, part
"""


class Evidence:
    """One run's tables as pandas frames, and the queries that lead to what is said of it.

    Attributes
    ----------
    run : RunFolder
    schedule : str
        `rounds`, `star`, `poisson`, `periodic`.
    end_s : float
        How far it came [s]; `T` in queries.
    scenario : dict
    nodes, messages, wakes, metrics, traffic, uses : pandas.DataFrame
        Tables of the run, `nodes` by node; without rows where they were not written. In `step_s`
        is what a step has on average of the delays of trainings.
    intervals : pandas.DataFrame or None
        Where it was recorded.
    in_flight : int
        Messages that had not ended.
    diverged, caught : list of dict
        Nodes whose models were not sound, by their own training and by a message.
    starts : pandas.Series
        Under `rounds`: when they began [s].
    ready, held, path : pandas.DataFrame
        Under `rounds`: when nodes had done their work [s], the same of rounds that were held up,
        and the chain of work.
    loading : str
        The lines of Python that load what queries name.

    Raises
    ------
    ScenarioError
        If it is no run folder, or has no log.
    """

    def __init__(self, folder: Path) -> None:
        self.run = RunFolder.begun(folder)
        if not run_folder.has(folder, "wakes"):
            why = WHY_MISSING["wakes"]
            raise ScenarioError(f"{folder}: there is no log to explain it by: {why}")
        self.end_s = self.run.end_s
        self.scenario: Any = self.run.scenario
        self.schedule = str(self.scenario.get("exchange", {}).get("schedule", ""))
        if not self.schedule:
            raise ScenarioError(f"{folder / 'scenario.toml'}: exchange.schedule: is missing")
        self.loading = _LOADING.format(run=str(folder), end_s=self.end_s)
        nodes = frames.nodes([self.run])
        for column in ("role", "step_s"):
            if column not in nodes:
                raise ScenarioError(f"{folder / run_folder.NODES}: has no column {column}")
        self.nodes: Any = nodes.set_index("node")
        self.wakes: Any = frames.table([self.run], "wakes")
        if "delay_s" in nodes:
            jobs = self.wakes[self.wakes.what == "job"].groupby("node")["count"]
            delay_s = self.nodes.delay_s * jobs.size() / jobs.sum()  # of a step
            self.nodes["step_s"] += delay_s.fillna(0.0)
            self.loading += _DELAYS
        self.messages, self.metrics, self.traffic, self.uses = map(self._frame, _COLUMNS)
        summary = self.run.summary
        self.in_flight = int(summary.get("counts", {}).get("messages_in_flight", 0))
        self.diverged: list[Any] = list(summary.get("diverged", ()))
        self.caught: list[Any] = list(summary.get("diverged_by_message", ()))
        if summary:
            self.loading += _IN_FLIGHT
        self.intervals: Any = None
        if run_folder.has(folder, "intervals"):
            self.intervals = frames.table([self.run], "intervals")
            self.loading += 'intervals = pd.read_parquet(run / "intervals")\n'
        if self.schedule == "rounds":
            self._rounds()
        self._shown: list[Query] = []

    def _frame(self, name: str) -> Any:
        """A table of the run; one without rows where it was not written."""
        if run_folder.has(self.run.folder, name):
            self.loading += f'{name} = pd.read_parquet(run / "{name}")\n'
            return frames.table([self.run], name)
        self.loading += f"{name} = pd.DataFrame(columns={_COLUMNS[name]})\n"
        return pd.DataFrame(columns=_COLUMNS[name])

    def _rounds(self) -> None:
        """Work out what only rounds have."""
        self.starts: Any = self.wakes[self.wakes.what == "woke"].groupby("count").t_s.min()
        least_s = self.scenario["exchange"].get("interval_s", 0)
        self.ready: Any = work_ends(self.messages, self.wakes, self.nodes)
        self.held: Any = self.ready[self.starts.diff().shift(-1) > least_s * (1 + 1e-9)]
        self.path: Any = critical_path(self.messages, self.wakes, self.nodes, self.end_s)
        self.loading += _STARTS + _PATH

    def begin(self) -> None:
        """Forget which queries have been shown."""
        self._shown = []

    def shown(self, code: str, value: Any) -> Any:
        """Return a number of a finding, one of numpy as Python's, and keep how to get it again.

        `code` is a line of Python over the names that `loading` makes, for the user to read: it is
        never executed.
        """
        value = value.item() if hasattr(value, "item") and not hasattr(value, "index") else value
        self._shown.append(Query(code, value))
        return value

    def queries(self) -> tuple[Query, ...]:
        """Those that were shown since the last call, in order."""
        found, self._shown = tuple(self._shown), []
        return found
