"""Which runs a sweep makes, and how trials are scored."""

import math
from concurrent.futures import Future
from pathlib import Path

import pytest

from netsim.backends.native import cores
from netsim.engine import sweep
from netsim.engine.sweep import points
from netsim.engine.trials import score
from netsim.scenario import Sweep, algorithm_files, check
from netsim.scenario.draft import Draft


def test_a_grid_has_every_combination_in_the_order_of_the_file():
    found = points(Sweep(over={"a.b": (1, 2), "c": ("x",)}), seed=0)
    assert [p.label for p in found] == ["b=1,c=x", "b=2,c=x"]
    assert found[1].values == {"a.b": 2, "c": "x"}


def test_a_kind_goes_by_the_name_of_its_table():
    found = points(
        Sweep(over={"radio.arq.kind": ("abort",), "exchange.schedule": ("star",)}), seed=0
    )
    assert [p.label for p in found] == ["arq=abort,exchange=star"]


def test_seeds_alone_make_one_point():
    assert [p.label for p in points(Sweep(seeds=(1, 2)), seed=0)] == ["base"]


def test_labels_are_folder_names_and_differ():
    tables = ({"kind": "none"}, {"kind": "none", "hold": "exchange"})
    found = points(Sweep(over={"radio.fading": tables, "x.path": ("../../etc",)}), seed=0)
    labels = [p.label for p in found]
    assert len(set(labels)) == 2
    assert all("/" not in label for label in labels)


def test_tables_of_one_kind_are_told_apart_by_what_differs():
    churn = [{"kind": "none"}] + [{"kind": "on_off", "on_s": v, "off_s": 2.0} for v in (5.0, 1e7)]
    labels = [p.label for p in points(Sweep(over={"churn": tuple(churn)}), seed=0)]
    assert labels == ["churn=none", "churn=on_off-on_s=5", "churn=on_off-on_s=1e07"]


def test_keys_of_the_same_last_name_are_labelled_in_full():
    [point] = points(Sweep(over={"a.rate": (1,), "b.rate": (2,)}), seed=0)
    assert point.label == "a.rate=1,b.rate=2"


def draw(trials: int, seed: int = 0) -> list[dict[str, float]]:
    spans = {"r": {"low": 0.01, "high": 1.0, "log": True}, "n": {"values": (5, 10, 20)}}
    return [p.values for p in points(Sweep.model_validate({"trials": trials, "draw": spans}), seed)]


def test_more_trials_change_none_of_the_first():
    assert draw(50)[:10] == draw(10)
    assert draw(10, seed=1) != draw(10)


def test_trials_are_drawn_as_the_table_says():
    values = draw(2000)
    assert all(0.01 <= v["r"] <= 1.0 for v in values)
    # log10(r) is uniform on [-2, 0]: mean -1, standard error (2 / sqrt(12)) / sqrt(2000) = 0.0129.
    assert sum(math.log10(v["r"]) for v in values) / 2000 == pytest.approx(-1.0, abs=4 * 0.0129)
    # Each of three values: 1/3 +- 4 sqrt(2/9 / 2000) = 0.042.
    assert sum(v["n"] == 10 for v in values) / 2000 == pytest.approx(1 / 3, abs=0.042)


def test_a_grid_and_trials_are_crossed():
    table = {"over": {"a": (1, 2)}, "trials": 2, "draw": {"b": {"low": 0, "high": 1}}}
    found = points(Sweep.model_validate(table), seed=0)
    assert [p.label for p in found] == [
        "a=1,trial-000", "a=1,trial-001", "a=2,trial-000", "a=2,trial-001",
    ]  # fmt: skip
    assert found[0].values["b"] == found[2].values["b"]


def test_an_interrupted_process_plays_no_further_run(monkeypatch):
    played = []

    def interrupted(job):
        played.append(job)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "_interrupted", [])
    monkeypatch.setattr(sweep, "run_job", interrupted)
    for job in ("first", "second"):
        with pytest.raises(KeyboardInterrupt):
            sweep.run_in_worker(job)
    assert played == ["first"]


def test_a_score_is_a_metrics_mean_or_any_number_by_its_path():
    summary = {"accuracy": {"mean": 0.5, "best": {"mean": 0.7}}, "energy_j": 3, "name": "x"}
    assert score(summary, "accuracy") == 0.5
    assert score(summary, "accuracy.best.mean") == 0.7
    assert score(summary, "energy_j") == 3.0
    assert score(summary, "name") is None
    assert score(summary, "absent") is None


def test_runs_at_a_time_share_the_cores_of_their_machine(monkeypatch):
    made = []

    class Pool:
        def __init__(self, workers, context, initializer, initargs):
            made.append((workers, initializer, initargs))

        def submit(self, function, job):
            future = Future()
            future.set_result(job)
            return future

        def shutdown(self):
            pass

    monkeypatch.setattr(sweep, "ProcessPoolExecutor", Pool)
    ended = []
    sweep.run_jobs(["a", "b", "c"], 2, ended.append)
    sweep.run_jobs(["a", "b", "c"], 8, ended.append)
    assert made == [(2, cores.share, (2,)), (3, cores.share, (3,))]
    assert sorted(ended) == sorted(["a", "b", "c"] * 2)


def test_a_point_is_checked_once_for_all_its_seeds(monkeypatch):
    draft = Draft(
        "s", {**SMALL, "sweep": {"over": {"training.batch_size": [4, 8]}, "seeds": SEEDS}}
    )
    modules = algorithm_files.algorithms()
    whole, checked = check(draft, modules), []
    monkeypatch.setattr(sweep, "check", lambda own, known: checked.append(own) or check(own, known))
    jobs = sweep.plan(draft, whole, Path("out"), None)
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
