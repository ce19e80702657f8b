"""Figures of several runs, and of runs that have little to show: each number is some run's."""

import warnings

import numpy as np
import pytest

import netsim
from netsim import ScenarioError, views
from netsim.recording.reader import RunFolder
from netsim.views import Ask
from netsim.views.gathering.runs import shown_of
from netsim.views.render.figure import panels, style
from netsim.views.render.figure.sheets import paper

SCENARIO = netsim.Scenario(
    horizon_s=3.0,
    nodes={"count": 3},
    exchange={"schedule": "rounds", "interval_s": 1.0},
    data="digits",
    model={"kind": "mlp", "hidden": [4]},
    compute={"kind": "fixed", "step_s": 0.1},
    metrics={"every_s": 1.0},
    algorithm=[{"kind": kind, "local_steps": 5} for kind in ("local", "fedavg")],
)
CHANGES = {
    "plain": {},
    "seed": {"seed": 5},
    "longer": {"horizon_s": 5.0},
    "diverged": {"training__learning_rate": 1e30},
    "begun": {"horizon_s": 0.05},
}
PAPER = Ask(on_paper=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    top = tmp_path_factory.mktemp("runs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", netsim.RunWarning)  # of the models that diverge
        for name, changes in CHANGES.items():
            netsim.run(SCENARIO.replace(**changes), out=top / name)
    return top


def runs_of(folders, *names, methods=("local", "fedavg")):
    return [RunFolder.ended(folders / name / method) for name in names for method in methods]


@pytest.mark.parametrize("others", [("seed",), ("longer",), ("seed", "longer")])
@pytest.mark.parametrize("name", views.names())
def test_no_two_panels_of_a_figure_have_one_name(folders, name, others):
    try:
        shown = shown_of(name, runs_of(folders, "plain", *others), PAPER)
    except ScenarioError:
        pytest.skip("nothing of the kind in these runs")
    titles = [panel.title for panel in shown.panels if panel.title]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("names", [("plain",), ("plain", "seed"), ("plain", "longer", "seed")])
def test_the_fates_of_messages_add_up_to_those_of_all_runs(folders, names):
    runs = runs_of(folders, *names)
    (panel,) = shown_of("outcomes", runs, PAPER).panels
    there = sum(
        sum(map(sum, (o.values() for o in run.summary["outcomes"].values()))) for run in runs
    )
    assert sum(panel.table["messages"]) == there > 0


def test_models_that_are_not_finite_are_told_and_not_an_empty_figure(folders):
    diverged = runs_of(folders, "diverged")
    with pytest.raises(ScenarioError, match="accuracy: no number to draw, as models are not fin"):
        shown_of("accuracy", diverged, PAPER)
    both = shown_of("accuracy", [*runs_of(folders, "plain"), *diverged], PAPER)
    assert "not finite: diverged/Local, diverged/FedAvg" in both.about
    assert "finite" not in shown_of("accuracy", runs_of(folders, "plain"), PAPER).about
    on_screen = shown_of("accuracy", diverged, Ask())
    assert "not finite" in on_screen.about
    assert all(np.isnan(panel.table["mean"]).all() for panel in on_screen.panels)
    with style.style(paper(3.5)):
        panels.draw(on_screen, sheet=paper(3.5))


def test_a_run_without_evaluations_is_not_called_one_without_learning(folders):
    for name in ("accuracy", "bytes", "cdf"):
        with pytest.raises(ScenarioError, match="no node had a model at any evaluation"):
            shown_of(name, runs_of(folders, "begun"), PAPER)


def test_a_run_that_sends_nothing_is_not_called_one_that_was_measured_once(folders):
    with pytest.raises(ScenarioError, match="has no bytes: nothing was transmitted"):
        shown_of("bytes", runs_of(folders, "plain", methods=["local"]), PAPER)
