"""Views of a sweep against numbers worked out by hand."""

import json
import shutil

import numpy as np
import pytest
import tomli_w

from netsim.console.commands import plot
from netsim.errors import ScenarioError
from netsim.recording import checksums
from netsim.recording.run_mismatches import changed_in
from netsim.views import (
    Ask,
    accuracy,
    cdf,
    differences,
    multiples,
    parallel,
    points,
    response_map,
    sweep_facts,
    trials,
)
from netsim.views import sweep as response
from netsim.views.gathering import swept
from netsim.views.gathering.comparison import SweepDesign
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.page import marks, sweep_page

ACCURACIES = {  # by point: of each algorithm, seed 0 and seed 1
    "a": {"dpsgd": (0.50, 0.60), "local": (0.40, 0.44)},
    "b": {"dpsgd": (0.56, 0.62), "local": (0.40, 0.44)},
}
VALUES = {"a": {"x": 1, "kind": "one"}, "b": {"x": 100, "kind": "two"}}


@pytest.fixture
def sweep(tmp_path, write_run):
    for point, algorithms in ACCURACIES.items():
        for algorithm, values in algorithms.items():
            for seed, value in enumerate(values):
                folder = tmp_path / point / f"seed-{seed}" / algorithm
                write_run(folder, algorithm=algorithm)
                path = folder / "summary.json"
                told = json.loads(path.read_text())
                told["accuracy"]["mean"], told["seed"] = value, seed
                path.write_text(json.dumps(told))
    return SweepTables(tmp_path, SweepDesign(VALUES, (0, 1)))


NAMES = {"a": "X 1, kind one", "b": "X 100, kind two", "dpsgd": "D-PSGD", "local": "Local"}
"""Points and methods as people write them."""


def data(view, sweep):
    """The data from which a browser draws a view's own mark."""
    return view.of_sweep(sweep).panels[0].mark.data


def cell(found, point, algorithm, view):
    at = [one["name"] for one in found["measures"]].index("accuracy")
    return next(
        row[view][at]
        for row in found["rows"]
        if (row["point"], row["algorithm"]) == (NAMES[point], NAMES[algorithm])
    )


def test_differences_are_paired_by_seed(sweep):
    found = differences.gather(sweep)
    assert cell(found, "a", "dpsgd", "mean")[0] == pytest.approx(0.55)
    # dpsgd at b against a: 0.06 and 0.02; t(0.975, 1) = 12.706, s = 0.0283, half = 0.254
    mean, half, seeds, each = cell(found, "b", "dpsgd", "to_point")
    assert (mean, half, seeds) == (pytest.approx(0.04), pytest.approx(0.2541, rel=1e-3), 2)
    assert each == pytest.approx([0.06, 0.02])
    assert cell(found, "a", "dpsgd", "to_point") is None
    # local against dpsgd at a: -0.10 and -0.16
    assert cell(found, "a", "local", "to_algorithm")[0] == pytest.approx(-0.13)
    assert cell(found, "a", "dpsgd", "to_algorithm") is None


def test_curves_are_means_over_seeds(sweep):
    found = data(multiples, sweep)
    assert [one["point"] for one in found["points"]] == [NAMES["a"], NAMES["b"]]
    line = found["points"][0]["lines"][0]
    assert (line["algorithm"], line["seeds"]) == ("D-PSGD", 2)
    assert (line["t_s"], line["mean"]) == ([5, 10], [0.4, 0.6])
    assert line["each"] == [[0.4, 0.6]] * 2
    assert found["around"] == "thin lines: the two seeds"


def test_axes_of_parallel_coordinates(sweep):
    axes = {axis["title"]: axis for axis in data(parallel, sweep)["axes"]}
    assert axes["X"]["is_log"]
    assert axes["X"]["values"] == [1, 1, 100, 100]
    assert axes["Kind"]["words"] == ["one", "two"]
    assert axes["Kind"]["values"] == [0, 0, 1, 1]
    assert axes["accuracy [%]"]["values"] == [55, 42, 59, 42]


def test_tables_of_one_kind_have_places_of_their_own(sweep):
    """They differ in a number alone; a third one would look like them as an error shortens it."""
    long = [{"kind": "x", "name": "n" * 70, "alpha": alpha} for alpha in (1.0, 5.0)]
    values = {
        point: {"x": x, "kind": table} for point, x, table in zip("ab", (1, 2), long, strict=True)
    }
    tables = SweepTables(sweep.folder, SweepDesign(values, (0, 1)))
    axes = {axis["title"]: axis for axis in data(parallel, tables)["axes"]}
    assert axes["Kind"]["values"] == [0, 0, 1, 1]
    found = points.of_sweep(tables).panels[0].table["kind"]
    assert len(set(found)) == 2
    assert [run.labels["kind"] for run in tables.runs].count(tables.runs[0].labels["kind"]) == 4


def test_means_over_fewer_seeds_are_said_to_be(sweep):
    """Of two runs one does not say how long it took; then it is not there at all."""
    path = sweep.folder / "b" / "seed-1" / "dpsgd" / "summary.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in told.items() if k != "wall_s"}))
    panel = points.of_sweep(sweep).panels[0]
    assert "over fewer seeds: wall." in panel.mark.caption
    shown = response.gather(sweep.lines, ["accuracy", "wall_s"])
    assert "over fewer seeds: wall\n" in f"{shown.about}\n"
    assert response_map.of_sweep(sweep).about.startswith("mean over 2 seeds")
    path.unlink()
    ended = SweepTables(sweep.folder, sweep.design)
    assert response_map.of_sweep(ended).about.startswith("mean over 1 to 2 seeds")
    assert "fewer" not in points.of_sweep(ended).panels[0].mark.caption


@pytest.mark.parametrize(
    "pair",
    [
        (1.00001, 1.00002),
        (20241, 20242),
        ("1", 1),
        ("true", True),
        ([1], "[1]"),
        ({"kind": "x", "a": 1.0, "b": 2.0}, {"kind": "x", "a": 3.0, "b": 4.0}),
        ({"kind": "x", "a": 20241, "b": "y"}, {"kind": "x", "a": 20242, "b": "z"}),
    ],
)
def test_unlike_values_look_unlike(write_run, tmp_path, pair):
    """As a line of their own, on axes, in names of points, on the map and in the facts."""
    places = [(a, b) for a in (0, 1) for b in (0, 1, 2)]
    points = {f"p{a}{b}": {"t.key": pair[a], "u.x": b} for a, b in places}
    for point in points:
        write_run(tmp_path / point / "seed-0" / "dpsgd", messages=(), weights=(), wakes=())
    tables = SweepTables(tmp_path, SweepDesign(points, (0,)))
    facts = dict(data(sweep_facts, tables)["entries"])
    assert len(facts["points"]) == 1
    assert len(set(tables.point_names.values())) == 6
    lines = response.of_sweep(tables).panels[0].mark.curves
    assert len(lines) == 2
    (panel,) = response_map.of_sweep(tables).panels
    assert [len(set(ticks)) for ticks in panel.mark.ticks] == [2, 3]
    assert len(set(zip(panel.table["row"], panel.table["column"], strict=True))) == 6
    alone = {name: {"t.key": values["t.key"]} for name, values in points.items() if name[2] == "0"}
    tables = SweepTables(tmp_path, SweepDesign(alone, (0,)))
    (told,) = [text for _, text in data(sweep_facts, tables)["entries"][4:]]
    assert told != told.partition(", ")[0]
    drawn = marks.section(response.of_sweep(tables), "")["panels"][0]["data"]
    assert len(set(drawn["ticks"])) == len(drawn["at"]) == 2


def test_a_map_has_numbers_by_size(sweep):
    design = SweepDesign({"a": {"x": 10, "y": 1}, "b": {"x": 0.001, "y": 2}}, (0, 1))
    panel = response_map.of_sweep(SweepTables(sweep.folder, design)).panels[0]
    assert panel.mark.ticks == (("0.001", "10"), ("1", "2"))
    assert panel.table["row"].tolist() == [1, 0]
    assert panel.table["column"].tolist() == [0, 1]


def test_a_map_in_words_has_values_of_keys_and_not_their_places(sweep):
    shown = response_map.of_sweep(sweep)
    assert [(row["X"], row["Kind"], row["algorithm"]) for row in shown.short] == [
        ("1", "one", "D-PSGD"),
        ("1", "one", "Local"),
        ("100", "two", "D-PSGD"),
        ("100", "two", "Local"),
    ]
    assert shown.short[0]["accuracy [%]"] == "55.0 ± 63.5"  # 12.706 * 0.0707 / sqrt(2)
    assert [(row["x"], row["kind"], row["mean"]) for row in shown.rows][::2] == [
        (1, "one", pytest.approx(0.55)),
        (100, "two", pytest.approx(0.59)),
    ]


def test_a_distribution_says_of_how_many_seeds_its_curves_are(sweep):
    runs = [run for run in sweep.runs if run.folder != sweep.folder / "b/seed-1/local"]
    told = cdf.of_runs(runs, Ask(("delay",))).about
    assert told == "3 nodes of each of 1 to 2 seeds"


def test_a_reference_that_several_curves_are_of_is_refused(sweep):
    """At each point it is another one, and the first would be as good as any."""
    with pytest.raises(ScenarioError, match="2 curves are of it: a/Local, b/Local; name one"):
        accuracy.of_runs(sweep.runs, Ask(paired_to="local"))


def test_a_figure_of_a_sweep_has_its_runs_that_have_ended(sweep):
    """Neither what is under way nor what was put aside, and those in the sweep's order."""
    (sweep.folder / "scenario.toml").write_text(
        "[[algorithm]]\nname = 'dpsgd'\n[[algorithm]]\nname = 'local'\n"
        "[sweep]\nseeds = [0, 1]\nover = { x = ['b', 'a'] }\n"
    )
    for label in "ab":
        (sweep.folder / label).rename(sweep.folder / f"x={label}")
    at = sweep.folder / "x=b"
    shutil.copytree(at / "seed-0", at / "seed-0.unfinished-1")
    (at / "seed-1/local/summary.json").unlink()
    found = [str(run.relative_to(sweep.folder)) for run in plot.folders_of(sweep.folder)]
    assert found == [
        *("x=b/seed-0/dpsgd", "x=b/seed-0/local", "x=b/seed-1/dpsgd"),
        *(f"x=a/seed-{seed}/{name}" for seed in (0, 1) for name in ("dpsgd", "local")),
    ]
    assert not any("unfinished" in str(run) for run in plot.folders_of(at))


def test_a_copied_run_is_not_taken_for_one_more_seed_without_a_word(sweep):
    shutil.copytree(sweep.folder / "a/seed-0", sweep.folder / "a/seed-2")
    tables = SweepTables(sweep.folder, SweepDesign(VALUES, (0, 1, 2)))
    notices = sweep_page.content(tables)["runs"][0]["notices"]
    assert [line.partition(",")[0] for line in notices if "counted as one of another" in line] == [
        "a/seed-2/dpsgd is a run of seed 0",
        "a/seed-2/local is a run of seed 0",
    ]
    notices = sweep_page.content(sweep)["runs"][0]["notices"]
    assert not any("counted as one" in line for line in notices)


def _of_value(sweep, label, tables):
    for run in (sweep.folder / label).glob("seed-*/*"):
        algorithm = {"algorithm": {"kind": run.name, "name": run.name, "lr": 3}}
        (run / "scenario.toml").write_text(tomli_w.dumps(algorithm | tables))


@pytest.mark.parametrize(
    ("values", "tables", "told"),
    [
        ({"a": 1, "b": 3}, {"x": {"y": 3.0}}, "x.y = 3.0"),
        ({"a": 1, "b": 3}, {"x": {"y": 7}}, "x.y = 7"),  # of another sweep
        ({"a": 1, "b": 3}, {"x": {"y": 1.0}}, None),
        ({"a": 1, "b": 3}, {}, None),
        ({"a": "here.csv", "b": "b.csv"}, {"x": {"y": "/there/here.csv"}}, None),
        ({"a": "here.csv", "b": "b.csv"}, {"x": {"y": "b.csv"}}, "x.y = b.csv"),
        ({"a": {"k": "p"}, "b": {"k": "q"}}, {"x": {"y": {"k": "p", "more": 1}}}, None),
        ({"a": {"k": "p"}, "b": {"k": "q"}}, {"x": {"y": {"k": "q", "more": 1}}}, "x.y = "),
        ({"a": [1, 2], "b": [3]}, {"x": {"y": [3.0]}}, "x.y = [3.0]"),
        ({"a": True, "b": False}, {"x": {"y": False}}, "x.y = False"),
    ],
)
def test_a_run_at_the_place_of_another_point_is_told(sweep, values, tables, told):
    points = {label: {"x.y": value} for label, value in values.items()}
    _of_value(sweep, "a", tables)
    notices = SweepTables(sweep.folder, SweepDesign(points, (0, 1)))
    lines = sweep_page.content(notices)["runs"][0]["notices"]
    lines = [line for line in lines if "counted as one of another" in line]
    assert bool(lines) == (told is not None)
    assert all(line.startswith("a/seed-") and told in line for line in lines)


def test_a_key_of_one_algorithm_tells_nothing_of_the_others(sweep):
    points = {"a": {"algorithm.dpsgd.lr": 1}, "b": {"algorithm.dpsgd.lr": 3}}
    _of_value(sweep, "a", {})
    found = changed_in(sweep.folder, sorted(sweep.folder.glob("a/seed-*/*")), points)
    assert [line.partition(" is a run of ")[::2] for line in found] == [
        (f"a/seed-{seed}/dpsgd", found[0].partition(" is a run of ")[2]) for seed in (0, 1)
    ]


@pytest.mark.parametrize(
    "own", [{"x.y": 3}, {"x": {"y": 3}}, {"x.y.z": 2}, {"x": {"y": {"z": 2}}}, {"x": {}}]
)
def test_a_key_that_an_algorithm_sets_tells_nothing_of_its_point(sweep, own):
    """Runs of that algorithm have its value at every point, those of others the point's."""
    points = {"a": {"x.y": 1}, "b": {"x.y": 3}}
    _of_value(sweep, "a", {"x": {"y": 3}})
    entries = [{"kind": "dpsgd", "name": "dpsgd", "set": own}, {"kind": "local", "name": "local"}]
    (sweep.folder / "scenario.toml").write_text(tomli_w.dumps({"algorithm": entries}))
    found = changed_in(sweep.folder, sorted(sweep.folder.glob("a/seed-*/*")), points)
    named = {line.partition(" is a run of ")[0].partition("/")[2][7:] for line in found}
    assert named == ({"dpsgd", "local"} if own == {"x": {}} else {"local"})


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"x": {"y": 1, "z": 2.0}}, None),
        ({"x": {"y": 1, "z": 5}}, "x.z = 5, and the sweep has 2"),
        ({"x": {"y": 1, "z": 2}, "changes": [{"at_s": 3.0}]}, "changes = [{'at_s': 3.0}], and"),
        ({"x": {"y": 1, "z": 2, "level": "message"}}, None),  # found by the run: it says "auto"
        ({"x": {"y": 1, "z": 2}, "kinds": {"kind": "b", "b_s": 1}}, None),  # varied with its table
        ({"x": {"y": 1, "z": 2}, "run": {"threads": 3}}, None),
    ],
)
def test_a_run_that_was_played_with_another_scenario_than_its_sweep_is_told(sweep, there, told):
    """As after `netsim resume RUN --with-changes`, or of a copy from another sweep."""
    points = {"a": {"x.y": 1, "kinds.kind": "b"}, "b": {"x.y": 3, "kinds.kind": "a"}}
    whole = {"x": {"y": 9, "z": 2, "level": "auto"}, "kinds": {"kind": "a", "a_s": 1}}
    (sweep.folder / "scenario.toml").write_text(tomli_w.dumps(whole | {"run": {"threads": 1}}))
    _of_value(sweep, "a", there)
    found = changed_in(sweep.folder, sorted(sweep.folder.glob("a/seed-*/*")), points)
    assert bool(found) == (told is not None)
    assert all(f" was played with {told}" in line for line in found)


def test_a_run_of_an_algorithm_that_the_sweep_does_not_have_is_told(sweep):
    entries = [{"kind": "dpsgd", "name": "dpsgd"}]
    (sweep.folder / "scenario.toml").write_text(tomli_w.dumps({"algorithm": entries}))
    found = changed_in(sweep.folder, sorted(sweep.folder.glob("a/seed-0/*")), {"a": {}})
    assert found == [
        "a/seed-0/local is of no algorithm of this sweep, and is counted beside them: move it to "
        "another folder"
    ]


def test_the_edited_scenario_of_a_run_is_told(sweep):
    run = sweep.folder / "a" / "seed-0" / "local"
    _of_value(sweep, "a", {})
    files = [path for path in run.rglob("*") if path.is_file()]
    sums = {path.relative_to(run).as_posix(): checksums.sha256(path) for path in files}
    (run / "checksums.json").write_text(json.dumps({"sha256": sums}))
    assert not changed_in(sweep.folder, [run], {"a": {"x.y": 1}})
    _of_value(sweep, "a", {"x": {"y": 1}})
    found = changed_in(sweep.folder, [run], {"a": {"x.y": 1}})
    assert "scenario.toml: is not what the run has written" in found[0]


def test_an_algorithm_of_which_no_run_has_ended_is_named(sweep):
    design = SweepDesign(VALUES, (0, 1), algorithms=("dpsgd", "local", "fedavg"))
    notices = sweep_page.content(SweepTables(sweep.folder, design))["runs"][0]["notices"]
    assert notices[0] == "This sweep is not whole: 4 of 12 runs are not there."
    assert notices[1] == "No run has ended of fedavg."


def trial(point, values, score=None, algorithm="dpsgd"):
    state = "failed" if score is None else "done"
    named = {"point": point, "algorithm": algorithm, "values": values}
    return {**named, "state": state, "score": score}


@pytest.mark.parametrize(
    ("select", "order"),
    [(None, ["b", "a", "c"]), ("accuracy", ["b", "a", "c"]), ("delay.mean_s", ["a", "b", "c"])],
)
def test_trials_stand_in_the_order_of_their_scores_with_what_they_drew(sweep, select, order):
    """Those without a score come last, the lowest first where low is best; no differences."""
    values = {"c": {"x": 4.0}, "a": {"x": 1.0}, "b": {"x": 2.0, "algorithm.dpsgd.mu": 0.1}}
    scores = {"a": 0.25, "b": 0.5, "c": None}
    found = [trial(point, values[point], scores[point]) for point in values]
    tables = SweepTables(sweep.folder, SweepDesign(values, (0, 1), select=select), found)
    shown = trials.of_sweep(tables)
    table = shown.panels[0].table
    assert table["trial"].tolist() == order
    drawn = dict(zip(table["trial"].tolist(), table["x"].tolist(), strict=True))
    assert drawn == {"a": 1.0, "b": 2.0, "c": 4.0}
    assert np.isnan(table["score"][-1])
    assert np.isnan(table["accuracy"][-1])
    words = shown.printed
    assert words.names["trial"] == order
    assert words.names["state"] == ["done", "done", "failed"]
    by_title = {column.title.partition("\n")[0]: column.cells for column in words.columns}
    assert by_title["x"] == [f"{values[point]['x']:g}" for point in order]
    assert sorted(by_title["dpsgd: mu"]) == ["", "", "0.1"]
    assert not any("Δ" in title for title in by_title)
    assert all(cell.difference is None for line in tables.lines for cell in line.estimates.values())
    assert differences.of_sweep(tables) is None
    assert points.of_sweep(tables) is None


def test_trials_have_keys_of_their_own_method(sweep):
    """A key of another method is left out of a trial: it is drawn over those that have it."""
    values = {"a": {"x": 1, "algorithm.dpsgd.mu": 2.0}, "b": {"x": 3}}
    trials = [trial(point, values[point]) for point in values]
    tables = SweepTables(sweep.folder, SweepDesign(values, (0, 1)), trials)
    assert "sweep" in sweep_page.content(tables)["runs"][0]["panels"]
    values["b"]["algorithm.dpsgd.mu"] = 4.0
    values["c"] = {"x": 5}
    (sweep.folder / "b").rename(sweep.folder / "c")
    shutil.copytree(sweep.folder / "a", sweep.folder / "b")
    tables = SweepTables(sweep.folder, SweepDesign(values, (0, 1)), trials)
    shown = response.gather(tables.lines, ["accuracy"], is_search=True)
    drawn = {panel.mark.x.label: set(panel.table["x"].tolist()) for panel in shown.panels}
    assert drawn == {"X": {1, 3, 5}, "DPSGD: mu": {2, 4}}
    assert ["DPSGD: mu" in row for row in shown.short] == [True, True, False] * 2


def test_one_swept_key_has_no_parallel_coordinates(sweep):
    design = SweepDesign({"a": {"x": 1}, "b": {"x": 2}}, (0, 1))
    assert parallel.of_sweep(SweepTables(sweep.folder, design)) is None


def test_the_table_has_a_row_a_point_and_algorithm(sweep):
    table = points.of_sweep(sweep).panels[0].table
    assert table["point"].tolist() == ["a", "a", "b", "b"]
    assert table["accuracy"] == pytest.approx([0.55, 0.42, 0.59, 0.42])


def test_runs_that_are_missing_are_counted(sweep):
    (sweep.folder / "b" / "seed-1" / "local" / "summary.json").unlink()
    sweep_page.report(SweepTables(sweep.folder, sweep.design), sweep.folder / "report.html")
    assert "1 of 8 runs are not there" in (sweep.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (
            {"p": {"radio.bandwidth_hz": 2e5, "exchange.period_s": 5}},
            ["bandwidth 200 kHz, period 5 s"],
        ),
        (
            {"p": {"link.loss": 0.1}, "q": {"link.loss": 0.25}},
            ["link: loss 0.1", "link: loss 0.25"],
        ),
        ({"p": {"x": 1.00001}, "q": {"x": 1.00002}}, ["X 1.00001", "X 1.00002"]),
        ({"p": {"x": "y" * 70}}, ["p"]),  # too long
        ({"base": {}}, ["base"]),
    ],
)
def test_a_point_is_called_by_its_values_with_their_units(points, told):
    assert list(swept.point_names(points).values()) == told
