"""Choice of the jobs that run in groups: a route for each model of a run.

Routes come from tables and are never chosen by timing a run, so that timing can't change results.
A model's route comes from the first of these that has one: the scenario (`[run.routes]`, which the
`scenario.toml` of a finished run holds, so that a rerun takes the same routes), the user's table
(written by `netsim tune`), the shipped rules (`routes.toml` beside this file).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from netsim.backends.parameter_store import padded_length
from netsim.backends.route import PURPOSES, Purpose, Route, Way, native_route
from netsim.backends.route_tables import read_measured, route_by_rules, signature, user_table
from netsim.backends.ways import STACKED
from netsim.learning.architecture import Architecture

CACHE_BYTES = 16 << 20
"""Memory for the parameters and velocities of nodes that train in one call on a CPU."""

FEWEST_LANES = 8
"""Nodes per call even where fewer fit the caches: each call has a cost of its own."""

MOST_LANES = 128
"""Nodes per call at most on a CPU; on a GPU its memory alone is the limit."""

MOST_SPLIT = 2_000_000
"""Parameters of a model up to which the kernel may compute features and PyTorch the rest."""

FEWEST_FEATURES = 8
"""Nodes from which it pays to compute features in the kernel and the rest in PyTorch; with fewer it
does in large minibatches."""

LARGE_BATCH = 64
"""Samples of a minibatch that is large in this sense."""

GPU_SHARE = 0.25
"""Share of a GPU's memory for what nodes that train in one call need: a limit, not an optimum."""


class Choice(NamedTuple):
    """Route of the jobs of one model in this run.

    Attributes
    ----------
    signature : str
        What the route is valid for.
    route : Route
    source : str
        Where the route comes from.
    advice : str
        What the user should know of it; empty: nothing.
    nodes : int
        How many nodes have the model.
    batch_size : int
        Samples in a minibatch.
    """

    signature: str
    route: Route
    source: str
    advice: str = ""
    nodes: int = 1
    batch_size: int = 1


class Routes:
    """The routes of one run's models.

    Parameters
    ----------
    by_architecture : mapping of int to Choice
        By an architecture's `id`.
    functions : bool
        Whether functions marked `@batched` run for many nodes at once.
    """

    def __init__(self, by_architecture: Mapping[int, Choice], functions: bool = True) -> None:
        self._by_architecture = dict(by_architecture)
        self.functions = functions

    def backend_name(self, architecture: Architecture, purpose: Purpose) -> str:
        """The backend that runs jobs of this purpose: `native`, `stacked` or `sequential`."""
        if architecture.sequential_reason:
            return "sequential"
        way: Way = getattr(self._by_architecture[id(architecture)].route, purpose)
        return way.partition("/")[0]

    def reason(self, architecture: Architecture, purpose: Purpose) -> str:
        """Why jobs of this purpose take their way."""
        if architecture.sequential_reason:
            return architecture.sequential_reason
        choice = self._by_architecture[id(architecture)]
        return f'{purpose} = "{getattr(choice.route, purpose)}" by {choice.source}'

    def name(self, architecture: Architecture, backend: str) -> str:
        """The way of a model's jobs that a backend computes, as a run's summary has it."""
        if backend != "native":
            return STACKED
        return next(w for w in self._ways_of(architecture) if w.startswith("native"))

    def _ways_of(self, architecture: Architecture) -> list[str]:
        return _ways_by_purpose(self._by_architecture[id(architecture)].route)

    def is_stacked(self, architecture: Architecture, purpose: Purpose) -> bool:
        """Return whether jobs of this purpose, if PyTorch runs them, run for many nodes at once."""
        way = self.backend_name(architecture, purpose)
        if purpose == "loss" and way == "native":
            way = self.unknown_losses(architecture)
        return way != "sequential"

    def native_variants(self) -> dict[int, str]:
        """The instruction set of each architecture, by its `id`, that runs natively."""
        return {
            key: way.partition("/")[2]
            for key, choice in self._by_architecture.items()
            for way in _ways_by_purpose(choice.route)
            if way.startswith("native/")
        }

    def unknown_losses(self, architecture: Architecture) -> str:
        """The backend that trains by losses that the kernel does not know, where `loss` is native.

        `native`: it computes features, and PyTorch the rest. That pays with convolutions of a
        moderate size and many samples in a call (benchmarks/own_losses.py); `[run] backend =
        "native"` has features everywhere. On a CPU nothing gains by differentiating a loss for many
        nodes at once.
        """
        choice = self._by_architecture[id(architecture)]
        has_maps = any(isinstance(m, nn.Conv2d) for m in architecture.module.modules())
        if choice.source == "[run] backend":
            return "native"
        pays = choice.nodes >= FEWEST_FEATURES or choice.batch_size >= LARGE_BATCH
        if has_maps and pays and architecture.num_parameters <= MOST_SPLIT:
            return "native"
        return "sequential"

    def lanes(self, architecture: Architecture, activations: int) -> int:
        """Most nodes that train in one call.

        Parameters
        ----------
        architecture : Architecture
        activations : int
            Values that the forward pass of one node's minibatch keeps for the backward pass.
        """
        given = self._by_architecture[id(architecture)].route.lanes
        return given or default_lanes(architecture, activations)

    def of_double(self, like: Architecture, architecture: Architecture) -> Routes:
        """The route of a model, for the same model in double precision.

        Parameters
        ----------
        like, architecture : Architecture
            The model, and the same in double precision.
        """
        return Routes({id(architecture): self._by_architecture[id(like)]}, self.functions)

    def fall_back(self, architecture: Architecture, told: str) -> None:
        """Route a model to a slower backend: stacked in place of native, else sequential.

        Parameters
        ----------
        architecture : Architecture
        told : str
            Why; in words that follow those of the way that is left.
        """
        choice = self._by_architecture[id(architecture)]
        ways = _ways_by_purpose(choice.route)
        left = "native" if any(w.startswith("native") for w in ways) else "stacked"
        other = "stacked" if left == "native" else "sequential"
        changed = [p for p in PURPOSES if getattr(choice.route, p).startswith(left)]
        advice = (
            f"the model {architecture.name} is not trained by the {left} backend, which differs "
            f"from plain PyTorch: {told}"
        )
        self._by_architecture[id(architecture)] = choice._replace(
            route=choice.route.model_copy(update=dict.fromkeys(changed, other)),
            source="comparison with PyTorch",
            advice="; ".join(filter(None, (choice.advice, advice))),
        )

    def choice(self, architecture: Architecture) -> Choice:
        """The route of one model."""
        return self._by_architecture[id(architecture)]

    @property
    def all_sequential(self) -> bool:
        """Return whether nothing is stacked."""
        ways = [way for c in self._by_architecture.values() for way in _ways_by_purpose(c.route)]
        return all(way == "sequential" for way in ways)

    def by_signature(self) -> dict[str, Route]:
        """The routes, as `[run.routes]` holds them."""
        return {choice.signature: choice.route for choice in self._by_architecture.values()}

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """The routes and their sources, as `environment.json` holds them."""
        found = {}
        for choice in self._by_architecture.values():
            more = {"source": choice.source} | ({"advice": choice.advice} if choice.advice else {})
            found[choice.signature] = choice.route.model_dump(exclude_none=True) | more
        return found


_ONE_BY_ONE = Route(train="sequential", loss="sequential", infer="sequential")


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
        each = bytes_each * (4 * padded_length(a.num_values) + 3 * activations)
        return max(FEWEST_LANES, int(total // each))
    fit = CACHE_BYTES // (2 * bytes_each * padded_length(a.num_values))
    return max(FEWEST_LANES, min(MOST_LANES, fit))


def choose_routes(
    nodes: Mapping[Architecture, int],
    batch_size: int,
    backend: Literal["auto", "native", "stacked", "sequential"],
    given: Mapping[str, Route],
    native: Mapping[Architecture, str],
    instruction_sets: Collection[str] = (),
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
    instruction_sets : collection of str
        All that the kernel can run on here.

    Raises
    ------
    ScenarioError
        If the user's table can't be read.
    """
    measured = read_measured(user_table()) if backend == "auto" else {}
    found = {}
    for architecture, count in nodes.items():
        name, variant = signature(architecture, batch_size), native.get(architecture)
        advice = ""
        if architecture.sequential_reason:
            route, source = _ONE_BY_ONE, "the model"
            if backend != "sequential":
                why = architecture.sequential_reason
                advice = f"the model {architecture.name} runs node after node: {why}"
        elif backend in ("stacked", "sequential"):
            route, source = Route(train=backend, loss=backend, infer=backend), "[run] backend"
        elif backend == "auto" and name in given:
            route, advice = _fit_to_machine(given[name], variant, instruction_sets)
            source = "[run.routes]"
        elif name in measured and measured[name].native == variant:
            route, source = measured[name].route, "netsim tune"
        else:
            route = route_by_rules(architecture, count, batch_size, variant is not None)
            source = "shipped rules"
            if backend == "native" and variant is not None:
                route, source = native_route(route), "[run] backend"
            if name in measured:
                advice = _outdated_advice(measured[name].native, variant)
        found[id(architecture)] = Choice(
            name, _pin_variant(route, variant), source, advice, count, batch_size
        )
    # On a CPU gathering the inputs of a small function takes longer than running it; on a GPU
    # launching one kernel per node does.
    on_gpu = any(a.device.type == "cuda" for a in nodes)
    return Routes(found, functions=backend == "stacked" or on_gpu)


def _fit_to_machine(
    route: Route, variant: str | None, instruction_sets: Collection[str]
) -> tuple[Route, str]:
    """Replace the backends of a route that this machine lacks; gives the route and a remark."""
    way = "stacked" if variant is None else f"native/{variant}"
    missing = {
        purpose: said
        for purpose in PURPOSES
        if (said := str(getattr(route, purpose))).startswith("native/")
        and (variant is None or said.partition("/")[2] not in instruction_sets)
    }
    if not missing:
        return route, ""
    asked = ", ".join(f'{purpose} = "{said}"' for purpose, said in missing.items())
    why = (
        "there is no native kernel for it here"
        if variant is None
        else "it does not run on this machine"
    )
    advice = (
        f"[run.routes] {asked}: {why}, so {way} takes its place: numbers may differ in their last "
        "bits, and what follows from these"
    )
    return route.model_copy(update=dict.fromkeys(missing, way)), advice


def _outdated_advice(then: str | None, now: str | None) -> str:
    """Why a measured route was not taken: other backends are at hand than were measured."""
    with_kernel, kernel = (f"native/{way}" if way else "no native kernel" for way in (then, now))
    return (
        f"the route in {user_table()} was measured with {with_kernel}, now there is {kernel}: the "
        "shipped rules hold; run netsim tune again"
    )


def _ways_by_purpose(route: Route) -> list[str]:
    return [getattr(route, purpose) for purpose in PURPOSES]


def _pin_variant(route: Route, variant: str | None) -> Route:
    """The route with an instruction set for `native`; without one, stacked in its place."""
    way = "stacked" if variant is None else f"native/{variant}"
    ways = [purpose for purpose in PURPOSES if getattr(route, purpose) == "native"]
    return route.model_copy(update=dict.fromkeys(ways, way))
