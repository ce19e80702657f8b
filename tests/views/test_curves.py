"""Curves: what is drawn is what the tables hold, and bands are what their names say."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from netsim.errors import ScenarioError
from netsim.recording.reader import RunFolder
from netsim.views import Ask, accuracy
from netsim.views.gathering import frames
from netsim.views.gathering import runs as of_runs
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import SCREEN, paper

COLUMN = paper(3.5)
NAMES = ("kd_pdfl", "fedavg", "local")


def drawn(folders, metrics=("accuracy",), against=("time",), sheet=COLUMN, **more):
    ask = Ask(tuple(metrics), on_paper=not sheet.has_heading, against=tuple(against), **more)
    with plot_style.style(sheet):
        shown = accuracy.of_runs([RunFolder.ended(folder) for folder in folders], ask)
        return panels.draw(shown, sheet=sheet)


def per_seed(folders, metric="accuracy"):
    """Mean over nodes by time and seed, straight from the files."""
    found = {}
    for folder in folders:
        rows = pd.read_parquet(folder / "metrics")
        found[folder] = rows[rows.metric == metric].groupby("t_s")["value"].mean()
    return pd.DataFrame(found)


@pytest.fixture
def three_seeds(tmp_path, written):
    folders = {}
    for k, name in enumerate(NAMES):
        for seed in (0, 1, 2):
            folder = tmp_path / f"seed-{seed}" / name
            written(folder, name, seed=seed, nodes=6, evaluations=4, gain=0.2 + 0.05 * k)
            folders.setdefault(name, []).append(folder)
    return folders


def every(three_seeds):
    return [folder for group in three_seeds.values() for folder in group]


@pytest.mark.slow
def test_lines_and_intervals_are_those_of_the_tables(three_seeds):
    found = drawn(every(three_seeds), band="interval")
    rows = pd.DataFrame(found.rows)
    assert list(dict.fromkeys(rows.curve)) == ["KD-PDFL", "FedAvg", "Local"]
    for title, name in (("KD-PDFL", "kd_pdfl"), ("Local", "local")):
        table = per_seed(three_seeds[name])
        mine = rows[rows.curve == title]
        assert mine["mean"].to_numpy() == pytest.approx(table.mean(axis=1).to_numpy())
        assert mine.x.to_numpy() == pytest.approx(table.index.to_numpy())
        low, high = stats.t.interval(
            0.95, 2, table.mean(axis=1), stats.sem(table.to_numpy(), axis=1)
        )
        assert mine.low.to_numpy() == pytest.approx(low)
        assert mine.high.to_numpy() == pytest.approx(high)
    (panel,) = found.figure.axes
    lines = [line for line in panel.lines if line.get_marker() != "None"]
    for line, (_, mine) in zip(lines, rows.groupby("curve", sort=False), strict=True):
        assert line.get_ydata() == pytest.approx(mine["mean"].to_numpy())
    assert "95 % interval over seeds" in found.about
    assert "95 % interval over seeds" in found.figure.legends[0].get_title().get_text()


@pytest.mark.slow
def test_a_band_is_what_is_asked_for(three_seeds):
    table = per_seed(three_seeds["local"])
    found = pd.DataFrame(drawn(three_seeds["local"], band="std").rows)
    assert (found.high - found["mean"]).to_numpy() == pytest.approx(table.std(axis=1).to_numpy())
    spreads = [
        rows[rows.metric == "accuracy"].groupby("t_s")["value"].std(ddof=0)
        for rows in map(pd.read_parquet, (folder / "metrics" for folder in three_seeds["local"]))
    ]
    found = pd.DataFrame(drawn(three_seeds["local"], band="nodes").rows)
    expected = np.mean(spreads, axis=0)
    assert (found["mean"] - found.low).to_numpy() == pytest.approx(expected)
    assert set(pd.DataFrame(drawn(three_seeds["local"], band="none").rows)["band"]) == {"none"}
    told = drawn(three_seeds["local"], sheet=SCREEN, band="std").figure.legends[0].get_title()
    assert "band: ± standard deviation over seeds" in told.get_text().replace("\n", " ")


def test_a_run_is_no_pair_of_several_points_at_once(three_seeds):
    """A mean over points that nobody names would be no difference of two settings."""
    one, other = three_seeds["kd_pdfl"][0], three_seeds["fedavg"][0]
    here = [RunFolder(one, {"seed": 0, "algorithm": "kd_pdfl"})]
    there = [
        RunFolder(other, {"link.loss": x, "seed": 0, "algorithm": "fedavg"}) for x in (0.1, 0.2)
    ]
    with pytest.raises(ScenarioError, match=r"2 runs there .* differ in link\.loss"):
        frames.compare(here, there)
    assert len(frames.compare(there, here).by_algorithm) == 2
    assert len(frames.compare(here, there[:1]).by_algorithm) == 1


@pytest.mark.slow
def test_paired_differences_are_those_that_a_comparison_of_runs_finds(three_seeds):
    found = drawn(every(three_seeds), paired_to="fedavg")
    rows = pd.DataFrame(found.rows)
    mine = rows[(rows.metric == "accuracy minus FedAvg") & (rows.curve == "KD-PDFL")]
    sides = [
        [RunFolder(f, {"seed": s, "algorithm": name}) for s, f in enumerate(three_seeds[name])]
        for name in ("kd_pdfl", "fedavg")
    ]
    expected = frames.compare(*sides).by_algorithm.iloc[0]
    last = mine.iloc[-1]
    assert last["mean"] == pytest.approx(expected["diff"])
    assert last.low == pytest.approx(expected["diff_low"])
    assert last.high == pytest.approx(expected["diff_high"])
    values = (
        per_seed(three_seeds["kd_pdfl"]).to_numpy() - per_seed(three_seeds["fedavg"]).to_numpy()
    )
    half = stats.t.ppf(0.975, 2) * stats.sem(values, axis=1)
    assert (mine.high - mine["mean"]).to_numpy() == pytest.approx(half)
    labels = [panel.get_ylabel() for panel in found.figure.axes]
    assert labels == ["Test accuracy [%]", "Difference to\nFedAvg [pp]"]


def test_one_seed_is_paired_node_by_node(tmp_path, written):
    for name in ("kd_pdfl", "local"):
        written(tmp_path / name, name, nodes=6, evaluations=3)
    found = drawn([tmp_path / "kd_pdfl", tmp_path / "local"], paired_to="Local")
    tables = [
        rows[rows.metric == "accuracy"].pivot(index="t_s", columns="node", values="value")
        for rows in (pd.read_parquet(tmp_path / n / "metrics") for n in ("kd_pdfl", "local"))
    ]
    rows = pd.DataFrame(found.rows)
    mine = rows[rows.metric == "accuracy minus Local"]
    values = tables[0] - tables[1]
    assert mine["mean"].to_numpy() == pytest.approx(values.mean(axis=1).to_numpy())
    spread = values.std(axis=1, ddof=0).to_numpy()
    assert (mine.high - mine["mean"]).to_numpy() == pytest.approx(spread)


def test_lines_begin_where_every_node_has_a_model(tmp_path, written):
    for name in ("kd_pdfl", "local"):
        written(tmp_path / name, name, nodes=6, evaluations=3)
    (part,) = (tmp_path / "kd_pdfl" / "metrics").glob("*.parquet")
    table = pd.read_parquet(part)
    first, *later = sorted(table.t_s.unique())
    table[(table.t_s > first) | (table.node < 2)].to_parquet(part)
    found = drawn([tmp_path / "kd_pdfl", tmp_path / "local"], paired_to="Local")
    rows = pd.DataFrame(found.rows)
    assert rows[(rows.metric == "accuracy") & (rows.curve == "KD-PDFL")].x.tolist() == later
    assert rows[(rows.metric == "accuracy") & (rows.curve == "Local")].x.tolist() == [first, *later]
    assert rows[rows.metric == "accuracy minus Local"].x.tolist() == later


def test_seeds_that_measured_nothing_are_not_counted(tmp_path, written):
    """A curve over two of three seeds says two."""
    folders = [tmp_path / f"seed-{seed}" / "local" for seed in (0, 1, 2)]
    for seed, folder in enumerate(folders):
        written(folder, "local", seed=seed, nodes=3, evaluations=3)
    (part,) = (folders[1] / "metrics").glob("*.parquet")
    pd.read_parquet(part).iloc[:0].to_parquet(part)
    shown = accuracy.of_runs([RunFolder.ended(folder) for folder in folders], Ask(("accuracy",)))
    assert shown.about == "mean over nodes and 2 seeds"
    assert set(shown.panels[0].table["seeds"]) == {2}


def test_bands_of_shares_end_at_nought_and_one_hundred_percent(tmp_path, written):
    for seed, gain in ((0, 0.75), (1, 0.3)):
        written(tmp_path / f"seed-{seed}/local", "local", seed=seed, nodes=4, gain=gain)
    folders = [tmp_path / f"seed-{seed}/local" for seed in (0, 1)]
    found = drawn(folders, band="interval")
    assert pd.DataFrame(found.rows).high.max() > 1.0
    (panel,) = found.figure.axes
    band = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() >= 0.0
    assert band.max() <= 1.0
    assert panel.get_ylim()[1] <= 1.0


def test_what_was_transmitted_and_the_airtime_are_those_of_the_traffic(tmp_path, written):
    written(tmp_path / "a", "kd_pdfl", nodes=6, evaluations=4)
    found = drawn([tmp_path / "a"], against=("megabytes", "airtime"))
    traffic = pd.read_parquet(tmp_path / "a" / "traffic")
    rows = pd.DataFrame(found.rows)
    by = dict(list(rows.groupby("against")))
    expected = traffic.bits_transmitted.to_numpy() / 8e6
    assert by["transmitted_megabytes"].x.to_numpy() == pytest.approx(expected)
    assert by["airtime_s"].x.to_numpy() == pytest.approx(traffic.airtime_s.to_numpy())
    assert [panel.get_xlabel().replace("\n", " ") for panel in found.figure.axes] == [
        "Transmitted by all nodes, headers included [MB]",
        "Airtime of all nodes [s]",
    ]


def test_many_curves_have_bars_that_stand_beside_each_other(tmp_path, written):
    names = ("kd_pdfl", "fedavg", "local", "dpsgd", "ditto")
    for name in names:
        written(tmp_path / name, name, nodes=4, evaluations=11)
    found = drawn([tmp_path / name for name in names])
    (panel,) = found.figure.axes
    assert len(panel.containers) == 5
    places = [tuple(bars.lines[0].get_xdata()) for bars in panel.containers]
    assert len(set(places)) == 5
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in panel.lines}
    assert len({colour for colour, _, _ in looks}) >= 5


def test_runs_of_other_settings_are_no_seeds_of_each_other(tmp_path, written):
    for place, seed, bandwidth in (("a", 0, 1e6), ("b", 1, 5e6)):
        folder = tmp_path / place / "local"
        written(folder, "local", seed=seed, nodes=4, evaluations=3)
        (folder / "scenario.toml").write_text(
            f"seed = {seed}\n[radio]\nbandwidth_hz = {bandwidth}\n"
        )
    groups = of_runs.groups([RunFolder.ended(tmp_path / p / "local") for p in ("a", "b")])
    assert list(groups) == ["a/Local", "b/Local"]


def test_what_can_not_be_paired_is_said(tmp_path, written):
    for place, name, seed, nodes in (
        ("a", "local", 0, 4),
        ("b", "fedavg", 1, 4),
        ("c", "dpsgd", 0, 5),
    ):
        written(tmp_path / place, name, seed=seed, nodes=nodes, evaluations=3)
    with pytest.raises(ScenarioError, match=r"--paired-to fedvg: .* did you mean \"fedavg\""):
        drawn([tmp_path / "a", tmp_path / "b"], paired_to="fedvg")
    with pytest.raises(ScenarioError, match=r"a: seed = 0: is paired with no run of b.*same seeds"):
        drawn([tmp_path / "a", tmp_path / "b"], paired_to="fedavg")
    with pytest.raises(ScenarioError, match="of other nodes"):
        drawn([tmp_path / "a", tmp_path / "c"], paired_to="dpsgd")
