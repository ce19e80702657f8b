"""Runs that a sweep makes, and scores of trials."""

from pathlib import Path

import pytest

from netsim.campaign import grid as sweep
from netsim.campaign import sweeping
from netsim.campaign.sweep_points import points_of
from netsim.campaign.sweep_results import score
from netsim.errors import ScenarioError
from netsim.scenario import Sweep, check, from_dict, load
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of


def test_a_grid_has_every_combination_in_the_order_of_the_file():
    found = points_of({"a.b": (1, 2), "c": ("x",)})
    assert [p.label for p in found] == ["b=1,c=x", "b=2,c=x"]
    assert found[1].values == {"a.b": 2, "c": "x"}


def test_a_kind_goes_by_the_name_of_its_table():
    found = points_of({"radio.arq.kind": ("abort",), "exchange.schedule": ("star",)})
    assert [p.label for p in found] == ["arq=abort,exchange=star"]


def test_seeds_alone_make_one_point():
    assert [p.label for p in points_of({})] == ["base"]


def test_labels_are_folder_names_and_differ():
    tables = ({"kind": "none"}, {"kind": "none", "hold": "exchange"})
    found = points_of({"radio.fading": tables, "x.path": ("../../etc",)})
    labels = [p.label for p in found]
    assert len(set(labels)) == 2
    assert all("/" not in label for label in labels)


def test_tables_of_one_kind_are_told_apart_by_what_differs():
    churn = [{"kind": "none"}] + [{"kind": "on_off", "on_s": v, "off_s": 2.0} for v in (5.0, 1e7)]
    labels = [p.label for p in points_of({"churn": tuple(churn)})]
    assert labels == ["churn=none", "churn=on_off-on_s=5", "churn=on_off-on_s=1e07"]


def test_keys_of_the_same_last_name_are_labelled_in_full():
    [point] = points_of({"a.rate": (1,), "b.rate": (2,)})
    assert point.label == "a.rate=1,b.rate=2"


def test_a_search_ends_bad_trials_early_unless_told():
    draw = {"trials": 2, "draw": {"r": {"low": 1, "high": 2}}}
    assert Sweep.model_validate(draw).prunes
    assert from_dict({**SMALL, "sweep": draw}).chosen_by == "accuracy_validation"
    assert not Sweep.model_validate({**draw, "search": "random"}).prunes
    assert not Sweep.model_validate({**draw, "prune": False}).prunes


def test_every_end_of_a_search_is_checked_before_anything_is_played():
    draw = {"training.batch_size": [4, 0], "training.learning_rate": {"low": -1.0, "high": 1.0}}
    draft = Draft("s", {**SMALL, "sweep": {"trials": 2, "draw": draw, "select": "accuracy"}})
    modules = kinds_of()
    with pytest.raises(ScenarioError) as found:
        sweep.plan(draft, check(draft, modules), Path("out"), ())
    assert "batch_size = 0: must be at least 1" in str(found.value)
    assert "learning_rate = -1" in str(found.value)


@pytest.mark.parametrize("table", [{"trials": 2, "draw": {"training.batch_size": [4, 8]}},
                                   {"over": {"training.batch_size": (4, 8)}}])  # fmt: skip
@pytest.mark.parametrize("select", ["graph.sparsity", "local_steps", "wakes.woke", "engine.ways"])
def test_what_is_neither_good_nor_bad_chooses_nothing(table, select):
    draft = Draft("s", {**SMALL, "sweep": {**table, "select": select}})
    modules = kinds_of()
    with pytest.raises(ScenarioError, match=f'select = "{select}": of this neither the highest'):
        sweep.plan(draft, check(draft, modules), Path("out"), ())


def test_a_range_of_whole_numbers_is_refused_with_what_to_write(tmp_path):
    draft = Draft("s", SMALL)
    draw = {"training.batch_size": {"low": 4, "high": 16}}
    table = {"trials": 2, "draw": draw, "select": "accuracy"}
    draft.lay_over({"sweep": table}, sweep.COMMAND_LINE)
    modules = kinds_of()
    with pytest.raises(ScenarioError) as found:
        sweep.plan(draft, check(draft, modules), tmp_path, ())
    for line in str(found.value).splitlines():
        assert line.startswith("--draw training.batch_size=")
        assert "list the values to draw from" in line


def test_a_score_is_a_metrics_mean_or_any_number_by_its_path():
    summary = {"accuracy": {"mean": 0.5, "best": {"mean": 0.7}}, "energy_j": 3, "name": "x"}
    assert score(summary, "accuracy") == 0.5
    assert score(summary, "accuracy.best.mean") == 0.7
    assert score(summary, "energy_j") == 3.0
    assert score(summary, "name") is None
    assert score(summary, "absent") is None


def test_a_point_is_checked_once_for_all_its_seeds(monkeypatch):
    draft = Draft(
        "s", {**SMALL, "sweep": {"over": {"training.batch_size": [4, 8]}, "seeds": SEEDS}}
    )
    modules = kinds_of()
    whole, checked = check(draft, modules), []
    monkeypatch.setattr(sweep, "check", lambda own, known: checked.append(own) or check(own, known))
    jobs = sweep.plan(draft, whole, Path("out"), ())
    assert len(checked) == 2
    assert [(job.point.label, job.seed) for job in jobs] == [
        (f"batch_size={size}", seed) for size in (4, 8) for seed in SEEDS
    ]
    assert [job.draft.raw["seed"] for job in jobs] == [*SEEDS, *SEEDS]


SEEDS = list(range(50))
SMALL = {
    "name": "s",
    "horizon_s": 10.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
}


@pytest.mark.parametrize(
    ("device", "has_gpu", "expected"),
    [("auto", True, 1), ("cuda:0", True, 1), ("cpu", True, 4), ("auto", False, 4)],
)
def test_runs_that_would_share_a_gpu_are_played_one_after_another(
    monkeypatch, device, has_gpu, expected
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    monkeypatch.setattr("netsim.campaign.sweeping.cores.available", lambda: 4)
    assert sweeping.at_a_time(load("small_dpfl", [f"run.device={device}"])) == expected
    assert sweeping.at_a_time(load("small_dpfl", [f"run.device={device}"]), learns=False) == 4
