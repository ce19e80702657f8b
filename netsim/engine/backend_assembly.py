"""The backend that computes what the jobs of a run ask for."""

import socket
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from netsim.backends.dispatch import Choice, Routes, choose_routes
from netsim.backends.native.backend import Native
from netsim.backends.native.cores import cores
from netsim.backends.native.support import native_support, require
from netsim.backends.sequential import Sequential
from netsim.backends.spilling import Spill
from netsim.backends.stacked.backend import Stacked
from netsim.engine import equipment
from netsim.errors import ScenarioError
from netsim.learning.jobs import Optimizer
from netsim.learning.scheduler import Backend
from netsim.learning.shards import Shards
from netsim.scenario.tables import Run
from netsim.scenario.training import Training
from netsim.world.builder import World


def open_backend(
    world: World, shards: Shards, threads: int | None = None, chosen: Sequence[Choice] | None = None
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
    routes = choose_routes(
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
    spill, library = _spill(run, shards.x.device), support.library
    backend: Sequential | Stacked | Native
    if routes.all_sequential and spill is None:
        backend = Sequential(shards, world.streams, threads)
    else:
        device, dtype = shards.x.device, world.architectures[0].dtype
        backend = Stacked(shards, world.streams, routes, device, dtype, threads, spill)
        if library is not None and routes.native_variants():
            backend = Native(backend, routes, library, threads)
    if run.backend not in ("stacked", "sequential"):
        backend.ways.of_models = {
            id(a): support.reason(a) or routes.reason(a, "train")
            for a in nodes
            if id(a) not in routes.native_variants()
        }
    return backend, routes


def _spill(run: Run, device: torch.device) -> Spill | None:
    """Files for models that memory can't hold, if there are to be any.

    Raises
    ------
    ScenarioError
        If there can't be any with this device or backend, or in this folder.
    """
    if not run.spill_dir:
        return None
    if device.type != "cpu":
        raise ScenarioError(
            f'[run] spill_dir: models are on {device}, whose memory has no files; device = "cpu", '
            "or leave it out"
        )
    if run.backend == "sequential":
        raise ScenarioError(
            '[run] spill_dir: backend = "sequential" keeps all models in memory; "auto", or leave '
            "it out"
        )
    return Spill(Path(run.spill_dir), int(run.spill_above_gb * 1e9))


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


def record_fields(backend: Backend | None) -> dict[str, Any]:
    """Fields of a run's record about actors, and about models that lay on a disk.

    `backend`: at the end of the run, before it is closed.

    Returns
    -------
    dict of str to object
        `other_processors`, `actors_replaced`, `actors` (memory and processor time of each),
        `moved_bytes`, `spilled_bytes`: those that there is something to say of.
    """
    found: dict[str, Any] = {}
    others = {one.processor for one in getattr(backend, "location", ())} - {equipment.processor()}
    if others:
        found["other_processors"] = sorted(others)
    replaced, usage = getattr(backend, "replaced", 0), getattr(backend, "usage", None)
    if replaced:
        found["actors_replaced"] = replaced
    spill = getattr(getattr(backend, "store", None), "spill", None)
    spilled = 0 if spill is None else spill.used_bytes
    if usage is not None:
        actors = usage()
        found["moved_bytes"] = getattr(backend, "moved_bytes", 0)
        found["actors"] = [one._asdict() for one in actors]
        spilled = sum(one.spilled_bytes for one in actors)
    if spilled:
        found["spilled_bytes"] = spilled
    return found
