"""Needs of a method that its world does not meet, found before anything is played or written."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from netsim.errors import ProtocolError, UnsuitableError
from netsim.links.link import NO_BAND
from netsim.links.radio.mac.allocation import require_cells
from netsim.protocols.declaration import declaration_of
from netsim.registry import Needs, Table
from netsim.units import to_s
from netsim.world.builder import SERVER, World

if TYPE_CHECKING:
    from netsim.learning.architecture import Architecture
    from netsim.scenario.tables import AlgorithmEntry


def require(
    world: World, entry: AlgorithmEntry, algorithm: ModuleType, left_out: frozenset[int]
) -> None:
    """Refuse a world that lacks what an algorithm has declared that it needs.

    Parameters
    ----------
    left_out : frozenset of int
        Nodes that take no part.

    Raises
    ------
    UnsuitableError
        Naming key, node and remedy.
    """
    said, declared = f'[algorithm] kind = "{entry.kind}"', declaration_of(algorithm)
    servers = sum(role == SERVER for role in world.roles)
    if declared.needs_server and servers != 1:
        raise UnsuitableError(
            f'[nodes] groups: {said} needs one node of role "server", and there are {servers}; '
            'write a group with count = 1 and role = "server"'
        )
    if declared.allocates:
        _require_bands(said, world)
    first: dict[Architecture, int] = {}
    for node, architecture in enumerate(world.architectures):
        if node not in left_out:
            first.setdefault(architecture, node)
    for part in declared.parts(entry.params):
        for architecture in first:
            try:
                architecture.columns(part)
            except ProtocolError as error:
                raise UnsuitableError(f"[model]: {said} needs the part {part!r}: {error}") from None
    for part in declared.common(entry.params):
        shapes = {node: _shapes(architecture, part) for architecture, node in first.items()}
        other = next((node for node in shapes if shapes[node] != next(iter(shapes.values()))), None)
        if other is not None:
            what = "whole models" if part == "parameters" else f"the part {part!r} of models"
            raise UnsuitableError(
                f"[model]: {said} mixes or compares {what}, which must have the same shapes at all "
                f"nodes; nodes {next(iter(shapes))} and {other} have others: name one [model], or "
                "play a method that takes different ones, such as local, fedproto or mapl"
            )
    for key, what in _needed_data(entry.params):
        has = world.scenario.task.has_classes and (what == "samples" or world.samples.x.ndim == 4)
        if not has:
            kind, shape = getattr(world.scenario.data, "kind", ""), world.samples.x.shape[1:]
            raise UnsuitableError(
                f"[algorithm] {key}: {said} takes {what} of one class each where this is set, and "
                f'[data] kind = "{kind}" has samples of shape {shape}'
                f"{'' if world.scenario.task.has_classes else ' without classes'}; leave it out"
            )
    if declared.validates(entry.params):
        rows, share = world.shards.rows, world.scenario.data.validation
        for shard, node in enumerate(world.shards.holders):
            if node in left_out or not len(rows[shard].train) or len(rows[shard].validation):
                continue
            raise UnsuitableError(
                f"[data] validation = {share:g}: {said} learns from validation samples too, and "
                f"node {node} has none beside its {len(rows[shard].train)} training samples; give "
                "a larger share, or every node more samples"
            )


def _require_bands(said: str, world: World) -> None:
    """Refuse a world that has, now or after a change, no band that a method can divide."""
    for at_ns, each in ((0, world), *world.later):
        try:
            radio = each.scenario.radio
            if radio is None or each.wiring is not None:
                raise ProtocolError(NO_BAND)
            require_cells(radio)
        except ProtocolError as error:
            when = f" from {to_s(at_ns):g} s on" if at_ns else ""
            raise UnsuitableError(f"[radio]: {said} divides a band{when}: {error}") from None


def _needed_data(params: Table) -> Iterator[tuple[str, str]]:
    """Keys that are set and take more of the data, with what they take."""
    for key, info in type(params).model_fields.items():
        for mark in info.metadata:
            if isinstance(mark, Needs) and getattr(params, key) not in (None, False):
                yield key, "samples" if mark.what == "classes" else mark.what


def _shapes(architecture: Architecture, part: str) -> list[tuple[int, ...]]:
    """Shapes of a part's tensors; of whole models, buffers too."""
    if part == "parameters":
        return [s.shape for s in architecture.slices]
    columns = architecture.columns(part)
    return [s.shape for s in architecture.slices if any(a <= s.start < b for a, b in columns)]
