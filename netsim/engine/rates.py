"""Rates of this machine: floating-point operations a second of local steps and of outputs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import torch

from netsim.data.partitions import Rows, Shard
from netsim.data.sets import Outline, Samples
from netsim.engine.assembly import open_learning
from netsim.engine.job_times import MOST_STEPS, NODES, TESTED, JobTimes, trainings
from netsim.learning.architecture import Architecture
from netsim.learning.flops import step_flops
from netsim.learning.tasks import Task
from netsim.models import ModelKind
from netsim.scenario import from_dict
from netsim.scenario.tables import Scenario
from netsim.world import builder


@dataclass(frozen=True, eq=False)
class Form:
    """A model in the minibatches of a data set."""

    model: ModelKind
    outline: Outline
    batch_size: int
    optimizer: str  # "sgd" or "adam"
    task: Task

    @property
    def name(self) -> str:
        """Its kind, or that of its backbone: models of one name run at about one rate."""
        named: Any = getattr(self.model, "backbone", self.model)
        return str(named.kind)

    def key(self) -> tuple[Hashable, ...]:
        """Return what tells it apart."""
        of, model, task = self.outline, self.model.model_dump_json(), self.task.model_dump_json()
        return self.name, model, task, of.input_shape, of.num_classes, self.batch_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


@lru_cache(maxsize=64)
def flops(form: Form) -> tuple[float, float]:
    """Operations of a local step, its update included, and of one sample's outputs.

    Raises
    ------
    ScenarioError
        If the task is one of other samples.
    """
    few = form.task.examples(Random(form.outline, 1, 1).load(None))
    module = form.model.build(few.input_shape, few.num_outputs)
    num_outputs = prod(few.output_shape)
    a = Architecture(form.name, module, torch.device("cpu"), torch.float32, num_outputs)
    kind = torch.int64 if few.x.dtype == np.int64 else None
    passes = step_flops(a, few.input_shape, form.batch_size, kind)  # two thirds of it backwards
    update = 2.0 * a.num_parameters
    return passes + update, max(passes / form.batch_size / 3, 1.0)


def forms(scenario: Scenario) -> list[Form]:
    """List the models of a scenario's algorithms in their minibatches, each once."""
    outline, found = scenario.data.outline(), []
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        found += [
            Form(model, outline, training.batch_size, training.optimizer, scenario.task)
            for model in scenario.model
        ]
    return list(dict.fromkeys(found))


MINIBATCHES = 2


@dataclass(frozen=True)
class Rates:
    """Operations a second of one core (on a GPU: of it), as `flops` counts them."""

    # of local steps, and of outputs
    train: float
    look: float


def measured(form: Form, device: str = "auto") -> Rates:
    """Time a model in its minibatches, on random inputs.

    `device`: see `[run] device`.
    """
    small = _small(form, device)
    torch.set_num_threads(1)  # as a run does
    world = builder.build(small)
    learning = open_learning(world, small.algorithm[0], False, lambda: 0)
    backend = learning.scheduler.backend
    assert backend is not None
    times = JobTimes(backend, learning.shards, world)
    starts = dict(enumerate(learning.initial))
    jobs, _kept = trainings(starts, learning.optimizer, MOST_STEPS)
    times.know(jobs)
    step_s = times.seconds(jobs[0]) / MOST_STEPS
    step, sample = flops(form)
    return Rates(step / step_s, sample / times.of_sample(world.architectures[0]))


def _small(form: Form, device: str) -> Scenario:
    """Few nodes with random inputs."""
    small = from_dict(
        {
            "horizon_s": 1.0,
            "nodes": {"count": NODES},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "data": {"kind": "digits"},
            "task": form.task.model_dump(mode="json"),
            "model": form.model.model_dump(mode="json"),
            "training": {"batch_size": form.batch_size, "optimizer": form.optimizer},
            "metrics": {"common_test_samples": 1, "weights": False},
            "run": {"device": device},
            "algorithm": {"kind": "local"},
        }
    )
    return small.model_copy(update={"data": Random(form.outline, form.batch_size, NODES)})


class Random:
    """Random inputs in place of `[data]`, of a data set's shape, as many for each node."""

    path, goes_by, drift, validation = None, "nothing", (), 0.0

    def __init__(self, outline: Outline, batch_size: int, nodes: int) -> None:
        self._outline, self._nodes = outline, nodes
        self._each = MINIBATCHES * batch_size
        self.partition = self

    def load(self, folder: object) -> Samples:
        """Make the samples; see `DataSet.load`."""
        of, rng = self._outline, np.random.Generator(np.random.Philox(0))
        count = self._nodes * (self._each + TESTED)
        x: Any
        if of.input_limit is None:
            x = rng.standard_normal((count, *of.input_shape), dtype=np.float32)
        else:
            x = rng.integers(0, of.input_limit, (count, *of.input_shape))
        y = rng.integers(0, of.num_classes, count)
        rows = np.arange(count)
        names = tuple(map(str, range(of.num_classes)))
        cut = self._nodes * self._each
        train, test = rows[:cut], rows[cut:]
        made = Samples(x, y, train, test, of.num_classes, names, "random", "")
        return replace(made, input_limit=of.input_limit)

    def split(
        self,
        labels: Rows,
        train: Rows,
        test: Rows,
        num_classes: int,
        nodes: int,
        streams: object,
        groups: object = None,
    ) -> list[Shard]:
        """Split the samples into equal parts; see `Partition.split`.

        Parameters
        ----------
        labels, train, test, num_classes, nodes, streams, groups
            As for `Partition.split`.
        """
        parts = zip(np.array_split(train, nodes), np.array_split(test, nodes), strict=True)
        return [Shard(*part) for part in parts]
