"""Which backend runs what: from tables, never by timing a run, so that the clock picks no bits.

A model's route comes from, in this order: the scenario (`[run.routes]`, which a finished run's
`scenario.toml` holds, so that a rerun goes the same way), the user's table (`netsim tune`), the
rules that are shipped (`routes.toml` beside this file).
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
from netsim.backends.route import Route, Way
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.registry import Count, Table

Purpose = Literal["train", "loss", "look"]

SHIPPED = Path(__file__).with_name("routes.toml")

CHUNK_BYTES = 16 << 20
"""Rows and velocities of the lanes that train together on a CPU: about what its caches hold."""

FEWEST_LANES = 8
"""Even where so many do not fit: each call has a cost of its own."""

MOST_LANES = {"cpu": 128, "cuda": 4096}

GPU_SHARE = 0.25
"""Of a GPU's memory for the rows and activations of the lanes that train together."""


class Rule(Table):
    """What holds for a sort of model; see `routes.toml`."""

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


def signature(architecture: Architecture, batch_size: int, threads: int) -> str:
    """What a measurement holds for: device, model, minibatch, precision, threads."""
    a = architecture
    where = "cpu" if a.device.type == "cpu" else _gpu_name(a.device)
    kind = str(a.dtype).removeprefix("torch.")
    return f"{where}/{a.name}/{a.num_parameters}/batch {batch_size}/{kind}/{threads} threads"


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
    """The shipped rule for a model that `num_nodes` nodes have."""
    modules = architecture.module.modules()
    layers = "conv" if any(isinstance(m, nn.Conv2d) for m in modules) else "dense"

    def way(at_least: int | None) -> Way:
        return "stacked" if at_least is not None and num_nodes >= at_least else "sequential"

    for rule in _rules():
        if (
            rule.device == architecture.device.type
            and rule.layers in (None, layers)
            and architecture.num_parameters <= (rule.largest or architecture.num_parameters)
            and batch_size <= (rule.largest_batch or batch_size)
        ):
            ways = (way(n) for n in (rule.train_from, rule.loss_from, rule.look_from))
            return Route(**dict(zip(("train", "loss", "look"), ways, strict=True)))
    return Route(train="sequential", loss="sequential", look="sequential")


class Routes:
    """The routes of one run's models.

    Parameters
    ----------
    by_architecture : mapping of int to (str, Route, str)
        From an architecture's `id`: its signature, its route, and where that comes from.
    functions : bool
        Whether functions marked `@batched` run for many nodes at once.
    """

    def __init__(
        self, by_architecture: Mapping[int, tuple[str, Route, str]], functions: bool = True
    ) -> None:
        self._by_architecture = dict(by_architecture)
        self.functions = functions

    def stacks(self, architecture: Architecture, purpose: Purpose) -> bool:
        """Whether jobs of a purpose run many at once."""
        return bool(getattr(self._by_architecture[id(architecture)][1], purpose) == "stacked")

    def lanes(self, architecture: Architecture, activations: int) -> int:
        """How many nodes train in one call at most.

        Parameters
        ----------
        activations : int
            Values that a forward pass of one lane's minibatch leaves.
        """
        given = self._by_architecture[id(architecture)][1].lanes
        return given or default_lanes(architecture, activations)

    @property
    def all_sequential(self) -> bool:
        """Whether nothing at all is stacked."""
        ways = [(r.train, r.loss, r.look) for _, r, _ in self._by_architecture.values()]
        return all(way == "sequential" for each in ways for way in each)

    def by_signature(self) -> dict[str, Route]:
        """As `[run.routes]` holds them."""
        return {name: route for name, route, _ in self._by_architecture.values()}

    def described(self) -> dict[str, dict[str, Any]]:
        """By signature, with where they come from: as `environment.json` holds them."""
        return {
            name: {**route.model_dump(exclude_none=True), "source": source}
            for name, route, source in self._by_architecture.values()
        }


def default_lanes(architecture: Architecture, activations: int) -> int:
    """Lanes that fit into a CPU's caches, or into a fixed share of a GPU's memory.

    A share of all its memory and not of what is free: what is free differs from run to run, and
    on a GPU the width can show in the bits.
    """
    a = architecture
    bytes_each = torch.empty((), dtype=a.dtype).element_size()
    if a.device.type == "cuda":
        total = torch.cuda.get_device_properties(a.device).total_memory * GPU_SHARE
        fit = int(total // (bytes_each * (4 * padded(a.num_values) + 3 * activations)))
    else:
        fit = CHUNK_BYTES // (2 * bytes_each * padded(a.num_values))
    return max(FEWEST_LANES, min(MOST_LANES[a.device.type], fit))


def choose(
    nodes: Mapping[Architecture, int],
    batch_size: int,
    threads: int,
    backend: Literal["auto", "stacked", "sequential"],
    given: Mapping[str, Route],
) -> Routes:
    """The routes of a run.

    Parameters
    ----------
    nodes : mapping of Architecture to int
        How many nodes have each of the models.
    backend : {"auto", "stacked", "sequential"}
        `stacked`: whatever can be; `sequential`: nothing.
    given : mapping of str to Route
        The scenario's own, by signature.

    Raises
    ------
    ScenarioError
        If the user's table can't be read.
    """
    measured = read_measured(user_table()) if backend == "auto" else {}
    found = {}
    for architecture, count in nodes.items():
        name = signature(architecture, batch_size, threads)
        if backend != "auto":
            route = Route(train=backend, loss=backend, look=backend)
            found[id(architecture)] = (name, route, "[run] backend")
        elif name in given:
            found[id(architecture)] = (name, given[name], "[run.routes]")
        elif name in measured:
            found[id(architecture)] = (name, measured[name], "netsim tune")
        else:
            found[id(architecture)] = (
                name,
                ruled(architecture, count, batch_size),
                "shipped rules",
            )
    # A small function takes a CPU less time alone than to be gathered; a GPU waits for launches.
    on_gpu = any(a.device.type == "cuda" for a in nodes)
    return Routes(found, functions=backend == "stacked" or on_gpu)
