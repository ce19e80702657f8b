"""A run that was broken off goes on as if it had not been.

Signals and crashes are raised inside of the algorithm, by way of an environment variable, so that
each comes at a known event; processes that are really killed are in `benchmarks/kills.py`.
"""

import json
import os
import re
import signal

import numpy as np
import pytest

from netsim import engine, world
from netsim.campaign import resume as resuming
from netsim.campaign import scenario_edits
from netsim.engine import polling
from netsim.engine.checkpoints import writing
from netsim.engine.checkpoints.command import Command
from netsim.engine.checkpoints.journal import Journal, Kept
from netsim.engine.interruption import Interrupted
from netsim.errors import AlteredError, NetsimError, ScenarioError
from netsim.recording import run_folder
from netsim.recording.recorder import Recorder
from netsim.recording.run_warnings import warnings_of
from netsim.scenario import component_files, from_dict, to_toml
from netsim.scenario.kinds import kinds_of

SOURCE = '''"""Trains for as long as its loss says, mixes what comes."""
import os
import signal
from dataclasses import dataclass

import torch

from netsim.api import Message, Params as Base, Ref

STRENGTH = 1.0


class Params(Base):
    """None."""


@dataclass(frozen=True)
class Model(Message):
    theta: Ref


def halved(theta):
    return theta * 0.5 * STRENGTH


def processes(node, params):
    return [on_wakeup(node)]


def trouble(node, wakes):
    if os.environ.get("TROUBLE") == f"{node.id} {wakes}":
        what = os.environ["TROUBLE_KIND"]
        if what == "error":
            raise MemoryError("on purpose")
        signal.raise_signal(getattr(signal, what))


def on_wakeup(node):
    theta, state, wakes = node.initial(), None, 0
    while True:
        yield node.wakeup()
        wakes += 1
        trouble(node, wakes)
        if wakes == 1:  # jobs of a sort that does not come again
            theta = (yield node.train(theta, steps=1, part="head")).theta
        (loss,) = [(yield node.value(node.loss(theta, "validation")))]
        trained = yield node.train(theta, steps=2 + int(10 * loss) % 3, optimizer=state)
        if wakes % 2:
            state = trained.optimizer
        got = yield node.exchange(Model(trained.theta))
        models = [trained.theta, *(r.msg.theta for r in got.values())]
        theta = node.mix(models, [1 / len(models)] * len(models))
        node.keep("half", node.compute(halved, theta))
        node.publish(theta, "mixed")
        node.log_weights([node.id], [1.0 / len(models)])
        node.record("loss_of_half", node.loss(0.5 * theta, "train"))
        node.record("wakes", wakes)
'''

TABLES = {
    "horizon_s": 8.0,
    "nodes": {"count": 5, "placement": "disc"},
    "exchange": {"schedule": "poisson", "rate_hz": 0.7},
    "radio": {"fading": {"kind": "rayleigh"}},
    "churn": {"kind": "exponential", "mean_on_s": 8.0, "mean_off_s": 1.0},
    "training": {"momentum": 0.9},
    "data": {
        "kind": "digits",
        "validation": 0.2,
        "partition": {"kind": "class_mix", "train_max": 20, "test_samples": 20},
    },
    "model": {"kind": "mlp", "hidden": [16]},
    "metrics": {"every_s": 2.0, "weights": True, "timeline": True},
    "algorithm": {"kind": "deciding"},
}
TABLE_NAMES = ("messages", "wakes", "metrics", "traffic", "graph", "intervals")


@pytest.fixture
def folder(tmp_path):
    """A folder with the algorithm in it."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "deciding.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def play(folder, monkeypatch):
    """Play the tables into a folder, with trouble of a kind at a node's wake-up."""

    def call(name, at=None, kind="SIGINT", tables=TABLES, timing_only=False):
        scenario = from_dict(tables, algorithms_folder=folder / "own")
        built = world.build(scenario)
        monkeypatch.setenv("TROUBLE_KIND", kind)
        monkeypatch.setenv("TROUBLE", at or "")
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return engine.play(built, scenario.algorithm[0], folder / name, timing_only)
        finally:
            monkeypatch.setenv("TROUBLE", "")
            signal.signal(signal.SIGINT, before)

    return call


@pytest.fixture
def resume(folder):
    """Resume the run in a folder; return its messages."""

    def call(name):
        told = []
        modules = kinds_of((folder / "own",))
        run = resuming.read_unfinished(folder / name, modules)
        resuming.play(run, modules, told.append, None)
        return told

    return call


@pytest.fixture
def often(monkeypatch):
    """Checkpoints at nearly every look."""
    monkeypatch.setattr(polling, "MOST_EVENTS", 32)
    monkeypatch.setattr(writing, "LEAST_S", 0.05)
    for name in ("FIRST_S", "SHARE_LOST", "FIRST_COST_S"):
        monkeypatch.setattr(writing, name, 0.0)
    monkeypatch.setattr(writing, "SHARE_SPENT", 1e9)


def require_same(one, other):
    before, after = run_folder.summary(one), run_folder.summary(other)
    for summary in (before, after):
        summary.pop("wall_s")
        summary["engine"] = {k: v for k, v in summary["engine"].items() if "_s" not in k}
    assert before == after
    for table in TABLE_NAMES:
        rows, others = run_folder.read(one, table), run_folder.read(other, table)
        assert list(rows) == list(others)
        for column in rows:
            assert np.array_equal(rows[column].astype(str), others[column].astype(str)), column
    with np.load(one / "kept/half.npz") as kept, np.load(other / "kept/half.npz") as others:
        assert all(np.array_equal(kept[name], others[name]) for name in kept)


@pytest.mark.slow
@pytest.mark.thinned(3)
@pytest.mark.parametrize(("at", "kind"), [("0 1", "SIGINT"), ("3 3", "SIGTERM"), ("1 4", "error")])
def test_a_run_that_was_broken_off_goes_on_as_if_it_had_not_been(
    play, resume, folder, often, at, kind
):
    play("whole")
    with pytest.raises((Interrupted, NetsimError)):
        play("cut", at, kind)
    assert any("goes on at" in text for text in resume("cut"))
    require_same(folder / "whole", folder / "cut")
    ways = run_folder.summary(folder / "cut")["engine"]["ways"]
    assert [way for subject, way in ways.items() if subject.endswith("of its part head")]
    assert not list((folder / "cut").glob("journal/checkpoint-*"))


@pytest.mark.slow
@pytest.mark.parametrize(("at", "kind"), [("0 2", "SIGINT"), ("3 3", "SIGTERM"), ("1 4", "error")])
def test_nodes_that_harvest_are_off_at_the_same_instants(play, resume, folder, often, at, kind):
    """Batteries are not looked at by evaluations while the past is played again."""
    energy = {
        "battery_j": 0.4,
        "radio": {"kind": "radio_state", "tx_w": 1.0, "rx_w": 1.0, "idle_w": 0.05},
        "compute": {"kind": "per_step", "joules": 0.05},
        "harvest": {"kind": "bernoulli", "power_w": 0.6, "probability": 0.4, "slot_s": 0.3},
    }
    tables = TABLES | {"energy": energy, "horizon_s": 16.0}
    play("whole", tables=tables)
    with pytest.raises((Interrupted, NetsimError)):
        play("cut", at, kind, tables=tables)
    assert any("goes on at" in text for text in resume("cut"))
    require_same(folder / "whole", folder / "cut")
    assert sum(run_folder.summary(folder / "whole")["energy"]["outages"].values()) > 3


@pytest.mark.slow
def test_an_interrupt_alone_writes_a_checkpoint_and_nothing_has_to_be_set_aside(
    play, resume, folder
):
    play("whole")
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    assert json.loads((folder / "cut/status.json").read_text())["state"] == "interrupted"
    assert len(list((folder / "cut").glob("journal/checkpoint-*.json"))) == 1
    resume("cut")
    require_same(folder / "whole", folder / "cut")
    assert not (folder / "cut/journal").exists()


@pytest.mark.slow
def test_a_run_may_be_broken_off_again_and_again(play, resume, folder, often, monkeypatch):
    play("whole")
    with pytest.raises(Interrupted):
        play("cut", "0 1")
    monkeypatch.setenv("TROUBLE_KIND", "error")
    for at in ("1 2", "1 4"):
        monkeypatch.setenv("TROUBLE", at)
        with pytest.raises(Exception, match="on purpose"):
            resume("cut")
    monkeypatch.setenv("TROUBLE", "")
    resume("cut")
    require_same(folder / "whole", folder / "cut")


@pytest.mark.slow
def test_an_interrupt_while_the_past_is_replayed_changes_nothing(play, resume, folder, monkeypatch):
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    before = contents(folder / "cut")
    monkeypatch.setenv("TROUBLE", "0 1")
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(Interrupted):
        resume("cut")
    signal.signal(signal.SIGINT, old)
    assert contents(folder / "cut") == before


def contents(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_a_damaged_checkpoint_gives_way_to_the_one_before(play, resume, folder, often, monkeypatch):
    play("whole")
    monkeypatch.setattr(writing, "LEAST_S", 0.0)
    with pytest.raises(Exception, match="on purpose"):
        play("cut", "1 4", "error")
    newest = max((folder / "cut/journal").glob("checkpoint-*.cells"))
    newest.write_bytes(newest.read_bytes() + b"0")
    told = resume("cut")
    assert newest.name in told[0]
    assert "goes on from the checkpoint before it" in told[0]
    require_same(folder / "whole", folder / "cut")


def lost(path):
    path.unlink()


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("how", [lost, flipped])
@pytest.mark.parametrize("name", ["messages", "wakes", "metrics", "environment.json", "nodes"])
def test_what_is_not_what_was_written_is_not_gone_on_with(play, resume, folder, name, how):
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    file = next(p for p in sorted((folder / "cut").rglob("*")) if p.is_file() and name in str(p))
    how(file)
    before = contents(folder / "cut")
    with pytest.raises(AlteredError, match=re.escape(str(file))) as refused:
        resume("cut")
    assert "nothing was changed" in str(refused.value)
    assert contents(folder / "cut") == before


@pytest.mark.slow
def test_a_run_may_be_killed_before_its_next_checkpoint_again_and_again(play, resume, folder):
    """Each time it has noted in environment.json that it goes on, and no checkpoint knows of it."""
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    path = folder / "cut/environment.json"
    for _ in range(2):
        resuming._note(path, {"virtual_s": 3.0})
    resume("cut")
    assert len(json.loads(path.read_text())["resumed"]) == 3


@pytest.mark.thinned(6)
@pytest.mark.parametrize("how", [lost, flipped])
@pytest.mark.parametrize("table", ["messages", "wakes", "graph"])
def test_what_is_lost_while_a_run_plays_is_not_sealed(folder, play, monkeypatch, table, how):
    """At the second evaluation a part of a table is harmed, as by a hand or a failing disk."""
    seen = []

    def checkpoint(self):
        self.extents()  # which writes what waits
        seen.append(self)
        if len(seen) == 2:
            how(min((folder / "run" / table).glob("part-*.parquet")))

    monkeypatch.setattr(Recorder, "checkpoint", checkpoint)
    with pytest.raises(AlteredError, match=f"run/{table}/part-00000.parquet: is ") as refused:
        play("run")
    assert refused.type is not ScenarioError
    assert json.loads((folder / "run/status.json").read_text())["state"] == "failed"
    assert not (folder / "run/summary.json").exists()
    assert not (folder / "run/checksums.json").exists()


@pytest.mark.slow
def test_a_part_that_the_run_did_not_write_is_no_row_of_it(folder, play, monkeypatch):
    seen = []

    def checkpoint(self):
        self.extents()  # which writes what waits
        seen.append(self)
        if len(seen) == 2:
            part = folder / "run/messages/part-00000.parquet"
            part.with_name("part-99999.parquet").write_bytes(part.read_bytes())

    monkeypatch.setattr(Recorder, "checkpoint", checkpoint)
    with pytest.raises(AlteredError, match=r"part-99999.parquet: was not written by this run"):
        play("run")


@pytest.mark.slow
def test_a_run_killed_before_its_first_checkpoint_is_played_anew(play, resume, folder):
    play("whole")
    with pytest.raises(Exception, match="on purpose"):
        play("cut", "1 4", "error")
    (told,) = resume("cut")
    assert "there is no checkpoint: played again from the beginning" in told
    require_same(folder / "whole", folder / "cut")
    aside = folder / "cut/journal/set_aside-1"
    assert list((aside / "messages").glob("part-*.parquet"))


@pytest.mark.slow
def test_timing_only_is_played_anew(play, folder):
    tables = {**TABLES, "algorithm": {"kind": "dpsgd"}}
    summary = play("whole", tables=tables, timing_only=True)
    scenario = from_dict(tables)
    with pytest.raises(ScenarioError, match="already holds a run"):
        play("whole", tables=tables, timing_only=True)
    modules = kinds_of()
    (folder / "whole/status.json").write_text('{"state": "running"}')
    run = resuming.Unfinished(folder / "whole", scenario, "", Command(False, timing_only=True))
    told = []
    resuming.play(run, modules, told.append, None)
    assert "--timing-only keeps no checkpoints" in told[0]
    assert run_folder.summary(folder / "whole")["event_log_sha256"] == summary["event_log_sha256"]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("what", "by", "says"),
    [
        ("int(10 * loss) % 3", "int(10 * loss) % 2", "the algorithm's file has changed"),
        ("yield node.wakeup()", "yield node.wakeup(); yield node.sleep(0.01)", "hash of the event"),
    ],
)  # fmt: skip
def test_what_takes_another_course_is_refused_and_nothing_is_touched(
    play, resume, folder, what, by, says
):
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    before = contents(folder / "cut")
    path = folder / "own/deciding.py"
    path.write_text(path.read_text().replace(what, by))
    forget(folder)
    with pytest.raises(ScenarioError, match="does not replay, nothing was written") as refused:
        resume("cut")
    assert "the algorithm's file has changed" in str(refused.value)
    assert says in str(refused.value) or "at first" in str(refused.value)
    assert contents(folder / "cut") == before


def forget(folder):
    """Let the algorithm's file be imported anew."""
    import sys

    for name in [n for n in sys.modules if n.startswith(component_files.PREFIX)]:
        del sys.modules[name]
    for path in (folder / "own").rglob("*.pyc"):
        path.unlink()


@pytest.mark.slow
def test_a_change_that_leaves_the_past_as_it_was_is_told_and_noted(play, resume, folder):
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    path = folder / "own/deciding.py"
    path.write_text(path.read_text().replace("STRENGTH = 1.0", "STRENGTH = 1.0  # as before"))
    forget(folder)
    told = resume("cut")
    assert any("the algorithm's file has changed" in text for text in told)
    (resumed,) = json.loads((folder / "cut/environment.json").read_text())["resumed"]
    assert resumed["torch"]
    assert 0 < resumed["virtual_s"] < 8
    then_s = resumed["virtual_s"]
    assert [w for w in warnings_of([folder / "cut"]) if "went on" in w] == [
        f"deciding: went on at {then_s} s after its algorithm's file had changed: a run played "
        "anew gives other numbers"
    ]


def test_a_run_that_went_on_with_other_files_says_so_where_it_is_read(write_run, tmp_path):
    write_run(tmp_path, algorithm="mine")
    files = {"inputs": ["1"], "algorithm": ["a", "b"], "components": []}
    made_of = {k: [{"file": "f", "bytes": 1, "sha256": x} for x in v] for k, v in files.items()}
    for change, told in {
        (): [],
        ("inputs",): ["an input file"],
        ("algorithm", "components"): ["its algorithm's file", "the file of a component"],
    }.items():
        noted = {"virtual_s": 3.0, **files, **{sort: ["new"] for sort in change}}
        (tmp_path / "environment.json").write_text(json.dumps({**made_of, "resumed": [noted] * 2}))
        assert [w for w in warnings_of([tmp_path]) if "went on" in w] == [
            f"mine: went on at 3.0 s after {what} had changed: a run played anew gives other "
            "numbers"
            for what in told
        ]


def test_a_second_signal_stops_at_once():
    from netsim.engine.interruption import Interruption

    one = Interruption()
    one.ask(signal.SIGINT)
    with pytest.raises(Interrupted):
        one.ask(signal.SIGINT)


def test_signals_that_somebody_handles_or_ignores_stay_theirs():
    from netsim.engine.interruption import asked_by_signals

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with asked_by_signals() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGTERM) == asked.ask
    assert asked.signal is None
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    signal.signal(signal.SIGINT, before)


def test_the_journal_names_what_the_run_was_made_with(play, folder):
    with pytest.raises(Interrupted):
        play("cut", "3 3")
    checkpoint = Journal(folder / "cut").read().checkpoint
    assert {"netsim", "torch", "numpy", "python", "algorithm"} <= set(checkpoint.made_with)


def test_edits_of_two_resumptions_at_one_instant_add_up(tmp_path):
    """Killed before its next checkpoint, a run goes on from the same one with one edit more."""
    tables = {
        "name": "s",
        "horizon_s": 10.0,
        "nodes": {"count": 2},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "link": {"latency_s": 0.1},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "local"},
    }
    path, modules = tmp_path / "scenario.toml", kinds_of()
    path.write_text(to_toml(from_dict(tables)))
    found = []
    for edits in ({"link.latency_s": (0.1, 0.2)}, {"link.loss": (0.0, 0.5)}):
        begun = Kept(path.read_text(), (), run_folder.scenario_tables(tmp_path))
        scenario = scenario_edits.changed_at(path, begun, edits, 5.0, modules)
        path.write_text(to_toml(scenario))
        found.append({change.at_s: change.set for change in scenario.changes})
    assert found == [
        {5.0: {"link.latency_s": 0.2}},
        {5.0: {"link.latency_s": 0.2, "link.loss": 0.5}},
    ]
