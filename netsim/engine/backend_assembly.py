"""The backend that computes what the jobs of a run ask for."""

import socket
from collections import Counter
from collections.abc import Collection, Sequence

from netsim.backends.dispatch import Choice, Routes, choose
from netsim.backends.native.backend import Native
from netsim.backends.native.cores import cores
from netsim.backends.native.library import Library
from netsim.backends.native.support import native_support, require
from netsim.backends.sequential import Sequential
from netsim.backends.stacked.backend import Stacked
from netsim.errors import ScenarioError
from netsim.learning.jobs import Optimizer
from netsim.learning.shards import Shards
from netsim.scenario.training import Training
from netsim.world.builder import World


def open_backend(
    world: World,
    shards: Shards,
    threads: int | None = None,
    chosen: Sequence[Choice] | None = None,
) -> tuple[Sequential | Stacked | Native, Routes]:
    """Open the backend of a run, and choose the route of each model's jobs.

    Parameters
    ----------
    shards : Shards
        In the minibatches that are trained on.
    threads : int or None
        In place of `[run] threads`.
    chosen : sequence of Choice or None
        The routes of the world's models, each once in their order, where another process has
        chosen them.

    Raises
    ------
    ScenarioError
        If the user's table of routes can't be read, or `[run] backend` is `native` and there is no
        kernel.
    """
    run, nodes = world.scenario.run, Counter(world.architectures)
    support = native_support(nodes, tuple(shards.x.shape[1:]), shards.task)
    require(support, run.backend)
    routes = choose(
        nodes,
        shards.batch_size,
        run.backend,
        run.routes,
        support.variants,
        support.instruction_sets,
    )
    if chosen is not None:
        routes = Routes(dict(zip(map(id, nodes), chosen, strict=True)), routes.functions)
        _require_here(routes, support.instruction_sets)
    if threads is None:
        threads = cores() if run.threads == "auto" else run.threads
    backend = _opened(world, shards, routes, support.library, threads)
    if run.backend not in ("stacked", "sequential"):
        backend.ways.of_models = {
            id(a): support.reason(a) or routes.reason(a, "train")
            for a in nodes
            if id(a) not in routes.native_variants()
        }
    return backend, routes


def _opened(
    world: World, shards: Shards, routes: Routes, library: Library | None, threads: int
) -> Sequential | Stacked | Native:
    """The backend that routes ask for."""
    if routes.all_sequential:
        return Sequential(shards, world.streams, threads)
    device, dtype = shards.x.device, world.architectures[0].dtype
    stacked = Stacked(shards, world.streams, routes, device, dtype, threads)
    if library is None or not routes.native_variants():
        return stacked
    return Native(stacked, routes, library, threads)


def _require_here(routes: Routes, instruction_sets: Collection[str]) -> None:
    """Refuse routes of another machine that this one can't take.

    Raises
    ------
    ScenarioError
    """
    missing = set(routes.native_variants().values()) - set(instruction_sets)
    if missing:
        raise ScenarioError(
            f"[run] backend: the native kernel for {', '.join(sorted(missing))} does not run on "
            f'{socket.gethostname()}, so numbers would differ; play with backend = "stacked", or '
            "on machines that are alike"
        )


def optimizer_of(t: Training) -> Optimizer:
    """The constants of the local optimiser."""
    return Optimizer(
        t.optimizer, t.learning_rate, t.momentum, t.weight_decay, t.beta1, t.beta2, t.clip_norm
    )
