"""Work of scenarios in floating-point operations, and the rates at which this machine does it.

Nothing is played and no data set is read. How often a method trains and evaluates in a round is
counted from its Params and the partition's sizes. Steps of a method with a loss of its own count as
plain steps on the whole model; what messages, means and the simulator itself cost is left out.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from netsim.backends.job_types.train import Train
from netsim.data.partitions import Rows, Shard
from netsim.data.sets import Outline, Samples
from netsim.engine.assembly import open_learning
from netsim.learning.architecture import Architecture
from netsim.learning.flops import step_flops
from netsim.learning.jobs import Batches
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.models import ModelKind
from netsim.scenario import from_dict
from netsim.scenario.nodes import SERVER
from netsim.scenario.tables import AlgorithmEntry, Scenario
from netsim.world import builder


@dataclass(frozen=True)
class Work:
    """Work of one node in a round.

    Attributes
    ----------
    steps : float
        Local steps, as the engine counts them.
    samples : float
        Samples that models are evaluated on, measurements apart.
    """

    steps: float
    samples: float = 0.0


@dataclass(frozen=True, eq=False)
class Form:
    """A model in the minibatches of a data set.

    Attributes
    ----------
    model : ModelKind
    outline : Outline
    batch_size : int
    optimizer : {"sgd", "adam"}
    """

    model: ModelKind
    outline: Outline
    batch_size: int
    optimizer: str

    @property
    def name(self) -> str:
        """Its kind, or that of its backbone: models of one name run at about one rate."""
        named: Any = getattr(self.model, "backbone", self.model)
        return str(named.kind)

    def key(self) -> tuple[Hashable, ...]:
        """Return what tells it apart."""
        model = self.model.model_dump_json()
        return self.name, model, self.outline.input_shape, self.outline.num_classes, self.batch_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


@lru_cache(maxsize=64)
def flops(form: Form) -> tuple[float, float]:
    """Operations of a local step, with the update of each parameter, and of one sample's outputs.

    Parameters
    ----------
    form : Form
    """
    shape, classes = form.outline.input_shape, form.outline.num_classes
    module = form.model.build(shape, classes)
    a = Architecture(form.name, module, torch.device("cpu"), torch.float32, classes)
    passes = step_flops(a, shape, form.batch_size)  # two thirds of it backwards
    update = 2.0 * a.num_parameters
    return passes + update, max(passes / form.batch_size / 3, 1.0)


def counted(scenario: Scenario) -> list[tuple[Form, float, float]]:
    """Count the operations of all algorithms of a scenario, of one seed and without its sweep.

    Returns
    -------
    list of (Form, float, float)
        A model, its operations in local steps, and those in outputs.
    """
    outline = scenario.data.outline()
    learners = sum(role != SERVER for role in scenario.per_node("role"))
    train, test = scenario.data.partition.expected(outline, learners)
    train, validation = train * (1 - scenario.data.validation), train * scenario.data.validation
    measured = test + min(scenario.metrics.common_test_samples, outline.test_rows)
    looks = scenario.horizon_s / scenario.evaluate_every_s * (measured + validation)
    found = []
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        work = round_work(scenario, entry, train, validation, training.batch_size, learners)
        stages = max(1, len(scenario.stages_of(entry)))
        samples = rounds(scenario) * work.samples + looks * stages
        nodes = learners / len(scenario.model)
        for model in scenario.model:
            form = Form(model, outline, training.batch_size, training.optimizer)
            step, sample = flops(form)
            steps = nodes * rounds(scenario) * work.steps
            found.append((form, steps * step, nodes * samples * sample))
    return found


def rounds(scenario: Scenario) -> float:
    """Return the number of rounds, wake-ups of a node, or slots."""
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
    """Return the work of a method's node in a round.

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
        case "ditto":  # two models
            return Work(2 * once * part)
        case "apfl":  # and one of the weight
            return Work(once + params.adaptive)
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
    """Return a method's amount of training in a round: `steps` or `epochs`."""
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


NODES = 6
"""Nodes that train in a timing: more than `routes.toml` calls few."""
MINIBATCHES = 2
TESTED = 20
"""Samples of each that outputs are timed on."""
LONG_S = 0.2
"""A timing that takes so long is long enough; shorter ones are repeated with more steps."""
MOST_STEPS = 64


@dataclass(frozen=True)
class Rates:
    """Operations a second of one core (on a GPU: of it), as `flops` counts them.

    Attributes
    ----------
    train, look : float
        Of local steps, and of outputs.
    """

    train: float
    look: float


def rates(form: Form, device: str = "auto") -> Rates:
    """Time a model in its minibatches, on random inputs.

    Parameters
    ----------
    form : Form
    device : str
        See `[run] device`.
    """
    small = _small(form, device)
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
    looking = lasting(lambda: backend.predictions(asked), on_gpu) / NODES / TESTED
    train(1)  # compiles, traces, fills caches
    steps, lasted = 1, lasting(lambda: train(1), on_gpu)
    while lasted < LONG_S and steps < MOST_STEPS:
        steps *= 4
        lasted = lasting(functools.partial(train, steps), on_gpu)
    step_s = lasted / steps / NODES
    step, sample = flops(form)
    return Rates(step / step_s, sample / looking)


def _small(form: Form, device: str) -> Scenario:
    """Few nodes with random inputs."""
    small = from_dict(
        {
            "horizon_s": 1.0,
            "nodes": {"count": NODES},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "data": {"kind": "digits"},
            "model": form.model.model_dump(mode="json"),
            "training": {"batch_size": form.batch_size, "optimizer": form.optimizer},
            "metrics": {"common_test_samples": 1, "weights": False},
            "run": {"device": device},
            "algorithm": {"kind": "local"},
        }
    )
    return small.model_copy(update={"data": Random(form.outline, form.batch_size, NODES)})


class Random:
    """In place of `[data]`: random inputs of a data set's shape, as many for each node.

    Parameters
    ----------
    outline : Outline
    batch_size : int
    nodes : int
    """

    path, goes_by, drift, validation = None, "nothing", (), 0.0

    def __init__(self, outline: Outline, batch_size: int, nodes: int) -> None:
        self._outline, self._nodes = outline, nodes
        self._each = MINIBATCHES * batch_size
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
