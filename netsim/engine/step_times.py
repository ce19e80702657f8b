"""Measure the cost of local steps and evaluations of a model on this machine, on random inputs.

A plain step is timed as a job of the backend alone. A step of a method with a loss of its own, or
with so little in it that the simulator's part counts, is timed by playing that method between a few
nodes: as many as the scenario has, up to five, since few nodes may be computed otherwise than many.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from netsim.backends.job_types.train import Train
from netsim.data.partitions import Rows, Shard
from netsim.data.sets import Outline, Samples
from netsim.engine.assembly import open_learning
from netsim.engine.simulation import Simulation
from netsim.learning.jobs import Batches
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.models import ModelKind
from netsim.scenario import from_dict
from netsim.scenario.file import without_none
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import Scenario
from netsim.scenario.training import Training
from netsim.world import builder

FEWEST_NODES, MOST_NODES, NODES_IN_SLOTS = 2, 5, 8
"""Nodes that take part in a timing: five are more than `routes.toml` calls few. In slots there are
more, since they exchange in turn."""
MINIBATCHES, MOST_MINIBATCHES, ROUND_S = 2, 16, 0.05
"""Of a node; where a method is played, as many as its steps take `ROUND_S`, or the most."""
TESTED = 20
"""Samples of each that outputs are timed on."""
LONG_S = 0.2
"""A timing that takes so long is long enough; shorter ones are repeated with more steps."""
MOST_STEPS = 64
ROUNDS = {"schedule": "rounds", "interval_s": 1.0}


@dataclass(frozen=True)
class Times:
    """Times of one model.

    Attributes
    ----------
    step_s : float
        Of a local step on a minibatch.
    sample_s : float
        Of the outputs for one sample.
    """

    step_s: float
    sample_s: float


def timed(
    scenario: Scenario, training: Training, model: ModelKind, played: Mapping[str, Any] | None
) -> Times:
    """Time a model in the minibatches of an algorithm, on random inputs.

    Parameters
    ----------
    scenario : Scenario
        Says the shape of the inputs and where to compute.
    training : Training
    model : ModelKind
    played : mapping or None
        The entry of the algorithm whose steps to time, as a file would hold it; None: plain steps.
    """
    small = _small(scenario, training, model, None, MINIBATCHES)
    nodes = small.nodes.count
    torch.set_num_threads(1)  # as a run does
    world = builder.build(small)
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
    backend.predictions(asked)
    looking = lasting(lambda: backend.predictions(asked), on_gpu) / nodes / TESTED
    train(1)  # compiles, traces, fills caches
    steps, lasted = 1, lasting(lambda: train(1), on_gpu)
    while lasted < LONG_S and steps < MOST_STEPS:
        steps *= 4
        lasted = lasting(functools.partial(train, steps), on_gpu)
    step_s = lasted / steps / nodes
    if played is not None:
        batches = int(min(max(ROUND_S / step_s, MINIBATCHES), MOST_MINIBATCHES))
        few = _with_few_steps(played, max(batches, math.ceil(LONG_S / step_s / nodes)))
        step_s = _played_step_s(_small(scenario, training, model, few, batches), on_gpu)
    return Times(step_s, looking)


def taking_part(scenario: Scenario) -> int:
    """Return the number of nodes for a timing outside slots: those that share a model."""
    learners: int = sum(role != SERVER for role in scenario.per_node("role"))
    return max(FEWEST_NODES, min(math.ceil(learners / len(scenario.model)), MOST_NODES))


def _with_few_steps(played: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """An entry with no more local steps a round: hundreds of a slow model would take minutes."""
    steps = played.get("local_steps")
    return {**played, "local_steps": min(steps, most)} if isinstance(steps, int) else played


def _small(
    scenario: Scenario,
    training: Training,
    model: ModelKind,
    played: Mapping[str, Any] | None,
    batches: int,
) -> Scenario:
    """Few nodes with random inputs; what is played works in slots where the scenario does."""
    in_slots = played is not None and hasattr(scenario.exchange, "slots_per_exchange")
    nodes = NODES_IN_SLOTS if in_slots else taking_part(scenario)
    exchange = scenario.exchange.model_dump(mode="json") if in_slots else ROUNDS
    small = from_dict(
        {
            "horizon_s": 1.0,
            "nodes": {"count": nodes},
            "exchange": without_none(exchange),
            "data": {"kind": "digits"},
            "model": model.model_dump(mode="json"),
            "training": without_none(training.model_dump(mode="json")),
            "compute": {"kind": "fixed", "step_s": 1e-4},
            "metrics": {"common_test_samples": 1, "weights": False},
            "run": scenario.run.model_dump(mode="json"),
            "algorithm": dict(played or {"kind": "local"}),
        }
    )
    validation = 0.0 if played is None else scenario.data.validation
    data = Random(scenario.data.outline(), training.batch_size, nodes, batches, validation)
    return small.model_copy(update={"data": data})


def _played_step_s(small: Scenario, on_gpu: bool) -> float:
    """Seconds of a local step of the scenario's algorithm, with what else it does in a round.

    Of runs of different length, so that what a run costs once drops out.
    """

    def play(rounds: int) -> tuple[float, int]:
        horizon_s = (rounds + 0.5) * exchange.interval_s
        metrics = small.metrics.model_copy(update={"every_s": horizon_s})
        one = small.model_copy(update={"horizon_s": horizon_s, "metrics": metrics})
        run = Simulation(builder.build(one), one.algorithm[0], None, False, None)
        lasted = lasting(run.to_horizon, on_gpu)
        return lasted, sum(parts.processor.local_steps for parts in run.parts)

    exchange: Any = small.exchange
    play(1)  # compiles, traces, fills caches
    (first_s, first), rounds = play(1), 1
    lasted_s, steps = first_s, first
    while lasted_s < LONG_S + first_s and rounds < MOST_STEPS:
        rounds *= 2
        lasted_s, steps = play(rounds)
    if steps == first:
        return lasted_s / max(1, steps)
    return (lasted_s - first_s) / (steps - first)


class Random:
    """In place of `[data]`: random inputs of a data set's shape, as many for each node.

    Parameters
    ----------
    outline : Outline
    batch_size : int
    nodes : int
    batches : int
        Minibatches of each node, for training.
    validation : float
        Share of a node's samples that is set aside beside them.
    """

    path, goes_by, drift = None, "nothing", ()

    def __init__(
        self, outline: Outline, batch_size: int, nodes: int, batches: int, validation: float
    ) -> None:
        self._outline, self._nodes, self.validation = outline, nodes, validation
        self._each = math.ceil(batches * batch_size / (1.0 - validation))
        self.partition = self

    def load(self, folder: object) -> Samples:
        """As a data set does."""
        of, rng = self._outline, np.random.Generator(np.random.Philox(0))
        count = self._nodes * (self._each + TESTED)
        if of.input_limit is None:
            x = rng.standard_normal((count, *of.input_shape), dtype=np.float32)
        else:
            x = rng.integers(0, of.input_limit, (count, *of.input_shape)).astype(np.float32)
        y = rng.integers(0, of.num_classes, count)
        rows = np.arange(count)
        names = tuple(map(str, range(of.num_classes)))
        cut = self._nodes * self._each
        train, test = rows[:cut], rows[cut:]
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
