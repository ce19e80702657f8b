"""Sentences of a run about the cost of its evaluations."""

import json
from types import SimpleNamespace

import pytest

from netsim.terminal import evaluation_cost


def runs(*seconds):
    return [{"engine": {"evaluation_wall_s": e}, "wall_s": all_s} for e, all_s in seconds]


@pytest.fixture
def scenario():
    def make(every_s=10.0, horizon_s=1000.0):
        metrics = SimpleNamespace(common_test_samples=500)
        return SimpleNamespace(evaluate_every_s=every_s, horizon_s=horizon_s, metrics=metrics)

    return make


def test_the_line_adds_up_all_runs():
    assert evaluation_cost.line(runs((1.0, 10.0), (3.0, 10.0))) == "evaluation took 4 of 20 s, 20%"
    assert evaluation_cost.line(runs((0.0, 10.0))) is None


def test_the_remedy_gives_the_share_that_it_promises(scenario):
    found = evaluation_cost.remedy(runs((40.0, 60.0), (40.0, 40.0)), scenario())
    # 80 s at an interval of 10 s leave 20 s of other work, which afford 5 s: a sixteenth
    assert found is not None
    assert found.startswith("evaluation was 80% of the work; to make it 20%: ")
    assert "[metrics] every_s = 160 (now 10)" in found
    assert "[metrics] common_test_samples (now 500)" in found


@pytest.mark.parametrize("cost", [(20.0, 100.0), (0.9, 1.0), (0.0, 0.0)])
def test_where_it_is_cheap_there_is_none(scenario, cost):
    assert evaluation_cost.remedy(runs(cost), scenario()) is None


def test_an_interval_is_not_proposed_beyond_the_horizon(scenario):
    found = evaluation_cost.remedy(runs((80.0, 100.0)), scenario(horizon_s=100.0))
    assert found is not None
    assert "every_s" not in found
    assert "fewer test samples" in found


def test_a_run_says_and_keeps_what_evaluation_cost(netsim, here):
    result = netsim("run", "s.toml", "--no-figures")
    assert result.exit_code == 0, result.output
    engine = json.loads((here / "runs" / "s" / "summary.json").read_text())["engine"]
    assert 0 < engine["evaluation_share"] < 1
    assert engine["evaluation_wall_s"] > 0
    assert "evaluation took " in result.stdout


def test_without_learning_nothing_is_said_of_it(netsim, here):
    result = netsim("run", "s.toml", "--no-figures", "--timing-only")
    assert result.exit_code == 0, result.output
    assert "evaluation took" not in result.output


def test_a_run_that_evaluates_too_much_names_the_remedy(netsim, here, monkeypatch):
    monkeypatch.setattr(evaluation_cost, "MOST_SHARE", 1e-6)
    monkeypatch.setattr(evaluation_cost, "WORTH_A_REMEDY_S", 0.0)
    result = netsim("run", "s.toml", "--no-figures")
    assert "of the work; to make it" in result.stderr
