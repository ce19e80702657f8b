"""The stacked backend's tensor work on a GPU that is not there: its devices, and waits of the host.

Played by `test_fake_gpu.py` in a process of its own; by hand: `pytest -n0 fake_gpu_cases.py`.

Fake tensors have no values, no speed and no memory: what is shown is that no operation gets tensors
of two devices, that all results are on the GPU, and how often the host waits for it in a flush.
"""

import pkgutil
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from algorithms import fedclassavg, fedproto, pfedgraph
from netsim.api import augmented_cross_entropy, batched
from netsim.backends import job_types
from netsim.backends.dispatch import choose_routes
from netsim.backends.grouping import GroupedExecution
from netsim.backends.job_types import private_train
from netsim.backends.job_types.apply import Apply
from netsim.backends.job_types.batch_gradient import BatchGradient
from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.measure import Measure
from netsim.backends.job_types.mix import Mix
from netsim.backends.job_types.outputs import Outputs
from netsim.backends.job_types.private_train import PrivateTrain
from netsim.backends.job_types.replace_columns import ReplaceColumns
from netsim.backends.job_types.select import Select
from netsim.backends.job_types.train import Train
from netsim.backends.stacked.backend import Stacked
from netsim.learning import level, optimizers
from netsim.learning.architecture import build_architecture
from netsim.learning.candidate_sets import state_length
from netsim.learning.functions import uniforms_of
from netsim.learning.jobs import Batches, BatchKey, Optimizer, Slot
from netsim.learning.privacy import Privacy
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Limits, Scheduler
from netsim.learning.select import pooled
from netsim.learning.shards import NodeRows, Shards
from netsim.models import Network
from netsim.models.lenet import LeNet
from netsim.rng import Streams

level.torch_state = lambda: b""  # a look at the CPU's generator, which here would be fake, too

GPU = torch.device("cuda:0")
BATCH, CLASSES, MANY = 4, 10, 20
IMAGE = (1, 8, 8)
SGD, ADAM = Optimizer("sgd", 0.1, 0.9, 0.01), Optimizer("adam", 0.1)
CLIPPED = Optimizer("sgd", 0.1, 0.9, clip_norm=1.0)


@pytest.fixture(autouse=True)
def values_are_not_compared(monkeypatch):
    """Fake tensors hold no numbers by which a backend could be compared with plain PyTorch."""
    monkeypatch.setattr(GroupedExecution, "_agrees_with_plain", lambda backend, jobs: True)
    monkeypatch.setattr(private_train, "_require_single", lambda *_: None)


class Bench:
    """Nodes with a model each on the GPU, and a scheduler that runs their jobs.

    Parameters
    ----------
    make : callable
        Gives their module.
    shape : tuple of int
        Of one input.
    nodes : int
    is_ragged : bool
        Whether some minibatches are smaller.
    """

    def __init__(self, make, shape, nodes, is_ragged=False):
        sizes = [2 * BATCH - (is_ragged and node % 3) for node in range(nodes)]
        rows = [np.arange(10 * i, 10 * i + size) for i, size in enumerate(sizes)]
        x = torch.zeros(10 * nodes, *shape, device=GPU)
        y = torch.zeros(10 * nodes, dtype=torch.int64, device=GPU)
        streams, dtype = Streams(1), torch.float32
        scale = ((0.5,) * shape[0], (0.5,) * shape[0])
        nodes_rows = [NodeRows(r, r, r) for r in rows]
        self.shards = Shards(x, y, nodes_rows, {}, BATCH, streams, scale)
        self.architecture = build_architecture("model", make(), GPU, dtype, CLASSES)
        routes = choose_routes({self.architecture: nodes}, BATCH, "stacked", {}, {})
        self.backend = Stacked(self.shards, streams, routes, GPU, dtype)
        self.scheduler = Scheduler(self.backend, Limits(10**9, 10**9), lambda: 0, ReplaceColumns)
        self.size = self.architecture.num_values
        self.models = [self.value(node, self.size) for node in range(nodes)]

    def value(self, node, *shape):
        """A computed value; a model's, if it is as long as one."""
        value = torch.zeros(shape, device=GPU)
        return Ref(node, Cell(self.scheduler, shape, self._model(shape), value))

    def later(self, work, inputs, *shapes):
        """Values that a job will compute."""
        cells = [Cell(self.scheduler, shape, self._model(shape)) for shape in shapes]
        node = inputs[0].owner
        self.scheduler.submit(work, node, tuple(inputs), cells)
        return [Ref(node, cell) for cell in cells]

    def _model(self, shape):
        return self.architecture if shape == (self.size,) else None


def train(bench, model, optimizer=SGD, steps=2, loss=None, carry=False, anchor=False, given=()):
    """Odd nodes take a step more."""
    node, parameters = model.owner, bench.architecture.num_parameters
    length = optimizers.state_size(optimizer.kind, parameters)
    refs = [bench.value(node, *g) for g in given if isinstance(g, list)]
    slots = iter(range(len(refs)))
    given = tuple(Slot(next(slots)) if isinstance(g, list) else g for g in given)
    inputs = [model, *refs, *[model] * anchor, *[bench.value(node, length)] * carry]
    strength = 0.3 if anchor else None
    batches = Batches(node, "train", 0, steps + node % 2)
    work = Train(batches, optimizer, loss, given, len(refs), (), strength, carry)
    return bench.later(work, inputs, model.shape, (length,))


def own_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


def spread(model, batch):
    return model.features(batch.x).var(0).mean()


@batched
def double(row):
    return 2 * row


def equal_weights(row):
    """Weights that a method makes without naming a device, as anyone would."""
    return torch.full((MANY,), 1 / MANY, dtype=torch.float64)


@batched
def equal_weights_of_many(row):
    return equal_weights(row)


def mixed_by(function):
    def jobs(bench, model):
        (weights,) = bench.later(Apply(function, (Slot(0),)), [model], (MANY,))
        return [weights, *bench.later(Mix(None), [*[model] * MANY, weights], model.shape)]

    return jobs


def select(bench, model, *state):
    """Copies: four of a call, and of each job weights and the header of its state."""
    work = Select(model.owner, (1.0, 2.0, 3.0), (0.5, 0.5), None, bool(state))
    inputs = [model, *bench.models[:2], *state]
    return bench.later(work, inputs, (3,), (state_length(bench.size),))


def select_on(bench, model):
    return select(bench, model, bench.value(model.owner, state_length(bench.size)))


def pool(bench, model):
    work = Apply(pooled, (None, (Slot(0), Slot(1)), (1.0, 2.0)))
    return bench.later(work, [model, bench.models[0]], (state_length(bench.size),))


def lazily_mixed(bench, model):
    weights = bench.value(model.owner, MANY)
    return bench.later(Mix(None), [*[model] * MANY, weights], model.shape)


JOBS = {
    "train": (train, 5),
    "train, ragged": (train, 7),
    "train, more steps": (lambda b, m: train(b, m, steps=6), 5),
    "train, clipped": (lambda b, m: train(b, m, CLIPPED), 5),
    "train, adam": (lambda b, m: train(b, m, ADAM), 5),
    "train, anchored": (lambda b, m: train(b, m, anchor=True), 6),
    "train, state carried on": (lambda b, m: train(b, m, ADAM, carry=True), 8),
    "own loss": (lambda b, m: train(b, m, loss=own_loss), 4),
    "own loss, ragged": (lambda b, m: train(b, m, loss=own_loss), 4),
    "own loss, more steps": (lambda b, m: train(b, m, loss=own_loss, steps=6), 4),
    "own loss, adam": (lambda b, m: train(b, m, ADAM, loss=own_loss, anchor=True), 4),
    "mix of few": (lambda b, m: b.later(Mix((0.5, 0.5)), [m, b.models[0]], m.shape), 0),
    "mix of many": (lambda b, m: b.later(Mix((0.05,) * MANY), [m] * MANY, m.shape), 4),
    "mix, lazily": (lazily_mixed, 3),
    "replace columns": (
        lambda b, m: b.later(ReplaceColumns(((0, 9),)), [m, b.value(m.owner, 9)], m.shape),
        2,
    ),
    "outputs": (
        lambda b, m: b.later(Outputs(BatchKey(m.owner, "train", 0)), [m, m], (2, BATCH, CLASSES)),
        2,
    ),
    "loss": (lambda b, m: b.later(Loss(m.owner, "train"), [m], ()), 3),
    "gradient": (lambda b, m: b.later(Gradient(m.owner, "train"), [m], m.shape), 4),
    "batch gradient": (
        lambda b, m: b.later(BatchGradient(BatchKey(m.owner, "train", 0)), [m], m.shape),
        3,
    ),
    "measure": (lambda b, m: b.later(Measure(spread, m.owner, "train", ()), [m], ()), 1),
    "apply": (lambda b, m: b.later(Apply(double, (Slot(0),)), [m], m.shape), 0),
}
"""Jobs, and copies to the GPU in a flush; none of them waits for the kernels before it."""


def mlp():
    layers = nn.Flatten(), nn.Linear(64, 40), nn.ReLU()
    return Network(nn.Sequential(*layers), nn.Linear(40, CLASSES))


@cache
def bench_of(nodes, is_ragged=False):
    return Bench(mlp, IMAGE, nodes, is_ragged)


def flushed(bench, jobs, waits):
    """Copies and waits of the second of two equal flushes: the first builds what is kept."""
    for _ in range(2):
        held = [ref for model in bench.models for ref in jobs(bench, model)]
        waits.found.clear()
        bench.scheduler.flush()
    assert not bench.backend.one_by_one
    found = dict(waits.found)
    assert all(ref.tensor().is_cuda for ref in held)
    return found


WIDER = "train", "own loss", "mix of many", "loss"


@pytest.mark.parametrize(
    ("name", "nodes"), [*((name, 3) for name in JOBS), *((name, 6) for name in WIDER)]
)
def test_a_flush_waits_as_often_however_many_jobs_there_are(name, nodes, waits):
    jobs, copies = JOBS[name]
    found = flushed(bench_of(nodes, "ragged" in name), jobs, waits)
    assert found == ({"late upload": copies} if copies else {})


@pytest.mark.parametrize("held", [1, 0])
def test_results_that_nobody_holds_cost_a_copy_a_write_and_no_wait(held, waits):
    """Two writes: of nodes that end after two steps, and of the one that takes a third."""
    bench = bench_of(3)
    for _ in range(2):
        waits.found.clear()
        results = [train(bench, model) for model in bench.models][:held]
        bench.scheduler.flush()
    assert waits.found == {"late upload": 7}
    assert all(refs[0].tensor().is_cuda for refs in results)


@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_selection_waits_once_and_then_once_a_candidate(goes_on, nodes, waits):
    """First for which models are finite, then for losses; two candidates. Copies: see `select`."""
    jobs = select_on if goes_on else select
    found = flushed(bench_of(nodes), jobs, waits)
    assert found == {"late upload": 4 + 2 * nodes, "read": 3}


def test_pooling_candidates_waits_once_a_job(waits):
    found = flushed(bench_of(3), pool, waits)
    assert found == {"late upload": 3, "read": 3}


def test_evaluation_waits_once_a_chunk_of_models(waits):
    bench = bench_of(6)
    asked = [(model, bench.shards.rows[model.owner].test) for model in bench.models]
    for _ in range(2):
        waits.found.clear()
        outputs = bench.backend.predictions(asked)
    assert not any(y.is_cuda for y in outputs)
    assert waits.found == {"late upload": 2, "read": 1}


class Branching(nn.Module):
    """No chain: autograd runs backwards through it."""

    def __init__(self):
        super().__init__()
        layers = nn.Conv2d(1, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        self.features = nn.Sequential(*layers, nn.Flatten(), nn.Linear(16, 40), nn.LayerNorm(40))
        self.again, self.head = nn.Linear(40, 40), nn.Linear(40, CLASSES)

    def forward(self, x):
        x = self.features(x)
        return self.head(torch.tanh(x + self.again(x)))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        layers = nn.Flatten(), nn.Linear(64, 40), nn.GroupNorm(4, 40), nn.Dropout(0.3)
        self.features, self.head = nn.Sequential(*layers), nn.Linear(40, CLASSES)

    def forward(self, x):
        return self.head(self.features(x))


@pytest.mark.parametrize("is_ragged", [False, True])
@pytest.mark.parametrize("module", [Branching, Dropping])
def test_models_of_other_layers_train_and_are_looked_at(module, is_ragged, waits):
    bench = Bench(module, IMAGE, 3, is_ragged)
    found = flushed(bench, lambda b, m: train(b, m, CLIPPED, carry=True), waits)
    assert found == {"late upload": 10 if is_ragged else 8}
    assert flushed(bench, JOBS["gradient"][0], waits) == {"late upload": 4}


def test_a_shipped_model_trains(waits):
    shape = (3, 32, 32)
    bench = Bench(lambda: LeNet(kind="lenet").build(shape, CLASSES), shape, 3)
    assert flushed(bench, train, waits) == {"late upload": 5}


LOSSES = {
    "pfedgraph": (pfedgraph.regularised_loss, (None, -0.01), 0),
    "pfedgraph augmented": (pfedgraph.augmented_loss, (None, -0.01), 2),
    "dpfl augmented": (augmented_cross_entropy, (), 2),
    "fedproto": (fedproto.prototype_loss, ([CLASSES, 40], tuple(range(CLASSES)), 0.5), 1),
    "fedclassavg": (fedclassavg.local_loss, ([41 * CLASSES], fedclassavg.Params()), 6),
}
"""Loss, what it is given (a list: a value of that shape), and waits in each step."""


@pytest.mark.parametrize("name", LOSSES)
def test_a_shipped_loss_waits_for_constants_that_it_makes_in_each_step(name, waits):
    loss, given, waits_a_step = LOSSES[name]
    draws, steps = uniforms_of(loss) > 0, 3
    found = flushed(bench_of(3), lambda b, m: train(b, m, loss=loss, given=given), waits)
    assert found["late upload"] == 4 + steps * draws
    assert found.get("upload", 0) == steps * waits_a_step
    assert "read" not in found


@pytest.mark.parametrize("function", [equal_weights, equal_weights_of_many])
def test_what_a_function_makes_on_the_cpu_comes_to_lie_on_the_gpu(function, waits):
    flushed(bench_of(3), mixed_by(function), waits)


def test_there_is_a_case_for_every_job_type():
    played = {name.partition(",")[0].partition(" of ")[0] for name in JOBS}
    played |= {"select", "private train"}
    files = {info.name for info in pkgutil.iter_modules(job_types.__path__)}
    assert files == {name.replace(" ", "_") for name in played} - {"own_loss"}


def test_private_training_goes_node_after_node(waits):
    """The gradients of one node's samples fill a call by themselves."""
    bench = bench_of(3)
    state = optimizers.state_size(SGD.kind, bench.architecture.num_parameters)
    batches, privacy = Batches(0, "train", 0, 2), Privacy(1.0, 1.0)
    work = PrivateTrain(batches, SGD, None, (), 0, False, None, privacy)
    model = bench.models[0]
    held = bench.later(work, [model], model.shape, (state,))
    bench.scheduler.flush()
    assert all(ref.tensor().is_cuda for ref in held)
    assert bench.backend.one_by_one
    bench.backend.one_by_one.clear()
