"""Estimates time the jobs that a method asks for: each model's own, and each loss's own."""

import pytest
import torch

from netsim import world
from netsim.backends.job_types.train import Train
from netsim.engine import estimate, job_times
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

MODULES = kinds_of()
OWN_LOSS_S = 100.0


class Toll:
    """A backend that computes nothing, and states what its last jobs are to have taken.

    A step takes a second for each parameter, and `OWN_LOSS_S` more with a loss of the method.
    """

    def __init__(self):
        self.lasted, self.longest = 0.0, 0

    def execute(self, jobs):
        trained = [job for job in jobs if isinstance(job.work, Train)]
        self.lasted = float(sum(self.of(job) for job in trained))
        self.longest = max([self.longest, *(job.work.batches.steps for job in trained)])
        return 1

    def predictions(self, asked):
        self.lasted = 0.0
        return [torch.ones(len(rows), 1) for _, rows in asked]

    @staticmethod
    def of(job):
        own = 0.0 if job.work.loss is None else OWN_LOSS_S
        return job.work.batches.steps * (job.inputs[0].num_values + own)


@pytest.fixture
def toll(monkeypatch):
    made = Toll()

    def lasting(run, device):
        run()
        return made.lasted

    monkeypatch.setattr(estimate, "open_backend", lambda built, shards: (made, None))
    monkeypatch.setattr(job_times, "lasting", lasting)
    monkeypatch.setattr(job_times, "LONG_S", 1e9)
    return made


def learning_s(scenario):
    built, entry = world.build(scenario), scenario.algorithm[0]
    found = estimate.estimated(built, entry, 2)
    return built, found.alone_s - found.loop_s, found


@pytest.mark.parametrize("widths", [(2, 50), (50, 2), (7, 2, 50)])
def test_each_model_of_a_kind_has_its_own_time(widths, toll):
    case = AlgorithmCase(MODULES, "local")
    models = [{"kind": "mlp", "hidden": [width]} for width in widths]
    built, seconds, found = learning_s(case.scenario("rounds", model=models))
    steps = found.steps / len(built.architectures)  # every node makes as many
    assert seconds == pytest.approx(sum(steps * a.num_values for a in built.architectures))


def test_a_loss_of_the_methods_has_its_own_time(toll):
    case = AlgorithmCase(MODULES, "per_fedavg")
    built, seconds, found = learning_s(case.scenario("rounds"))
    step_s = built.architectures[0].num_values + OWN_LOSS_S
    assert found.steps > 0
    assert seconds == pytest.approx(found.steps * step_s)


def test_few_steps_are_timed_where_a_training_has_many(toll):
    case = AlgorithmCase(MODULES, "local")
    _, _, found = learning_s(
        case.scenario("rounds", algorithm={"kind": "local", "local_steps": 1000})
    )
    assert found.steps > 1000
    assert toll.longest <= job_times.MOST_STEPS


@pytest.mark.parametrize("task", ["next_token", "regression"])
def test_models_of_every_task_are_timed(task):
    """Tokens are whole numbers and targets real ones: nothing stands in for the data."""
    data = {"kind": "text", "length": 8} if task == "next_token" else {"kind": "diabetes"}
    small = from_dict(
        {
            "horizon_s": 2.0,
            "nodes": {"count": 2},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "data": data,
            "task": {"kind": task},
            "model": {"kind": "transformer", "width": 8, "layers": 1, "heads": 1}
            if task == "next_token"
            else {"kind": "mlp", "hidden": [4]},
            "algorithm": {"kind": "dpsgd", "local_steps": 1},
        }
    )
    _, seconds, found = learning_s(small)
    assert seconds > 0
    assert found.untimed == ()
