import dataclasses
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from netsim import api, engine, world
from netsim.learning.architecture import build_architecture
from netsim.scenario import from_dict
from netsim.scenario.tables import AlgorithmEntry


@pytest.fixture
def build():
    """A world of few nodes with few digits each, in float64; `module` replaces the model."""

    def make(module=None, **tables):
        torch.set_num_threads(1)
        base = {
            "seed": 5,
            "horizon_s": 100.0,
            "nodes": {"count": 3},
            "exchange": {"schedule": "star", "slot_s": 1.0},
            "data": {
                "kind": "digits",
                "validation": 0.3,
                "partition": {"kind": "iid", "train_samples": 40, "test_samples": 10},
            },
            "model": {"kind": "iot_mlp", "hidden": 8},
            "compute": {"kind": "fixed", "step_s": 1.0},
            "training": {"learning_rate": 0.1, "dtype": "float64"},
            "metrics": {"every_s": 100.0},
            "algorithm": [{"kind": "local"}],
        }
        built = world.build(from_dict(base | tables))
        if module is None:
            return built
        device, dtype = torch.device("cpu"), torch.float64
        layout = build_architecture("custom", module, device, dtype, built.samples.num_classes)
        nodes = range(len(built.initial))
        return dataclasses.replace(
            built,
            architectures=tuple(layout for _ in nodes),
            initial=tuple(layout.row() for _ in nodes),
        )

    return make


@pytest.fixture
def play(monkeypatch):
    """Let every node run `process(node)` as its algorithm; the `Simulation` at its end."""

    def run(built, process, timing_only=False):
        class Params(api.Params):
            pass

        module = ModuleType("algorithm_of_a_test")
        module.processes = lambda node, params: [process(node)]
        Params.__module__ = module.__name__
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entry = AlgorithmEntry(kind="test", name="test", params=Params())
        simulation = engine.Simulation(built, entry, None, timing_only, None)
        simulation.to_horizon()
        simulation.learning.scheduler.flush()
        return simulation

    return run


@pytest.fixture
def learn(build, play):
    """Let node 0 of a world do `process(node, found)`; whatever it puts into `found`.

    Refs are turned into their tensors at the end; `found.world` is the world.
    """

    def run(process, module=None, **tables):
        built = build(module, **tables)
        found = SimpleNamespace()
        simulation = play(built, lambda node: _only_node_0(process, node, found))
        for name, value in vars(found).items():
            if isinstance(value, api.Ref):
                setattr(found, name, value.tensor().detach().clone())
        found.world, found.simulation = built, simulation
        return found

    return run


def _only_node_0(process, node, found):
    if node.id == 0:
        yield from process(node, found)
    yield node.sleep(0.0)


@pytest.fixture
def batches():
    """The first `n` minibatches of node 0's training data."""

    def first(built, n, stream="train", node=0):
        return built.shards.batches([api.BatchKey(node, stream, b) for b in range(n)])

    return first


@pytest.fixture
def fresh_model():
    """A module of its own that holds node 0's initial model."""

    def make(built, row=None):
        model = built.scenario.model[0].build(built.samples.input_shape, 10).double()
        row = built.initial[0] if row is None else row
        tensors = [*(p.data for p in model.parameters()), *model.buffers()]
        parts = torch.split(row, [t.numel() for t in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))
        return model

    return make


@pytest.fixture
def row_of():
    """A module's parameters and buffers as one row."""

    def row(model):
        tensors = [*(p.data for p in model.parameters()), *model.buffers()]
        return torch.cat([t.reshape(-1) for t in tensors])

    return row
