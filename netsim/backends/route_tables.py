"""Tables of routes: the shipped rules, and what `netsim tune` measured on this machine."""

from __future__ import annotations

import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from torch import nn

from netsim.backends.route import PURPOSES, Purpose, Route
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.registry import Count, Table
from netsim.traces.bounded_toml import read_toml

SHIPPED = Path(__file__).with_name("routes.toml")


class Rule(Table):
    """A shipped rule for models of some kind; see `routes.toml`."""

    device: Literal["cpu", "cuda"]
    layers: Literal["dense", "conv"] | None = None
    largest: Count | None = None
    largest_batch: Count | None = None
    most_nodes: Count | None = None
    native: tuple[Purpose, ...] = ()
    train_from: Count | None = None
    loss_from: Count | None = None
    infer_from: Count | None = None


class Rules(Table):
    """The shipped file."""

    rule: tuple[Rule, ...]


class MeasuredRoute(Route):
    """A route of the user's file.

    Parameters
    ----------
    native : str or None
        The instruction set of the native kernel that was measured beside the other backends; None:
        none was, since there was no kernel or it did not know the model.
    """

    native: str | None = None

    @property
    def route(self) -> Route:
        """The route alone."""
        return Route(**self.model_dump(exclude={"native"}))


class Measured(Table):
    """The user's file: routes by signature."""

    route: dict[str, MeasuredRoute] = {}


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
    """Path that `netsim tune` writes: NETSIM_ROUTES, or in the user's configuration folder."""
    given = os.environ.get("NETSIM_ROUTES")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "netsim" / "routes.toml"


def read_measured(path: Path) -> dict[str, MeasuredRoute]:
    """The routes of a user's table; none if there is no file.

    Raises
    ------
    ScenarioError
        If it can't be read; names file and remedy.
    """
    if not path.is_file():
        return {}
    try:
        return Measured.model_validate(read_toml(path, str(path))).route
    except (ScenarioError, ValidationError) as error:
        first = str(error).splitlines()[0].removeprefix(f"{path}: ")
        raise ScenarioError(
            f"{path}: can't be read as a table of routes ({first}); run netsim tune again, or "
            "remove the file to go by the shipped rules"
        ) from error


@lru_cache(maxsize=1)
def shipped_rules() -> tuple[Rule, ...]:
    """The rules of the shipped file, in their order."""
    return Rules.model_validate(tomllib.loads(SHIPPED.read_text(encoding="utf-8"))).rule


def route_by_rules(
    architecture: Architecture, num_nodes: int, batch_size: int, knows_native: bool
) -> Route:
    """The route that the shipped rules give.

    Parameters
    ----------
    architecture : Architecture
    num_nodes : int
        How many nodes have this model.
    batch_size : int
        Samples in a minibatch.
    knows_native : bool
        Whether the native kernel is there and knows the model.
    """
    modules = architecture.module.modules()
    layers = "conv" if any(isinstance(m, nn.Conv2d) for m in modules) else "dense"
    rule = next(
        rule
        for rule in shipped_rules()
        if rule.device == architecture.device.type
        and rule.layers in (None, layers)
        and architecture.num_parameters <= (rule.largest or architecture.num_parameters)
        and batch_size <= (rule.largest_batch or batch_size)
        and num_nodes <= (rule.most_nodes or num_nodes)
    )
    ways: dict[str, Any] = {}
    for purpose in PURPOSES:
        fewest = getattr(rule, f"{purpose}_from")
        if knows_native and purpose in rule.native:
            ways[purpose] = "native"
        else:
            ways[purpose] = "stacked" if fewest and num_nodes >= fewest else "sequential"
    return Route(**ways)
