import csv
import io
import statistics

import pandas as pd
import pytest
from rich.console import Console

from netsim.errors import ScenarioError
from netsim.results import compare, summary


def printed(table, width=120):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table)
    return console.file.getvalue()


def cells(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def runs(tmp_path, written):
    for name in ("kd_pdfl", "fedavg"):
        written(tmp_path / name, name, evaluations=4)
    return [tmp_path / "kd_pdfl", tmp_path / "fedavg"]


def test_table_and_csv_show_the_summaries(runs, tmp_path):
    text = printed(compare.table(runs, tmp_path / "comparison.csv"))
    found = summary.load(runs[0])
    spread = f"{100 * found['accuracy']['mean']:.1f} ± {100 * found['accuracy']['std']:.1f}"
    assert spread in text
    assert "all classes" in text
    assert text.index("kd_pdfl") < text.index("fedavg")
    first, _ = cells(tmp_path / "comparison.csv")
    assert float(first["accuracy_std_nodes"]) == found["accuracy"]["std"]
    assert float(first["sent_megabytes"]) == found["messages"]["bits_sent"] / 8e6
    assert float(first["delivered_share"]) == pytest.approx(found["messages"]["delivered"] / 300)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_nothing_is_cut_off_in_a_narrow_terminal(runs, width):
    text = printed(compare.table(runs), width)
    for word in ("kd_pdfl", "accuracy", "messages", "delivered", "virtual", "600"):
        assert word in text
    assert "…" not in text


def test_what_no_run_measured_has_no_column_and_unknown_is_a_dash(tmp_path):
    tmp_path.joinpath("a").mkdir()
    summary.write_json(tmp_path / "a" / "summary.json", {"algorithm": "local", "messages": {}})
    text = printed(compare.table([tmp_path / "a"], tmp_path / "comparison.csv"))
    assert "all classes" not in text
    assert " - " in text
    assert cells(tmp_path / "comparison.csv")[0]["accuracy"] == ""


def test_sweep_averages_over_seeds_and_never_mixes_the_two_spreads(tmp_path, written):
    found = [
        written(tmp_path / point / f"seed-{seed}" / "local", "local", seed=seed, evaluations=3)
        for point in ("count=10", "count=9")
        for seed in (0, 1, 2)
    ]
    (tmp_path / "count=9" / "seed-7").mkdir()  # a run that failed
    text = printed(compare.sweep_table(tmp_path, csv_path=tmp_path / "sweep.csv"), 200)
    first, second = cells(tmp_path / "sweep.csv")
    assert [first["point"], second["point"]] == ["count=9", "count=10"]
    assert [first["seeds"], first["seeds_failed"]] == ["3", "1"]
    assert "3 of 4" in text
    means = [s["accuracy"]["mean"] for s in found[:3]]
    spreads = [s["accuracy"]["std"] for s in found[:3]]
    assert float(second["accuracy"]) == pytest.approx(statistics.fmean(means))
    assert float(second["accuracy_std_seeds"]) == pytest.approx(statistics.stdev(means))
    assert float(second["accuracy_std_nodes"]) == pytest.approx(statistics.fmean(spreads))
    assert f"± {100 * statistics.stdev(means):.1f}" in text


def test_one_seed_has_no_spread_over_seeds(tmp_path, written):
    written(tmp_path / "base" / "seed-0" / "local", "local", evaluations=2)
    text = printed(compare.sweep_table(tmp_path, csv_path=tmp_path / "sweep.csv"), 200)
    assert cells(tmp_path / "sweep.csv")[0]["accuracy_std_seeds"] == ""
    assert "no std_seeds" in text


def test_a_sweep_without_finished_runs_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no finished run of a sweep"):
        compare.sweep_table(tmp_path)


def test_when_a_target_was_reached_is_the_first_evaluation_at_or_over_it(tmp_path, written):
    folder = tmp_path / "base" / "seed-0" / "local"
    written(folder, "local", evaluations=4)
    rows = pd.read_parquet(folder / "metrics")
    mean = rows[rows.metric == "accuracy"].groupby("t_s").value.mean()
    sent = rows[rows.metric == "accuracy"].groupby("t_s").bits_sent.sum()
    target = float(mean.iloc[1])
    first = mean.index[mean >= target][0]
    found = compare.reach(folder, target)
    assert found["target_t_s"] == first
    assert found["target_megabytes"] == pytest.approx(sent[first] / 8e6)
    assert compare.reach(folder, 1.1)["target_t_s"] is None
    (row,) = compare.sweep_rows(tmp_path, 1.1)
    assert row["target_reached"] == 0.0
    assert compare.reach(folder, None) == {}
