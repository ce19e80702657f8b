"""Speed of training by losses of an algorithm's own: native, stacked, one after another.

    python benchmarks/own_losses.py [--case pfedgraph dpfl fedproto mapl_alexnet] [--nodes 10]

Each case is the loss, model, minibatch and optimiser of a scenario `paper_*.toml`, on noise of the
shape of its data. N nodes take k local steps through the scheduler. CPU time of one thread, the
best of rounds in turn. *auto* is the way that `[run] backend = "auto"` takes, and its ratio over
sequential; a line below the table names every case in which that is slower.
"""

import argparse
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from _setting import Drawn, Noise
from _timing import interleaved, prepare, save, show

from algorithms import apfl, dfedsam, dispfl, fedclassavg, fedproto, mapl, per_fedavg, pfedgraph
from netsim import world
from netsim.api import augmented_cross_entropy
from netsim.backends.job_types.train import Train
from netsim.backends.ways import ONE_BY_ONE, STACKED
from netsim.engine.assembly import Learning, open_learning
from netsim.learning.jobs import Batches, Slot
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.scenario import from_dict
from netsim.world.builder import World

SHAPE, CLASSES = (3, 32, 32), 10

LENET, MLP = {"kind": "lenet"}, {"kind": "mlp", "hidden": [128]}
PFEDGRAPH = {
    "optimizer": "sgd",
    "learning_rate": 0.01,
    "momentum": 0.9,
    "weight_decay": 1e-5,
    "batch_size": 64,
}
DPFL = {**PFEDGRAPH, "weight_decay": 1e-4, "clip_norm": 20.0, "batch_size": 16}
KD_PDFL = {"optimizer": "sgd", "learning_rate": 0.0163, "batch_size": 20}
L2C = {"optimizer": "sgd", "learning_rate": 0.01, "weight_decay": 5e-4, "batch_size": 10}
MAPL = {"optimizer": "adam", "learning_rate": 1e-4, "beta1": 0.5, "batch_size": 64}

COLUMNS = {
    "case": "s",
    "nodes": "d",
    "batch": "d",
    "sequential ms/step": ",.2f",
    "stacked ms/step": ",.2f",
    "native ms/step": ",.2f",
    "stacked ratio": ".2f",
    "native ratio": ".2f",
    "auto": "s",
    "auto ratio": ".2f",
}

SLOWER = 0.95
"""Ratio below which a way is slower than sequential: above it is what rounds differ by."""


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes
    ----------
    model, training : dict
        The scenario's tables.
    loss : callable or None
        None is the mean cross-entropy.
    given : tuple
        What it is given; `Slot(0)` for a value of `value`.
    value, learned : callable, optional
        From the number of features and of parameters: a value that is given; one that is learned.
    learns : str
        Name of the latter.
    steps : int
        Of a training.
    shape, classes
        Of the data.
    """

    model: dict[str, Any]
    training: dict[str, Any]
    loss: Callable[..., Any] | None
    given: tuple[Any, ...] = ()
    value: Callable[[int, int], torch.Tensor] | None = None
    learned: Callable[[int, int], torch.Tensor] | None = None
    learns: str = "P"
    steps: int = 4
    samples: int = 320
    shape: tuple[int, ...] = SHAPE
    classes: int = CLASSES


def _direction(features: int, parameters: int) -> torch.Tensor:
    return torch.randn(parameters) / parameters**0.5


def _prototypes(features: int, parameters: int) -> torch.Tensor:
    return torch.randn(CLASSES, features) / features**0.5


def _head(features: int, parameters: int) -> torch.Tensor:
    return torch.zeros(CLASSES * (features + 1))


def _share(features: int, parameters: int) -> torch.Tensor:
    return torch.tensor(0.3)


def _mapl(backbone: str) -> Case:
    return Case(
        {"kind": "mapl", "backbone": backbone},
        MAPL,
        mapl.pml_loss,
        (mapl.Params(),),
        learned=_prototypes,
        steps=1,
    )


def _meta(variant: str) -> Case:
    params = per_fedavg.Params(alpha=0.01, variant=variant)
    return Case(LENET, PFEDGRAPH, per_fedavg.meta_loss, (params,))


PROTOTYPES = (Slot(0), tuple(range(CLASSES)), 0.1)

CASES = {
    "cross_entropy": Case(LENET, PFEDGRAPH, None),
    "dropout": Case({"kind": "alexnet_small"}, PFEDGRAPH, None, steps=1),
    "pfedgraph": Case(LENET, PFEDGRAPH, pfedgraph.augmented_loss, (Slot(0), -0.01), _direction),
    "dpfl": Case(LENET, DPFL, augmented_cross_entropy, steps=20),
    "fedproto": Case(LENET, PFEDGRAPH, fedproto.prototype_loss, PROTOTYPES, _prototypes),
    "fedproto_augmented": Case(
        LENET, PFEDGRAPH, fedproto.augmented_prototype_loss, PROTOTYPES, _prototypes
    ),
    "fedproto_small_batch": Case(
        LENET, DPFL, fedproto.prototype_loss, PROTOTYPES, _prototypes, steps=20
    ),
    "fedproto_mlp": Case(MLP, DPFL, fedproto.prototype_loss, PROTOTYPES, _prototypes),
    "fedclassavg": Case(
        LENET, MAPL, fedclassavg.local_loss, (Slot(0), fedclassavg.Params()), _head
    ),
    "mapl_lenet": Case(
        {"kind": "mapl", "backbone": "lenet", "projection": 84},
        MAPL,
        mapl.pml_loss,
        (mapl.Params(),),
        learned=_prototypes,
    ),
    "mapl_alexnet": _mapl("alexnet_small"),
    "mapl_resnet": _mapl("resnet18"),
    "mapl_shufflenet": _mapl("shufflenet_v2"),
    "mapl_googlenet": _mapl("googlenet"),
    "kd_pdfl": Case({"kind": "emnist_cnn"}, KD_PDFL, None, shape=(1, 28, 28), classes=47, steps=8),
    "l2c": Case({"kind": "l2c_cifar_cnn"}, L2C, None, steps=10),
    "apfl": Case(LENET, PFEDGRAPH, apfl.loss_of_both, (Slot(0),), _share, _direction, "v"),
    "per_fedavg": _meta("first_order"),
    "per_fedavg_hessian_free": _meta("hessian_free"),
    "per_fedavg_exact": _meta("exact"),
    "dfedsam": Case(LENET, PFEDGRAPH, dfedsam.sharp_loss, (0.05,)),
    "dispfl": Case(LENET, PFEDGRAPH, dispfl.masked_loss, (Slot(0),), _direction),
    "apfl_small_batch": Case(LENET, DPFL, apfl.loss_of_both, (Slot(0),), _share, _direction, "v"),
    "apfl_mlp": Case(
        {"kind": "mlp", "hidden": [128]},
        DPFL,
        apfl.loss_of_both,
        (Slot(0),),
        _share,
        _direction,
        "v",
    ),
}
"""Meta-L2C trains as L2C does. The kernel declines the exact Per-FedAvg, which differentiates a
gradient."""

BACKENDS = ("sequential", "stacked", "native")


def built(case: Case, nodes: int) -> World:
    """A world of nodes that start from models of their own."""
    tables = {
        "horizon_s": 1.0,
        "nodes": {"count": nodes},
        "topology": {"kind": "complete"},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits"},
        "model": case.model,
        "compute": {"kind": "fixed", "step_s": 0.01},
        "training": {**case.training, "common_initial": False},
        "run": {"threads": 1},
        "algorithm": [{"kind": "local"}],
    }
    scenario = from_dict(tables, "own_losses")
    shares = Drawn(train_samples=case.samples)
    noise = Noise(shape=case.shape, classes=case.classes, partition=shares)
    return world.build(scenario.model_copy(update={"data": noise}))


def opened(made: World, backend: str) -> Learning:
    """The learning of a world by a backend; a model is compared with PyTorch once for all."""
    scenario = made.scenario
    run = scenario.run.model_copy(update={"backend": backend})
    made = dataclasses.replace(made, scenario=scenario.model_copy(update={"run": run}))
    return open_learning(made, made.scenario.algorithm[0], False, lambda: 0)


class Jobs:
    """Training jobs by a loss, one per node, recorded and run again and again."""

    def __init__(self, case: Case, learning: Learning) -> None:
        self._case, self._learning = case, learning
        self._first = 0
        architecture = learning.initial[0].architecture
        assert architecture is not None
        features = next(s.shape[1] for s in architecture.slices if s.name == "head.weight")
        sizes = features, architecture.num_parameters
        torch.manual_seed(1)
        self._values = [make(*sizes) for make in (case.value, case.learned) if make is not None]
        self._length = architecture.num_parameters

    def run(self) -> None:
        """Record a job for each node and run all of them."""
        case, learning = self._case, self._learning
        scheduler, results = learning.scheduler, []
        learns = (case.learns,) if case.learned else ()
        learned = self._values[-1:] if learns else []
        trained = self._length + sum(v.numel() for v in learned)
        for node, cell in enumerate(learning.initial):
            inputs = [cell, *(Cell(scheduler, tuple(v.shape), None, v) for v in self._values)]
            work = Train(
                Batches(node, "train", self._first, case.steps),
                learning.optimizer,
                case.loss,
                case.given,
                int(case.value is not None),
                learns,
                None,
                False,
            )
            beside = [Cell(scheduler, tuple(v.shape)) for v in learned]
            size = state_size(learning.optimizer.kind, trained)
            outputs = [
                Cell(scheduler, cell.shape, cell.architecture),
                *beside,
                Cell(scheduler, (size,)),
            ]
            refs = tuple(Ref(node, each) for each in inputs)
            scheduler.submit(work, node, refs, tuple(outputs))
            results.append(outputs[0])
        scheduler.flush()
        self._first += case.steps
        assert all(cell.is_computed for cell in results)


def measure(name: str, nodes: int, seconds: float) -> dict[str, Any]:
    """One row of the table."""
    case, runs = CASES[name], {}
    made = built(case, nodes)
    for backend in BACKENDS:
        learning = opened(made, backend)
        runs[backend] = (Jobs(case, learning), learning)
    best = interleaved({k: jobs.run for k, (jobs, _) in runs.items()}, "cpu", seconds)
    for backend, (_, learning) in runs.items():
        for subject, way in learning.scheduler.ways.items():
            print(f"{name}, {backend}: {subject}: {way}")
    ms = {k: 1e3 * found / (nodes * case.steps) for k, found in best.items()}
    chosen = opened(made, "auto")
    Jobs(case, chosen).run()
    auto = _column(chosen)
    return {
        "case": name,
        "nodes": nodes,
        "batch": case.training["batch_size"],
        **{f"{k} ms/step": value for k, value in ms.items()},
        "stacked ratio": ms["sequential"] / ms["stacked"],
        "native ratio": ms["sequential"] / ms["native"],
        "auto": auto,
        "auto ratio": ms["sequential"] / ms[auto],
    }


def _column(learning: Learning) -> str:
    """The backend whose way the training took."""
    (way,) = learning.scheduler.ways.values()
    if ONE_BY_ONE in way:
        return "sequential"
    return "stacked" if STACKED in way else "native"


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0, help="of rounds for each row")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    prepare("cpu")
    cells = [measure(name, chosen.nodes, chosen.seconds) for name in chosen.case]
    show(cells, COLUMNS)
    slower = [cell["case"] for cell in cells if cell["auto ratio"] < SLOWER]
    print(f"auto is slower than sequential in: {', '.join(slower) or 'none'}")
    save(chosen.json, {"cells": cells})


if __name__ == "__main__":
    main()
