"""A sweep's paired table: intervals, differences by seed, the CSV, the picture."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from scipy import stats

from netsim.errors import ScenarioError
from netsim.recording import summary, summary_fields
from netsim.recording.summary_fields import MEASURES
from netsim.views import differences, sweep
from netsim.views.gathering import comparison
from netsim.views.gathering import swept as swept_axis
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.terminal import WrappedTable


def put(out, point, seed, algorithm="local", **numbers):
    folder = out / point / f"seed-{seed}" / algorithm
    folder.mkdir(parents=True)
    summary.write_json(folder / "summary.json", {"algorithm": algorithm, **numbers})


def swept(*points, seeds=(0, 1, 2), key="link.loss", **more):
    return comparison.SweepDesign({f"p{v}": {key: v} for v in points}, seeds, **more)


def printed(table, width=160):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(WrappedTable(table))
    return console.file.getvalue()


def test_interval_is_students():
    """Mean 3, s = sqrt(2.5), n = 5: t(0.975, 4) = 2.776445, half = 2.776445 sqrt(2.5 / 5)."""
    mean, half, _ = comparison.spread([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3.0
    assert half == pytest.approx(2.776445105 * math.sqrt(0.5), rel=1e-9)
    low, high = stats.t.interval(0.95, 4, 3.0, stats.sem([1, 2, 3, 4, 5]))
    assert (3.0 - half, 3.0 + half) == pytest.approx((low, high))
    assert comparison.spread([7.0]) == (7.0, None, 1)


def test_differences_are_of_equal_seeds_and_far_narrower_than_the_means(tmp_path):
    """Energies 10, 20, 30 against 11, 21, 33: differences 1, 1, 3."""
    for seed, (a, b) in enumerate([(10.0, 11.0), (20.0, 21.0), (30.0, 33.0)]):
        put(tmp_path, "p0.0", seed, energy_j=a)
        put(tmp_path, "p0.5", seed, energy_j=b)
    first, second = SweepTables(tmp_path, swept(0.0, 0.5)).lines
    assert first.estimates["energy_j"].difference is None
    cell = second.estimates["energy_j"]
    mean, half, _ = comparison.spread([1.0, 1.0, 3.0])
    assert (cell.difference.mean, cell.difference.half_width) == (mean, half)
    assert cell.difference.half_width < cell.half_width / 5
    assert cell.std_seeds == pytest.approx(np.std([11, 21, 33], ddof=1))


def test_a_missing_run_leaves_its_pair_out_and_is_told(tmp_path):
    for seed in (0, 1, 2):
        put(tmp_path, "p0.0", seed, energy_j=float(seed))
    put(tmp_path, "p0.5", 2, energy_j=7.0)
    asked = swept(0.0, 0.5, 0.9)
    lines = SweepTables(tmp_path, asked).lines
    assert lines[1].estimates["energy_j"].difference.mean == 5.0
    assert lines[1].estimates["energy_j"].difference.half_width is None
    text = printed(differences.printed(SweepTables(tmp_path, replace(asked, show=("energy_j",)))))
    assert "1 of 3" in text
    assert "no run has ended of p0.9" in text


def test_a_difference_says_over_how_many_pairs_it_is(tmp_path):
    """The second point has three seeds, the first one two of them."""
    for seed in (0, 1):
        put(tmp_path, "p0.0", seed, energy_j=float(seed))
    for seed in (0, 1, 2):
        put(tmp_path, "p0.5", seed, energy_j=seed + 5.0)
    asked = swept(0.0, 0.5)
    lines = SweepTables(tmp_path, asked).lines
    text = printed(differences.printed(SweepTables(tmp_path, replace(asked, show=("energy_j",)))))
    assert "+5.00 ± 0.00 (2 of 3)" in " ".join(text.split())
    rows = [r for r in comparison.tidy_rows(lines) if r["metric"] == "energy_j"]
    assert [(r["seeds"], r["diff_seeds"]) for r in rows] == [(2, 0), (3, 2)]


def test_what_only_some_seeds_say_is_over_those(tmp_path):
    """Of three runs two deliver: the mean delay is over the two, and the table says so."""
    for seed, delay in enumerate([{"mean_s": 1.0}, {}, {"mean_s": 3.0}]):
        put(tmp_path, "p0.0", seed, delay=delay)
    asked = swept(0.0)
    (line,) = SweepTables(tmp_path, asked).lines
    assert (line.seeds, line.estimates["delay_s"].seeds, line.estimates["delay_s"].mean) == (
        3,
        2,
        2.0,
    )
    assert "(2 of 3)" in printed(
        differences.printed(SweepTables(tmp_path, replace(asked, show=("delay_s",))))
    )


def test_a_difference_that_is_not_known_is_a_dash_and_the_first_point_has_none(tmp_path):
    put(tmp_path, "p0.0", 0, delay={})
    put(tmp_path, "p0.5", 0, delay={"mean_s": 2.0})
    asked = swept(0.0, 0.5, seeds=(0,), show=("delay_s",))
    table = differences.printed(SweepTables(tmp_path, asked))
    assert [column.cells for column in table.columns] == [["-", "2.00"], ["", "-"]]


def test_rows_are_tidy(tmp_path):
    for point in ("p0.0", "p0.5"):
        for seed in (0, 1, 2):
            put(tmp_path, point, seed, energy_j=seed + float(point[1:]), messages={"sent": 0})
    every = comparison.tidy_rows(SweepTables(tmp_path, swept(0.0, 0.5)).lines)
    rows = [r for r in every if r["metric"] == "energy_j"]
    assert list(rows[0]) == [
        "point", "link.loss", "algorithm", "metric", "mean", "low", "high", "seeds", "std_seeds",
        "diff", "diff_low", "diff_high", "diff_seeds",
    ]  # fmt: skip
    assert [r["link.loss"] for r in rows] == [0.0, 0.5]
    assert rows[1]["mean"] - rows[1]["low"] == pytest.approx(rows[1]["high"] - rows[1]["mean"])
    assert (rows[1]["diff"], rows[1]["diff_low"], rows[1]["diff_high"]) == (0.5, 0.5, 0.5)
    assert rows[0]["diff"] is None


def test_a_share_of_no_messages_is_unknown():
    found = summary_fields.row({"messages": {"sent": 0, "delivered": 0}, "energy_j": 0.0})
    assert found["delivered_share"] is None
    assert found["energy_j"] == 0.0
    assert found["accuracy"] is None


def test_what_rounds_to_nothing_has_no_minus():
    assert MEASURES["delay_s"].spelled(-0.001, 0.66, "+") == "+0.00 ± 0.66"
    assert MEASURES["accuracy"].spelled(-0.0001) == "0.0"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("accuracy", "accuracy"), ("delay_s", "delay_s"), ("time_to_target", "time_to_target_s")],
)
def test_a_measure_goes_by_its_name_or_its_name_without_unit(word, expected):
    assert summary_fields.measure_name(word) == expected


def test_a_word_that_is_no_measure_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match='did you mean "energy_j"'):
        summary_fields.measure_name("enery_j")
    with pytest.raises(ValueError, match="there are accuracy, "):
        summary_fields.measure_name("xyzzy")


@pytest.mark.parametrize(
    ("value", "half", "expected"),
    [
        (97.234, 28.4, "97 ± 28"),
        (5.4612, 0.0363, "5.461 ± 0.036"),
        (0.17725, 0.00012, "0.1772 ± 0.0001"),
        (-0.7, 1.05, "-0.7 ± 1.1"),
        (12_345.6, 12.0, "12,346 ± 12"),
        (181.3, None, "181"),
        (0.001234, None, "0.00123"),
        (0.0, 0.0, "0 ± 0"),
        (2.345e-9, None, "2.35e-09"),
        (2.345e-9, 1e-10, "2.35e-09 ± 1.0e-10"),
        (math.nan, None, "-"),
        (math.inf, math.inf, "-"),
        (2.0, math.nan, "2.00"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_bears(value, half, expected):
    assert MEASURES["delay_s"].spelled(value, half) == expected
    assert MEASURES["delay_s"].spelled(2.0, None, "+") == "+2.00"
    assert MEASURES["accuracy"].spelled(0.8124, 0.0051) == "81.2 ± 0.5"
    assert MEASURES["messages"].spelled(12_345.0) == "12,345"


def test_what_runs_have_or_have_not_has_a_share_and_no_interval():
    """Student's interval of 1, 0, 1 would end at 210 %: in no table, file or figure."""
    runs = {seed: {"target_reached": reached} for seed, reached in enumerate((1.0, 0.0, 1.0))}
    others = {seed: {"target_reached": 0.0} for seed in runs}
    cell = comparison.estimates(runs, others)["target_reached"]
    assert (cell.mean, cell.half_width) == (pytest.approx(2 / 3), None)
    assert (cell.difference.mean, cell.difference.half_width) == (pytest.approx(2 / 3), None)


def test_nothing_finished_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no finished run of a sweep"):
        SweepTables(tmp_path, swept(0.0)).lines_to(None)


def figure(tmp_path, values, key="radio.bandwidth_hz", energies=None, **more):
    asked = comparison.SweepDesign(
        {f"p{i}": {key: v, **more} for i, v in enumerate(values)}, (0, 1)
    )
    for i in range(len(values)):
        for seed in (0, 1):
            for algorithm in ("local", "gossip"):
                joules = (energies or [1.0] * len(values))[i] * (1 + 0.1 * seed)
                put(tmp_path, f"p{i}", seed, algorithm, energy_j=joules)
    lines = SweepTables(tmp_path, asked).lines
    with plot_style.style():
        shown = sweep.gather(lines, ["energy_j", "accuracy"])
        return shown and panels.draw(shown, "heading").figure


@pytest.mark.slow
def test_axes_are_logarithmic_where_values_span_decades(tmp_path):
    found = figure(tmp_path, [1e5, 1e6, 1e7], energies=[1.0, 10.0, 300.0])
    (panel,) = found.axes  # nothing measured accuracy
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert panel.get_xlabel() == "Bandwidth [MHz]"
    assert panel.get_ylabel() == "Energy [J]"
    assert [t.get_text() for t in panel.get_xticklabels()] == ["0.1", "1", "10"]
    assert len(panel.containers) == 2
    with plot_style.style(), Image.open(plot_style.save(found, tmp_path / "sweep.png")) as picture:
        assert picture.size[0] > 600


def test_other_axes_are_linear_start_at_nought_or_name_kinds(tmp_path):
    assert figure(tmp_path / "a", [1.0, 2.0, 8.0]).axes[0].get_xscale() == "linear"
    assert figure(tmp_path / "b", [0.0, 0.1, 30.0]).axes[0].get_xscale() == "symlog"
    kinds = [{"kind": "none"}, {"kind": "rician", "k_factor_db": 3.0}, True]
    (panel,) = figure(tmp_path / "c", kinds, "radio.fading").axes
    labels = [t.get_text() for t in panel.get_xticklabels()]
    assert labels == ["none", "rician\n3 dB", "true"]


def test_what_reads_alike_keeps_a_place_of_its_own(tmp_path):
    alike = [{"kind": "hole", "retries": 3}, {"kind": "hole", "rounds": 3}]
    (panel,) = figure(tmp_path / "a", alike, "radio.arq").axes
    labels = [t.get_text() for t in panel.get_xticklabels()]
    assert labels == ["hole, retries 3", "hole, rounds 3"]
    files = [f"/a/long/way/{name}/graph.txt" for name in ("one", "two")]
    (panel,) = figure(tmp_path / "b", files, "topology.path").axes
    labels = [t.get_text() for t in panel.get_xticklabels()]
    assert labels == ["one/graph.txt", "two/graph.txt"]


def test_tables_that_differ_in_a_number_are_drawn_over_it(tmp_path):
    ways = [{"kind": "walk", "low_m_per_s": v, "high_m_per_s": max(v, 2.0)} for v in (0.1, 1, 9.0)]
    (panel,) = figure(tmp_path, ways, "mobility").axes
    assert panel.get_xlabel() == "Mobility: low [m/s]"
    assert panel.get_xscale() == "log"


def test_without_swept_values_there_is_no_picture(tmp_path):
    assert figure(tmp_path, [1e6]) is None
    assert swept_axis.swept_key([{}]) is None


def test_the_key_with_most_values_is_across_the_others_are_lines():
    grid = [{"a": a, "b": b} for a in (1, 2) for b in (1, 2, 3)]
    assert swept_axis.swept_key(grid) == "b"


def test_a_table_prints_whole_in_a_narrow_terminal_with_differences_beside_their_means(tmp_path):
    for point in ("p0.0", "p0.5"):
        for seed in (0, 1, 2):
            put(tmp_path, point, seed, energy_j=seed + 1.0, messages={"airtime_s": 2.0 + seed})
    asked = swept(0.0, 0.5)
    shown = differences.printed(
        SweepTables(tmp_path, replace(asked, show=("energy_j", "airtime_s")))
    )
    text = printed(shown, 50)
    heads = [line for line in text.splitlines() if "Δ" in line and "±" not in line]
    assert len(heads) == 2
    assert "energy" in heads[0]
    assert "airtime" in heads[1]
    assert "…" not in text


def test_json_numbers_that_are_not_finite_count_as_unsaid(tmp_path):
    put(tmp_path, "p0.0", 0, accuracy={"mean": math.nan}, energy_j=1.0)
    text = (tmp_path / "p0.0/seed-0/local/summary.json").read_text()
    assert json.loads(text)["accuracy"]["mean"] is None
    (line,) = SweepTables(tmp_path, swept(0.0)).lines
    assert "accuracy" not in line.estimates
