"""Records of a run's tables, for dashboards: `netsim export RUN --as tensorboard`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.export.trackers import scalars, tracker
from netsim.recording import run_folder
from netsim.recording.observers import EvaluationEvent
from netsim.recording.schema import RECORDED, REPORTED

_COLUMNS = ("t_s", "node", "metric", "value")


def write(folder: Path, program: str, into: Path) -> None:
    """Write for one program what it would have been told by `run --log`, but for two counts.

    How many messages have ended and steps were made by then is in no table.

    Parameters
    ----------
    folder : Path
        Of the run, which need not have ended.
    program : str
        See `tracker.PROGRAMS`.
    into : Path
        The folder for the program's own one.

    Raises
    ------
    ScenarioError
        If its package is not installed, or nothing was measured yet.
    """
    (opens,) = tracker.writers_of([program], "--as")
    if not run_folder.has(folder, "metrics") and not run_folder.has(folder, "traffic"):
        raise ScenarioError(f"{folder}: has neither metrics nor traffic: none were written yet")
    scenario = run_folder.scenario_tables(folder)
    title = tracker.title_of(scenario, run_folder.algorithm_of(scenario, folder.name))
    last = scalars.at_the_end(folder)
    into.mkdir(parents=True)
    writer = opens(into, title, scenario)
    try:
        for point in points(folder, scenario):
            writer.write(point)
        if last:
            writer.finish(last)
    finally:
        writer.close()


def points(folder: Path, scenario: Mapping[str, Any]) -> Iterator[scalars.Point]:
    """The numbers of a run's evaluations, in order of time, traffic before what was measured."""
    measured: dict[float, dict[str, dict[int, float]]] = {}
    stages: dict[float, dict[str, dict[str, dict[int, float]]]] = {}
    are_several = len(_stages(scenario)) > 1
    if run_folder.has(folder, "metrics"):
        rows = run_folder.read(folder, "metrics", (*_COLUMNS, "stage"))
        # what methods record comes node by node, each at its own time: there is no mean over nodes
        of_all = rows["stage"] != RECORDED
        cells = (rows[c][of_all].tolist() for c in (*_COLUMNS, "stage"))
        for t_s, node, metric, value, stage in zip(*cells, strict=True):
            measured.setdefault(t_s, {}).setdefault(metric, {})[node] = value
            if are_several and stage != REPORTED:
                of_stage = stages.setdefault(t_s, {}).setdefault(stage, {})
                of_stage.setdefault(metric, {})[node] = value
    spent: dict[float, tuple[int, float]] = {}
    if run_folder.has(folder, "traffic"):
        rows = run_folder.read(folder, "traffic")
        sums = zip(rows["bits_transmitted"].tolist(), rows["airtime_s"].tolist(), strict=True)
        spent = dict(zip(rows["t_s"].tolist(), sums, strict=True))
    evaluations = scalars.Evaluations(run_folder.nodes_if_any(folder))
    bits = 0
    for t_s in sorted(measured.keys() | spent.keys()):
        if t_s in spent:
            bits, airtime_s = spent[t_s]
            yield scalars.Point(scalars.of_spending(bits, airtime_s), t_s, bits)
        if t_s in measured:
            event = EvaluationEvent("", t_s, measured[t_s], stages.get(t_s, {}))
            yield scalars.Point(evaluations.final_numbers(event, bits), t_s, bits)
    yield from evaluations.rest()


def _stages(scenario: Mapping[str, Any]) -> Sequence[str]:
    """Stages that the algorithm of a run's scenario, or `[metrics]`, names."""
    for table in (scenario.get("algorithm"), scenario.get("metrics")):
        named = table.get("stages") if isinstance(table, Mapping) else None
        if isinstance(named, list) and named:
            return named
    return ()
