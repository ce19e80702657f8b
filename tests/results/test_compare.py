import csv
import io

import pandas as pd
import pytest
from rich.console import Console

from netsim.results import compare, summary, sweep_comparison


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


def test_when_a_target_was_reached_is_the_first_evaluation_at_or_over_it(tmp_path, written):
    folder = tmp_path / "base" / "seed-0" / "local"
    written(folder, "local", evaluations=4)
    rows = pd.read_parquet(folder / "metrics")
    mean = rows[rows.metric == "accuracy"].groupby("t_s").value.mean()
    sent = rows[rows.metric == "accuracy"].groupby("t_s").bits_sent.sum()
    target = float(mean.iloc[1])
    first = mean.index[mean >= target][0]
    found = compare.time_to_target(folder, target)
    assert found["time_to_target_s"] == first
    assert found["megabytes_to_target"] == pytest.approx(sent[first] / 8e6)
    assert compare.time_to_target(folder, 1.1)["time_to_target_s"] is None
    swept = sweep_comparison.SweepDesign({"base": {}}, (0,), target=1.1)
    (line,) = sweep_comparison.compare_points(tmp_path, swept)
    assert line.estimates["target_reached"].mean == 0.0
    assert "time_to_target_s" not in line.estimates
    assert compare.time_to_target(folder, None) == {}
