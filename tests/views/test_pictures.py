import numpy as np
import pytest
from matplotlib.image import imread

from netsim.errors import ScenarioError
from netsim.recording import metrics, run_folder, summary
from netsim.recording.reader import RunFolder
from netsim.recording.recorder import Recorder
from netsim.views import deliveries
from netsim.views import weights as heatmaps
from netsim.views.gathering import runs as of_runs
from netsim.views.gathering.estimates import over_seeds
from netsim.views.render import pictures as figures
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style

S = 1_000_000_000


def names(paths):
    return [path.name for path in paths]


CURVES = ["accuracy_vs_time.png", "accuracy_vs_megabytes.png"]


@pytest.mark.slow
def test_a_run_gets_all_its_pictures(tmp_path, written):
    written(tmp_path, nodes=12, evaluations=6)
    made = figures.draw(tmp_path)
    assert names(made) == [*CURVES, "weights.png", "reached.png"]
    for path in made:
        assert path.parent == tmp_path / "figures"
        picture = imread(path)
        assert picture.shape[1] > 800
        assert picture.std() > 0.05  # not a blank sheet


@pytest.mark.slow
def test_what_was_not_recorded_is_not_drawn(tmp_path, written):
    written(tmp_path / "a", evaluations=3, weights=False, log_messages=False)
    assert names(figures.draw(tmp_path / "a")) == CURVES
    written(tmp_path / "b", nodes=1, evaluations=3, weights=False)
    assert names(figures.draw(tmp_path / "b")) == ["accuracy_vs_time.png"]
    recorder = Recorder(tmp_path / "c")
    summary.write(tmp_path / "c", {"name": "timing", "nodes": 5, **recorder.close()})
    assert figures.draw(tmp_path / "c") == []
    assert figures.draw_comparison(tmp_path, [tmp_path / "c"]) == []


@pytest.mark.slow
def test_large_networks_are_drawn_in_blocks(tmp_path, written):
    written(tmp_path, nodes=450, evaluations=2)
    assert len(figures.draw(tmp_path)) == 4
    panel = deliveries.of_run(RunFolder(tmp_path)).panels[0]
    assert panel.mark.block == 3
    assert panel.table["sender"].max() == 447
    share = panel.table["delivered"].sum() / run_folder.summary(tmp_path)["messages"]["delivered"]
    assert share == 1


@pytest.mark.slow
def test_comparison_draws_one_curve_an_algorithm(tmp_path, written):
    for name in ("kd_pdfl", "fedavg", "local"):
        written(tmp_path / name, name, evaluations=4, megabits=0 if name == "local" else 1)
    made = figures.draw_comparison(tmp_path, summary.run_folders(tmp_path))
    assert made == [tmp_path / "figures" / name for name in CURVES]


@pytest.mark.slow
def test_runs_of_one_algorithm_and_several_seeds_become_one_curve(tmp_path, written):
    folders = []
    for seed, evaluations in ((0, 5), (1, 5), (2, 3)):  # of the last at 0, 50 and 100 s alone
        folders.append(tmp_path / f"seed-{seed}" / "local")
        written(folders[-1], "local", seed=seed, evaluations=evaluations)
    runs = [RunFolder.ended(folder) for folder in folders]
    ((title, group),) = of_runs.groups(runs).items()
    line = over_seeds(title, group, "accuracy", "time", "std")
    found = [metrics.curve(r.measured, "accuracy") for r in runs]
    assert line.x.tolist() == found[2].t_s.tolist()
    means = np.stack([one.mean[np.isin(one.t_s, found[2].t_s)] for one in found])
    assert line.y == pytest.approx(means.mean(axis=0))
    assert line.half == pytest.approx(means.std(axis=0, ddof=1))
    assert len(figures.draw_comparison(tmp_path, folders)) == 2


def test_equal_algorithm_and_seed_are_told_apart_by_folder(tmp_path, written):
    folders = [tmp_path / name / "local" for name in ("slow", "fast")]
    for folder in folders:
        written(folder, "local", evaluations=3)
    groups = of_runs.groups([RunFolder.ended(folder) for folder in folders])
    assert list(groups) == ["slow/Local", "fast/Local"]


def test_a_pairs_weight_is_the_one_logged_last(tmp_path):
    recorder = Recorder(tmp_path)
    for t_s, node, peer, weight in (
        (1, 0, 1, 0.9), (1, 0, 0, 0.1), (2, 0, 1, 0.5), (2, 1, 2, 0.25), (3, 0, 2, 0.75),
    ):  # fmt: skip
        recorder.graph(t_s * S, node, peer, weight)
    recorder.close()
    peers, own = heatmaps.last_weights(run_folder.read(tmp_path, "graph"), 3)
    nan = np.nan
    np.testing.assert_equal(peers, [[nan, 0.5, 0.75], [nan, nan, 0.25], [nan] * 3])
    np.testing.assert_equal(own, [0.1, nan, nan])
    peers, own = heatmaps.last_weights(run_folder.read(tmp_path, "graph"), 3, block=2)
    np.testing.assert_equal(peers, [[0.5, 0.5], [nan, nan]])


def test_traffic_counts_pairs(tmp_path):
    recorder = Recorder(tmp_path, part_rows=2)
    for dst, outcome in ((1, "delivered"), (1, "outage"), (2, "partial"), (1, "delivered")):
        recorder.message(0, S, 0, dst, "M", 8, 1, 0, 1.0, outcome, 0, None)
    recorder.close()
    found = deliveries.of_run(RunFolder(tmp_path)).panels[0].table
    rows = zip(*(found[name].tolist() for name in found), strict=True)
    assert list(rows) == [(0, 1, 2, 2 / 3), (0, 2, 0, 0)]


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="not the folder of a finished run"):
        figures.draw(tmp_path)


@pytest.mark.slow
def test_the_map_has_places_links_and_walls(tmp_path, written):
    """Three nodes on a street; the file of the path loss knows one house."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from netsim.views import map as node_map

    written(tmp_path / "a", nodes=3)
    places = {"node": [0, 1, 2], "x_m": [0.0, 30.0, 60.0], "y_m": [0.0, 5.0, 0.0]}
    pq.write_table(pa.table(places), tmp_path / "a" / "nodes.parquet")
    assert node_map.outlines(tmp_path / "a") is None
    house = [[10, 10], [20, 10], [20, 20], [np.nan, np.nan]]
    np.savez(tmp_path / "scene.npz", outline_m=np.array(house))
    (tmp_path / "a" / "scenario.toml").write_text(
        f"[radio.path_loss]\npath = '{tmp_path / 'scene.npz'}'\n"
    )
    assert node_map.outlines(tmp_path / "a").shape == (4, 2)
    with plot_style.style():
        figure = panels.draw(node_map.of_run(RunFolder(tmp_path / "a"))).figure
    panel = figure.axes[0]
    assert len(panel.patches) == 1
    assert [text.get_text() for text in panel.texts] == ["0", "1", "2"]
    assert "map.png" in names(figures.draw(tmp_path / "a"))
