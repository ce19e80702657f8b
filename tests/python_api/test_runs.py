"""Results of a run: tables, summaries, figures, comparisons, old folders."""

import functools
import math
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import netsim
from netsim.views.compare import table
from netsim.views.gathering import frames
from tests.views.conftest import write_run


def test_tables_have_labels_first_and_all_rows(played):
    metrics = played.metrics
    assert list(metrics.columns[:4]) == ["seed", "algorithm", "t_s", "node"]
    assert set(metrics["algorithm"]) == {"dpsgd", "local"}
    assert isinstance(metrics["metric"].dtype, pd.CategoricalDtype)
    folder = pd.read_parquet(played.folder / "dpsgd" / "metrics")
    assert (metrics.query("algorithm == 'dpsgd'")["value"].to_numpy() == folder["value"]).all()
    assert len(played.messages) == sum(s["messages"]["sent"] for s in played.summaries.values())
    assert set(played.wakeups["what"]) >= {"woke", "job"}
    delivered = played.messages.query("outcome == 'delivered'")
    assert list(played.uses["t_sent_s"]) == list(delivered.sort_index()["t_sent_s"])
    assert list(played.traffic.columns[2:]) == ["t_s", "bits_transmitted", "airtime_s"]
    graph = played.graph
    assert graph.query("t_s == 20").groupby("node")["weight"].sum().to_numpy() == pytest.approx(1)
    assert list(played.nodes["node"]) == [0, 1, 2, 3, 4]
    assert "algorithm" not in played.nodes


@pytest.mark.parametrize("becomes", ["gone", "another"])
def test_a_folder_that_has_changed_since_it_was_opened_is_not_read(tmp_path, becomes):
    """Else tables of another run would stand below the labels of this one."""
    for seed in (0, 1):
        write_run(tmp_path / "s" / f"seed-{seed}", algorithm=f"m{seed}")
    run = netsim.open(tmp_path / "s")
    assert len(run["m1"].nodes) == 3
    shutil.rmtree(tmp_path / "s" / "seed-1")
    if becomes == "another":
        write_run(tmp_path / "s" / "seed-1", algorithm="m1")
    told = {"gone": "is no longer there", "another": "has changed since it was opened"}[becomes]
    reads = {
        *("metrics", "messages", "uses", "wakeups", "traffic", "graph", "nodes", "intervals"),
        *("summary", "summaries", "warnings", "plot"),
    }
    for of in (run, run["m1"]):
        for read in (
            *(functools.partial(getattr, of, name) for name in reads),
            *(of.curve, of.explain, lambda of=of: of.compare(of)),
        ):
            with pytest.raises(netsim.ScenarioError, match=rf"seed-1: {told}; netsim.open"):
                read()
        assert "m1" in repr(of)
        assert told in of._repr_html_()
    assert len(run["m0"].metrics) == 6
    assert len(netsim.open(tmp_path / "s").algorithms) == (1 if becomes == "gone" else 2)


def test_intervals_are_those_of_the_timeline(small, tmp_path, played):
    with pytest.raises(netsim.ScenarioError, match="timeline = true"):
        played.intervals  # noqa: B018
    timed = netsim.run(small.replace(metrics__timeline=True), ["dpsgd"], out=tmp_path / "timed")
    found = timed.intervals.query("what == 'train'")
    assert list(found.columns[:2]) == ["seed", "algorithm"]
    trained_s = (found["t_end_s"] - found["t_begin_s"]).groupby(found["node"]).sum()
    assert trained_s.to_list() == pytest.approx(timed.summaries["dpsgd"]["time_s"]["train"])
    assert trained_s.min() > 0


def test_what_is_added_to_a_table_is_not_seen_by_the_next(played):
    mine = played.metrics
    mine["mine"] = 1
    assert "mine" not in played.metrics


def test_summary_has_a_row_an_algorithm(played):
    assert list(played.summary.index) == ["dpsgd", "local"]
    mean = played.summaries["dpsgd"]["accuracy"]["mean"]
    assert played.summary.loc["dpsgd", "accuracy"] == mean
    assert math.isnan(played.summary.loc["local", "delivered_share"])
    assert "<table" in played._repr_html_()


def test_the_accuracy_of_models_that_are_not_finite_is_nan(small, tmp_path):
    draws = np.random.default_rng(0)
    data = (1e30 * draws.normal(size=(200, 4)), draws.integers(0, 2, 200))
    wild = small.replace(data={"kind": data}, horizon_s=10.0)
    with pytest.warns(netsim.RunWarning, match="diverged"):
        run = netsim.run(wild, algorithms=["local"], out=tmp_path / "wild")
    assert math.isnan(run.summary.loc["local", "accuracy"])


def test_one_algorithm_of_a_run(played):
    one = played["local"]
    assert one.algorithms == ("local",)
    assert set(one.metrics["algorithm"]) == {"local"}
    assert [run.algorithms for run in played] == [("dpsgd",), ("local",)]
    with pytest.raises(KeyError, match="no algorithm locals; there are dpsgd, local"):
        played["locals"]


@pytest.mark.slow
def test_figures_are_drawn_and_show_themselves(played):
    for figure in (
        played.plot.accuracy(),
        played.plot.accuracy(against="megabytes"),
        played.plot.metric("loss", "accuracy_validation"),
        played.plot.accuracy(width="column", paired_to="local"),
        played.plot.cdf(),
        played.plot.graph(width=4.0),
        played["local"].plot.metric("loss"),
        played["dpsgd"].plot.weights(),
        played["dpsgd"].plot.deliveries(),
        played.plot.age_by_pair(),
        played["dpsgd"].plot.fates(width="text"),
    ):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG")
    ages = played.plot.numbers("age_by_pair")
    assert {"sender", "receiver", "age_at_use_s", "uses"} <= set(ages)
    assert {"age_by_pair", "accuracy", "numbers"} <= set(dir(played.plot))
    (panel,) = played.plot.metric("loss").axes
    assert len(panel.lines) == 2


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda run: run.plot.network(), "network: is drawn on a page alone"),
        (lambda run: run["local"].plot.weights(), "no weights have been logged"),
        (lambda run: run["local"].plot.map(), "nodes have no places"),
        (lambda run: run.plot.metric("los"), r"metric = .los.: must be one of accuracy"),
        (lambda run: run.plot.accuracy(against="tim"), 'did you mean "time"'),
    ],
)
def test_a_figure_that_can_not_be_drawn_says_why(played, draw, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        draw(played)


def test_compare_pairs_nodes(played):
    found = played["dpsgd"].compare(played["local"])
    rows = played.metrics.query("metric == 'accuracy' and t_s == 20")
    values = {a: rows[rows["algorithm"] == a]["value"].to_numpy() for a in ("dpsgd", "local")}
    assert found.by_node["diff"].to_numpy() == pytest.approx(values["dpsgd"] - values["local"])
    line = found.by_algorithm.loc[("dpsgd", "local")]
    assert line["diff"] == pytest.approx(np.mean(values["dpsgd"] - values["local"]))
    assert line["better"] == np.mean(values["dpsgd"] > values["local"])
    assert math.isnan(line["diff_low"])  # one seed has no interval
    assert "<table" in found._repr_html_()


def test_compare_at_a_time_and_of_a_loss(played):
    found = played["dpsgd"].compare(played["local"], "loss", at_s=12.0)
    assert set(found.by_node["t_s"]) == {10.0}
    lower = found.by_node["value"] < found.by_node["other"]
    assert found.by_algorithm["better"].item() == lower.mean()


def test_compare_says_at_which_time_runs_of_different_length_are_compared(played, small, tmp_path):
    longer = small.replace(horizon_s=30.0, metrics__every_s=4.0)  # shared with 5, 10, ..., 20: 20
    shorter = small.replace(horizon_s=13.0, metrics__every_s=5.0)  # 5, 10, 13: 10
    for scenario, t_s in ((longer, 20.0), (shorter, 10.0)):
        other = netsim.run(scenario, out=tmp_path / f"{t_s:g}", algorithms=["local"])
        found = played["local"].compare(other)
        assert list(found.by_algorithm["t_s"]) == [t_s]
        assert found.by_algorithm["t_s"].item() == found.by_node["t_s"].iloc[0]


@pytest.mark.slow
def test_compare_refuses_what_is_no_pair(played, small, tmp_path):
    fewer = netsim.run(small.replace(nodes__count=4), out=tmp_path / "fewer", algorithms=["local"])
    with pytest.raises(netsim.ScenarioError, match="only runs of the same nodes can be paired"):
        played["local"].compare(fewer)
    with pytest.raises(netsim.ScenarioError, match='did you mean "accuracy"'):
        played.compare(played, "acuracy")
    other = netsim.run(small.replace(seed=1), out=tmp_path / "seed", timing_only=True)
    with pytest.raises(netsim.ScenarioError, match="no two runs have the same seed"):
        played.compare(other)


def test_a_folder_is_opened_again_as_it_was(played, small):
    again = netsim.open(played.folder)
    assert again.algorithms == played.algorithms
    pd.testing.assert_frame_equal(again.metrics, played.metrics)
    pd.testing.assert_frame_equal(again.summary, played.summary)
    assert again.scenario.tables.nodes == small.tables.nodes
    assert netsim.open(played.folder / "local").algorithms == ("local",)
    with pytest.raises(netsim.ScenarioError, match="no finished run here"):
        netsim.open(played.folder / "dpsgd" / "metrics")


def test_the_command_line_reads_what_python_has_played(played):
    assert (played.folder / "comparison.csv").is_file()
    assert (played.folder / "checksums.json").is_file()
    assert table([played.folder / name for name in played.algorithms])
    assert not (played.folder / "figures").exists()


@pytest.mark.slow
def test_runs_go_to_the_first_free_folder(small, here):
    folders = [netsim.run(small, ["local"]).folder for _ in range(2)]
    assert folders == [here / "runs" / "small", here / "runs" / "small-2"]
    assert not list(here.rglob(".lock-*"))


def test_bad_input_leaves_nothing_behind(small, here):
    with pytest.raises(netsim.ScenarioError, match="cuda"):
        netsim.run(small.replace(run__device="cuda:7"))
    wide = small.replace(data__partition__train_samples=5000)
    with pytest.raises(netsim.ScenarioError, match="take fewer nodes or samples"):
        netsim.run(wide)
    (here / "full").mkdir()
    (here / "full" / "file").touch()
    with pytest.raises(netsim.ScenarioError, match=r"^out full: is not empty"):
        netsim.run(small, out="full")
    assert not (here / "runs").exists()


def test_what_to_know_is_warned_of(small, tmp_path):
    apart = small.replace(topology={"kind": "erdos_renyi", "probability": 0.0})
    with pytest.warns(netsim.RunWarning, match="the topology is not connected"):
        run = netsim.run(apart, ["local"], out=tmp_path / "run")
    assert any("not connected" in warning for warning in run.warnings)


@pytest.mark.slow
def test_progress_is_one_line(small, tmp_path, capsys):
    netsim.run(small, ["local"], out=tmp_path / "quiet")
    assert capsys.readouterr() == ("", "")
    netsim.run(small, ["local"], out=tmp_path / "told", progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "local: 20 s in" in told.err.splitlines()[-1].rpartition("\r")[2]


@pytest.mark.slow
def test_a_sweep_is_played_compared_and_opened(small, tmp_path):
    folder = tmp_path / "swept"
    swept = netsim.sweep(
        small, {"training__learning_rate": [0.05, 0.2]}, seeds=range(2), algorithms=["local"],
        out=folder, jobs=1, show=["accuracy"],
    )  # fmt: skip
    assert list(swept.metrics.columns[:3]) == ["training.learning_rate", "seed", "algorithm"]
    assert len(swept.summary) == 4
    assert swept.summary.index.names == ["training.learning_rate", "seed", "algorithm"]
    assert len(swept.nodes) == 4 * 5
    points = swept.points.query("metric == 'accuracy'")
    means = swept.summary.groupby("training.learning_rate")["accuracy"].mean()
    assert points["mean"].to_numpy() == pytest.approx(means.to_numpy())
    by_seed = swept.by_seed
    assert list(by_seed.columns[:3]) == ["point", "algorithm", "seed"]
    assert by_seed["accuracy"].tolist() == pytest.approx(swept.summary["accuracy"].tolist())
    here, there = (
        dict(zip(rows["seed"], rows["accuracy"], strict=True))
        for _, rows in by_seed.groupby("point", sort=False)
    )
    assert netsim.paired(there, here).mean == pytest.approx(points["diff"].iloc[1])
    assert isinstance(swept.plot.sweep(), Figure)
    again = netsim.open(folder)
    assert isinstance(again, netsim.Sweep)
    pd.testing.assert_frame_equal(again.summary, swept.summary)
    found = swept.compare(again).by_algorithm
    assert list(found["seeds"]) == [2, 2]
    assert (found["diff"] == 0).all()
    with pytest.raises(netsim.ScenarioError, match="say what to vary"):
        netsim.sweep(small)
    with pytest.raises(netsim.ScenarioError, match=r"radio.reachable = 2: is one value; .* \[2\]"):
        netsim.sweep(small, {"radio__reachable": 2})
    with pytest.raises(netsim.ScenarioError, match=r"^netsim\.sweep: \[sweep\]: .seed. is not"):
        netsim.sweep(small, {"seed": [1, 2]})
    with pytest.raises(netsim.ScenarioError, match=r"only = \(3, 2\): is no part; .* \(3, 8\)"):
        netsim.sweep(small, {"link__loss": [0.1]}, out=folder, only=(3, 2))
    with pytest.raises(netsim.ScenarioError, match=r"netsim\.sweep\(scenario\) plays them"):
        netsim.run(again.scenario)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": [0.5, 1.7]}, r"seeds = \[0.5, 1.7\]: must be whole numbers"),
        ({"seeds": [True]}, r"seeds = \[True\]: must be whole numbers"),
        ({"seeds": 3}, r"seeds = 3: must be whole numbers, such as range\(5\)"),
        ({"seeds": "012"}, "seeds = '012': must be whole numbers"),
        ({"seeds": "0:2"}, "seeds = '0:2': must be whole numbers"),
        ({"only": "1/2"}, r"only = '1/2': is no part; .* such as \(3, 8\)"),
        ({"only": 1}, "only = 1: is no part"),
        ({"only": (1.5, 2)}, r"only = \(1.5, 2\): is no part"),
        ({"over": [("link.loss", [0.1])]}, "is no table of keys and their values"),
        ({"over": {"link": {"loss": 0.1}}}, r"link = {'loss': 0.1}: is one value"),
        ({"algorithms": "local"}, r"algorithms = 'local': must be a list.*\['local'\]"),
        ({"algorithms": {"kind": "local"}}, "must be a list, also of one algorithm"),
        ({"algorithms": netsim}, "must be a list, also of one algorithm"),
    ],
)
def test_odd_arguments_are_refused_by_name_and_value(small, here, given, said):
    with pytest.raises(netsim.ScenarioError, match=said):
        netsim.sweep(small, **{"over": {"link__loss": [0.1]}, **given})
    assert not list(here.iterdir())


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers(small, here):
    over = {"link__loss": np.array([0.1])}
    one = small.replace(algorithm=["local"], horizon_s=np.float64(5.0), seed=np.int64(3))
    swept = netsim.sweep(one, over, seeds=np.arange(2), only=(np.int64(1), 1), out="s", jobs=1)
    assert swept.design.seeds == (0, 1)


@pytest.mark.slow
def test_a_search_draws_from_ranges_and_lists_in_python_too(small, here):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    draw = {
        "training__learning_rate": {"low": np.float64(0.01), "high": 0.1, "log": True},
        "training.batch_size": range(4, 6),
    }
    one = small.replace(algorithm=["local"], horizon_s=5.0)
    swept = netsim.sweep(one, draw=draw, trials=2, out="s", jobs=1)
    for values in swept.design.points.values():
        assert 0.01 <= values["training.learning_rate"] <= 0.1
        assert values["training.batch_size"] in (4, 5)


OWN = "algorithm.dpsgd.local_steps"


def test_every_trial_of_a_search_has_its_row_also_without_the_keys_of_another_method(small, here):
    """A method's own key is no label of the other's trials, which come first here, too."""
    pytest.importorskip("optuna", reason="Optuna is not installed")
    methods = [{"kind": "local", "pace": "rounds"}, {"kind": "dpsgd"}]
    scenario = small.replace(algorithm=methods, horizon_s=5.0)
    draw = {"training.learning_rate": {"low": 0.01, "high": 0.1}, OWN: [1, 2]}
    found = netsim.sweep(
        scenario, search="random", draw=draw, trials=2, select="accuracy", out="s", jobs=1
    )
    runs = len(found.summary)
    table = found.compare(found).by_algorithm
    assert len(table) == runs == 4
    assert (table["value"] == table["other"]).all()
    assert list(found.metrics.columns[:4]) == [*draw, "seed", "algorithm"]
    assert found.metrics.groupby([*draw, "algorithm"], dropna=False, observed=True).ngroups == runs
    trials = found.trials
    assert list(trials.columns) == [
        "trial",
        "algorithm",
        "state",
        "training.learning_rate",
        OWN,
        "score",
    ]
    accuracy = found.by_seed.set_index("algorithm")["accuracy"]
    for name, of_method in trials.groupby("algorithm", sort=False):
        assert of_method["score"].tolist() == sorted(accuracy[name], reverse=True)
        assert of_method[OWN].isna().all() == (name == "local")
    one = small.replace(algorithm=["local"], horizon_s=5.0)
    grid = netsim.sweep(one, {"training.batch_size": [5]}, out="grid", jobs=1)
    with pytest.raises(netsim.NetsimError, match="grid: is no search"):
        _ = grid.trials


def test_a_seed_with_fewer_nodes_counts_as_much_as_another():
    """Values 1, 1, 1 and 0 of two seeds, against 0: means and their difference are 0.5."""
    by_node = pd.DataFrame({"seed": [0, 0, 0, 1], "algorithm": "a", "other_algorithm": "b"})
    by_node = by_node.assign(node=[0, 1, 2, 0], t_s=1.0, value=[1.0, 1.0, 1.0, 0.0], other=0.0)
    by_node["diff"] = by_node.value - by_node.other
    (found,) = frames._by_algorithm(by_node, is_lower_better=False).to_dict("records")
    assert (found["value"], found["other"], found["diff"]) == (0.5, 0.0, 0.5)


def test_the_home_folder_is_where_a_tilde_says(small, here, monkeypatch):
    monkeypatch.setenv("HOME", str(here / "home"))
    (here / "home/own").mkdir(parents=True)
    one = small.replace(algorithm=["local"], horizon_s=5.0)
    (here / "home/one.toml").write_text(one.to_toml())
    found = netsim.load("~/one.toml", components="~/own")
    played = netsim.run(found, out="~/run")
    assert netsim.open("~/run").folder == played.folder == here / "home/run"
    assert netsim.resume("~/run").folder == played.folder
    assert [path.name for path in here.iterdir()] == ["home"]


@pytest.mark.slow
def test_a_run_is_read_wherever_the_process_works_later(small, here):
    one = small.replace(algorithm=["local"], horizon_s=5.0)
    played = netsim.run(one, out="run")
    swept = netsim.sweep(one, {"link__loss": [0.1]}, seeds=[0], out="sweep", jobs=1)
    (here / "elsewhere").mkdir()
    os.chdir(here / "elsewhere")
    for run in (played, swept, swept["local"]):
        assert len(run.metrics) > 0
        assert run.summary["accuracy"].notna().all()
        assert run.summaries
    assert len(swept.points) > 0
    assert len(swept.by_seed) == 1


def test_a_curve_is_the_mean_over_nodes_at_each_evaluation(played):
    rows = played.metrics
    rows = rows[(rows["metric"] == "accuracy") & (rows["algorithm"] == "local")]
    means = rows.groupby("t_s")["value"].mean()
    found = played["local"].curve("accuracy")
    assert list(found.columns) == ["seed", "algorithm", "t_s", "mean", "std", "worst"]
    assert dict(zip(found["t_s"], found["mean"], strict=True)) == pytest.approx(dict(means))
    with pytest.raises(netsim.ScenarioError, match="has not measured acuracy"):
        played.curve("acuracy")


def test_one_method_that_measured_nothing_hides_no_other(played, small, tmp_path):
    """Of each reader of several runs: the others are given, and a warning names what is missing."""
    silent = small.replace(algorithm=[{"kind": "local", "name": "silent"}], metrics__timeline=True)
    bare = netsim.run(silent, out=tmp_path / "bare", timing_only=True)
    both = netsim.Run(tmp_path, [*played._runs, *bare._runs])
    with pytest.warns(netsim.RunWarning, match=r"bare: has no metric accuracy"):
        found = both.curve("accuracy")
    pd.testing.assert_frame_equal(found, played.curve("accuracy"))
    with pytest.warns(netsim.RunWarning, match=r"dpsgd, .*local: has no table intervals"):
        assert len(both.intervals) == len(bare.intervals) > 0
    with pytest.warns(netsim.RunWarning, match=r"bare: has no metric accuracy"):
        compared = both.compare(both)
    assert list(compared.by_algorithm.index.get_level_values("algorithm")) == ["dpsgd", "local"]
    with pytest.raises(netsim.ScenarioError, match="has not measured accuracy"):
        bare.curve("accuracy")


@pytest.mark.slow
def test_costs_of_a_linear_model_by_hand(small):
    """Products of 64 x 10 and 10 x 10: forwards and both gradients, but that of the inputs."""
    costs = netsim.model_costs(small.replace(model={"kind": "mlp", "hidden": [10]}))
    passes = 2 * (2 * 64 * 10 + 3 * 10 * 10)
    size = 64 * 10 + 10 + 10 * 10 + 10
    [batch] = costs["batch_size"].unique()
    assert costs["algorithm"].tolist() == ["dpsgd", "local"]
    assert costs["step_flop"].tolist() == pytest.approx([batch * passes + 2 * size] * 2)
    assert costs["sample_flop"].tolist() == pytest.approx([passes / 3] * 2)


@pytest.mark.slow
def test_costs_are_measured_where_that_is_asked_for(small):
    costs = netsim.model_costs(small, measure=True)
    assert (costs[["step_flop_per_s", "sample_flop_per_s"]] > 0).all(axis=None)


@pytest.mark.slow
def test_a_figure_of_ones_own_has_the_look_of_the_others(tmp_path):
    from netsim import figures

    written = []
    for name in ("a.pdf", "b.pdf"):
        with figures.style():
            figure = figures.new_figure(3.5, 2.4)
            panel = figure.add_subplot()
            [line] = panel.plot([0, 1], color=figures.COLOURS[0], marker=figures.MARKERS[0])
            figures.legend(figure, [line], ["one"], "")
        written.append(figures.save(figure, tmp_path / name, "pdf").read_bytes())
        assert not panel.spines["top"].get_visible()
    assert written[0] == written[1]


def test_the_folder_of_a_run_is_the_same_from_any_working_folder(small, here, monkeypatch):
    played = netsim.run(small.replace(algorithm=["local"], horizon_s=5.0), out="mine")
    opened = netsim.open("mine")
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    for found in (played, opened, opened["local"]):
        assert len(netsim.open(found.folder).metrics) == len(played.metrics)
    assert "in mine>" in repr(played)


@pytest.mark.filterwarnings("ignore::netsim.errors.RunWarning")
def test_what_the_world_of_one_algorithm_assumes_is_told_with_its_name(small, here):
    """A `set` of its own may put an algorithm into another world than the first."""
    air = {"path_loss": {"kind": "rma"}, "mac": {"kind": "aloha"}}
    plain = small.replace(link=None, nodes__placement="disc", horizon_s=5.0)
    alone = plain.replace(radio=air, algorithm=["local"])
    assumed = netsim.run(alone, out="alone").warnings
    assert assumed
    two = [{"kind": "local", "name": "wired"}, {"kind": "local", "set": {"radio": air}}]
    found = netsim.run(plain.replace(algorithm=two), out="two").warnings
    assert [text for text in found if "local: " in text] == [f"local: {text}" for text in assumed]
