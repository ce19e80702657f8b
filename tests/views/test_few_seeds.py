"""Two or three seeds are drawn themselves, four have intervals, on paper and on the page alike."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from netsim.recording import summary
from netsim.recording.reader import RunFolder
from netsim.views import Ask, accuracy, differences, sweep
from netsim.views.gathering import comparison
from netsim.views.gathering.comparison import SweepDesign
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import paper
from netsim.views.render.page.marks import section

COLUMN = paper(3.5)
WORDS = {2: "dots: the two seeds", 3: "dots: the three seeds", 4: "bars: 95 % interval"}
ACCURACIES = (0.5, 0.62, 0.58, 0.7)


def put(folder, seeds_at) -> SweepTables:
    """Write a sweep: D-PSGD is 0.1 better than Local, at each point with so many seeds."""
    for point, seeds in seeds_at.items():
        for name, more in (("local", 0.0), ("dpsgd", 0.1)):
            for seed in range(seeds):
                run = folder / point / f"seed-{seed}" / name
                run.mkdir(parents=True)
                mean = {"mean": ACCURACIES[seed] + more * (1 + seed)}
                summary.write_json(run / "summary.json", {"algorithm": name, "accuracy": mean})
    values = {point: {"x": k} for k, point in enumerate(seeds_at)}
    return SweepTables(folder, SweepDesign(values, tuple(range(max(seeds_at.values())))))


def response(found: SweepTables, minus: str):
    lines = found.lines_to(minus)
    shown = sweep.gather(lines, ["accuracy"], minus)
    with plot_style.style(COLUMN):
        drawn = panels.draw(shown, sheet=COLUMN)
    return drawn, section(shown, "Response")


def bars_of(panel):
    """Heights of bars, of those that have any."""
    segments = [
        s for one in panel.containers for lines in one.lines[2] for s in lines.get_segments()
    ]
    tall = np.array([np.ptp(s[:, 1]) for s in segments if len(s)])
    return tall[np.isfinite(tall) & (tall > 0)]


def dots_of(panel):
    return [y for line in panel.lines if line.get_zorder() == 4 for y in line.get_ydata()]


def note_of(drawn):
    (legend,) = drawn.figure.legends
    return " ".join(legend.get_title().get_text().split())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seeds", [1, 2, 3, 4])
def test_a_response_shows_few_seeds_and_the_interval_of_more(tmp_path, seeds):
    drawn, page = response(put(tmp_path, {"a": seeds, "b": seeds}), "local")
    above, below = drawn.figure.axes
    few = seeds in (2, 3)
    own = [100 * value for value in ACCURACIES[:seeds]]
    better = [10.0 * (1 + seed) for seed in range(seeds)]
    for panel, data, expected in zip(
        (above, below),
        (one["data"] for one in page["panels"]),
        (
            [*[a + b for a, b in zip(own, better, strict=True)] * 2, *own * 2],
            better * 2,
        ),
        strict=True,
    ):
        assert sorted(dots_of(panel)) == pytest.approx(sorted(expected) if few else [])
        on_page = [value for line in data["lines"] for each in line["each"] for value in each]
        assert sorted(on_page) == pytest.approx(sorted(expected) if few else [], rel=1e-3)
        assert bool(len(bars_of(panel))) == (seeds == 4)
        low, high = panel.get_ylim()
        assert not few or high - low < 1.3 * np.ptp([*expected, 0.0])  # no room for an interval
    for words in (note_of(drawn), page["about"]):
        assert [word for word in ("dots:", "bars:") if word in words] == (
            [] if seeds == 1 else [WORDS[seeds][:5]]
        )
        assert WORDS.get(seeds, "one seed") in words
    # tables have the interval of any several seeds
    assert ("±" in drawn.short[0]["Accuracy [%]"]) == (seeds > 1)
    assert ("±: 95 % interval" in drawn.about) == (seeds > 1)


def test_points_of_unequal_seeds_say_both(tmp_path):
    drawn, page = response(put(tmp_path, {"a": 2, "b": 4}), "local")
    for words in (note_of(drawn), page["about"]):
        assert "dots: the two seeds; bars: 95 % interval, of four seeds and more" in words
    above, _ = drawn.figure.axes
    assert len(dots_of(above)) == 2 * 2
    assert len(bars_of(above)) == 2


@pytest.mark.parametrize("seeds", [1, 2, 3, 4])
def test_differences_on_the_page_show_few_seeds(tmp_path, seeds):
    found = differences.gather(put(tmp_path, {"a": seeds}))
    (dpsgd, local) = found["rows"]
    few = seeds in (2, 3)
    for view, told in (("mean", local["mean"][0]), ("to_algorithm", local["to_algorithm"][0])):
        expected = {
            "mean": ACCURACIES[:seeds],
            "to_algorithm": [-0.1 - 0.1 * k for k in range(seeds)],
        }
        assert told[3] == (pytest.approx(list(expected[view])) if few else None)
        assert found["around"][view][0]["drawn"] == WORDS.get(seeds, "")
        assert found["around"][view][0]["has_bars"] == (seeds == 4)
    assert dpsgd["to_point"][0] is None


@pytest.fixture
def runs(tmp_path, written):
    def play(curves, seeds):
        names = ("kd_pdfl", "fedavg", "local", "dpsgd", "ditto")[:curves]
        for k, name in enumerate(names):
            for seed in range(seeds):
                folder = tmp_path / f"seed-{seed}" / name
                gain = 0.2 + 0.05 * k
                written(folder, name, seed=seed, nodes=4, evaluations=4, gain=gain)
        return [
            RunFolder.ended(tmp_path / f"seed-{s}" / name) for name in names for s in range(seeds)
        ]

    return play


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("curves", "seeds", "on_paper", "on_page"),
    [
        (2, 1, "band: ± standard deviation over nodes", "band: ± standard deviation over nodes"),
        (2, 2, "thin lines: the two seeds", "thin lines: the two seeds"),
        (3, 3, "thin lines: the three seeds", "thin lines: the three seeds"),
        (2, 4, "band: 95 % interval over seeds", "band: 95 % interval over seeds"),
        (4, 2, "thin lines: the two seeds", "Single seeds"),
        (5, 2, "dots: the two seeds", "Single seeds"),
        (5, 1, "bars: ± standard deviation over nodes", "Bands"),
    ],
)
def test_captions_of_curves_say_what_is_drawn(runs, curves, seeds, on_paper, on_page):
    shown = accuracy.of_runs(runs(curves, seeds), Ask(("accuracy",), on_paper=True))
    with plot_style.style(COLUMN):
        drawn = panels.draw(shown, sheet=COLUMN)
    kinds = ("thin lines", "dots", "band", "bars")
    assert [kind for kind in kinds if f"{kind}:" in note_of(drawn)] == [on_paper.split(":")[0]]
    assert on_paper in note_of(drawn)
    page = section(shown, "Accuracy")
    (data,) = (panel["data"] for panel in page["panels"])
    (panel,) = drawn.figure.axes
    few = seeds in (2, 3)
    if curves <= 3:
        assert on_page in page["about"]
        assert data["left_out"] == ""
        for line in data["lines"]:
            assert ("each" in line) == few
            assert ("low" in line) == (not few)
            assert not few or len(line["each"]) == seeds
    else:
        assert not any(f"{kind}:" in page["about"] for kind in kinds)
        assert data["left_out"] == on_page
        assert not any({"each", "low"} & set(line) for line in data["lines"])
    # a thin line a seed, whose mean is the curve
    thin = [line for line in panel.lines if line.get_linewidth() == 0.7]
    assert len(thin) == (curves * seeds if few and curves <= 4 else 0)
    assert bool(panel.collections) == (not few)
    for curve in [line for line in panel.lines if line.get_marker() != "None" and thin]:
        same = [t for t in thin if to_rgba(t.get_color()) == to_rgba(curve.get_color())]
        mean = np.mean([t.get_ydata() for t in same], axis=0)
        assert curve.get_ydata() == pytest.approx(mean)


def test_a_band_that_is_asked_for_is_drawn(runs):
    shown = accuracy.of_runs(runs(2, 2), Ask(("accuracy",), band="interval", on_paper=True))
    assert "band: 95 % interval over seeds" in section(shown, "")["about"]
    assert not shown.panels[0].mark.each


def test_numbers_of_seeds_are_told_in_words():
    told = {
        (1,): None,
        (1, 2, 2): "dots: the two seeds",
        (2, 3): "dots: the two or three seeds",
        (3, 9): "dots: the three seeds; bars: s, of four seeds and more",
        (4, 1): "bars: s",
    }
    for counts, words in told.items():
        found = comparison.spread_in_words(counts, "s")
        assert (None if found is None else found.drawn("dots", "bars")) == words
