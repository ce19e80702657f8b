"""Reports to dashboards, and the fate of those that fail."""

import json
import sys
from unittest.mock import MagicMock

import pytest

from netsim.errors import ScenarioError
from netsim.export.trackers import from_folder, scalars, tracker
from netsim.recording.observers import EvaluationEvent, TrafficEvent
from netsim.recording.recorder import Recorder
from netsim.recording.schema import RECORDED, REPORTED
from netsim.units import to_ns, to_s

SCENARIO = """\
name = "tiny"
seed = 3
horizon_s = 10.0
[metrics]
every_s = 5.0
[algorithm]
kind = "dpsgd"
name = "dpsgd"
"""


class Kept:
    """A writer that keeps what it is told."""

    def __init__(self, folder, title, scenario):
        self.title, self.rows, self.last, self.closed = title, [], {}, False
        made.append(self)

    def write(self, point):
        if self.title.endswith("broken"):
            raise OSError("disk full")
        self.rows.append(tuple(point))

    def finish(self, last):
        self.last = last

    def close(self):
        self.closed = True


made: list[Kept] = []


@pytest.fixture(autouse=True)
def fresh():
    made.clear()


@pytest.fixture
def own(tmp_path):
    """(algorithm) -> its folder, with a scenario."""

    def of(algorithm):
        folder = tmp_path / algorithm
        folder.mkdir(exist_ok=True)
        (folder / "scenario.toml").write_text(SCENARIO)
        return folder

    return of


def play(observers, algorithm):
    observers.on_traffic(TrafficEvent(algorithm, 5.0, 16_000, 0.5, 7, 9))
    observers.on_evaluation(
        EvaluationEvent(algorithm, 5.0, {"accuracy": {0: 0.25, 1: 0.75}, "loss": {1: 2.0}})
    )


def test_each_algorithm_has_a_writer_that_is_told_in_order(own):
    with tracker.observers_of([Kept], own, None, print) as observers:
        play(observers, "dpsgd")
        (own("dpsgd") / "summary.json").write_text(
            json.dumps({"accuracy": {"mean": 0.5}, "messages": {"sent": 7}})
        )
        play(observers, "local")
    first, second = made
    assert first.title == "tiny dpsgd"
    assert [(t_s, bits) for _, t_s, bits in first.rows] == [(5.0, 16_000)] * 3
    assert first.rows[1][0] == {
        "accuracy/nodes": 2.0, "accuracy/mean_so_far": 0.5,
        "loss/nodes": 1.0, "loss/mean_so_far": 2.0,
    }  # fmt: skip
    assert first.rows[2][0] == {  # no later evaluation had more nodes
        "accuracy/mean": 0.5, "accuracy/std": 0.25, "accuracy/min": 0.25, "accuracy/max": 0.75,
        "loss/mean": 2.0, "loss/std": 0.0, "loss/min": 2.0, "loss/max": 2.0,
    }  # fmt: skip
    assert first.last == {"final/accuracy": 0.5, "final/messages/sent": 7.0}
    assert second.last == {}  # it has no summary: it was broken off
    assert first.closed
    assert second.closed


def test_a_dashboard_that_fails_is_left_out_and_the_run_goes_on(own):
    warnings = []
    with tracker.observers_of([Kept], own, None, warnings.append) as observers:
        play(observers, "broken")
    assert len(warnings) == 1
    assert "is told no more: OSError: disk full" in warnings[0]
    assert made[0].closed


def test_a_program_that_is_not_known_is_refused():
    with pytest.raises(ScenarioError, match="--log mlflow: must be one of tensorboard, wandb"):
        tracker.writers_of(["mlflow"])


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "wandb-online"])
def test_a_library_that_is_missing_is_named_with_its_extra(name, monkeypatch):
    package = name.removesuffix("-online")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ScenarioError, match=rf"pip install 'netsim-dfl\[{package}\]'"):
        tracker.writers_of([name])


def test_a_scenario_is_flat_for_tables_of_parameters():
    found = scalars.flat({"a": 1, "b": {"c": [1, 2], "d": {"e": "x"}}, "f": True})
    assert found == {"a": 1, "b.c": "[1, 2]", "b.d.e": "x", "f": True}


def test_a_folders_means_are_over_the_nodes_that_an_evaluation_measured(tmp_path):
    """Methods record node by node, each at its own time: there is no mean over nodes."""
    recorder = Recorder(tmp_path)
    for node, value in enumerate((0.25, 0.75)):
        recorder.metric(0, node, "drift", RECORDED, 7.0 + node, 0, 0, 0.0)
        recorder.metric(10**9, node, "accuracy", "mixed", value, 0, 0, 0.0)
        recorder.metric(10**9, node, "reached", REPORTED, 2.0 * value, 0, 0, 0.0)
    recorder.close()
    (point,) = [p for p in from_folder.points(tmp_path, {}) if "accuracy/mean" in p.values]
    names = {name for p in from_folder.points(tmp_path, {}) for name in p.values}
    assert point.values["accuracy/mean"] == 0.5
    assert point.values["reached/mean"] == 1.0
    assert not any(name.startswith("drift") for name in names)


@pytest.mark.parametrize(
    ("horizon_s", "every_s", "unit"),
    [
        (10.0, 2.0, "ms"),
        (2.5, 1.5, "ms"),
        (6.0004, 2.0, "us"),
        (0.0025, 0.0015, "us"),
        (1 / 3, None, "ns"),
    ],
)
def test_each_evaluation_has_a_step_of_its_own_in_tensorboard(tmp_path, horizon_s, every_s, unit):
    """Steps times their unit are the instants, also where the run ends between two evaluations."""
    pytest.importorskip("tensorboard", reason="pip install 'netsim-dfl[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from netsim.export.trackers import to_tensorboard

    metrics = {} if every_s is None else {"every_s": every_s}
    tables = {"horizon_s": horizon_s, "metrics": metrics}
    writer = to_tensorboard.Writer(tmp_path, "tiny", tables)
    every_ns, end_ns = to_ns(every_s or horizon_s / 20), to_ns(horizon_s)
    instants_ns = sorted({*range(0, end_ns, every_ns), end_ns})
    for time_ns in instants_ns:
        writer.write(scalars.Point({"traffic/airtime_s": 1.0}, to_s(time_ns), 0))
    writer.close()
    told = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"scalars": 0})
    told.Reload()
    unit_ns = {"ms": 1_000_000, "us": 1_000, "ns": 1}[unit]
    steps = [point.step for point in told.Scalars("traffic/airtime_s")]
    assert [step * unit_ns for step in steps] == instants_ns
    text = told.Tensors("scenario/text_summary")[0].tensor_proto.string_val[0].decode()
    assert f"a step is 1 {unit} of virtual time" in text


@pytest.mark.parametrize(("last", "exit_code"), [({"final/loss": 1.0}, 0), ({}, 1)])
def test_a_run_that_has_not_ended_is_a_failed_one_for_wandb(own, monkeypatch, last, exit_code):
    wandb = MagicMock()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setattr(scalars, "at_the_end", lambda _: last)
    with tracker.observers_of(tracker.writers_of(["wandb"]), own, None, print) as observers:
        play(observers, "dpsgd")
    assert wandb.init.return_value.finish.call_args.kwargs == {"exit_code": exit_code}
    assert wandb.Settings.call_args.kwargs["host"] == ""
