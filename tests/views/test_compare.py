import csv
import io
import shutil

import pandas as pd
import pytest
from rich.console import Console

from netsim.recording import run_folder, summary
from netsim.views import compare
from netsim.views.gathering import comparison
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render import pictures as figures
from netsim.views.render.terminal import WrappedTable


def printed(table, width=120):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(WrappedTable(table))
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
    found = run_folder.summary(runs[0])
    spread = f"{100 * found['accuracy']['mean']:.1f} ± {100 * found['accuracy']['std']:.1f}"
    assert spread in text
    assert "all classes" in text
    assert text.index("kd_pdfl") < text.index("fedavg")
    first, _ = cells(tmp_path / "comparison.csv")
    assert float(first["accuracy_std_nodes"]) == found["accuracy"]["std"]
    for what in ("offered", "transmitted", "delivered"):
        assert float(first[f"{what}_megabytes"]) == found["messages"][f"bits_{what}"] / 8e6
    assert "transmitted: every attempt of messages whose sending is over" in " ".join(text.split())
    assert "older runs" not in text
    assert float(first["delivered_share"]) == pytest.approx(found["messages"]["delivered"] / 300)


def test_runs_of_other_seeds_or_other_main_metrics_are_told_apart(runs):
    """Numbers in one column are not of one kind: each row says of which."""
    rows = compare.rows_of(runs)
    assert list(compare.printed(rows).names) == ["run"]
    rows = [
        rows[0] | {"seed": 3, "metric": "mean_absolute_error", "main_metric": 2.0},
        rows[1] | {"seed": 5, "metric": "perplexity", "main_metric": 9.0},
    ]
    assert compare.printed(rows).names == {
        "run": ["kd_pdfl", "fedavg"],
        "seed": ["3", "5"],
        "judged by": ["mean absolute error", "perplexity"],
    }


@pytest.mark.thinned(2)
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
    sent = rows[rows.metric == "accuracy"].groupby("t_s").bits_transmitted.sum()
    target = float(mean.iloc[1])
    first = mean.index[mean >= target][0]
    found = comparison.time_to_target(folder, target)
    assert found["time_to_target_s"] == first
    assert found["megabytes_to_target"] == pytest.approx(sent[first] / 8e6)
    assert found["airtime_to_target_s"] == 20 * list(mean.index).index(first)
    assert comparison.time_to_target(folder, 1.1)["time_to_target_s"] is None
    swept = comparison.SweepDesign({"base": {}}, (0,), target=1.1)
    (line,) = SweepTables(tmp_path, swept).lines
    assert line.estimates["target_reached"].mean == 0.0
    assert "time_to_target_s" not in line.estimates
    assert comparison.time_to_target(folder, None) == {}


def made_older(folder):
    """Turn a run folder into one from before transmitted bits were counted."""
    shutil.rmtree(folder / "traffic")
    for table, columns in (
        ("messages", {"bits_transmitted": None}),
        ("metrics", {"bits_transmitted": "bits_sent"}),
    ):
        for path in (folder / table).iterdir():
            rows = pd.read_parquet(path)
            gone = [name for name, new in columns.items() if new is None]
            rows.drop(columns=gone).rename(columns=columns).to_parquet(path)
    found = run_folder.summary(folder)
    for name in ("bits_offered", "bits_transmitted"):
        del found["messages"][name]
    found["messages"]["bits_sent"] = 16_000_000
    summary.write_json(folder / "summary.json", found)


@pytest.mark.slow
def test_an_older_run_is_compared_and_what_it_lacks_is_told(runs, tmp_path):
    made_older(runs[1])
    text = printed(compare.table(runs, tmp_path / "comparison.csv", 0.4))
    assert "fedavg: recorded before bits offered and transmitted were counted" in text
    assert "sent once: payload of messages that were begun" in text
    first, second = cells(tmp_path / "comparison.csv")
    assert (first["sent_megabytes"], second["sent_megabytes"]) == ("", "2.0")
    assert second["transmitted_megabytes"] == second["megabytes_to_target"] == ""
    assert float(second["time_to_target_s"]) > 0
    assert [path.name for path in figures.draw(runs[1]) if "vs" in path.name] == [
        "accuracy_vs_time.png"
    ]
    assert [path.name for path in figures.draw_comparison(tmp_path, runs)] == [
        "accuracy_vs_time.png"
    ]
