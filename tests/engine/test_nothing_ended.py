"""Of a statistic over nothing no sentence is made: runs in which something is absent."""

import json

import pytest

from netsim import engine, scenario, world
from netsim.views.explaining import explained
from netsim.views.explaining.node_story import story

ROUNDS = {"schedule": "rounds", "interval_s": 1.0}
CLOCKS = {"schedule": "poisson", "rate_hz": 1.0}
BASE = {
    "horizon_s": 10.0,
    "nodes": {"count": 3},
    "exchange": ROUNDS,
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [8]},
    "algorithm": {"kind": "dpsgd"},
}
OFF = "node,on_s,off_s\n0,100,101\n1,100,101\n2,100,101\n"


def told(folder, tables):
    """Warnings and findings of a run."""
    played = scenario.from_dict({**BASE, **tables})
    engine.play(world.build(played), played.algorithm[0], folder=folder)
    run, found = explained(folder)
    assert story(run, 0)
    warnings = json.loads((folder / "summary.json").read_text())["warnings"]
    return " | ".join(warnings), " | ".join(finding.text for finding in found)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("exchange", [ROUNDS, CLOCKS])
@pytest.mark.parametrize(
    ("link", "needed_s"),
    [
        ({"rate_bps": 10.0}, "1,955"),
        ({"latency_s": 20.0}, "20"),
        ({"rate_bps": 10.0, "loss": 0.9}, ""),
    ],
)
def test_messages_that_never_end_are_the_reason(tmp_path, exchange, link, needed_s):
    """One model has 610 values of 32 bits and a header: 19,552 bits, 1,955 s at 10 bit/s."""
    warned, explained_as = told(tmp_path / "run", {"exchange": exchange, "link": link})
    assert f"no message ended: at least {needed_s}" in warned
    assert " s needed, 10 s there" in warned
    assert "own work" not in warned
    assert "node.publish" not in warned
    assert "No message ended: " in explained_as
    assert "neither training nor messages" not in explained_as
    assert "Queue" not in explained_as


def test_lost_messages_that_took_their_time_are_no_work_of_nodes(tmp_path):
    link = {"loss": 1.0, "latency_s": 2.0}
    warned, _ = told(tmp_path / "run", {"link": link})
    assert "own work" not in warned


def test_work_is_the_reason_where_nothing_was_sent_or_all_came_at_once(tmp_path):
    compute = {"kind": "fixed", "step_s": 1000.0}
    warned, explained_as = told(tmp_path / "run", {"compute": compute})
    assert "by the nodes' own work" in warned
    assert "all were training, the first until 1,000 s" in warned
    assert "for 100 % of the time rounds waited for training" in explained_as


def test_nodes_train_for_no_more_than_the_run(tmp_path):
    compute = {"kind": "fixed", "step_s": 1000.0}
    _, explained_as = told(tmp_path / "run", {"compute": compute, "exchange": CLOCKS})
    assert "nodes trained for 100 % of the run" in explained_as
    assert "mean delay of 0 s" not in explained_as


@pytest.mark.thinned(2)
@pytest.mark.parametrize("exchange", [ROUNDS, CLOCKS])
def test_nodes_that_are_off_for_good_wait_for_no_messages(tmp_path, exchange):
    (tmp_path / "off.csv").write_text(OFF)
    churn = {"kind": "trace", "path": str(tmp_path / "off.csv"), "start_s": 0.0}
    warned, explained_as = told(tmp_path / "run", {"exchange": exchange, "churn": churn})
    assert "all nodes were off, and none comes back before the end" in warned
    assert "all were off at the end" in warned
    assert "nobody sends" not in warned
    assert explained_as.startswith(
        "Off: nodes were switched off for 100 % of their time (3 of them)"
    )
    assert "Nothing happened: in 10 s no node woke, trained or sent" in explained_as


@pytest.mark.thinned(2)
@pytest.mark.parametrize("horizon_s", [1e-9, 10.0])
def test_a_run_before_the_first_wake_up_says_so(tmp_path, horizon_s):
    exchange = {"schedule": "poisson", "rate_hz": 1e-7}
    warned, explained_as = told(tmp_path / "run", {"exchange": exchange, "horizon_s": horizon_s})
    assert "no node has woken" in warned
    assert "node.publish" not in warned
    assert explained_as.startswith("Nothing happened: ")


def test_a_single_round_waits_for_its_interval(tmp_path):
    _, explained_as = told(tmp_path / "run", {"horizon_s": 0.5, "algorithm": {"kind": "local"}})
    assert "by interval_s each lasts at least 1 s" in explained_as
