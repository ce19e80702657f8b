import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.errors import RunWarning, ScenarioError
from netsim.python_api.runs import open_folder
from netsim.recording import metrics, run_folder, summary
from netsim.recording.reader import begun_folders
from netsim.recording.recorder import Recorder
from netsim.views.gathering.comparison import folders_of_seed
from tests.views.conftest import write_run

S = 1_000_000_000


def recorded(*rows):
    """Metric rows from (t, node, metric, stage, value)."""
    recorder = Recorder(None)
    for t_s, node, metric, stage, value in rows:
        recorder.metric(t_s * S, node, metric, stage, value, 10 * t_s, 80 * t_s, 0.5 * t_s)
    return recorder.metric_rows()


def accuracies(*by_time):
    return recorded(
        *(
            (t, i, "accuracy", "mixed", value)
            for t, values in enumerate(by_time)
            for i, value in enumerate(values)
        )
    )


def test_statistics_are_over_nodes_at_the_last_evaluation():
    """Of 0.2, 0.4, 0.9: mean 0.5, variance (0.09 + 0.01 + 0.16) / 3."""
    found = metrics.summary_block(accuracies([0.9, 0.9, 0.9], [0.2, 0.4, 0.9]), "accuracy")
    assert found["mean"] == pytest.approx(0.5)
    assert found["variance"] == pytest.approx(0.26 / 3)
    assert found["std"] == pytest.approx(math.sqrt(0.26 / 3))
    assert found["worst_10pct"] == 0.2
    assert found["nodes"] == 3


def test_means_begin_where_every_node_has_a_model():
    """The quick node alone would have the best mean, before the slow one counts."""
    rows = accuracies([0.9], [0.9, 0.1], [0.8, 0.4])
    found = metrics.curve(rows, "accuracy")
    assert found.t_s.tolist() == [1.0, 2.0]
    assert found.mean == pytest.approx([0.5, 0.6])
    assert found.steps.tolist() == [20, 40]
    assert metrics.summary_block(rows, "accuracy")["best"]["t_s"] == 2.0


def test_worst_shares_round_up_to_whole_nodes():
    values = np.arange(30.0)
    assert metrics.mean_of_worst(values, 0.1) == 1.0  # three nodes: 0, 1, 2
    assert metrics.mean_of_worst(values, 0.2) == 2.5
    assert metrics.mean_of_worst(values[:11], 0.1) == 0.5  # two nodes
    assert metrics.mean_of_worst(values, 0.1, highest=True) == 28.0


def test_best_evaluation_is_that_of_the_highest_mean_and_of_the_lowest_loss():
    by_time = ([0.1, 0.3], [0.5, 0.9], [0.6, 0.6])
    found = metrics.summary_block(accuracies(*by_time), "accuracy")
    assert found["best"] == {"t_s": 1.0, "mean": pytest.approx(0.7), "std": pytest.approx(0.2)}
    assert found["last"]["t_s"] == 2.0
    rows = recorded(*((t, i, "loss", "mixed", v[i]) for t, v in enumerate(by_time) for i in (0, 1)))
    found = metrics.summary_block(rows, "loss")
    assert found["best"]["t_s"] == 0.0
    assert found["worst_10pct"] == 0.6
    assert "best_on_validation" not in found


@pytest.mark.parametrize(("ties", "of_node_1"), [("first", 0.3), ("last", 0.5)])
def test_best_on_validation_is_taken_per_node_at_the_first_or_the_last_of_equals(ties, of_node_1):
    """Node 0 is best on validation at t=1 (0.8 in the test), node 1 at t=0 and 2."""
    test = {0: (0.9, 0.8, 0.1), 1: (0.3, 0.4, 0.5)}
    validation = {0: (0.1, 0.9, 0.2), 1: (0.7, 0.2, 0.7)}
    rows = [
        (t, node, name, "mixed", values[node][t])
        for t in range(3)
        for node in (0, 1)
        for name, values in (("accuracy", test), ("accuracy_validation", validation))
    ]
    found = metrics.summary_block(recorded(*rows), "accuracy", ties)
    assert found["best_on_validation"] == pytest.approx((0.8 + of_node_1) / 2)


def test_best_on_validation_is_none_without_a_validation_set():
    assert metrics.summary_block(accuracies([0.5]), "accuracy")["best_on_validation"] is None


def test_of_several_stages_the_one_written_last_is_the_headline():
    rows = recorded(
        *(
            (t, node, "accuracy", stage, value + node / 10)
            for t in (0, 1)
            for node in (0, 1)
            for stage, value in (("received", 0.2), ("trained", 0.6))
        )
    )
    found = metrics.summary_block(rows, "accuracy")
    assert found["mean"] == pytest.approx(0.65)
    assert found["stages"]["received"]["mean"] == pytest.approx(0.25)
    assert found["stages"]["trained"]["mean"] == pytest.approx(0.65)
    assert metrics.curve(rows, "accuracy").mean == pytest.approx([0.65, 0.65])


def test_nodes_that_published_different_stages_are_pooled():
    rows = recorded((0, 0, "accuracy", "mixed", 0.2), (0, 1, "accuracy", "trained", 0.4))
    found = metrics.summary_block(rows, "accuracy")
    assert found["mean"] == pytest.approx(0.3)
    assert "stages" not in found


def test_summary_has_the_runs_name_first_and_the_totals_beside_the_metrics():
    extra = {"messages": {"sent": 3}, "seed": 1, "name": "x", "algorithm": "local"}
    found = summary.summarise(accuracies([0.5]), extra)
    assert list(found) == ["name", "algorithm", "seed", "accuracy", "messages"]


def test_summary_is_valid_json_even_for_diverged_runs(tmp_path):
    recorder = Recorder(tmp_path)
    for t_s, value in ((0, 2.0), (1, math.nan)):
        recorder.metric(t_s * S, 0, "loss", "trained", value, 0, 0, 0.0)
    extra = {"name": "x", "energy_j": np.float64(math.inf), "layers": (np.int64(3),)}
    recorder.close()
    returned = summary.write(tmp_path, extra)
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found == returned
    assert found["loss"]["mean"] is None
    assert found["loss"]["best"] == {"t_s": 0.0, "mean": 2.0, "std": 0.0}
    assert found["energy_j"] is None
    assert found["layers"] == [3]


def test_a_run_without_metrics_still_has_a_summary(tmp_path):
    recorder = Recorder(tmp_path)
    assert summary.write(tmp_path, {"name": "timing", **recorder.close()})["name"] == "timing"


def test_megabytes_are_what_the_network_had_transmitted_by_each_evaluation(tmp_path, written):
    """100 messages of 1.6 Mbit an evaluation (20 nodes x 5): 20 MB, logged or not."""
    for name, logged in (("logged", True), ("unlogged", False)):
        written(tmp_path / name, evaluations=4, megabits=1.6, log_messages=logged)
        over_time = metrics.curve(run_folder.read(tmp_path / name, "metrics"), "accuracy")
        found = metrics.megabytes(tmp_path / name, over_time.t_s)
        assert found == pytest.approx([0, 20, 40, 60])


def test_run_folders_finds_a_run_or_the_runs_below(tmp_path, written):
    for name in ("b", "a"):
        written(tmp_path / name, name, nodes=2, evaluations=2)
    assert summary.run_folders(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    assert summary.run_folders(tmp_path / "a") == [tmp_path / "a"]
    with pytest.raises(ScenarioError, match="no finished run"):
        summary.run_folders(tmp_path / "a" / "graph")


def test_runs_below_a_folder_come_in_the_order_of_its_scenario(tmp_path, written):
    """As the command that played them told of them, whatever their names."""
    for name in ("local", "dpsgd", "zeta", "alpha"):
        written(tmp_path / name, name, nodes=2, evaluations=2)
    by_name = sorted(tmp_path.glob("*"))
    assert summary.run_folders(tmp_path) == begun_folders(tmp_path) == by_name
    (tmp_path / "scenario.toml").write_text(
        '[[algorithm]]\nkind = "local"\n[[algorithm]]\nkind = "kd_pdfl"\nname = "dpsgd"\n'
    )
    wanted = [tmp_path / name for name in ("local", "dpsgd", "alpha", "zeta")]
    assert summary.run_folders(tmp_path) == begun_folders(tmp_path) == wanted
    (tmp_path / "scenario.toml").write_text("[[algorithm")
    assert summary.run_folders(tmp_path) == begun_folders(tmp_path) == by_name


def test_runs_that_have_not_ended_are_named_where_the_others_are_read(tmp_path, written):
    """Those of the scenario, begun or not, and others in the folder."""
    for name in ("local", "failed", "stopped", "playing", "beside"):
        written(tmp_path / name, name, nodes=2, evaluations=2)
        if name != "local":
            (tmp_path / name / "summary.json").unlink()
    for name, state in (("failed", "failed"), ("stopped", "interrupted"), ("playing", "running")):
        told = {"state": state, "virtual_s": 2.5}
        (tmp_path / name / "status.json").write_text(json.dumps(told))
    (tmp_path / "beside" / "status.json").write_text('{"state": "failed"}')
    names = ("never", "local", "failed", "stopped", "playing")
    (tmp_path / "scenario.toml").write_text(
        "".join(f'[[algorithm]]\nkind = "{name}"\n' for name in names)
    )
    remedy = f"; netsim resume {tmp_path} goes on with it"
    wanted = [
        f"{tmp_path / name} is left out: its run {state}{remedy}"
        for name, state in (
            ("never", "has not begun"),
            ("failed", "failed at 2.5 s"),
            ("stopped", "was interrupted at 2.5 s"),
            ("playing", "has not ended"),
        )
    ]
    found = summary.left_out(tmp_path)
    assert found[:4] == wanted
    assert found[4].startswith(f"{tmp_path / 'beside'} is left out: its run failed")
    assert found[4].endswith(f"netsim resume {tmp_path / 'beside'} goes on with it")
    assert len(found) == 5
    assert summary.left_out(tmp_path / "local") == []
    printed = CliRunner().invoke(app, ["compare", str(tmp_path)], env={"COLUMNS": "400"})
    assert printed.stderr.splitlines() == found
    with pytest.warns(RunWarning) as warned:
        assert open_folder(tmp_path).algorithms == ("local",)
    assert [str(one.message) for one in warned] == found
    assert summary.left_out(tmp_path, only_to_come=True) == wanted[:1]


def test_what_runs_warned_of_is_told_where_they_are_compared(tmp_path):
    """Of several folders with the folder: both may have a method of that name."""
    for name, warnings in (("one", []), ("two", ["of 5 messages not one arrived"])):
        folder = write_run(tmp_path / name)
        found = json.loads((folder / "summary.json").read_text())
        (folder / "summary.json").write_text(json.dumps({**found, "warnings": warnings}))

    def told(*names):
        paths = [str(tmp_path / name) for name in names]
        return CliRunner().invoke(app, ["compare", *paths], env={"COLUMNS": "400"}).stderr

    assert told("one") == ""
    assert told("two") == "dpsgd: of 5 messages not one arrived\n"
    assert told("one", "two") == f"{tmp_path / 'two'}: dpsgd: of 5 messages not one arrived\n"


def test_a_folder_in_which_no_run_has_ended_says_why(tmp_path, written):
    """Of a scenario that can be read; otherwise there is nothing to tell."""
    (tmp_path / "scenario.toml").write_text('[[algorithm]]\nkind = "never"\n')
    with pytest.raises(ScenarioError, match="no summary"):
        summary.run_folders(tmp_path / "none")
    with pytest.raises(ScenarioError, match=r"never: its run has not begun; netsim resume"):
        summary.run_folders(tmp_path)
    (tmp_path / "status.json").write_text('{"state": "interrupted", "virtual_s": 3}')
    with pytest.raises(ScenarioError) as refused:
        summary.run_folders(tmp_path)
    remedy = f"netsim resume {tmp_path} goes on with it"
    assert str(refused.value) == f"{tmp_path}: its run was interrupted at 3 s; {remedy}"


@pytest.mark.parametrize("command", ["report", "plot"])
def test_what_shows_runs_that_have_begun_names_those_that_have_not(tmp_path, command):
    write_run(tmp_path / "local", algorithm="local")
    names = '[[algorithm]]\nkind = "local"\n[[algorithm]]\nkind = "never"\n'
    (tmp_path / "scenario.toml").write_text(names)
    form = ("--format", "text") if command == "plot" else ()
    done = CliRunner().invoke(app, [command, str(tmp_path), *form], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.stderr
    told = f"{tmp_path / 'never'} is left out: its run has not begun; netsim resume {tmp_path}"
    shown = done.stderr if command != "report" else (tmp_path / "report.html").read_text()
    assert told in shown


@pytest.mark.parametrize(("late", "first"), [(1, 0), (2, 0), (3, 3), (4, 4)])
def test_means_that_begin_late_are_told(late, first):
    """Four evaluations, at 1 to 4 s, of three nodes of which one is measured from `late` s on."""
    rows = [
        (t, node, "accuracy", "mixed", 0.5)
        for t in range(1, 5)
        for node in range(3)
        if node or t >= late
    ]
    found = summary.summarise(recorded(*rows), {"name": "n"}).get("warnings", [])
    told = (
        f"accuracy: means over nodes begin at {first} s, when the last of 3 nodes was measured; "
        f"{first - 1} of 4 evaluations are in no curve"
    )
    assert found == [told] * (first > 0)


def test_means_over_some_of_the_measured_nodes_are_told(tmp_path):
    """Nodes without validation samples, or without common samples of their classes, have none."""
    rows = [
        *((2, node, "accuracy", "mixed", 0.5) for node in range(4)),
        *((2, node, "accuracy_all_classes", "mixed", 0.5) for node in range(4)),
        *((2, node, "accuracy_validation", "mixed", 0.5) for node in range(3)),
        *((2, node, "accuracy_personal", "mixed", 0.5) for node in (1, 2, 3)),
        *((2, node, "malicious_accuracy", "mixed", 0.5) for node in (5, 6)),
    ]
    whole = [row for row in rows if row[2] not in ("accuracy_validation", "accuracy_personal")]
    assert "warnings" not in summary.summarise(recorded(*whole), {"name": "n"})
    found = summary.summarise(recorded(*rows), {"name": "n", "warnings": ["first"]})["warnings"]
    assert found == [
        "first",
        "accuracy_validation, accuracy_personal, best_on_validation: means over 3 of 4 measured "
        "nodes: the others have no such sample (for validation, or a common one of their classes)",
    ]


def test_a_broken_summary_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"no summary\.json"):
        run_folder.summary(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(ScenarioError, match="not JSON"):
        run_folder.summary(tmp_path)


def test_pooled_means_weigh_nodes_by_their_test_samples():
    """(0.2 * 30 + 0.8 * 10) / 40 = 0.35; the mean over nodes is 0.5."""
    rows = accuracies([0.9, 0.1], [0.2, 0.8])
    found = summary.summarise(rows, {"name": "n"}, test_samples={0: 30, 1: 10})["accuracy"]
    assert found["mean"] == pytest.approx(0.5)
    assert found["pooled"] == pytest.approx(0.35)
    assert "pooled" not in summary.summarise(rows, {"name": "n"})["accuracy"]


def test_a_seed_of_a_sweep_has_its_runs_in_that_order_too(tmp_path, written):
    """Differences are to the first one."""
    for name in ("dpsgd", "alpha"):
        written(tmp_path / "lr=1" / "seed-0" / name, name, nodes=2, evaluations=2)
    names = 'kind = "dpsgd"\n[[algorithm]]\nkind = "local"\nname = "alpha"\n'
    (tmp_path / "scenario.toml").write_text(f"[[algorithm]]\n{names}")
    found = folders_of_seed(tmp_path / "lr=1", 0)
    assert [folder.name for folder in found] == ["dpsgd", "alpha"]
