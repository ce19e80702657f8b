"""All runs of a sweep are played, whatever becomes of those who play them."""

import signal
from contextlib import suppress
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

from netsim.campaign.grid import Job, Outcome, Point
from netsim.campaign.pool import TRIES, Grid, Lost, Progress, Started, play_all, stop_requests
from netsim.engine.interruption import Interrupted, asked_by_signals, raised_at_once
from netsim.scenario.draft import Draft


def job(seed: int) -> Job:
    draft = Draft("s", {"seed": seed, "x": float("inf")}, {("a", 0, "b"): "--set"})
    return Job(Point("p", {"k": [1]}), seed, draft, Path(f"p/seed-{seed}"), (), False, ("a",))


class Workers:
    """Workers that play runs by a script: for each seed the outcomes of its tries."""

    def __init__(self, slots: int, script: dict[int, list[str]]) -> None:
        self.slots, self._script = slots, script
        self.under_way: list[Job] = []
        self.most = 0
        self.closed = False

    def start(self, job):
        self.under_way.append(job)
        self.most = max(self.most, len(self.under_way))

    def reports(self):
        job = self.under_way.pop(0)
        yield Started(job, 7, "here")
        word = self._script.get(job.seed, ["done"]).pop(0)
        if word == "stop":
            self.under_way.insert(0, job)
            raise KeyboardInterrupt
        yield Progress(job, 1.0, 2.0)
        yield Lost(job, word) if word != "done" else Outcome(job)

    def stop(self):
        for job in self.under_way:
            done = self._script.get(job.seed, ["done"])[0] == "done"
            yield Outcome(job) if done else Lost(job, "stopped")

    def close(self):
        self.closed = True


class Watcher:
    def __init__(self):
        self.ended_runs: list[Outcome] = []
        self.lost: list[tuple[int, str]] = []

    def started(self, report):
        pass

    def progress(self, report):
        pass

    def on_retry(self, job, why):
        self.lost.append((job.seed, why))

    def ended(self, outcome):
        self.ended_runs.append(outcome)


def play(workers, count=6, check_stop=lambda: None):
    watcher = Watcher()
    try:
        play_all(Grid(job(seed) for seed in range(count)), workers, watcher, check_stop)
    finally:
        assert workers.closed
    return watcher


def test_no_more_runs_at_a_time_than_there_is_room_for():
    workers = Workers(2, {})
    assert [o.job.seed for o in play(workers).ended_runs] == list(range(6))
    assert workers.most == 2


def test_a_run_whose_process_is_killed_is_played_again_and_the_others_go_on():
    watcher = play(Workers(2, {1: ["killed", "done"], 3: ["killed", "ended", "done"]}))
    assert sorted(o.job.seed for o in watcher.ended_runs) == list(range(6))
    assert not any(o.problem for o in watcher.ended_runs)
    assert watcher.lost == [(1, "killed"), (3, "killed"), (3, "ended")]


def test_a_run_that_kills_its_process_every_time_is_given_up():
    watcher = play(Workers(2, {1: ["killed"] * 9}))
    (failed,) = (o for o in watcher.ended_runs if o.problem)
    assert failed.problem == f"p, seed 1: killed, {TRIES} times"
    assert len(watcher.lost) == TRIES - 1
    assert len(watcher.ended_runs) == 6


def test_what_has_ended_when_a_sweep_is_stopped_is_told():
    watcher = Watcher()
    workers = Workers(3, {1: ["stop", "stopped"], 2: ["killed"]})
    with pytest.raises(KeyboardInterrupt):
        play_all(Grid(job(seed) for seed in range(6)), workers, watcher, lambda: None)
    assert [o.job.seed for o in watcher.ended_runs] == [0, 3]
    assert watcher.lost == []
    assert workers.closed


def test_a_stop_that_is_asked_for_begins_no_run():
    def stop():
        raise KeyboardInterrupt

    workers = Workers(2, {})
    with pytest.raises(KeyboardInterrupt):
        play(workers, check_stop=stop)
    assert workers.most == 0


def test_a_job_and_its_outcome_survive_the_way_between_processes():
    sent = job(3)
    outcome = Outcome(sent, "problem", True, False)
    here, there = Pipe()
    with here, there:
        for thing in (sent, outcome):
            here.send(thing)
            assert there.recv() == thing


def test_a_sweep_in_one_process_hears_sigterm_during_a_run_and_between_two():
    """Between two runs there is nobody else who sums up what the sweep has."""
    with stop_requests(in_process=True):
        with suppress(Interrupted), asked_by_signals() as during:
            signal.raise_signal(signal.SIGTERM)
            heard = during.signal  # the run ends at its next event
        assert heard == signal.SIGTERM
        with pytest.raises(Interrupted) as between:
            signal.raise_signal(signal.SIGTERM)
        assert between.value.exit_code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_sweep_in_one_process_leaves_a_signal_to_who_handles_it():
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with stop_requests(in_process=True):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert heard == [1]


def test_a_signal_of_which_a_library_made_another_error_is_a_signal():
    def library():
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            raise ValueError("in my code") from error

    with pytest.raises(Interrupted) as stop, raised_at_once():
        library()
    assert stop.value.exit_code == 130
    with pytest.raises(ValueError, match="x"), raised_at_once():
        raise ValueError("x")
