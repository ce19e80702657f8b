"""Values that an algorithm records of its own."""

import numpy as np
import pytest
import torch

from netsim.errors import ProtocolError
from netsim.recording import summary


def norms(theta):
    return torch.stack([theta.abs().sum(), theta.square().sum()])


def process(node):
    theta = node.initial()
    for k in range(3):
        theta = (yield node.train(theta, steps=2)).theta
        node.publish(theta, "trained")
        node.record("loss_on_train", node.loss(theta, "train"))
        node.record("norms", node.compute(norms, theta))
        node.record("round_number", k)
        node.record("pair", np.array([1, 2], dtype=np.float32))


def rows(simulation, name):
    metrics = simulation.recorder.metric_rows()
    chosen = metrics["metric"] == name
    return {column: cells[chosen].tolist() for column, cells in metrics.items()}


def test_numbers_are_rows_of_metrics_at_the_time_of_recording(build, play):
    simulation = play(build(metrics={"every_s": 4.0}), process)
    found = rows(simulation, "round_number")
    assert found["stage"] == ["recorded"] * 9
    order = sorted(zip(found["node"], found["t_s"], found["value"], found["steps"], strict=True))
    expected = [(i, 2.0 * (k + 1), float(k), 2 * (k + 1)) for i in range(3) for k in range(3)]
    assert order == expected
    assert rows(simulation, "pair[1]")["value"] == [2.0] * 9
    assert rows(simulation, "norms[2]")["value"] == []
    t_s = simulation.recorder.metric_rows()["t_s"]
    assert (np.diff(t_s) >= 0).all()


def test_a_ref_is_read_when_rows_are_written_and_not_before(build, play):
    """Recording asks for no value: jobs run as many at a time as without."""
    simulation = play(build(), process)
    flushes = simulation.learning.scheduler.flushes
    theta = simulation.parts[0].publishing.last_published().ref.tensor()
    at_end = rows(simulation, "norms[1]")
    assert at_end["value"][at_end["node"].index(0) + 6] == pytest.approx(
        float(theta.square().sum()), rel=1e-12
    )

    def silent(node):
        original, node.record = node.record, lambda *_: None
        yield from process(node)
        node.record = original

    assert play(build(), silent).learning.scheduler.flushes == flushes


def test_nothing_is_recorded_without_learning(build, play):
    simulation = play(build(), process, timing_only=True)
    assert "round_number" not in set(simulation.recorder.metric_rows()["metric"])


def test_the_summary_has_the_last_number_of_each_node(build, play):
    simulation = play(build(), process)
    found = summary.summarise(simulation.recorder.metric_rows(), {})
    assert found["recorded"]["round_number"] == {
        "mean": 2.0, "std": 0.0, "min": 2.0, "max": 2.0, "nodes": 3,
    }  # fmt: skip
    assert "round_number" not in found
    assert set(found["recorded"]) == {
        "loss_on_train", "norms[0]", "norms[1]", "round_number", "pair[0]", "pair[1]",
    }  # fmt: skip
    assert found["accuracy"]["nodes"] == 3


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("accuracy", 1.0, "accuracy is a metric of the simulator's own"),
        ("accuracy_of_mine", 1.0, "is a metric of the simulator's own"),
        ("loss", 1.0, "loss is a metric of the simulator's own"),
        ("malicious_score", 1.0, "is a metric of the simulator's own"),
        ("my norm", 1.0, "is no name of letters, digits and underscores"),
        ("many", [0.0] * 257, "many has 257 numbers, 1 to 256 may be recorded"),
        ("none", [], "none has 0 numbers"),
    ],
)
def test_names_and_sizes_that_cannot_be_recorded(build, play, name, value, problem):
    def wrong(node):
        node.record(name, value)
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match=f"node 0 at 0 s in wrong: record: .*{problem}"):
        play(build(), wrong)
