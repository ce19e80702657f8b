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


def files(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_a_run_that_has_ended_is_opened_where_its_folder_is_taken_as_it_is(small, played):
    before = files(played.folder)
    again = netsim.run(small, out=played.folder, resume=True)
    assert hashes(again) == hashes(played)
    assert files(played.folder) == before
    for change in ({"seed": 1}, {"link__loss": 0.1}, {"algorithm": ["dpsgd"]}):
        key = next(iter(change)).replace("__", ".")
        with pytest.raises(ScenarioError, match=f"run: is a run with other .*{key}"):
            netsim.run(small.replace(**change), out=played.folder, resume=True)
    assert files(played.folder) == before
    with pytest.raises(ScenarioError, match="is not empty"):
        netsim.run(small, out=played.folder)


def test_what_resume_does_not_bear_is_refused(small, tmp_path):
    with pytest.raises(ScenarioError, match="needs out="):
        netsim.run(small, resume=True)
    with pytest.raises(ScenarioError, match="takes no observers"):
        netsim.run(small, out=tmp_path / "run", resume=True, on_wakeup=print)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_that_was_broken_off_goes_on_where_its_folder_is_taken_as_it_is(
    small, played, tmp_path
):
    folder = tmp_path / "run"
    stopped_in_its_second_algorithm(small, folder)
    assert hashes(netsim.run(small, out=folder, resume=True)) == hashes(played)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_run_that_failed_moves_aside_and_is_played_anew(small, tmp_path):
    one, folder = small.replace(algorithm=["local"], horizon_s=10.0), tmp_path / "run"

    def fail(event):
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        netsim.run(one, out=folder, on_wakeup=fail)
    with pytest.warns(netsim.RunWarning, match=r"moved to .*run\.1 and played anew: it failed"):
        again = netsim.run(one, out=folder, resume=True)
    assert again.algorithms == ("local",)
    assert (tmp_path / "run.1/scenario.toml").is_file()


KEPT = '''"""Trains alone."""
from netsim import api


class Params(api.Params):
    """None."""


def processes(node, params):
    return [on_wakeup(node)]


def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1)).theta
        node.publish(theta, "trained")
'''


@pytest.fixture
def of_files(small, tmp_path):
    """A scenario of a table and an algorithm of the user's own, in folders of this test."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/kept.py").write_text(KEPT)
    (tmp_path / "data").mkdir()
    rows = "".join(f"{i * 0.618034 % 1:.6f},{i * i % 5},{i % 2}\n" for i in range(300))
    (tmp_path / "data/train.csv").write_text(f"a,b,label\n{rows}")

    def made():
        tables = {**small.stated, "algorithm": [{"kind": "kept"}]}
        tables["data"] = {**tables["data"], "kind": "table", "path": str(tmp_path / "data")}
        return netsim.Scenario(components=tmp_path / "own", **tables)

    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own/kept.py", "data/train.csv"])
def test_a_folder_of_other_files_is_not_taken_for_that_of_a_scenario(of_files, tmp_path, name):
    """Whatever a scenario names by its path may be another one the next day."""
    folder, path = tmp_path / "run", tmp_path / name
    netsim.run(of_files(), out=folder)
    netsim.run(of_files(), out=folder, resume=True)
    swept = {"over": {"training.learning_rate": [0.1]}, "out": tmp_path / "sweep", "jobs": 1}
    netsim.sweep(of_files(), **swept)
    before = path.read_text()
    path.write_text(before + ("0.5,3,1\n" if name.endswith("csv") else "# another\n"))
    with pytest.raises(ScenarioError, match=rf"run: is a run of something else: .*{path.name}"):
        netsim.run(of_files(), out=folder, resume=True)
    with pytest.raises(ScenarioError, match=rf"sweep: .*{path.stem}.* has changed"):
        netsim.sweep(of_files(), **swept)
    path.write_text(before)
    netsim.run(of_files(), out=folder, resume=True)
    netsim.sweep(of_files(), **swept)


def test_what_is_not_in_a_scenario_is_asked_for_too(small, tmp_path):
    one, folder = small.replace(algorithm=["local"], horizon_s=10.0), tmp_path / "run"
    netsim.run(one, out=folder, timing_only=True)
    with pytest.raises(ScenarioError, match="it was played with timing_only"):
        netsim.run(one, out=folder, resume=True)
    netsim.run(one, out=folder, resume=True, timing_only=True)
    with pytest.raises(ScenarioError, match="takes no agent"):
        netsim.run(one, out=folder, resume=True, agent=lambda decision: None)


@pytest.mark.slow
def test_objects_that_may_be_others_are_told_of(small, tmp_path):
    one, folder = small.replace(model=Narrow, horizon_s=10.0), tmp_path / "run"
    netsim.run(one, out=folder)
    with pytest.warns(netsim.RunWarning, match="whether Narrow was the same object then"):
        netsim.run(one, out=folder, resume=True)
