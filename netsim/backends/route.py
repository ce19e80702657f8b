"""The route of one model's jobs: by which backend they run, purpose by purpose."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from netsim.registry import Count, Renamed, Table

Way = Literal[
    "native", "native/avx512", "native/avx2", "native/neon", "native/plain", "stacked", "sequential"
]
"""`native` is the best instruction set of the machine; a run's own routes name the one it took."""

Purpose = Literal["train", "loss", "infer"]
"""Keys of a route; see `Route`."""

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


class Route(Table):
    """Route of the jobs of one model: natively, many nodes in one call, or one node after another.

    Parameters
    ----------
    train : Way
        Way of local steps with the default loss.
    loss : Way
        Way of local steps with a loss of the algorithm's, or with values trained beside the model.
    infer : Way
        Way of jobs that evaluate a model: outputs, losses, gradients, measurements, selections.
    lanes : int or None
        Most nodes that train in one stacked call. Absent: as many as fit the caches or the GPU.
    """

    train: Way = "stacked"
    loss: Way = "stacked"
    infer: Way = Field("stacked", validation_alias=Renamed("infer", "look", since="0.2.0"))
    lanes: Count | None = None


def backends_for(purpose: Purpose) -> tuple[str, ...]:
    """The backends that a route may name for a purpose: of native, stacked, sequential."""
    ways = get_args(Route.model_fields[purpose].annotation)
    return tuple(way for way in ways if "/" not in way)


def native_route(route: Route) -> Route:
    """The route with the native kernel for every purpose that it can serve."""
    purposes = [p for p in PURPOSES if "native" in backends_for(p)]
    return route.model_copy(update=dict.fromkeys(purposes, "native"))
