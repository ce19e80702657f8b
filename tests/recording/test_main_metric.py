"""Runs that are judged by another metric than accuracy, of which lower values may be better."""

import io

import numpy as np
import pytest
from rich.console import Console

from netsim import engine, world
from netsim.engine.progress import Progress
from netsim.errors import ScenarioError
from netsim.recording import metrics, run_folder, summary
from netsim.recording.main_metric import ACCURACY, GAINS, MainMetric
from netsim.recording.recorder import Recorder
from netsim.recording.schema import ARRIVED, OUTCOMES
from netsim.scenario import from_dict
from netsim.terminal.progress import words_of
from netsim.views import compare
from netsim.views.gathering import comparison
from netsim.views.render import pictures as figures
from netsim.views.render.terminal import WrappedTable

RMSE = MainMetric("rmse", frozenset({"loss", "rmse", "mae"}))
TASK = {"kind": "regression", "metric": "rmse", "lower": ["loss", "mae", "rmse"]}


@pytest.fixture
def run(tmp_path):
    """Two nodes, four evaluations: mean rmse 4, 2, 1, 3; on validation 3, 1, 2, 4."""
    folder = tmp_path / "local"
    recorder = Recorder(folder)
    for k, (tested, validated) in enumerate(zip((4.0, 2.0, 1.0, 3.0), (3, 1, 2, 4), strict=True)):
        recorder.spent(k * 10**9)
        for node, apart in ((0, -0.5), (1, 0.5)):
            for name, value in (
                ("rmse", tested + apart), ("rmse_common", tested), ("rmse_validation", validated),
            ):  # fmt: skip
                recorder.metric(k * 10**9, node, name, "mixed", value, k, 0, 0.0)
    totals = recorder.close()
    known = {"name": "s", "algorithm": "local", "seed": 0, "nodes": 2, "task": TASK}
    summary.write(folder, {**known, "virtual_s": 3.0, "wall_s": 1.0, **totals})
    return folder


def test_the_best_is_the_lowest_and_the_worst_the_highest(run):
    found = run_folder.summary(run)["rmse"]
    assert found["mean"] == 3.0
    assert found["worst_10pct"] == 3.5
    assert found["best"] == {"t_s": 2.0, "mean": 1.0, "std": 0.5}
    assert found["best_on_validation"] == 2.0  # at 1 s, where validation is lowest
    assert run_folder.summary(run)["rmse_common"]["best_on_validation"] == 2.0


def test_what_a_summary_has_beside_metrics_is_known_as_that():
    """Every key of a run's summary is a metric's, or its best end is known, or it is refused."""
    tables = {
        "horizon_s": 1.0, "nodes": {"count": 4}, "exchange": {"schedule": "rounds"},
        "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
        "model": {"kind": "mlp", "hidden": [2]}, "algorithm": [{"kind": "dpsgd"}],
        "attack": {"kind": "gauss", "fraction": 0.3}, "run": {"device": "cpu"},
    }  # fmt: skip
    made = from_dict(tables)
    found = engine.play(world.build(made), made.algorithm[0])
    metrics_of = [k for k, v in found.items() if isinstance(v, dict) and "mean" in v]
    assert metrics_of
    for key in metrics_of:
        assert ACCURACY.knows_the_best(key)
        assert ACCURACY.knows_the_best(f"{key}.mean")
    numbers = [
        (key, *inner)
        for key, value in found.items()
        if key not in metrics_of
        for inner in ([(k,) for k in value] if isinstance(value, dict) else [()])
    ]
    unknown = {".".join(path) for path in numbers if not ACCURACY.knows_the_best(".".join(path))}
    assert {"local_steps", "wakes.woke", "engine.flushes"} <= unknown
    numeric = {
        ".".join(path)
        for path in numbers
        if isinstance(found[path[0]] if len(path) == 1 else found[path[0]][path[1]], int | float)
    }
    gains = {told for told in numeric if GAINS & set(told.rpartition(".")[2].split("_"))}
    assert {
        told for told in numeric - unknown - gains if not ACCURACY.is_lowest_best(told)
    } == set()


def test_a_target_is_reached_from_above(run):
    assert comparison.time_to_target(run, 2.0)["time_to_target_s"] == 1.0
    assert comparison.time_to_target(run, 0.5)["target_reached"] == 0.0


@pytest.mark.slow
def test_tables_and_figures_name_the_metric(run):
    table = compare.table([run], run.parent / "comparison.csv", target=2.0)
    console = Console(width=160, file=io.StringIO(), color_system=None)
    console.print(WrappedTable(table))
    text = console.file.getvalue()
    assert "rmse" in text
    assert "accuracy" not in text
    assert "3.00 ± 0.500" in text
    header, row = (run.parent / "comparison.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert cells["metric"] == "rmse"
    assert float(cells["main_metric_best"]) == 1.0
    assert cells["accuracy"] == ""
    assert "rmse_vs_time.png" in [path.name for path in figures.draw(run)]
    assert "rmse_vs_time.png" in [p.name for p in figures.draw_comparison(run.parent, [run])]


def test_an_accuracy_beyond_one_is_refused_as_a_target():
    comparison.require_possible(80.0, RMSE)
    comparison.require_possible(0.8, ACCURACY)
    with pytest.raises(ScenarioError, match="a share, from 0 to 1"):
        comparison.require_possible(80.0, ACCURACY)


def test_directions_hold_on_whatever_samples_a_metric_is_taken():
    lower = ["rmse", "rmse_common_validation", "malicious_mae", "loss", "loss_common", "my_error"]
    assert all(RMSE.prefers_lower(name) for name in lower)
    assert not RMSE.prefers_lower("accuracy_all_classes")
    assert not RMSE.prefers_lower("maestro")
    assert ACCURACY.of_tests(["loss", "accuracy", "accuracy_validation"]) == ["accuracy"]


@pytest.mark.parametrize("main", [RMSE, ACCURACY, MainMetric.reported("regret", True)])
def test_the_best_at_a_path_into_a_summary_is_the_best_of_its_metric(main):
    """Every mean of a metric's block has the metric's direction, every spread is best low."""
    means = ("mean", "best.mean", "last.mean", "worst_10pct", "best_on_validation", "pooled")
    for metric in (main.name, main.validation, f"{main.name}_common", "loss"):
        lowest = metric == "loss" or main is not ACCURACY
        assert main.is_lowest_best(metric) is lowest
        for key in (*means, f"stages.lossless.{means[0]}"):
            assert main.is_lowest_best(f"{metric}.{key}") is lowest, (metric, key)
        for key in ("std", "variance", "best.t_s", "last.std"):
            assert main.is_lowest_best(f"{metric}.{key}")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_of_messages_that_did_not_arrive_the_fewest_are_best(outcome):
    assert ACCURACY.is_lowest_best(f"outcomes.Model.{outcome}") is (outcome not in ARRIVED)


@pytest.mark.parametrize("task", [None, [], "rmse", {"metric": 3}, {"metric": "rmse", "lower": 1}])
def test_a_summary_that_does_not_say_it_rightly_is_one_of_accuracy_or_of_no_direction(task):
    found = MainMetric.of({"task": task})
    assert found.name in ("accuracy", "rmse")
    assert isinstance(found.prefers_lower("rmse"), bool)


def test_the_progress_line_names_the_metric():
    step = Progress(1.0, 2.0, 10, 20, 12.345678, 1.0, metric="perplexity")
    assert "perplexity 12.35" in words_of(step)
    assert "accuracy 50.0 %" in words_of(Progress(1.0, 2.0, 10, 20, 0.5, 1.0))


def test_best_of_equal_validation_is_the_first_or_the_last():
    rows = {
        "t_s": np.array([0.0, 0.0, 1.0, 1.0]),
        "node": np.zeros(4, dtype=np.int64),
        "metric": np.array(["rmse", "rmse_validation"] * 2),
        "stage": np.array(["mixed"] * 4),
        "value": np.array([5.0, 1.0, 7.0, 1.0]),
    }
    assert metrics.best_on_validation(rows, "rmse", "first", RMSE) == 5.0
    assert metrics.best_on_validation(rows, "rmse", "last", RMSE) == 7.0
