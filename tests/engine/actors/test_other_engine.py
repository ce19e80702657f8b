"""A run that goes on with its learning computed elsewhere ends with the same numbers."""

import signal

import pytest

import netsim
from netsim.engine import runner
from netsim.engine.actors import opening
from netsim.errors import NetsimError, ScenarioError
from netsim.protocols.declaration import declaration_of
from netsim.scenario import to_toml
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

from .inline import InlinePool

MODULES = kinds_of()
LEARNING = [name for name in MODULES if declaration_of(MODULES[name]).learns]

TABLES = {
    "horizon_s": 40.0,
    "nodes": {"count": 6},
    "link": {},
    "exchange": {"schedule": "poisson", "rate_hz": 0.5},
    "data": {"kind": "digits", "path": ""},
    "model": {"kind": "mlp", "hidden": [16]},
    "metrics": {"every_s": 20.0},
    "algorithm": [{"kind": "dpsgd", "local_steps": 3}],
    "run": {"device": "cpu"},
}


@pytest.fixture
def pools(monkeypatch):
    """Pools of actors that runs have opened."""
    found = []

    def opened(kits, count, cpus, gpus):
        found.append(InlinePool(kits(2 if count == "auto" else count)))
        return found[-1]

    monkeypatch.setattr(opening, "start_pool", opened)
    monkeypatch.setattr(runner, "find_spec", lambda name: object())
    return found


def hashes(run):
    return [(s["event_log_sha256"], s["parameters_sha256"]) for s in run.summaries.values()]


def stopped(scenario, folder, at_s):
    def stop(event):
        if event.t_s >= at_s:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises((NetsimError, KeyboardInterrupt)):
            netsim.run(scenario, out=folder, on_wakeup=stop, on_evaluation=stop)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("at_s", [0.0, 25.0])
@pytest.mark.parametrize(
    ("begun", "engine", "actors", "later"),
    [
        ({}, "ray", 3, [3]),
        ({"engine": "ray", "actors": 2}, "local", None, []),
        ({"engine": "ray", "actors": 2}, None, 3, [3]),
        ({"engine": "ray", "actors": 2}, None, None, [2]),
    ],
)
def test_a_run_goes_on_with_its_learning_elsewhere(
    tmp_path, pools, begun, engine, actors, later, at_s
):
    scenario = netsim.Scenario(**TABLES)
    alone = netsim.run(scenario, out=tmp_path / "alone")
    folder = tmp_path / "run"
    stopped(scenario.replace(run=begun), folder, at_s)
    text = (folder / "scenario.toml").read_text()
    pools.clear()
    run = netsim.resume(folder, engine=engine, actors=actors)
    assert hashes(run) == hashes(alone)
    assert [pool.size for pool in pools] == later
    assert (folder / "scenario.toml").read_text() == text or at_s == 0.0
    assert netsim.open(folder).scenario.tables.run.engine in ("local", "ray")


@pytest.mark.slow
def test_run_with_resume_takes_the_engine_that_it_names(tmp_path, pools):
    scenario, folder = netsim.Scenario(**TABLES), tmp_path / "run"
    stopped(scenario, folder, 25.0)
    run = netsim.run(scenario, out=folder, resume=True, engine="ray", actors=3)
    assert [pool.size for pool in pools] == [3]
    noted = run.environment["resumed"][-1] if hasattr(run, "environment") else None
    assert noted is None or (noted["engine"], noted["actors"]) == ("ray", 3)


def test_what_no_engine_reads_is_refused(tmp_path, pools):
    scenario, folder = netsim.Scenario(**TABLES), tmp_path / "run"
    stopped(scenario, folder, 25.0)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(ScenarioError, match="actors"):
        netsim.resume(folder, actors=3)
    with pytest.raises(ScenarioError, match="engine"):
        netsim.resume(folder, engine="cluster")
    assert before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::netsim.RunWarning")
@pytest.mark.parametrize("name", LEARNING)
def test_checkpoints_of_any_method_are_alike_with_actors_and_without(tmp_path, pools, name):
    case = AlgorithmCase(MODULES, name)
    text = to_toml(case.scenario(case.schedules[-1], run={"device": "cpu"}))
    (tmp_path / "own.toml").write_text(text)
    scenario = netsim.load(tmp_path / "own.toml")
    moments = []
    alone = netsim.run(
        scenario, out=tmp_path / "alone", on_wakeup=lambda event: moments.append(event.t_s)
    )
    at_s = max(moments, default=0.0) * 0.6
    for begun, engine in (("ray", "local"), ("local", "ray")):
        folder = tmp_path / begun
        stopped(scenario.replace(run={"engine": begun}), folder, at_s)
        assert hashes(netsim.resume(folder, engine=engine)) == hashes(alone)
    assert len(pools) == 2
