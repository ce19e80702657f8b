"""Figures of sweeps: methods beside each other, paired differences, searches, bars that end."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from netsim.errors import ScenarioError
from netsim.recording import summary
from netsim.views import sweep
from netsim.views.gathering import comparison
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import paper

COLUMN = paper(3.5)
SEEDS = (0, 1, 2, 3)


def put(out, point, algorithm, values):
    for seed, value in zip(SEEDS, values, strict=True):
        folder = out / point / f"seed-{seed}" / algorithm
        folder.mkdir(parents=True)
        told = {"algorithm": algorithm, "accuracy": {"mean": value}, "energy_j": 10 * value}
        summary.write_json(folder / "summary.json", told)


@pytest.fixture
def played(tmp_path):
    """Two methods at three bandwidths; all depends on the seed, little on the method."""
    points = {f"p{v:g}": {"radio.bandwidth_hz": v} for v in (5e4, 1e6, 5e6)}
    draws = np.random.default_rng(0)
    values = {}
    for point in points:
        for algorithm in ("fedavg", "local"):
            shift = 0.02 if algorithm == "local" else 0.0
            found = 0.95 + np.array([-0.1, 0.0, 0.04, 0.02]) - shift + draws.normal(0, 0.002, 4)
            values[point, algorithm] = found
            put(tmp_path, point, algorithm, found.tolist())
    return tmp_path, comparison.SweepDesign(points, SEEDS), values


def draw(played, paired_to=None, show=("accuracy",), **more):
    folder, design, _ = played
    lines = SweepTables(folder, design).lines_to(paired_to)
    with plot_style.style(COLUMN):
        return panels.draw(sweep.gather(lines, show, paired_to or "", **more), sheet=COLUMN)


def test_differences_are_to_the_method_named_seed_by_seed(played):
    found = draw(played, "fedavg")
    _, _, values = played
    rows = pd.DataFrame(found.rows)
    for point in ("p50000", "p1e+06", "p5e+06"):
        (row,) = rows[(rows.point == point) & (rows.algorithm == "local")].to_dict("records")
        diff = values[point, "local"] - values[point, "fedavg"]
        half = stats.t.ppf(0.975, 3) * stats.sem(diff)
        assert row["diff"] == pytest.approx(diff.mean())
        assert row["diff_high"] == pytest.approx(diff.mean() + half)
        assert row["diff_to"] == "fedavg"
        mean = values[point, "local"]
        assert row["low"] == pytest.approx(mean.mean() - stats.t.ppf(0.975, 3) * stats.sem(mean))
    above, below = found.figure.axes
    assert above.get_xlabel() == below.get_xlabel() == "Bandwidth [MHz]"
    assert below.get_ylabel() == "Difference to\nFedAvg [pp]"
    (bars,) = below.containers
    drawn = bars.lines[0].get_ydata()
    mine = rows[rows.algorithm == "local"]["diff"]
    assert drawn == pytest.approx(100 * mine.to_numpy())


def test_methods_stand_beside_each_other_and_bars_of_shares_end_at_100_percent(played):
    (panel,) = draw(played).figure.axes
    places = np.array([bars.lines[0].get_xdata() for bars in panel.containers])
    assert np.all(places[0] < places[1])
    assert places.mean(axis=0) == pytest.approx([0.05, 1, 5], rel=0.05)
    ends = np.concatenate([s.get_segments() for bars in panel.containers for s in bars.lines[2]])[
        :, :, 1
    ]
    assert ends.max() <= 100.0 + 1e-9
    tops = {bars.lines[0].get_linestyle() for bars in panel.containers}
    assert len(tops) == 2


def test_differences_can_be_to_a_point(played):
    folder, design, values = played
    lines = SweepTables(folder, design).lines_to("p1e+06")
    by = {(line.point, line.algorithm): line.estimates["accuracy"] for line in lines}
    assert by["p1e+06", "local"].difference is None
    expected = (values["p5e+06", "local"] - values["p1e+06", "local"]).mean()
    assert by["p5e+06", "local"].difference.mean == pytest.approx(expected)
    with pytest.raises(ScenarioError, match=r"paired to locl: .* did you mean \"local\""):
        SweepTables(folder, design).lines_to("locl")


@pytest.mark.slow
def test_trials_of_a_search_are_marks_over_each_key_that_it_drew(tmp_path):
    points = {}
    for i, (rate, size) in enumerate([(0.011, 5), (0.012, 20), (0.3, 10)]):
        points[f"local,trial-{i:03}"] = {
            "training.learning_rate": rate,
            "training.batch_size": size,
        }
        put(tmp_path, f"local,trial-{i:03}", "local", [0.5, 0.6, 0.7, 0.6])
    design = comparison.SweepDesign(points, SEEDS)
    found = draw((tmp_path, design, None), is_search=True)
    assert [p.get_xlabel() for p in found.figure.axes] == ["Learning rate", "Batch size"]
    assert all(
        bars.lines[0].get_linestyle() == "None" for p in found.figure.axes for bars in p.containers
    )
    figure = found.figure
    figure.canvas.draw()
    labels = [t for t in figure.axes[0].get_xticklabels() if t.get_text() and t.get_visible()]
    boxes = [t.get_window_extent() for t in labels]
    boxes = [b for b in boxes if figure.axes[0].bbox.x0 <= b.x0 <= figure.axes[0].bbox.x1]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert "each mark a trial" in found.about


def test_the_short_table_is_in_the_units_of_the_axes(played):
    row = draw(played, "fedavg").short[-1]
    assert list(row)[:2] == ["curve", "Bandwidth [MHz]"]
    assert (row["curve"], row["Bandwidth [MHz]"]) == ("Local", "5")
    assert row["Accuracy, difference to FedAvg [pp]"].startswith("-")


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_an_axis_of_equal_values_has_ticks_that_a_person_reads(value):
    figure = Figure()
    axes = figure.add_subplot()
    plot_axes.value_axis(axes, np.full(3, value))
    low, high = axes.get_ylim()
    assert low <= value <= high
    assert high - low >= max(0.009 * abs(value), 0.01)
    if value == 0.0:
        assert (low, high) == (0.0, 1.0)
