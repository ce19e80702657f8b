"""How long scenarios would take on this machine: local steps and evaluations, counted and timed.

Nothing is played and no data set is read. How often a method trains and evaluates in a round is
counted from its Params and the partition's sizes; what a local step and an evaluation cost is timed
on random inputs of the data set's shape, with the backend that a run would take. Times are those of
one core, whatever else the machine does (on a GPU: as they pass). Sending messages and mixing
models are left out, and steps are timed with plain cross-entropy: low by up to a factor of five
where images are cropped and losses are a method's own.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from netsim.backends.job_types.train import Train
from netsim.data.partitions import Rows, Shard
from netsim.data.sets import Outline, Samples
from netsim.engine.assembly import open_learning
from netsim.learning.jobs import Batches
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.models import ModelKind
from netsim.scenario import from_dict
from netsim.scenario.file import without_none
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import AlgorithmEntry, Scenario, Training
from netsim.world import builder

NODES = 2
"""Nodes that take part in a timing."""
TESTED = 20
"""Samples of each that outputs are timed on."""
LONG_S = 0.2
"""A timing that takes so long is long enough; shorter ones are repeated with more steps."""
MOST_STEPS = 64


@dataclass(frozen=True)
class Times:
    """What one model costs.

    Attributes
    ----------
    step_s : float
        Of a local step on a minibatch.
    sample_s : float
        Of the outputs for one sample.
    """

    step_s: float
    sample_s: float


@dataclass(frozen=True)
class Work:
    """What one node does in a round.

    Attributes
    ----------
    steps : float
        Local steps, forward and backward.
    samples : float
        Samples that models are evaluated on, measurements apart.
    """

    steps: float
    samples: float = 0.0


Timer = Callable[[Scenario, Training, ModelKind], Times]
"""Times a model in an algorithm's minibatches, as `timed` does."""


def seconds(scenario: Scenario, timer: Timer) -> float:
    """How long all algorithms of a scenario take, of one seed and without its sweep.

    Parameters
    ----------
    scenario : Scenario
    timer : callable
        Times its models; see `timed`.
    """
    outline = scenario.data.outline()
    learners = sum(role != SERVER for role in scenario.per_node("role"))
    train, test = scenario.data.partition.expected(outline, learners)
    train, validation = train * (1 - scenario.data.validation), train * scenario.data.validation
    measured = test + min(scenario.metrics.common_test_samples, outline.test_rows)
    looks = scenario.horizon_s / scenario.evaluate_every_s * (measured + validation)
    total = 0.0
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        work = round_work(scenario, entry, train, validation, training.batch_size, learners)
        stages = max(1, len(scenario.stages_of(entry)))
        times = [timer(scenario, training, model) for model in scenario.model]
        step_s = sum(t.step_s for t in times) / len(times)
        sample_s = sum(t.sample_s for t in times) / len(times)
        samples = rounds(scenario) * work.samples + looks * stages
        total += learners * (rounds(scenario) * work.steps * step_s + samples * sample_s)
    return total


def rounds(scenario: Scenario) -> float:
    """How many rounds, wake-ups of a node, or slots there are."""
    exchange: Any = scenario.exchange
    if exchange.barrier:
        return float(scenario.horizon_s / exchange.interval_s)
    if hasattr(exchange, "slots_per_exchange"):
        return float(scenario.horizon_s / exchange.slot_s)
    if hasattr(exchange, "period_s"):
        return float(scenario.horizon_s / exchange.period_s)
    return float(scenario.horizon_s * exchange.rate_hz)


def round_work(
    scenario: Scenario,
    entry: AlgorithmEntry,
    train: float,
    validation: float,
    batch_size: int,
    learners: int,
) -> Work:
    """What a node of a method does in a round.

    Parameters
    ----------
    scenario : Scenario
    entry : AlgorithmEntry
    train, validation : float
        Samples of a node.
    batch_size : int
    learners : int
        Nodes with data.
    """
    params: Any = entry.params
    if hasattr(scenario.exchange, "slots_per_exchange"):
        return Work(1.0)  # a star exchange: one step a slot

    def steps(amount: dict[str, int]) -> float:
        epoch = max(1.0, train / batch_size)
        return amount.get("steps", 0) + amount.get("epochs", 0) * epoch

    once = steps(amount_of(params))
    part = getattr(params, "sampled", None) or 1.0
    peers = learners - 1
    match entry.kind:
        case "ditto" | "apfl":  # two models
            return Work(2 * once * part)
        case "mapl" | "fedclassavg":  # two views of a sample
            return Work(2 * once)
        case "pfedme":
            return Work(once * params.inner_steps)
        case "fedrep":
            return Work(once + steps(params.head_amount()))
        case "pfedhn":
            return Work(once * min(1.0, (params.visits or learners) / learners))
        case "knn_per":  # features of the memory
            return Work(once, min(train, params.memory))
        case "cga":  # a gradient at every neighbour's model
            degree = degree_of(scenario, learners)
            return Work(once * (1 + degree))
        case "dpfl":
            limit = params.budget if isinstance(params.budget, int) else learners
            models = min(limit, learners) if limit > 1 else 0
            return Work(once, (2 * models + 2) / params.period * validation if models else 0.0)
        case "fedfomo":
            heard = min(float(params.downloads or peers), peers * part)
            return Work(once * part, (heard + 2) * validation * part)
        case "l2c" | "meta_l2c":  # the gradient of the loss over all validation samples
            return Work(once + params.mixing_steps * validation / batch_size)
        case _:
            return Work(once * part)


def amount_of(params: Any) -> dict[str, int]:
    """How much a method trains in a round: `steps` or `epochs`."""
    if hasattr(params, "amount"):
        amount: dict[str, int] = params.amount()
        return amount
    if hasattr(params, "local_epochs"):
        return {"epochs": params.local_epochs or 1}
    return {"steps": getattr(params, "steps", 1)}


def degree_of(scenario: Scenario, learners: int) -> int:
    """Neighbours of a node, where the topology says; else all others."""
    topology: Any = scenario.topology
    for key in ("links", "degree"):
        if hasattr(topology, key):
            return int(getattr(topology, key))
    return 2 if topology.kind == "ring" else learners - 1


def timed(scenario: Scenario, training: Training, model: ModelKind) -> Times:
    """Time a model in the minibatches of an algorithm, on random inputs.

    Parameters
    ----------
    scenario : Scenario
        Says the shape of the inputs and where to compute.
    training : Training
    model : ModelKind
    """
    small = from_dict(
        {
            "horizon_s": 1.0,
            "nodes": {"count": NODES},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "data": {"kind": "digits"},
            "model": model.model_dump(mode="json"),
            "training": without_none(training.model_dump(mode="json")),
            "run": scenario.run.model_dump(mode="json"),
            "algorithm": {"kind": "local"},
        }
    )
    torch.set_num_threads(1)  # as a run does
    data = Random(scenario.data.outline(), training.batch_size)
    world = builder.build(small.model_copy(update={"data": data}))
    learning = open_learning(world, small.algorithm[0], False, lambda: 0)
    backend = learning.scheduler.backend
    assert backend is not None
    size = state_size(learning.optimizer.kind, world.architectures[0].num_parameters)

    def train(steps: int) -> None:
        kept = []
        for node, start in enumerate(learning.initial):
            cells = (
                Cell(learning.scheduler, start.shape, start.architecture),
                Cell(learning.scheduler, (size,)),
            )
            batches = Batches(node, "train", 0, steps)
            work = Train(batches, learning.optimizer, None, (), 0, (), None, False)
            learning.scheduler.submit(work, node, (Ref(node, start),), cells)
            kept.append(cells)
        learning.scheduler.flush()

    asked = [
        (Ref(i, cell), learning.shards.split_rows(i, "test"))
        for i, cell in enumerate(learning.initial)
    ]
    on_gpu = learning.shards.x.device.type == "cuda"
    train(1)  # compiles, traces, fills caches
    steps, lasted = 1, lasting(lambda: train(1), on_gpu)
    while lasted < LONG_S and steps < MOST_STEPS:
        steps *= 4
        lasted = lasting(functools.partial(train, steps), on_gpu)
    backend.predictions(asked)
    looking = lasting(lambda: backend.predictions(asked), on_gpu)
    return Times(lasted / steps / NODES, looking / NODES / TESTED)


class Random:
    """In place of `[data]`: random inputs of a data set's shape, as many for each node.

    Parameters
    ----------
    outline : Outline
    batch_size : int
        A node has two minibatches for training.
    """

    path, validation = None, 0.0

    def __init__(self, outline: Outline, batch_size: int) -> None:
        self._outline, self._each = outline, 2 * batch_size
        self.partition = self

    def load(self, folder: object) -> Samples:
        """As a data set does."""
        of, rng = self._outline, np.random.Generator(np.random.Philox(0))
        count = NODES * (self._each + TESTED)
        if of.input_limit is None:
            x = rng.standard_normal((count, *of.input_shape), dtype=np.float32)
        else:
            x = rng.integers(0, of.input_limit, (count, *of.input_shape)).astype(np.float32)
        y = rng.integers(0, of.num_classes, count)
        rows = np.arange(count)
        names = tuple(map(str, range(of.num_classes)))
        train, test = rows[: NODES * self._each], rows[NODES * self._each :]
        return Samples(x, y, train, test, of.num_classes, names, "random", "")

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
        """As a partition does: equal parts.

        Parameters
        ----------
        labels, train, test, num_classes, nodes, streams, groups
            As for `Partition.split`.
        """
        parts = zip(np.array_split(train, nodes), np.array_split(test, nodes), strict=True)
        return [Shard(*part) for part in parts]


def lasting(run: Callable[[], object], on_gpu: bool = False) -> float:
    """Seconds that a call takes, of all cores together; on a GPU as they pass."""
    if on_gpu:
        torch.cuda.synchronize()
    clock = time.perf_counter if on_gpu else time.process_time
    start = clock()
    run()
    if on_gpu:
        torch.cuda.synchronize()
    return clock() - start
