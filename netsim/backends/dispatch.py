"""Which jobs run in groups: a route for each model of a run.

Routes come from tables and are never chosen by timing a run, so that timing can't change results.
A model's route comes from the first of these that has one: the scenario (`[run.routes]`, which the
`scenario.toml` of a finished run holds, so that a rerun takes the same routes), the user's table
(written by `netsim tune`), the shipped rules (`routes.toml` beside this file).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from torch import nn

from netsim.backends.parameter_store import padded
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.registry import Count, Table

Way = Literal[
    "native", "native/avx512", "native/avx2", "native/neon", "native/plain", "stacked", "sequential"
]
"""`native` is the best instruction set of the machine; a run's own routes name the one it took."""

Purpose = Literal["train", "loss", "look"]
"""Keys of a route; see `Route`."""

SHIPPED = Path(__file__).with_name("routes.toml")

CACHE_BYTES = 16 << 20
"""Memory for the parameters and velocities of nodes that train in one call on a CPU."""

FEWEST_LANES = 8
"""Nodes per call even where fewer fit the caches: each call has a cost of its own."""

MOST_LANES = {"cpu": 128, "cuda": 4096}
"""Nodes per call at most, by device; that of a GPU is not measured."""

GPU_SHARE = 0.25
"""Share of a GPU's memory for what nodes that train in one call need. Not measured on any yet."""


class Route(Table):
    """How the jobs of one model run: natively, many nodes in one call, or one node after another.

    Parameters
    ----------
    train : Way
        Local steps with the default loss.
    loss : {"stacked", "sequential"}
        Local steps with a loss of the algorithm's, or with values trained beside the model.
    look : Way
        Outputs, losses, gradients, measurements, selections: all that evaluates a model.
    lanes : int or None
        Most nodes that train in one call; None: as many as fit the caches or the GPU.
    """

    train: Way = "stacked"
    loss: Literal["stacked", "sequential"] = "stacked"
    look: Way = "stacked"
    lanes: Count | None = None


class Rule(Table):
    """A shipped rule: fewest nodes for stacking, for models of some kind; see `routes.toml`."""

    device: Literal["cpu", "cuda"]
    layers: Literal["dense", "conv"] | None = None
    largest: Count | None = None
    largest_batch: Count | None = None
    train_from: Count | None = None
    loss_from: Count | None = None
    look_from: Count | None = None


class Rules(Table):
    """The shipped file."""

    rule: tuple[Rule, ...]


class Measured(Table):
    """The user's file: routes by signature."""

    route: dict[str, Route] = {}


def signature(architecture: Architecture, batch_size: int) -> str:
    """Names what a measured route is valid for: device, model, minibatch, precision.

    PyTorch's own work has one thread; the name says so.
    """
    a = architecture
    where = "cpu" if a.device.type == "cpu" else _gpu_name(a.device)
    kind = str(a.dtype).removeprefix("torch.")
    return f"{where}/{a.name}/{a.num_parameters}/batch {batch_size}/{kind}/1 threads"


def _gpu_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device)


def user_table() -> Path:
    """Where `netsim tune` writes: NETSIM_ROUTES, or the user's configuration folder."""
    given = os.environ.get("NETSIM_ROUTES")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "netsim" / "routes.toml"


def read_measured(path: Path) -> dict[str, Route]:
    """The routes of a user's table; none if there is no file.

    Raises
    ------
    ScenarioError
        If it can't be read; names file and remedy.
    """
    if not path.is_file():
        return {}
    try:
        return Measured.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).route
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError, OSError) as error:
        first = str(error).splitlines()[0]
        raise ScenarioError(
            f"{path}: can't be read as a table of routes ({first}); run netsim tune again, or "
            "remove the file to go by the shipped rules"
        ) from error


@lru_cache(maxsize=1)
def _rules() -> tuple[Rule, ...]:
    return Rules.model_validate(tomllib.loads(SHIPPED.read_text(encoding="utf-8"))).rule


def ruled(architecture: Architecture, num_nodes: int, batch_size: int) -> Route:
    """The route that the shipped rules give.

    Parameters
    ----------
    architecture : Architecture
    num_nodes : int
        How many nodes have this model.
    batch_size : int
        Samples in a minibatch.
    """
    modules = architecture.module.modules()
    layers = "conv" if any(isinstance(m, nn.Conv2d) for m in modules) else "dense"

    def way(at_least: int | None) -> Literal["stacked", "sequential"]:
        return "stacked" if at_least is not None and num_nodes >= at_least else "sequential"

    for rule in _rules():
        if (
            rule.device == architecture.device.type
            and rule.layers in (None, layers)
            and architecture.num_parameters <= (rule.largest or architecture.num_parameters)
            and batch_size <= (rule.largest_batch or batch_size)
        ):
            return Route(
                train=way(rule.train_from), loss=way(rule.loss_from), look=way(rule.look_from)
            )
    return Route(train="sequential", loss="sequential", look="sequential")


class Routes:
    """The routes of one run's models.

    Parameters
    ----------
    by_architecture : mapping of int to (str, Route, str)
        By an architecture's `id`: its signature, its route, and the source of that route.
    functions : bool
        Whether functions marked `@batched` run for many nodes at once.
    """

    def __init__(
        self, by_architecture: Mapping[int, tuple[str, Route, str]], functions: bool = True
    ) -> None:
        self._by_architecture = dict(by_architecture)
        self.functions = functions

    def way(self, architecture: Architecture, purpose: Purpose) -> str:
        """The backend that runs jobs of this purpose: `native`, `stacked` or `sequential`."""
        way: Way = getattr(self._by_architecture[id(architecture)][1], purpose)
        return way.partition("/")[0]

    def stacks(self, architecture: Architecture, purpose: Purpose) -> bool:
        """Whether jobs of this purpose run for many nodes at once in PyTorch."""
        return self.way(architecture, purpose) == "stacked"

    def native_variants(self) -> dict[int, str]:
        """The instruction set of each architecture, by its `id`, that runs natively."""
        return {
            key: way.partition("/")[2]
            for key, (_, route, _) in self._by_architecture.items()
            for way in (route.train, route.look)
            if way.startswith("native/")
        }

    def lanes(self, architecture: Architecture, activations: int) -> int:
        """Most nodes that train in one call.

        Parameters
        ----------
        architecture : Architecture
        activations : int
            Values that the forward pass of one node's minibatch keeps for the backward pass.
        """
        given = self._by_architecture[id(architecture)][1].lanes
        return given or default_lanes(architecture, activations)

    @property
    def all_sequential(self) -> bool:
        """Whether nothing is stacked."""
        ways = [(r.train, r.loss, r.look) for _, r, _ in self._by_architecture.values()]
        return all(way == "sequential" for each in ways for way in each)

    def by_signature(self) -> dict[str, Route]:
        """The routes, as `[run.routes]` holds them."""
        return {name: route for name, route, _ in self._by_architecture.values()}

    def described(self) -> dict[str, dict[str, Any]]:
        """The routes and their sources, as `environment.json` holds them."""
        return {
            name: {**route.model_dump(exclude_none=True), "source": source}
            for name, route, source in self._by_architecture.values()
        }


def default_lanes(architecture: Architecture, activations: int) -> int:
    """Nodes per call that fit a CPU's caches, or a fixed share of a GPU's memory.

    The share is of all memory, not of what is free: that differs from run to run, and on a GPU the
    number of nodes in a call can change the last bits of results.

    Parameters
    ----------
    architecture : Architecture
    activations : int
        Values that the forward pass of one node's minibatch keeps for the backward pass.
    """
    a = architecture
    bytes_each = torch.empty((), dtype=a.dtype).element_size()
    if a.device.type == "cuda":
        total = torch.cuda.get_device_properties(a.device).total_memory * GPU_SHARE
        fit = int(total // (bytes_each * (4 * padded(a.num_values) + 3 * activations)))
    else:
        fit = CACHE_BYTES // (2 * bytes_each * padded(a.num_values))
    return max(FEWEST_LANES, min(MOST_LANES[a.device.type], fit))


def choose(
    nodes: Mapping[Architecture, int],
    batch_size: int,
    backend: Literal["auto", "native", "stacked", "sequential"],
    given: Mapping[str, Route],
    native: Mapping[Architecture, str],
) -> Routes:
    """The routes of a run.

    Parameters
    ----------
    nodes : mapping of Architecture to int
        How many nodes have each of the models.
    batch_size : int
        Samples in a minibatch.
    backend : {"auto", "native", "stacked", "sequential"}
        `native`, `stacked`: all that can run this way does; `sequential`: nothing but that.
    given : mapping of str to Route
        The scenario's own, by signature.
    native : mapping of Architecture to str
        The best instruction set for each model that the native kernel knows.

    Raises
    ------
    ScenarioError
        If the user's table can't be read.
    """
    measured = read_measured(user_table()) if backend == "auto" else {}
    found = {}
    for architecture, count in nodes.items():
        name, variant = signature(architecture, batch_size), native.get(architecture)
        if backend in ("stacked", "sequential"):
            route, source = Route(train=backend, loss=backend, look=backend), "[run] backend"
        elif backend == "auto" and name in given:
            route, source = given[name], "[run.routes]"
        elif name in measured:
            route, source = measured[name], "netsim tune"
        else:
            route, source = ruled(architecture, count, batch_size), "shipped rules"
            if variant is not None:
                route = route.model_copy(update={"train": "native", "look": "native"})
        found[id(architecture)] = (name, _pinned(route, variant), source)
    # On a CPU gathering the inputs of a small function takes longer than running it; on a GPU
    # launching one kernel per node does.
    on_gpu = any(a.device.type == "cuda" for a in nodes)
    return Routes(found, functions=backend == "stacked" or on_gpu)


def _pinned(route: Route, variant: str | None) -> Route:
    """The route with an instruction set for `native`; without one, stacked in its place."""
    way = "stacked" if variant is None else f"native/{variant}"
    ways = {key: way for key in ("train", "look") if getattr(route, key) == "native"}
    return route.model_copy(update=ways)
