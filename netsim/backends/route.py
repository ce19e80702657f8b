"""The route of one model's jobs: by which backend they run, purpose by purpose."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import model_validator

from netsim.registry import Count, Table

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
    infer: Way = "stacked"
    lanes: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_look(cls, stated: Any) -> Any:
        """Read `look`, the name of `infer` in run folders and tables of earlier versions."""
        if not isinstance(stated, dict) or "look" not in stated:
            return stated
        if "infer" in stated:
            raise ValueError("look and infer are one key; state infer alone")
        return {"infer" if key == "look" else key: value for key, value in stated.items()}


def backends_for(purpose: Purpose) -> tuple[str, ...]:
    """The backends that a route may name for a purpose: of native, stacked, sequential."""
    ways = get_args(Route.model_fields[purpose].annotation)
    return tuple(way for way in ways if "/" not in way)


def natively(route: Route) -> Route:
    """The route with the native kernel for every purpose that it can serve."""
    purposes = [p for p in PURPOSES if "native" in backends_for(p)]
    return route.model_copy(update=dict.fromkeys(purposes, "native"))
