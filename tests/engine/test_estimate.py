"""Estimates count the work that runs do."""

from types import SimpleNamespace

import pytest

from netsim import world
from netsim.engine import estimate
from netsim.engine.actors import opening
from netsim.engine.actors.opening import homes_of
from netsim.engine.job_times import JobTimes
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.learning.refs import Cell, Ref
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

from .actors.inline import InlinePool

MODULES = kinds_of()


@pytest.fixture(autouse=True)
def no_timing(monkeypatch):
    """A local step takes 1 s, the outputs of a sample 0.01 s."""
    monkeypatch.setattr(JobTimes, "_timed", lambda self, jobs: 1.0)
    monkeypatch.setattr(JobTimes, "of_sample", lambda self, layout: 0.01)


def of(kind, **changed):
    scenario = AlgorithmCase(MODULES, kind).scenario("rounds", **changed)
    return world.build(scenario), scenario.algorithm[0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["dpsgd", "fedavg", "local"])
def test_steps_and_jobs_are_those_of_the_run(kind):
    built, entry = of(kind)
    found = estimate.estimated(built, entry, 2)
    run = Simulation(built, entry, None, False, None)
    run.to_horizon()
    jobs = run.learning.scheduler.jobs
    summary = run.finish(None)
    assert found.part == 1.0
    assert found.steps == summary["local_steps"]
    assert found.jobs == jobs
    assert found.alone_s - found.loop_s >= found.steps


def test_nothing_moves_where_nobody_uses_what_others_have():
    built, entry = of("local")
    assert estimate.estimated(built, entry, 5).moved_bytes == 0


@pytest.mark.thinned(18)
@pytest.mark.parametrize("actors", [2, 3, 5])
@pytest.mark.parametrize("kind", ["dpsgd", "fedavg", "mapl", "fedrep", "deprl", "dfedpgp"])
def test_as_many_bytes_move_as_in_the_run(kind, actors, monkeypatch):
    pools = []

    def made(kits, count, cpus, gpus):
        pools.append(InlinePool(kits(count)))
        return pools[0]

    monkeypatch.setattr(opening, "start_pool", made)
    built, entry = of(kind, run={"device": "cpu", "engine": "ray", "actors": actors})
    found = estimate.estimated(built, entry, actors)
    run = Simulation(built, entry, None, False, None)
    run.to_horizon()
    assert found.moved_bytes == run.finish(None)["engine"]["moved_bytes"] > 0
    run.learning.close()
    assert found.moved_bytes == pools[0].moved_bytes


class Course:
    """Jobs of two nodes, each with an actor of its own, of so many seconds."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(estimate, "MOVE_S", 0.25)
        monkeypatch.setattr(estimate, "JOB_S", 0.0)
        times = SimpleNamespace(know=lambda jobs: None, seconds=lambda job: job.seconds)
        built, _ = of("local")
        self.counting = estimate.Counting([0, 1], built.shards, times)

    def level(self, seconds, reads=None):
        """Let nodes compute; `seconds` and what is read, by node; return the results' cells."""
        jobs = [
            SimpleNamespace(
                node=node,
                seconds=one,
                work=None,
                inputs=[Ref(1 - node, cell, None) for cell in (reads or {}).get(node, ())],
                outputs=[Cell(None, (3,), None)],
            )
            for node, one in seconds.items()
        ]
        self.counting.execute(jobs)
        return [job.outputs[0] for job in jobs]

    def ends_s(self):
        self.counting.wait()
        return self.counting.packed_s()


def test_actors_that_read_nothing_of_each_other_do_not_wait(monkeypatch):
    course = Course(monkeypatch)
    for node in (0, 1, 0, 1):
        course.level({node: 5.0})
    assert course.ends_s() == pytest.approx(10.0, abs=0.5)


def test_rows_come_after_what_their_actor_was_sent_before(monkeypatch):
    course = Course(monkeypatch)
    (made,) = course.level({0: 2.0})
    course.level({0: 5.0})
    course.level({1: 1.0}, reads={1: [made]})
    course.level({0: 1.0})
    assert course.ends_s() == pytest.approx(2.0 + 5.0 + 0.25 + 1.0, abs=0.5)


def test_actors_that_read_of_each_other_wait_for_the_slower_one(monkeypatch):
    course = Course(monkeypatch)
    first = course.level({0: 1.0, 1: 4.0})
    course.level({0: 4.0, 1: 1.0}, reads={0: first[1:], 1: first[:1]})
    assert course.ends_s() == pytest.approx(4.0 + 0.25 + 4.0, abs=0.5)


def test_who_reads_a_value_waits_for_what_was_sent(monkeypatch):
    course = Course(monkeypatch)
    (made,) = course.level({0: 5.0})
    assert made.materialise().tolist() == [1.0, 1.0, 1.0]
    course.level({1: 5.0})
    assert course.ends_s() == pytest.approx(10.0, abs=0.5)


def test_a_part_of_the_horizon_is_scaled_up():
    built, entry = of("dpsgd", horizon_s=60.0)
    whole = estimate.estimated(built, entry, 2)
    with pytest.raises(ScenarioError, match="did not come to its first evaluation"):
        estimate.estimated(built, entry, 2, network_s=-1.0)
    assert whole.part == 1.0


@pytest.mark.parametrize(
    ("sizes", "actors", "homes"),
    [
        ([5, 5, 5, 5], 2, [0, 0, 1, 1]),
        ([1, 1, 1, 9], 2, [0, 0, 0, 1]),
        ([3, 3], 5, [0, 1]),
        ([7], 3, [0]),
        ([9, 1, 1, 1, 9], 3, [0, 1, 1, 1, 2]),
    ],
)
def test_actors_have_about_as_much_to_do(sizes, actors, homes):
    assert homes_of(sizes, actors) == homes


def test_a_sweep_is_said_to_be_many_runs(tmp_path):
    from typer.testing import CliRunner

    from netsim.console.app import app

    path = tmp_path / "s.toml"
    path.write_text(
        "horizon_s = 2.0\nnodes = { count = 2 }\ndata = { kind = 'digits' }\n"
        "exchange = { schedule = 'rounds', interval_s = 1.0 }\nalgorithm = { kind = 'dpsgd' }\n"
        "model = { kind = 'mlp', hidden = [4] }\n[sweep]\nseeds = [0, 1, 2]\n"
        "over = { 'training.learning_rate' = [0.1, 0.2] }\n"
    )
    told = CliRunner().invoke(app, ["estimate", str(path), "-q"])
    assert told.exit_code == 0, told.output
    assert "6 runs (2 points, 3 seeds)" in " ".join(told.stdout.split())
