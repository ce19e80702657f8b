"""Small program of learning verbs, played on either backend, and its values."""

import dataclasses
import random
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch

from netsim import api, engine, world
from netsim.backends.native.backend import Native
from netsim.backends.stacked.backend import Stacked
from netsim.learning.architecture import build_architecture
from netsim.learning.scheduler import Limits
from netsim.scenario import from_dict
from netsim.scenario.tables import AlgorithmEntry

BASE = {
    "seed": 3,
    "horizon_s": 100.0,
    "nodes": {"count": 6},
    "exchange": {"schedule": "star", "slot_s": 1.0},
    "data": {
        "kind": "digits",
        "validation": 0.3,
        "partition": {"kind": "dirichlet", "alpha": 0.4, "min_samples": 9},
    },
    "model": {"kind": "mlp", "hidden": [17]},
    "compute": {"kind": "fixed", "step_s": 1.0},
    "training": {
        "learning_rate": 0.1,
        "dtype": "float64",
        "batch_size": 7,
        "common_initial": False,
    },
    "metrics": {"every_s": 100.0},
    "algorithm": [{"kind": "local"}],
}


@dataclass
class Played:
    """Result of a program: its values by (node, name), and the run."""

    values: dict[tuple[int, str], torch.Tensor]
    simulation: engine.Simulation

    @property
    def backend(self) -> Any:
        return self.simulation.learning.scheduler.backend

    @property
    def width(self) -> float:
        """Jobs a call."""
        return self.simulation.learning.scheduler.mean_batch_width


@pytest.fixture
def scenario():
    """Six nodes with shards of many sizes; tables replace or, with a dict, extend the base's."""

    def make(**tables):
        keys = dict(BASE)
        for name, table in tables.items():
            together = isinstance(table, dict) and name in ("training", "nodes")
            keys[name] = BASE.get(name, {}) | table if together else table
        return from_dict(keys)

    return make


@pytest.fixture
def build(scenario):
    """The world of such a scenario; `module` replaces its model."""

    def make(module=None, **tables):
        built = world.build(scenario(**tables))
        if module is None:
            return built
        dtype = built.architectures[0].dtype
        layout = build_architecture("custom", module, torch.device("cpu"), dtype, 10)
        draws = torch.Generator().manual_seed(1)
        start = layout.row()
        noise = [torch.rand(start.shape, generator=draws, dtype=dtype) for _ in built.initial]
        rows = tuple(start * (0.8 + 0.4 * n) for n in noise)
        return dataclasses.replace(built, architectures=tuple(layout for _ in rows), initial=rows)

    return make


@pytest.fixture
def play(monkeypatch):
    """Let every node of a world run `program(node, keep)` on a backend; what it kept."""

    def run(built, program, backend="stacked", limits=None, shuffled=False, threads=1):
        class Params(api.Params):
            pass

        kept = {}

        def process(node):
            def keep(name, ref):
                kept[node.id, name] = ref

            yield from program(node, keep)
            yield node.sleep(0.0)

        module = ModuleType("algorithm_of_a_test")
        module.processes = lambda node, params: [process(node)]
        Params.__module__ = module.__name__
        entry = AlgorithmEntry(kind="test", name="test", params=Params())
        how = built.scenario.run.model_copy(update={"backend": backend, "threads": threads})
        played = built.scenario.model_copy(update={"run": how})
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module.__name__, module)
            if limits is not None:
                patch.setattr(Limits, "of", classmethod(lambda cls, n: Limits(*limits)))
            if shuffled:
                _shuffle(patch)
            simulation = engine.Simulation(
                dataclasses.replace(built, scenario=played), entry, None, False, None
            )
            simulation.to_horizon()
            simulation.learning.scheduler.flush()
        values = {key: ref.tensor().detach().clone() for key, ref in kept.items()}
        kept.clear()  # the simulation knows its algorithm's module, which has it in a closure
        return Played(values, simulation)

    return run


def _shuffle(patch):
    for backend in (Stacked, Native):

        def shuffled(self, jobs, execute=backend.execute):
            jobs = list(jobs)
            random.Random(len(jobs)).shuffle(jobs)
            return execute(self, jobs)

        patch.setattr(backend, "execute", shuffled)


@pytest.fixture
def both(build, play):
    """A program on both backends: (sequential, stacked)."""

    def run(program, module=None, **tables):
        built = build(module, **tables)
        return play(built, program, "sequential"), play(built, program, "stacked")

    return run


@pytest.fixture
def assert_equal_values():
    """Every value of one run is that of the other, up to `most`."""

    def check(a, b, most=1e-12):
        assert a.values.keys() == b.values.keys()
        assert a.values
        for key, value in a.values.items():
            torch.testing.assert_close(
                b.values[key],
                value,
                rtol=most,
                atol=most,
                equal_nan=True,
                msg=lambda m, k=key: f"{k}: {m}",
            )

    return check


ENDLESS = 10**9
POLICIES = [(1, 1), (2, 9), (5, 11), (8, 200), (ENDLESS, ENDLESS)]
"""`Limits`: ready jobs, and jobs in all, at which the ready ones run."""


def bits(values):
    return {key: value.numpy().tobytes() for key, value in values.items()}


@pytest.fixture
def assert_bits_are_equal(play):
    def check(built, program, threads=1, backend="stacked"):
        """Every policy on one thread; on several one job at a time, and all in two orders."""
        how = {"threads": threads, "backend": backend}
        policies = POLICIES if threads == 1 else [POLICIES[0], POLICIES[-1]]
        runs = [play(built, program, limits=p, **how) for p in policies]
        runs.append(play(built, program, limits=(ENDLESS, ENDLESS), shuffled=True, **how))
        assert runs[0].width == 1.0
        assert runs[-1].width > 1.5
        first = bits(runs[0].values)
        for policy, run in zip([*policies, "shuffled"], runs, strict=True):
            other = bits(run.values)
            assert first.keys() == other.keys()
            unequal = sorted(key for key in first if first[key] != other[key])
            assert not unequal, f"{policy}: {unequal[:5]} and {len(unequal)} in all"
        return runs

    return check
