"""Resume interrupted runs from Python, with the numbers of a run that was not interrupted."""

import signal

import pytest
from torch import nn

import netsim
from netsim.errors import NetsimError, ScenarioError

HASHES = ("event_log_sha256", "parameters_sha256")


def hashes(run):
    return {name: [s[h] for h in HASHES] for name, s in run.summaries.items()}


def stopped_in_its_second_algorithm(scenario, folder):
    """Ctrl-C at the first wake-up of the second algorithm after 10 s."""
    last_s, algorithm = 0.0, 0

    def stop(event):
        nonlocal last_s, algorithm
        algorithm += event.t_s < last_s
        last_s = event.t_s
        if algorithm == 1 and event.t_s > 10.0:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises((NetsimError, KeyboardInterrupt)):
            netsim.run(scenario, out=folder, on_wakeup=stop)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_an_interrupted_run_goes_on(small, played, tmp_path):
    folder = tmp_path / "run"
    stopped_in_its_second_algorithm(small, folder)
    told = []
    again = netsim.resume(folder, tell=told.append)
    assert hashes(again) == hashes(played)
    assert list(again.summaries) == list(played.summaries)
    assert any("has ended already" in line for line in told)
    netsim.run(small, out=tmp_path / "next")  # nothing of it is left in the process


def test_a_run_that_has_ended_is_opened(played):
    before = sorted(p.stat().st_mtime_ns for p in played.folder.rglob("*") if p.is_file())
    assert hashes(netsim.resume(played.folder)) == hashes(played)
    assert before == sorted(p.stat().st_mtime_ns for p in played.folder.rglob("*") if p.is_file())


class Narrow(nn.Sequential):
    """A model of the user's own."""

    def __init__(self, num_classes):
        super().__init__(nn.Flatten(), nn.Linear(64, num_classes))


@pytest.mark.slow
def test_objects_come_from_the_scenario(small, tmp_path):
    own = small.replace(model=Narrow)
    whole = netsim.run(own, out=tmp_path / "whole")
    folder = tmp_path / "run"
    stopped_in_its_second_algorithm(own, folder)
    with pytest.raises(ScenarioError, match=r"Narrow"):
        netsim.resume(folder)
    assert hashes(netsim.resume(folder, own)) == hashes(whole)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no run has begun in it"):
        netsim.resume(tmp_path)
