"""Every odd model is played as a plain PyTorch loop plays it, on every backend, or refused."""

import dataclasses
from functools import lru_cache

import pytest
import torch
import torch.nn.functional as F
from torch.optim import SGD

import netsim
from netsim import api, engine, world
from netsim.backends.native.library import why_missing
from netsim.errors import ScenarioError
from netsim.learning.architecture import move_module
from netsim.learning.global_draws import mask_seed
from netsim.learning.jobs import BatchKey
from netsim.python_api.scenario import kinds_for
from netsim.scenario.tables import AlgorithmEntry

from . import zoo

BACKENDS = ["auto", "stacked", "sequential", *([] if why_missing() else ["native"])]
STEPS, TIMES = 2, 2
TRAINING = {"learning_rate": 0.1, "momentum": 0.5, "weight_decay": 0.01, "clip_norm": 1.0}
TOLERANCE = {"float64": 1e-12, "float32": 1e-6}

FAST = {
    *("tied_head", "layer_twice", "frozen_middle", "frozen_by_a_hook", "cumulative_norm"),
    *("mean_set_anew", "draws_late", "in_place_on_inputs"),
}
"""Models that are played in the fast tests, too, on two backends; all that are refused are."""


class Params(api.Params):
    pass


@api.algorithm(tasks=("any",))
def processes(node, params):
    return [local_training(node)]


def local_training(node):
    """Train twice, looked at in between."""
    theta = node.initial()
    yield node.wakeup()
    for _ in range(TIMES):
        theta = (yield node.train(theta, steps=STEPS)).theta
        node.publish(theta, "trained")
        yield node.sleep(2.0)


class Algorithm:
    """Stand-in for the module."""

    Params = Params
    processes = staticmethod(processes)


def scenario(name, dtype, backend="auto", nodes=3, **keys):
    entry = zoo.ZOO[name]
    return netsim.Scenario(
        name="zoo",
        horizon_s=20.0,
        nodes={"count": nodes},
        exchange={"schedule": "periodic", "period_s": 100.0},
        data={
            "kind": zoo.samples(name.startswith("image")),
            "test_fraction": 0.25,
            "partition": {"kind": "by_user", "more_users": "largest"},
        },
        model=entry.module if callable(entry.make) else entry.make,
        training={"batch_size": 1000, "dtype": dtype, **TRAINING},
        compute={"kind": "fixed", "step_s": 0.001},
        metrics={"every_s": 1.0, "common_test_samples": 5},
        algorithm=Algorithm,
        run={"backend": backend},
        **keys,
    )


@lru_cache(maxsize=4)
def built(name, dtype, nodes=3):
    with kinds_for(scenario(name, dtype, nodes=nodes)):
        return world.build(scenario(name, dtype, nodes=nodes).tables)


def play(name, dtype, backend, nodes=3):
    """The models that nodes end with, by node, and the summary."""
    made = scenario(name, dtype, backend, nodes)
    here = dataclasses.replace(built(name, dtype, nodes), scenario=made.tables)
    entry: AlgorithmEntry = made.tables.algorithm[0]
    run = engine.Simulation(here, entry, None, False, None)
    run.to_horizon()
    rows = [p.publishing.last_published().ref.tensor().clone() for p in run.parts]
    return rows, run.finish(None), run


@lru_cache(maxsize=4)
def plain(name, dtype, node):
    """The module of a node after a loop as PyTorch's users write it."""
    here = built(name, dtype)
    # As `.to(dtype)`, which would make two of one buffer that two layers have.
    model = move_module(zoo.ZOO[name].module(), torch.device("cpu"), getattr(torch, dtype))
    model.train()
    rows = here.shards.split_rows(node, "train")
    free = [p for p in model.parameters() if p.requires_grad]
    for k in range(STEPS * TIMES):
        if k % STEPS == 0:
            optimizer = SGD(
                free, lr=0.1, momentum=TRAINING["momentum"], weight_decay=TRAINING["weight_decay"]
            )
        key = BatchKey(node, "train", k)
        if zoo.ZOO[name].is_random:
            torch.manual_seed(mask_seed(here.streams, key))
            rows = here.shards.batch_rows(key)  # masks are by place in the minibatch
        x, y = here.shards.x[rows].clone(), here.shards.y[rows]
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(free, TRAINING["clip_norm"])
        optimizer.step()
    return model


def compared(name, dtype, backend):
    """The largest difference of any number of any node's model."""
    rows, summary, run = play(name, dtype, backend)
    worst = 0.0
    for node, row in enumerate(rows):
        theirs = plain(name, dtype, node)
        layout = run.world.architectures[node]
        tensors = {**dict(theirs.named_parameters()), **dict(theirs.named_buffers())}
        values = torch.cat(
            [tensors[renamed(layout, s.name, tensors)].detach().reshape(-1) for s in layout.slices]
        )
        worst = max(worst, float((row[: len(values)] - values).abs().max()))
        ours = layout.bind(row.clone())
        for key, buffer in theirs.named_buffers():
            if key in layout.traits.whole:
                assert torch.equal(dict(ours.named_buffers())[key], buffer), key
    assert not summary["diverged"]
    return worst


def renamed(layout, name, tensors):
    """The name that a tensor has in the module as it was brought, no more than a sequence."""
    if name in tensors:
        return name
    layers = len(layout.module.features)
    kind, number, rest = [*name.split("."), ""][:3] if "features" in name else ("head", "", "")
    return f"{number}.{rest}" if kind == "features" else f"{layers}.{name.partition('.')[2]}"


PLAYED = [name for name, entry in zoo.ZOO.items() if not entry.refused]
REFUSED = [name for name, entry in zoo.ZOO.items() if entry.refused]


@pytest.fixture(autouse=True)
def draws_as_they_were():
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", sorted(FAST))
def test_a_model_is_trained_as_in_a_plain_loop(name):
    worst = {backend: compared(name, "float64", backend) for backend in BACKENDS[:2]}
    assert max(worst.values()) < TOLERANCE["float64"], worst


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_a_model_is_trained_as_in_a_plain_loop_on_every_backend(name):
    worst = {backend: compared(name, "float64", backend) for backend in BACKENDS}
    assert max(worst.values()) < TOLERANCE["float64"], worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "backend"), [(n, BACKENDS[k % len(BACKENDS)]) for k, n in enumerate(PLAYED)]
)
def test_a_model_is_trained_in_float32_as_in_a_plain_loop(name, backend):
    """The backends in turn: all play every model in float64."""
    assert compared(name, "float32", backend) < TOLERANCE["float32"]


@pytest.mark.thinned(15)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cant_be_played_right_is_refused_in_words(name):
    with pytest.raises(ScenarioError, match=zoo.ZOO[name].refused):
        play(name, "float32", "auto")
