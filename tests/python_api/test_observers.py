"""Observers hear what is recorded, change nothing, and cost nothing where there are none."""

import random

import numpy as np
import pytest
import torch

import netsim
from netsim import world
from netsim.engine.simulation import Simulation
from netsim.learning import global_draws
from netsim.learning.global_draws import OBSERVED_CALLS, GlobalGenerators
from netsim.recording.observers import Observers


@pytest.mark.slow
def test_they_hear_all_and_change_nothing(small, played, tmp_path):
    messages, wakeups, evaluations = [], [], []
    watched = netsim.run(
        small,
        out=tmp_path / "run",
        on_message=messages.append,
        on_wakeup=wakeups.append,
        on_evaluation=evaluations.append,
    )
    for name in ("event_log_sha256", "parameters_sha256"):
        for algorithm in small.algorithm:
            one, two = (r.summaries[algorithm.name][name] for r in (played, watched))
            assert one == two
    log = watched.messages
    assert len(messages) == len(log) > 0
    first, row = messages[0], log.iloc[0]
    assert first.algorithm == row["algorithm"] == "dpsgd"
    for column in ("t_sent_s", "t_done_s", "src", "dst", "kind", "bits", "outcome", "round"):
        assert getattr(first, column) == row[column]
    woke = watched.wakeups.query("what == 'woke'")
    heard = [(w.algorithm, w.node, w.round) for w in wakeups if w.outcome == "woke"]
    assert heard == list(zip(woke["algorithm"], woke["node"], woke["count"], strict=True))
    last = evaluations[-1]
    assert (last.algorithm, last.t_s) == ("local", 20.0)
    assert last.means["accuracy"] == pytest.approx(watched.summary.loc["local", "accuracy"])
    assert [e.t_s for e in evaluations if e.algorithm == "dpsgd"] == [5.0, 10.0, 15.0, 20.0]


@pytest.mark.slow
def test_broadcasts_over_an_ideal_link_are_told_once_a_receiver(small, tmp_path):
    """Messages that end alike are recorded together; `rounds` over the ideal link does so."""
    ideal = small.replace(link={}, link__loss=None, link__latency_s=None, link__rate_bps=None)
    heard = []
    run = netsim.run(ideal, algorithms=["dpsgd"], out=tmp_path / "run", on_message=heard.append)
    told = [(m.src, m.dst, m.t_done_s, m.bits_transmitted, m.attempts) for m in heard]
    columns = ["src", "dst", "t_done_s", "bits_transmitted", "attempts"]
    assert told == list(run.messages[columns].itertuples(index=False, name=None))


def test_without_any_the_recorder_is_as_it_was(small):
    tables = small.tables
    run = Simulation(world.build(tables), tables.algorithm[0], None, True, None)
    before = (run.recorder.message, run.recorder.messages)
    Observers().watch(run.recorder, run.evaluator.values_told, "x")
    assert (run.recorder.message, run.recorder.messages) == before
    assert "wake" not in vars(run.recorder)
    assert run.evaluator.values_told == []


@pytest.mark.slow
def test_an_observer_may_end_the_run(small, tmp_path):
    def enough(event):
        if event.t_s >= 10.0:
            raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        netsim.run(small, out=tmp_path / "run", on_evaluation=enough)
    assert not (tmp_path / "run" / "dpsgd" / "summary.json").exists()


DRAWS = {
    "NumPy": lambda event: np.random.rand(),  # noqa: NPY002 - it is what is watched
    "Python": lambda event: random.random(),
    "torch": lambda event: torch.rand(1),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("told", ["on_message", "on_wakeup", "on_evaluation"])
def test_what_an_observer_draws_is_no_draw_of_the_algorithm(small, tmp_path, told, draw):
    run = netsim.run(
        small, out=tmp_path / "run", timing_only=told != "on_evaluation", **{told: draw}
    )
    assert not [warning for warning in run.warnings if "global random numbers" in warning]


def test_an_observer_hides_no_draw_of_others():
    generators = GlobalGenerators()
    observe = generators.observer(lambda event: random.random())
    np.random.rand()  # noqa: NPY002 - it is what is watched
    for _ in range(2 * OBSERVED_CALLS):
        observe(None)
    assert generators.that_drew() == ["NumPy"]
    assert generators.that_drew() == []


def test_an_observer_that_draws_nothing_is_soon_looked_at_no_more(monkeypatch):
    generators = GlobalGenerators()
    observe = generators.observer(lambda event: None)
    for _ in range(OBSERVED_CALLS):
        observe(None)
    monkeypatch.setattr(global_draws, "_states", None)
    observe(None)
