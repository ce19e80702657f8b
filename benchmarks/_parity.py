"""Compare a device with the CPU: float64 trainings, one case at a time.

A case trains three nodes for two steps, by the sequential backend on the CPU and in one call on the
device, from one start each and on the same minibatches, of which the second is smaller. Then
outputs, losses and gradients of what was trained are compared, too. Nothing is dropped out: a GPU's
random numbers are not a CPU's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from _setting import Drawn, Noise, gossip

from netsim import world
from netsim.api import augmented_cross_entropy
from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.outputs import Outputs
from netsim.backends.job_types.train import Train
from netsim.engine.assembly import Learning, open_learning
from netsim.learning.jobs import Batches, BatchKey, Slot
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.registry import family
from netsim.scenario.kinds import kinds_of

NODES, BATCH, STEPS, CLASSES = 3, 8, 2, 10

MOST = {"sgd": 1e-9, "adam": 1e-6}
"""Largest relative difference that passes as rounding, by optimiser.

Rounding is some 1e-13 in a shallow network and 1e-9 in a deep normalised one. Adam divides by the
size of a gradient: where the true one is 0, rounding decides the sign of a step.
"""

SHAPES = {
    "mlp": (1, 8, 8),
    "iot_mlp": (296,),
    "emnist_cnn": (1, 28, 28),
    "l2c_miniimagenet_cnn": (3, 84, 84),
    "text_cnn": (24,),
}
"""Of one input, where it is not (3, 32, 32)."""

OTHER_TASKS = ("transformer",)
"""Models that classify nothing; `small_next_token` plays this one."""


def shape_of(model: str) -> tuple[int, ...]:
    """The shape of one input of a model."""
    return SHAPES.get(model, (3, 32, 32))


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "momentum": {"momentum": 0.9},
    "weight decay": {"momentum": 0.9, "weight_decay": 0.01},
    "clipped": {"momentum": 0.9, "clip_norm": 0.3},
    "adam": {"optimizer": "adam", "learning_rate": 0.001},
}


@dataclass(frozen=True)
class OwnLoss:
    """A loss of an algorithm's, and what it is given; None stands for a row of parameters."""

    function: Callable[..., Any]
    given: tuple[Any, ...] = ()
    learns: bool = False


def losses() -> dict[str, OwnLoss | None]:
    """The losses of the five systems; KD-PDFL and L2C train by the default one."""
    files = kinds_of()
    pfedgraph, mapl = files["pfedgraph"], files["mapl"]
    return {
        "default": None,
        "pfedgraph": OwnLoss(pfedgraph.regularised_loss, (None, -0.01)),
        "pfedgraph augmented": OwnLoss(pfedgraph.augmented_loss, (None, -0.01)),
        "dpfl": OwnLoss(augmented_cross_entropy),
        "mapl": OwnLoss(mapl.pml_loss, (mapl.Params(),), learns=True),
    }


def cases(tiny: bool) -> list[dict[str, Any]]:
    """Every model by the default loss with momentum, every loss, then the other optimisers."""
    known = [model for model in family("netsim.models") if model not in OTHER_TASKS]
    models = ["mlp", "iot_mlp"] if tiny else known
    by_model = [
        {"model": model, "optimizer": optimizer, "loss": "default"}
        for optimizer in OPTIMIZERS
        for model in models
    ]
    by_loss = [
        {"model": "mapl" if loss == "mapl" else "lenet", "optimizer": optimizer, "loss": loss}
        for loss in list(losses())[1:]
        for optimizer in (("momentum",) if tiny else ("momentum", "adam"))
    ]
    return by_model[: len(models)] + by_loss + by_model[len(models) :]


def measure(case: dict[str, Any], device: str) -> dict[str, Any]:
    """The largest relative difference of any value of a case."""
    there, left = _values(case, device, "stacked")
    here, _ = _values(case, "cpu", "sequential")
    worst = {name: difference(there[name], value) for name, value in here.items()}
    name = max(worst, key=lambda k: worst[k])
    kind = "adam" if case["optimizer"] == "adam" else "sgd"
    return {
        "difference": worst[name],
        "worst in": name,
        "agrees": worst[name] <= MOST[kind],
        "one by one": "; ".join(f"{what}: {why}" for what, why in left.items()) or None,
    }


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Relative to the largest entry; infinite where one has nan and the other has not."""
    scale = float(theirs.abs().max().clamp(min=1e-6))
    found = float((ours - theirs).abs().max()) / scale
    return found if found == found else float("inf")


def _opened(case: dict[str, Any], device: str, backend: str) -> Learning:
    kind = case["model"]
    table = family("netsim.models")[kind]
    keys: dict[str, Any] = {"backbone": {"kind": "lenet"}} if kind == "mapl" else {}
    if "dropout" in table.model_fields:
        keys["dropout"] = 0.0
    training = {
        "learning_rate": 0.05,
        **OPTIMIZERS[case["optimizer"]],
        "batch_size": BATCH,
        "dtype": "float64",
        "common_initial": False,
    }
    scenario = gossip("c", NODES, BATCH, 1.0, backend, device, training=training)
    shares = Drawn(train_samples=2 * BATCH - 3)  # the second minibatch is smaller
    data = Noise(shape=shape_of(kind), classes=CLASSES, samples=400, partition=shares)
    model = table.model_validate({"kind": kind, **keys})
    scenario = scenario.model_copy(update={"data": data, "model": (model,)})
    built = world.build(scenario)
    return open_learning(built, scenario.algorithm[0], False, lambda: 0)


def _values(
    case: dict[str, Any], device: str, backend: str
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the values of every job of a case, on the CPU, and jobs that did not run in groups."""
    learning, own = _opened(case, device, backend), losses()[case["loss"]]
    scheduler = learning.scheduler
    found: dict[str, list[Ref]] = {}
    for node, cell in enumerate(learning.initial):
        trained = _train(learning, node, own)
        theta = trained["model"]
        key = BatchKey(node, "probe", 0)
        outputs = (1, len(learning.shards.batch_rows(key)), CLASSES)
        asked: dict[str, tuple[Any, tuple[int, ...]]] = {
            "outputs": (Outputs(key), outputs),
            "loss": (Loss(node, "train"), ()),
            "gradient": (Gradient(node, "train"), cell.shape),
        }
        for name, (work, shape) in asked.items():
            trained[name] = Ref(node, Cell(scheduler, shape))
            scheduler.submit(work, node, (theta,), (trained[name].cell,))
        for name, ref in trained.items():
            found.setdefault(name, []).append(ref)
    scheduler.flush()
    values = {
        name: torch.cat([ref.tensor().detach().reshape(-1).cpu() for ref in refs])
        for name, refs in found.items()
    }
    return values, dict(scheduler.one_by_one)


def _train(learning: Learning, node: int, own: OwnLoss | None) -> dict[str, Ref]:
    """Record a training: the model, the optimiser's state, and what is learned beside it."""
    scheduler, start = learning.scheduler, learning.initial[node]
    architecture = start.architecture
    assert architecture is not None
    draws = torch.Generator().manual_seed(node)

    def given_value(*shape: int) -> Ref:
        value = torch.randn(shape, generator=draws, dtype=torch.float64)
        return Ref(node, Cell(scheduler, shape, value=value.to(architecture.device)))

    inputs, given, learn = [Ref(node, start)], [], {}
    for argument in own.given if own else ():
        if argument is None:
            given.append(Slot(len(inputs) - 1))
            inputs.append(given_value(architecture.num_parameters))
        else:
            given.append(argument)
    if own and own.learns:
        width = architecture.module.get_submodule("projection")[-1].out_features
        learn = {"P": given_value(CLASSES, width)}
    beside = sum(ref.num_values for ref in learn.values())
    length = state_size(learning.optimizer.kind, architecture.num_parameters + beside)
    outputs = {
        "model": Cell(scheduler, start.shape, architecture),
        **{name: Cell(scheduler, ref.shape) for name, ref in learn.items()},
        "state": Cell(scheduler, (length,)),
    }
    batches = Batches(node, "train", 0, STEPS)
    function = own.function if own else None
    slots = len(inputs) - 1
    work = Train(
        batches, learning.optimizer, function, tuple(given), slots, tuple(learn), None, False
    )
    scheduler.submit(work, node, (*inputs, *learn.values()), tuple(outputs.values()))
    return {name: Ref(node, cell) for name, cell in outputs.items()}
