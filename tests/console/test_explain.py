"""`netsim explain`: what limited a run, on the terminal."""

import json
import shutil

import pandas as pd
import pytest

from netsim.recording import checksums

CHATTY = '''"""Chatty: trains, sends its model to its peers, and mixes theirs."""
from netsim.api import Model, Params as Base

class Params(Base):
    """None."""

def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1)).theta
        got = yield node.exchange(Model(theta))
        node.publish(theta, "trained")
        models = [theta, *(r.msg.theta for r in got.values())]
        theta = node.mix(models, [1.0 / len(models)] * len(models))
'''


@pytest.fixture
def run(netsim, here, once):
    own = here / "own"
    own.mkdir()
    (own / "chatty.py").write_text(CHATTY)
    text = (here / "s.toml").read_text().replace('kind = "alone"', 'kind = "chatty"')
    text = text.replace('"poisson"\nrate_hz = 1.0', '"rounds"\ninterval_s = 0.5')
    (here / "s.toml").write_text(text)

    def play():
        arguments = ("-q", "--no-figures", "--timing-only", "--out", "done", "--components", "own")
        result = netsim("run", "s.toml", *arguments, algorithms=False)
        assert result.exit_code == 0, result.output

    once("chatty run", here / "done", play)
    return here / "done"


def explained(netsim, *arguments):
    return netsim("explain", *arguments, algorithms=False)


@pytest.mark.slow
def test_a_healthy_run_is_said_to_be_so(netsim, run):
    result = explained(netsim, "done", "--queries")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "done: s, chatty"
    assert lines[1].startswith("4 nodes, 4 virtual s, rounds")
    assert any(line.startswith("Nothing stands out") for line in lines)
    assert "    (path.t_end_s - path.t_begin_s)" in result.stdout
    assert 'wakes = pd.read_parquet(run / "wakes")' in result.stdout
    plain = explained(netsim, "done").stdout
    assert "read_parquet" not in plain
    assert len(plain.splitlines()) < len(lines)


def test_one_node_has_a_story(netsim, run):
    result = explained(netsim, "done", "--node", "2")
    assert result.exit_code == 0, result.output
    told = result.stdout
    assert "done: s, chatty, node 2" in told
    assert "Sent: 27 messages, of which 27 arrived (100 %)." in told
    assert "it woke 9 times and skipped 0; 9 local steps" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nowhere",), "nowhere: no run here or one folder below"),
        (("own",), "own: no run here or one folder below"),
        (("done", "--node", "4"), "--node 4: the run has nodes 0 to 3"),
    ],
)
def test_what_can_not_be_explained_is_one_line(netsim, run, arguments, problem):
    result = explained(netsim, *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_run_without_a_log_is_refused(netsim, run):
    shutil.rmtree(run / "wakes")
    (run / "checksums.json").unlink()
    result = explained(netsim, "done")
    assert result.exit_code == 2
    assert "there is no log to explain it by: [run] log_messages is false" in result.stderr


def test_a_killed_run_is_explained_as_far_as_it_came(netsim, run):
    (run / "summary.json").unlink()
    (run / "checksums.json").unlink()
    (run / "status.json").write_text(json.dumps({"state": "running"}))
    result = explained(netsim, "done")
    assert result.exit_code == 0, result.output
    assert "the run is not done (running): as far as it came" in result.stdout
    shutil.rmtree(run / "messages")
    shutil.rmtree(run / "metrics")
    assert explained(netsim, "done").exit_code == 0
    assert explained(netsim, "done", "--node", "0").exit_code == 0
    result = netsim("export", "done", "--as", "timeline", algorithms=False)
    assert (result.exit_code, result.stdout) == (0, "wrote done.trace.json\n")
    result = netsim("export", "done", "--as", "messages-csv", algorithms=False)
    assert result.exit_code == 2
    assert "done: has no messages" in result.stderr


@pytest.mark.parametrize("name", ["nodes.parquet", "wakes/part-00000.parquet", "scenario.toml"])
def test_a_broken_folder_is_one_line(netsim, run, name):
    (run / name).write_bytes(b"nothing of the kind")
    result = explained(netsim, "done")
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1


def test_words_of_a_run_folder_are_neither_code_nor_lines(netsim, run):
    """A metric's name goes into a query: as a literal, which nothing in it ends."""
    summary = json.loads((run / "summary.json").read_text())
    evil = 'a"] + [open("evil", "w")] or metrics["\n1. Forged'
    summary |= {"task": {"metric": evil, "lower": []}, "name": "x\n2. Forged"}
    (run / "summary.json").write_text(json.dumps(summary))
    rows = {"node": [2], "metric": [evil], "value": [0.5], "t_s": [1.0], "stage": ["mixed"]}
    rows |= {"steps": [1], "bits_transmitted": [0], "energy_j": [0.0]}
    pd.DataFrame(rows).to_parquet(run / "metrics" / "part-00000.parquet")
    checksums.write(run)
    result = explained(netsim, "done", "--node", "2")
    assert result.exit_code == 0, result.output
    assert "place 1 of 1" in result.stdout
    assert not (run.parent / "evil").exists()
    assert not any(
        line.startswith(("1. Forged", "2. Forged")) for line in result.stdout.split("\n")
    )
