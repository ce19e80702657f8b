"""Methods that bring their own learning: no data, no model, a main metric that they record."""

import pytest

import netsim
from netsim.errors import ProtocolError, ScenarioError
from netsim.recording import run_folder

METHOD = '''"""Counting: each node records how often it has woken."""

from netsim import api


class Params(api.Params):
    """Keys."""

    several: bool = False


@api.algorithm(learns=False)
def processes(node, params):
    return [on_wakeup(node, params)]


def on_wakeup(node, params):
    while True:
        yield node.wakeup()
        yield node.work(seconds=0.5)
        node.record("reward", [1.0, 2.0] if params.several else 10.0 * node.round + node.id)
'''

BASE = {
    "horizon_s": 10.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "periodic", "period_s": 2.0},
    "metrics": {"every_s": 2.5, "main": "reward"},
    "algorithm": {"kind": "counting"},
}


@pytest.fixture
def counting(tmp_path):
    (tmp_path / "counting.py").write_text(METHOD)

    def scenario(**changed):
        return netsim.Scenario(components=tmp_path, **(BASE | changed))

    return scenario


def test_neither_data_nor_model_is_needed(counting, tmp_path):
    scenario = counting()
    assert (scenario.tables.data.kind, scenario.tables.model[0].kind) == ("none", "none")
    run = netsim.run(scenario, out=tmp_path / "run", check=True)
    assert "accuracy" not in run_folder.summary(run.folder)


@pytest.mark.slow
@pytest.mark.usefixtures("counting")
def test_a_method_that_waits_for_no_wakeup_needs_no_schedule(tmp_path):
    """With the events that it has under any schedule; one that waits for wake-ups is refused."""
    text = METHOD.replace("learns=False", "learns=False, wakes=False")
    text = text.replace("node.wakeup()", "node.sleep(2.0)").replace("node.round", "node.now_s")
    (tmp_path / "sleeping.py").write_text(text)
    without = {key: table for key, table in BASE.items() if key != "exchange"}
    without["algorithm"] = {"kind": "sleeping"}
    hashes = set()
    schedules = [{"schedule": "rounds"}, {"schedule": "poisson", "rate_hz": 2.0}]
    for k, table in enumerate([{}, *({"exchange": schedule} for schedule in schedules)]):
        scenario = netsim.Scenario(components=tmp_path, **without, **table)
        run = netsim.run(scenario, out=tmp_path / f"run{k}")
        hashes.add(run_folder.summary(run.folder)["event_log_sha256"])
    assert len(hashes) == 1
    for kinds in ([{"kind": "counting"}], [{"kind": "counting"}, {"kind": "sleeping"}]):
        with pytest.raises(ScenarioError, match="exchange"):
            netsim.Scenario(components=tmp_path, **without | {"algorithm": kinds})
    fading = {"radio": {"fading": {"kind": "rayleigh", "hold": "exchange"}}}
    with pytest.raises(ScenarioError, match="exchange"):
        netsim.Scenario(components=tmp_path, **without, **fading)


def test_data_that_are_named_are_there(counting):
    data = {"kind": "digits", "partition": {"kind": "iid", "train_samples": 5, "test_samples": 5}}
    assert counting(data=data, model={"kind": "mlp"}).tables.data.kind == "digits"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("table", ["data", "model"])
def test_a_method_that_learns_is_refused_without(counting, table):
    others = {"data": {"kind": "digits"}, "model": {"kind": "mlp"}} | {table: {"kind": "none"}}
    said = rf'\[{table}\] kind = "none": algorithm "fedavg" learns; name another kind'
    with pytest.raises(ScenarioError, match=said):
        counting(algorithm=[{"kind": "counting"}, {"kind": "fedavg"}], **others)
    with pytest.raises(ScenarioError, match="data"):
        counting(algorithm=[{"kind": "counting"}, {"kind": "fedavg"}])


def test_the_main_metric_is_what_each_node_recorded_last(counting, tmp_path):
    run = netsim.run(counting(), out=tmp_path / "run")
    found = run_folder.summary(run.folder)
    last = [10.0 * 5 + i for i in range(3)]
    assert found["task"] == {"kind": "classification", "metric": "reward", "lower": ["loss"]}
    assert found["reward"]["mean"] == pytest.approx(sum(last) / 3, abs=10.0)
    at_end = found["reward"]["last"]
    assert (at_end["t_s"], at_end["mean"]) == (10.0, found["reward"]["mean"])
    assert found["reward"]["nodes"] == 3
    curve = run.metrics[run.metrics["metric"] == "reward"]
    measured = curve[curve["stage"] == "reported"]
    assert sorted(set(measured["t_s"])) == [2.5, 5.0, 7.5, 10.0]


def test_a_main_metric_that_nobody_recorded_is_told_of(counting, tmp_path):
    scenario = counting(metrics={"every_s": 2.5, "main": "rewards"})
    with pytest.warns(netsim.RunWarning, match='main = "rewards": no node .* recorded is reward$'):
        netsim.run(scenario, out=tmp_path / "run")


def test_low_values_are_better_where_the_scenario_says_so(counting, tmp_path):
    metrics = BASE["metrics"] | {"lower_is_better": True}
    run = netsim.run(counting(metrics=metrics), out=tmp_path / "run")
    found = run_folder.summary(run.folder)
    assert "reward" in found["task"]["lower"]
    assert found["reward"]["best"]["t_s"] == 2.5


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"main": "accuracy"}, "accuracy is a metric of the simulator's own"),
        ({"main": "my reward"}, "is no name of letters, digits and underscores"),
        ({"lower_is_better": True}, "lower_is_better is of main, which is absent"),
        ({"main": "td_error", "lower_is_better": False}, "record it by another name"),
    ],
)
def test_a_main_metric_that_can_not_be_is_refused(counting, metrics, said):
    with pytest.raises(ScenarioError, match=said):
        counting(metrics=metrics)


def test_a_main_metric_is_one_number(counting, tmp_path):
    scenario = counting(algorithm={"kind": "counting", "several": True})
    with pytest.raises(ProtocolError, match="must be one number"):
        netsim.run(scenario, out=tmp_path / "run")
