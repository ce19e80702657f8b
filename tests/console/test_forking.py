"""`netsim fork`: a run again with a change, compared with the original."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.recording import checksums, run_folder
from netsim.recording.schema import ARRIVED, OUTCOMES
from netsim.recording.traffic_stats import Traffic
from netsim.scenario.scheduled_changes import CHANGEABLE, LASTING
from netsim.views.gathering import fork_comparison
from netsim.views.gathering.fork_comparison import Pair, compare
from tests.views.conftest import write_run

SCENARIO = """\
name = "tiny"
horizon_s = 12.0
[nodes]
count = 4
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
validation = 0.2
partition = { kind = "iid", train_samples = 20, test_samples = 5 }
[model]
kind = "mlp"
hidden = [4]
[compute]
kind = "fixed"
step_s = 0.01
[metrics]
every_s = 3.0
common_test_samples = 5
[run]
device = "cpu"
[algorithm]
kind = "dpsgd"
[link]
latency_s = 0.05
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)

    def invoke(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
        assert found.exit_code == code, found.output
        return found.output

    return invoke


@pytest.fixture
def original(call, once):
    def play():
        call("run", "s.toml", "--out", "a", "--no-figures", "-q")

    once("original of forks", Path("a"), play)
    return Path("a")


def fork(call, *words, code=0):
    return call("fork", "a", *words, "--no-figures", code=code)


@pytest.mark.slow
def test_a_fork_is_its_original_until_then_and_is_compared_with_it(call, original):
    text = fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b")
    told = json.loads(Path("b/fork.json").read_text())
    assert told["set"] == {"link.loss": 0.5}
    assert told["rows_equal_before"]["messages"] > 0
    assert told["rows_equal_before"]["metrics"] > 0
    lost = told["measures"]["lost_share"]
    assert lost["original"] == 0.0
    assert 0.2 < lost["fork"] < 0.8
    assert lost["difference"] == lost["fork"]
    assert (lost["nodes"], lost["higher"], lost["lower"]) == (4, 4, 0)
    assert "Before 5 s all rows are equal: " in text
    log = run_folder.read(Path("b"), "messages")
    assert set(log["outcome"][log["t_sent_s"] < 5.0].astype(str)) == {"delivered"}
    sent = [run_folder.read(Path(name), "messages")["t_sent_s"] >= 5.0 for name in "ab"]
    assert told["measures"]["messages"]["original"] == sent[0].sum() / 4
    rows = Path("b/fork_nodes.csv").read_text().splitlines()
    assert rows[0] == "measure,node,original,fork,difference"
    assert sum(row.startswith("lost_share,") for row in rows) == 4


def test_equal_delays_of_fewer_messages_are_no_difference(tmp_path):
    """Their sums in seconds differ in the last bit, and with them their means."""
    for name, lost in (("a", 9), ("b", 5)):
        sent = [0.1 * k for k in range(9)]
        write_run(
            tmp_path / name,
            messages=[
                (t, t + 0.1, 0, 1, "Model", "delivered" if k < lost else "retries", 0.029552)
                for k, t in enumerate(sent)
            ],
        )
    found = compare(Pair(tmp_path / "a", tmp_path / "b", 0.0), 3)[0]["delay_s"]
    assert (found["difference"], found["higher"], found["lower"]) == (0.0, 0, 0)
    assert found["fork"] == pytest.approx(0.029552, rel=1e-12)


def test_what_counts_as_lost_is_what_the_summary_counts(tmp_path):
    """Of each outcome one message: what expired or its sender withdrew is not lost."""
    for name in "ab":
        write_run(
            tmp_path / name,
            messages=[
                (float(t), t + 1.0, 0, 1, "Model", outcome, 1.0 if outcome in ARRIVED else None)
                for t, outcome in enumerate(OUTCOMES)
            ],
        )
    found = compare(Pair(tmp_path / "a", tmp_path / "b", 0.0), 3)[0]
    traffic, rows = Traffic(), np.arange(len(OUTCOMES))
    columns = ("kind", "bits", "bits_transmitted", "attempts", "src", "t_done_s", "t_sent_s")
    traffic.add({"outcome": rows, **dict.fromkeys(columns, 0 * rows)})
    counted = traffic.totals(["Model"], 0, 0.0)["messages"]
    assert found["lost_share"]["fork"] == pytest.approx(counted["lost"] / counted["sent"])
    assert counted["lost"] == counted["sent"] - len(ARRIVED) - 2


def test_means_over_nodes_with_models_that_are_not_finite_are_dashes(tmp_path):
    of = {"original": 0.5, "fork": math.nan, "difference": math.nan, "std_nodes": math.nan}
    table = fork_comparison._printed({"accuracy": {**of, "nodes": 3, "higher": 0, "lower": 0}}, 1.0)
    assert [column.cells for column in table.columns] == [["50"], ["-"], ["-"], ["-"], ["-"]]


@pytest.mark.slow
def test_its_scenario_plays_the_same_again(call, original):
    fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b", "-q")
    assert "differs" not in call("verify", "b")
    call("run", "b/scenario.toml", "--out", "c", "--no-figures", "-q")
    hashes = [json.loads(Path(f"{n}/summary.json").read_text())["event_log_sha256"] for n in "bc"]
    assert hashes[0] == hashes[1]


@pytest.mark.slow
def test_a_fork_of_a_fork_has_both_changes(call, original):
    fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b", "-q")
    call(
        "fork", "b", "--at", "3", "--set", "exchange.rate_hz=2", "--out", "c", "-q", "--no-figures"
    )
    call("fork", "c", "--at", "3", "--set", "link.latency_s=0", "--out", "d", "-q", "--no-figures")
    changes = json.loads(Path("d/summary.json").read_text())["changes"]
    assert [(c["at_s"], c["set"]) for c in changes] == [
        (3.0, {"exchange.rate_hz": 2, "link.latency_s": 0}),
        (5.0, {"link.loss": 0.5}),
    ]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("said", ["link.latency_s=0.4", "link={latency_s = 0.4}"])
def test_a_key_that_changed_before_is_compared_from_its_last_change_on(call, said):
    """By table or by key: up to the fork's own instant, not to that of the first change of it."""
    text = SCENARIO + '[[changes]]\nat_s = 2.0\nset = { "link.latency_s" = 0.2 }\n'
    Path("changed.toml").write_text(text)
    call("run", "changed.toml", "--out", "a", "--timing-only", "--no-figures", "-q")
    told = fork(call, "--at", "8", "--set", said, "--out", "b")
    assert "up to 8 s" in told
    assert "Before 8 s all rows are equal" in told
    changes = run_folder.scenario_tables(Path("b"))["changes"]
    assert [(c["at_s"], c["set"]) for c in changes] == [
        (2.0, {"link.latency_s": 0.2}),
        (8.0, {"link.latency_s": 0.4}),
    ]
    assert json.loads(Path("b/fork.json").read_text())["at_s"] == 8.0


@pytest.mark.slow
def test_a_change_of_nothing_differs_in_nothing(call, original):
    fork(call, "--at", "5", "--set", "link.ttl_s=1e6", "--out", "b", "-q")
    told = json.loads(Path("b/fork.json").read_text())
    assert all(m["difference"] == m["std_nodes"] == 0.0 for m in told["measures"].values())


@pytest.mark.slow
def test_a_run_without_learning_is_forked_without_learning(call):
    call("run", "s.toml", "--out", "a", "--no-figures", "-q", "--timing-only")
    fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b")
    told = json.loads(Path("b/fork.json").read_text())
    assert "accuracy" not in told["measures"]
    assert told["measures"]["lost_share"]["fork"] > 0


@pytest.mark.slow
def test_params_that_nobody_reads_any_more_are_told(call):
    text = SCENARIO.replace('kind = "dpsgd"', 'kind = "dpfl"\ninitial_epochs = 1\nlocal_epochs = 1')
    Path("s.toml").write_text(text)
    call("run", "s.toml", "--out", "a", "--no-figures", "-q")
    said = fork(call, "--at", "5", "--set", "algorithm.initial_epochs=3", "--out", "b")
    assert "initial_epochs: no process has read it since the change at 5 s" in said


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--at", "5", "--set", "nodes.count=7"), "nodes.count: can't change from 4 to 7"),
        (("--at", "12", "--set", "link.loss=0.5"), "must be before the end, horizon_s = 12"),
        (("--at", "-1", "--set", "link.loss=0.5"), "must be at least 0"),
        (("--at", "5", "--set", "link.loss"), "is not of the form key.path=value"),
        (("--at", "5", "--set", "link.los=1"), 'did you mean "loss"'),
        (("--at", "nan", "--set", "link.loss=0.5"), "at_s"),
        (("--at", "5"), "Missing option '--set'"),
    ],
)
def test_bad_input_writes_nothing(call, original, words, says):
    assert says in fork(call, *words, "--out", "b", code=2)
    assert not Path("b").exists()


def test_what_is_no_finished_run_is_refused(call, original):
    Path("a/summary.json").unlink()
    assert "no finished run" in fork(call, "--at", "1", "--set", "link.loss=1", code=2)


@pytest.mark.slow
def test_another_past_is_named(call, original):
    """The original's scenario is altered, as another version of netsim would alter the run."""
    path = Path("a/scenario.toml")
    path.write_text(path.read_text().replace("latency_s = 0.05", "latency_s = 0.06"))
    checksums.renew(Path("a"), "scenario.toml")
    said = fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b", code=1)
    assert re.search(
        r"b: is not a up to 5 s: messages: row 0 \(at 0\.\d+ s\), column t_done_s: recorded 0", said
    )
    assert not Path("b/fork.json").exists()


def test_the_guide_names_every_key():
    guide = (Path(__file__).resolve().parents[2] / "docs/fork.md").read_text()
    for key in (*CHANGEABLE, *LASTING):
        assert (
            f"`{key.replace('algorithm.*', 'algorithm.NAME').replace('.params', '')}`" in guide
        ), key


@pytest.mark.slow
def test_what_changed_links_can_not_be_exported(call, original):
    fork(call, "--at", "5", "--set", "link.loss=0.5", "--out", "b", "-q")
    assert "alter links in mid-run" in call("export", "b", "--for", "ns3", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("there", ["there", "gone"])
def test_a_fork_that_was_broken_off_is_compared_when_it_goes_on(
    call, original, tmp_path, monkeypatch, there
):
    """Its end, in which both are compared, is not reached at first: the disk is full there."""
    from netsim.errors import FolderError

    def full(*_):
        raise FolderError("f/fork.json: can't be written: No space left on device")

    change = ("--at", "6", "--set", "training.learning_rate=0.3")
    with monkeypatch.context() as patch:
        patch.setattr(fork_comparison, "write", full)
        call("fork", "a", *change, "--out", "f", "-q", code=1)
    assert not (tmp_path / "f" / "fork.json").exists()
    if there == "gone":
        (tmp_path / "a").rename(tmp_path / "moved")
        told = call("resume", "f")
        assert "f: is a fork, and its original can't be read" in told
        assert not (tmp_path / "f" / "fork.json").exists()
        return
    call("resume", "f", "-q")
    call("fork", "a", *change, "--out", "whole", "-q")
    resumed, whole = (json.loads((tmp_path / f / "fork.json").read_text()) for f in ("f", "whole"))
    assert resumed == whole
    assert call("verify", "f", "--no-rerun")
