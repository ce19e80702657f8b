"""Figures, comparisons and explanations take what they can show, and refuse the rest by name."""

import math

import numpy as np
import pytest

import netsim
from netsim import ScenarioError

pytestmark = pytest.mark.filterwarnings("ignore::netsim.RunWarning")

SCENARIO = netsim.Scenario(
    horizon_s=3.0,
    nodes={"count": 3},
    exchange={"schedule": "rounds", "interval_s": 1.0},
    data="digits",
    model={"kind": "mlp", "hidden": [4]},
    metrics={"every_s": 1.0},
    algorithm=["local", "dpsgd"],
)
NO_NUMBERS = ("1", True, math.nan, [1], np.array([1, 2]), b"1")
NO_TEXTS = (0, 1.5, ["loss"], b"loss", True)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    over = {"training.learning_rate": [0.1, 0.5]}
    return netsim.sweep(SCENARIO, over, jobs=1, out=tmp_path_factory.mktemp("of") / "s")


@pytest.fixture(scope="module")
def run(sweep):
    return netsim.open(sweep.folder / next(iter(sweep.design.points)) / "seed-0")


@pytest.mark.parametrize("given", NO_NUMBERS)
def test_times_and_nodes_are_numbers(run, given):
    with pytest.raises(ScenarioError, match=r"^compare: at_s = .*must be a number"):
        run["dpsgd"].compare(run["local"], at_s=given)
    with pytest.raises(ScenarioError, match=r"^explain: node = .*must be a whole number"):
        run.explain(given)


@pytest.mark.parametrize("two", [2, 2.0, np.int64(2), np.float32(2)])
def test_numbers_of_numpy_are_those_of_python(run, two):
    compared = run["dpsgd"].compare(run["local"], at_s=two).by_node
    assert set(compared["t_s"]) == {2.0}
    assert run["dpsgd"].explain(two).equals(run["dpsgd"].explain(2))


TEXTS = {
    "metric": lambda plot, given: plot.metric(given),
    "against": lambda plot, given: plot.accuracy(against=given),
    "band": lambda plot, given: plot.accuracy(band=given),
    "paired_to": lambda plot, given: plot.accuracy(paired_to=given),
    "what": lambda plot, given: plot.cdf(given),
    "view": lambda plot, given: plot.numbers(given),
}


@pytest.mark.parametrize("given", NO_TEXTS)
@pytest.mark.parametrize("name", TEXTS)
def test_names_of_what_to_draw_are_texts(run, name, given):
    with pytest.raises(ScenarioError, match=rf"^plot: {name} = .*: must be a text"):
        TEXTS[name](run.plot, given)


@pytest.mark.parametrize("name", TEXTS)
def test_no_name_that_nothing_has_is_passed_over(run, name):
    with pytest.raises(ScenarioError, match="wrong"):
        TEXTS[name](run.plot, "wrong")


def test_a_figure_shows_all_that_was_asked_for_or_none(run, sweep):
    """Not the rest alone, where one of several is not there."""
    with pytest.raises(ScenarioError, match='metric = "wrong"'):
        run.plot.metric("loss", "wrong")
    with pytest.raises(ScenarioError, match='show = "harvested_j"'):
        sweep.plot.sweep("accuracy", "harvested_j")


@pytest.mark.parametrize("width", [0, -1, math.nan, True, [3.5], "wide"])
@pytest.mark.parametrize("view", ["accuracy", "cdf", "graph", "fates"])
def test_a_width_that_no_figure_has_is_refused(run, view, width):
    with pytest.raises(ScenarioError, match="width = "):
        getattr(run.plot, view)(width=width)


def test_the_figure_of_one_algorithm_of_a_sweep_has_that_one_alone(sweep, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "netsim.python_api.plots.response.gather",
        lambda lines, *_: drawn.append({line.algorithm for line in lines}),
    )
    for chosen in (sweep, sweep["dpsgd"]):
        with pytest.raises(ScenarioError):
            chosen.plot.sweep()
    assert drawn == [{"local", "dpsgd"}, {"dpsgd"}]
