"""Setting of the benchmarks: models a to d, data of the right shape, worlds, a plain loop.

Data need no files: model a learns the shipped digits, the others learn noise with random labels.
A node draws its samples from one pool; different nodes may draw the same ones.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from netsim import world
from netsim.data.partitions import Partition, Shard
from netsim.data.sets import DataSet, Samples
from netsim.engine.assembly import Learning
from netsim.registry import Count, family
from netsim.rng import Streams
from netsim.scenario import Scenario, from_dict
from netsim.scenario.tables import DataKeys
from netsim.world.builder import World

POOL = 4_000
"""Training samples that nodes draw theirs from."""

BATCHES = 5
"""Minibatches of one pass over a node's samples, all of them full."""

TEST_SAMPLES, COMMON_TEST_SAMPLES = 10, 50

STEP_S, RATE_HZ, LATENCY_S, DEGREE = 0.04, 1.0, 0.05, 5

MOMENTUM = 0.9


@dataclass(frozen=True)
class Model:
    """One of the models measured.

    Attributes
    ----------
    table : dict
        The scenario's table [model].
    shape : tuple of int
        Of one input.
    steps : int
        Of one training where N nodes train side by side.
    """

    table: dict[str, Any]
    shape: tuple[int, ...]
    classes: int
    steps: int = 5


MODELS = {
    "a": Model({"kind": "mlp", "hidden": [128]}, (1, 8, 8), 10),
    "b": Model({"kind": "iot_mlp"}, (296,), 9),
    "c": Model({"kind": "lenet"}, (3, 32, 32), 10),
    "d": Model({"kind": "emnist_cnn"}, (1, 28, 28), 47, steps=2),
}

SHIPPED = {
    "alexnet_small": Model({"kind": "alexnet_small"}, (3, 32, 32), 10),
    "googlenet": Model({"kind": "googlenet"}, (3, 32, 32), 10),
    "l2c_cifar_cnn": Model({"kind": "l2c_cifar_cnn"}, (3, 32, 32), 10),
    "l2c_miniimagenet_cnn": Model({"kind": "l2c_miniimagenet_cnn"}, (3, 84, 84), 20),
    "mapl": Model({"kind": "mapl"}, (3, 32, 32), 10),
    "resnet18": Model({"kind": "resnet18"}, (3, 32, 32), 10),
    "shufflenet_v2": Model({"kind": "shufflenet_v2"}, (3, 32, 32), 10),
}
"""The other models that netsim has."""


class Drawn(Partition):
    """Every node draws its rows from all of them; nodes may share rows."""

    kind: Literal["drawn"] = "drawn"
    train_samples: Count
    test_samples: Count = TEST_SAMPLES

    def split(
        self,
        labels: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        num_classes: int,
        nodes: int,
        streams: Streams,
        groups: np.ndarray | None = None,
    ) -> list[Shard]:
        """Give each node its rows; see the base class."""
        rng = np.random.default_rng(streams.key("drawn"))
        return [
            Shard(
                rng.choice(train, self.train_samples, replace=False),
                rng.choice(test, self.test_samples, replace=False),
            )
            for _ in range(nodes)
        ]


class Noise(DataKeys, DataSet):
    """Normal inputs with random labels."""

    kind: Literal["noise"] = "noise"
    shape: tuple[int, ...]
    classes: Annotated[int, Field(ge=2)]
    samples: Count = POOL

    def read(self, folder: Path | None) -> Samples:
        """Draw the samples."""
        rng = np.random.default_rng(0)
        total = self.samples + self.samples // 4
        return Samples(
            x=rng.standard_normal((total, *self.shape), dtype=np.float32),
            y=rng.integers(self.classes, size=total),
            train=np.arange(self.samples),
            test=np.arange(self.samples, total),
            num_classes=self.classes,
            class_names=tuple(str(c) for c in range(self.classes)),
            name="noise",
            notes="normal inputs, random labels",
        )


def gossip(
    model: str,
    nodes: int,
    batch: int,
    horizon_s: float = 1.0,
    backend: str = "auto",
    device: str = "cpu",
    threads: int | str = 1,
    **tables: Any,
) -> Scenario:
    """The scenario: push to all on a random 5-regular graph, Poisson clocks, one evaluation.

    Parameters
    ----------
    model : str
        Key of `MODELS` or `SHIPPED`.
    backend, device, threads
        Of the table [run].
    tables
        Replace tables of the scenario.
    """
    case = (MODELS | SHIPPED)[model]
    base = {
        "horizon_s": horizon_s,
        "nodes": {"count": nodes},
        "topology": {"kind": "random_regular", "degree": min(DEGREE, nodes - 1)},
        "link": {"latency_s": LATENCY_S},
        "exchange": {"schedule": "poisson", "rate_hz": RATE_HZ},
        "data": {"kind": "digits"},
        "model": case.table,
        "compute": {"kind": "fixed", "step_s": STEP_S},
        "training": {"learning_rate": 0.05, "momentum": MOMENTUM, "batch_size": batch},
        "metrics": {"every_s": horizon_s, "common_test_samples": COMMON_TEST_SAMPLES},
        "run": {"backend": backend, "device": device, "threads": threads},
        "algorithm": [{"kind": "push_all"}],
    }
    folder = Path(__file__).parent / "algorithms"
    scenario = from_dict(base | tables, "gossip", algorithms_folder=folder)
    shares = Drawn(train_samples=BATCHES * batch)
    if model == "a":
        data = scenario.data.model_copy(update={"partition": shares})
    else:
        data = Noise(shape=case.shape, classes=case.classes, partition=shares)
    return scenario.model_copy(update={"data": data})


def own_starts(
    model: str, nodes: int, batch: int, backend: str, device: str, threads: int | str = 1
) -> World:
    """A world whose nodes start from models of their own; parameters as of `gossip`."""
    training = {
        "learning_rate": 0.05,
        "momentum": MOMENTUM,
        "batch_size": batch,
        "common_initial": False,
    }
    return world.build(
        gossip(model, nodes, batch, 1.0, backend, device, threads, training=training)
    )


def way_taken(learning: Learning) -> str:
    """Return the way nodes trained: `native/avx512`, `stacked`, `sequential`; with exceptions."""
    ways = sorted({route.train for route in learning.routes.by_signature().values()})
    return ", ".join([*ways, *(f"but {what}" for what in learning.scheduler.one_by_one)])


class PlainLoop:
    """Training loop of a user without netsim: a module, an optimizer and a data order a node.

    Parameters
    ----------
    world : World
        Whose data, initial models and training settings it takes.
    """

    def __init__(self, world: World) -> None:
        training, shards = world.scenario.training, world.shards
        self.x, self.y = shards.x, shards.y
        self.batch_size = training.batch_size
        self.rows = [torch.from_numpy(r.train).to(self.x.device) for r in shards.rows]
        self.test_rows = [torch.from_numpy(r.test).to(self.x.device) for r in shards.rows]
        self.common = torch.from_numpy(shards.common["common_test"]).to(self.x.device)
        self.models = [_module(world, node) for node in range(len(self.rows))]
        self.optimizers = [
            torch.optim.SGD(m.parameters(), lr=training.learning_rate, momentum=training.momentum)
            for m in self.models
        ]
        self._orders = [rows[:0] for rows in self.rows]

    def batch(self, node: int) -> torch.Tensor:
        """Row numbers of a node's next minibatch."""
        if len(self._orders[node]) == 0:
            rows = self.rows[node]
            self._orders[node] = rows[torch.randperm(len(rows), device=rows.device)]
        index = self._orders[node][: self.batch_size]
        self._orders[node] = self._orders[node][self.batch_size :]
        return index

    def train(self, node: int, steps: int) -> None:
        """Local steps of one node."""
        model, optimizer = self.models[node], self.optimizers[node]
        for _ in range(steps):
            index = self.batch(node)
            optimizer.zero_grad()
            F.cross_entropy(model(self.x[index]), self.y[index]).backward()
            optimizer.step()

    @torch.no_grad()
    def average(self, node: int, peers: tuple[int, ...]) -> None:
        """Replace a node's model by the mean over itself and its peers, in place."""
        mine, *theirs = (_tensors(self.models[i]) for i in (node, *peers))
        for tensor, *others in zip(mine, *theirs, strict=True):
            for other in others:
                tensor.add_(other)
            tensor.div_(1 + len(others))

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean accuracy over nodes on their own test samples; on common ones, too."""
        found = []
        for model, own in zip(self.models, self.test_rows, strict=True):
            model.eval()
            for rows in (own, self.common):
                hits = model(self.x[rows]).argmax(1) == self.y[rows]
                found.append(hits.double().mean().item())
            model.train()
        return float(np.mean(found[::2]))


def _module(world: World, node: int) -> nn.Module:
    samples = world.samples
    module = world.scenario.model[0].build(samples.input_shape, samples.num_classes)
    module = module.to(world.initial[node])
    size = world.architectures[node].num_parameters
    nn.utils.vector_to_parameters(world.initial[node][:size], module.parameters())
    for parameter in module.parameters():
        parameter.data = parameter.data.clone()  # they were views of the row of the world
    return module


def _tensors(model: nn.Module) -> list[torch.Tensor]:
    """Return the averaged tensors: parameters and running statistics."""
    return [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]


def flop_per_step(model: str, batch: int) -> int:
    """Floating-point operations of one local step: forward and backward pass, counted.

    Matrix products and convolutions only; the gradient of the inputs is not taken.
    """
    case = (MODELS | SHIPPED)[model]
    kind = family("netsim.models")[case.table["kind"]].model_validate(case.table)
    module = kind.build(case.shape, case.classes)
    with FlopCounterMode(display=False) as counter:
        loss = F.cross_entropy(
            module(torch.zeros(batch, *case.shape)), torch.zeros(batch, dtype=torch.int64)
        )
        loss.backward()
    return int(counter.get_total_flops())
