"""`summary.json`: the numbers of one run, written and read."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError, one_line
from netsim.recording import checksums, graph_metrics, run_folder, status
from netsim.recording import metrics as measured
from netsim.recording.main_metric import MainMetric
from netsim.recording.parquet_parts import Rows
from netsim.recording.whole_files import write_text
from netsim.traces.files import is_file
from netsim.units import is_number

_FIRST = ("name", "algorithm", "seed", "nodes", "task", "virtual_s", "wall_s")


def summarise(
    metrics: Rows,
    extra: Mapping[str, Any],
    ties: measured.Ties = "first",
    test_samples: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """A run's summary.

    Parameters
    ----------
    metrics : dict of str to numpy.ndarray
        Metric rows, from `Recorder.metric_rows` or the run folder.
    extra : mapping
        What the metrics don't tell: name, algorithm, seed, nodes, times, `Recorder.close()`'s
        totals, engine counters. It wins over a metric of the same name.
    ties : {"first", "last"}
        Which of equal validation accuracies is the best.
    test_samples : mapping of int to int, optional
        Of each node: what it counts in pooled means.

    Returns
    -------
    dict
        `name algorithm seed nodes task virtual_s wall_s`, one block per metric
        (see `metrics.summary_block`), what algorithms `recorded`, then the rest of `extra`; its
        `warnings` name the metrics that only some of the measured nodes have. Ready for JSON:
        numbers that are not finite are None.
    """
    found: dict[str, Any] = {name: extra[name] for name in _FIRST if name in extra}
    main = MainMetric.of(extra)
    found |= {
        name: measured.summary_block(metrics, name, ties, main) for name in measured.names(metrics)
    }
    for name in measured.POOLED if test_samples else ():
        if name in found:
            found[name]["pooled"] = measured.pooled(metrics, name, test_samples or {})
    nodes = {name: found[name]["nodes"] for name in measured.names(metrics)}
    if recorded := measured.recorded(metrics):
        found["recorded"] = recorded
    found |= extra
    remarks = list(_partly_measured(nodes, main))
    if main.name in nodes:
        remarks += _late(measured.per_node_rows(metrics, main.name)["t_s"], main.name)
    if remarks:
        found["warnings"] = [*found.get("warnings", ()), *remarks]
    return {name: json_value(value) for name, value in found.items()}


def _late(t_s: NDArray[np.float64], metric: str) -> Iterator[str]:
    """Yield a sentence where means over nodes begin in the second half of the evaluations.

    `t_s`: times of evaluation of a metric's headline rows, one a node.
    """
    times, counts = np.unique(t_s, return_counts=True)
    first = measured.complete_from(counts)
    if first >= 2 and 2 * first >= len(times):
        yield (
            f"{metric}: means over nodes begin at {times[first]:g} s, when the last of "
            f"{counts[-1]} nodes was measured; {first} of {len(times)} evaluations are in no curve"
        )


def _partly_measured(nodes: Mapping[str, int], main: MainMetric) -> Iterator[str]:
    """Yield a sentence on the metrics, by name, that only some of the measured nodes have."""
    for is_malicious in (False, True):
        of = {k: n for k, n in nodes.items() if k.startswith("malicious_") == is_malicious}
        for count in sorted(set(of.values()))[:-1]:
            names = [name for name, known in of.items() if known == count]
            names += ["best_on_validation"] * (main.validation in names)
            yield (
                f"{', '.join(names)}: means over {count} of {max(of.values())} measured nodes: the "
                "others have no such sample (for validation, or a common one of their classes)"
            )


def write(
    folder: Path,
    extra: Mapping[str, Any],
    ties: measured.Ties = "first",
    test_samples: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """Summarise a run folder, write its `summary.json` and return what was written.

    If weights were logged, the summary has a block `graph` (see `graph_metrics.summary_block`).

    Parameters
    ----------
    ties, test_samples
        As `summarise` takes them.
    """
    graph = graph_metrics.load(folder)
    known = extra if graph is None else {**extra, "graph": graph_metrics.summary_block(graph)}
    found = summarise(run_folder.read(folder, "metrics"), known, ties, test_samples)
    write_json(folder / "summary.json", found)
    return found


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON whole: a reader never sees half of it."""
    write_text(path, json_text(value))


def json_text(value: Mapping[str, Any]) -> str:
    """Text that `write_json` writes."""
    return json.dumps(json_value(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def run_folders(path: Path) -> list[Path]:
    """The run folders at `path`: itself, or its sub-folders, one an algorithm, see `ordered`.

    Raises
    ------
    ScenarioError
        If there is no finished run.
    """
    found = run_folder.found_at(path, "summary.json")
    if not found:
        none = f"{one_line(path)}: no finished run here or one folder below (no summary.json)"
        problems = [f"{one_line(folder)}: {why}" for folder, why in _unfinished(path)]
        raise ScenarioError("\n".join(problems or [none]))
    return found


_STATES = {
    "failed": "its run failed{}",
    "interrupted": "its run was interrupted{}",
    "running": "its run has not ended",
    "done": "it is no finished run: its summary.json is missing",
}


def left_out(path: Path, *, only_to_come: bool = False) -> list[str]:
    """Sentences on runs at `path` that have not ended, which `run_folders` leaves out.

    `path`: of a run, or of several: algorithms of its scenario that have not begun are told, too.
    `only_to_come`: tell of these alone: what is shown has those that have begun.
    """
    return [
        f"{one_line(folder)} is left out: {why}"
        for folder, why in _unfinished(path)
        if not (only_to_come and status.read(folder))
    ]


def _unfinished(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the runs at a path that have not ended, and how to go on with each."""
    algorithms = run_folder.algorithms_in(path)
    alone = [path] if run_folder.found_at(path, "status.json", "summary.json") == [path] else []
    several = [path / name for name in algorithms] + run_folder.found_at(path, "status.json")
    for folder in alone or dict.fromkeys(several):
        if not is_file(folder / "summary.json"):
            recorded = status.read(folder)
            state = _STATES.get(str(recorded.get("state")), "its run has not begun")
            far = recorded.get("virtual_s")
            state = state.format(f" at {far:.6g} s" if is_number(far) else "")
            whole = path if folder.name in algorithms else folder
            remedy = f"; netsim resume {one_line(whole)} goes on with it"
            if not recorded and (path / checksums.NAME).is_file():  # the whole has ended
                state = "its folder is gone"
                remedy = f"; netsim run {one_line(path)}/scenario.toml --out NEW plays all anew"
            yield folder, state + remedy * (recorded.get("state") != "done")


def labels(folders: list[Path], summaries: list[dict[str, Any]]) -> list[str]:
    """Return the labels of runs: by algorithm, else by path, shortened to their differences."""
    names = [
        str(s.get("algorithm", folder.name)) for folder, s in zip(folders, summaries, strict=True)
    ]
    if len(set(names)) == len(names):
        return names
    parts = [Path(os.path.realpath(folder)).parts for folder in folders]
    shared = 0
    while len({p[: shared + 1] for p in parts}) == 1 and shared < min(map(len, parts)):
        shared += 1
    return ["/".join(p[shared:]) or folder.name for p, folder in zip(parts, folders, strict=True)]


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: NumPy's numbers as Python's, not finite ones as None."""
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(item) for item in value]
    if isinstance(value, np.generic):
        return json_value(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
