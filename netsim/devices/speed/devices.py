"""Measured devices: the phones of a benchmark, or a file of your own."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from netsim.devices.speed.fixed import Fixed
from netsim.errors import ScenarioError
from netsim.registry import FilePath, Plausible, Positive
from netsim.rng import Streams
from netsim.traces.csv_columns import SECONDS, Columns
from netsim.traces.files import quote, read_text
from netsim.traces.node_ids import require_known
from netsim.units import is_number


class Devices(Fixed):
    """Every node is a device from a file.

    With a `.json` file, such as the default benchmark list, every node is a device of it, drawn at
    random. In a CSV file with a column `node` each node has its own row; without that column every
    node has a row drawn at random.

    Attributes
    ----------
    path
        A `.json` file of device names and their scores, which grow with speed, or a CSV file of
        times in the column `step_s`. Source: the default is AI Benchmark's list of 2020, as github
        PKU-Chengxu/FLASH has it.
    step_s
        Virtual time of a local step on a device of the median score; the times of a CSV file
        replace it.
    """

    kind: Literal["devices"] = "devices"  # type: ignore[assignment]
    path: FilePath = "traces/devices/benchmark2score.json"
    step_s: Annotated[Positive, Plausible(in_run=True)] = 1.0

    def relative(
        self, given: Sequence[float], streams: Streams, folder: Path | None
    ) -> tuple[float, ...]:
        nodes = len(given)
        if self.path.endswith(".json"):
            scores = self._scores(folder)
            median = statistics.median(scores)
            pool = [score / median for score in scores]
        else:
            rows = Columns.of("compute", self.path, folder, ())
            step = rows.find("step_s", SECONDS)
            step_s = rows.numbers(step) * rows.factor(step, SECONDS)
            rows.require(step_s > 0, f"{step} must be greater than 0")
            pool = (self.step_s / step_s).tolist()
            if "node" in rows:
                return self._own_scores(rows, nodes, pool, given)
        return tuple(
            v * pool[int(streams.uniform("device", i) * len(pool))] for i, v in enumerate(given)
        )

    def _own_scores(
        self, rows: Columns, nodes: int, pool: list[float], given: Sequence[float]
    ) -> tuple[float, ...]:
        ids = rows.ids("node")
        _, first = np.unique(ids, return_index=True)
        rows.require(np.isin(np.arange(len(ids)), first), "this node has a row already")
        own = dict(zip(ids.tolist(), pool, strict=True))
        require_known(rows.text, ids.tolist(), nodes)
        missing = [i for i in range(nodes) if i not in own]
        if missing:
            raise ScenarioError(
                f'[compute] path = "{self.path}": no row for node {missing[0]}; every node from 0 '
                f"to {nodes - 1} needs one, or leave out the column node to have rows drawn"
            )
        return tuple(v * own[i] for i, v in enumerate(given))

    def _scores(self, folder: Path | None) -> list[float]:
        text = read_text(self.path, folder, "compute")
        try:
            found = json.loads(text.content)
        except (ValueError, RecursionError) as error:
            raise text.error(f"can't be read as JSON ({error})") from error
        if not isinstance(found, dict) or not found:
            raise text.error("must be one object {device: score}, not empty")
        for at, (name, score) in enumerate(found.items(), start=1):
            if not is_number(score):
                raise text.error(f"score {at} is no number; must be greater than 0")
            if not 0 < score < 1e300:
                raise text.error(f"the score of {quote(name)} is {score!r}; must be greater than 0")
        return [float(score) for score in found.values()]
