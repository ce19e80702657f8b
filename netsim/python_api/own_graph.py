"""A networkx graph of the user's own as a kind of topology."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import networkx as nx
from pydantic import create_model

from netsim.errors import ScenarioError, one_line
from netsim.topology import Site, StatedWire, Topology

_STATED = ("rate_bps", "latency_s")
_CALLED = {
    "rate": "rate_bps",
    "bandwidth": "rate_bps",
    "throughput": "rate_bps",
    "capacity": "rate_bps",
    "latency": "latency_s",
    "delay": "latency_s",
}
"""Other names for data of an edge that are meant for its wire, and the name that is read."""


class OwnGraph(Topology):
    """A graph that was given as a Python object."""

    kind: str
    peers: ClassVar[list[tuple[int, ...]]]
    stated: ClassVar[dict[tuple[int, int], StatedWire]]

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        peers = type(self).peers
        if len(peers) != site.nodes:
            raise ScenarioError(
                f'[topology] kind = "{self.kind}": the graph has {len(peers)} nodes, [nodes] count '
                f"= {site.nodes}; set the count to {len(peers)}"
            )
        return list(peers)

    def wires(self) -> Mapping[tuple[int, int], StatedWire]:
        """Rates and latencies of the graph's edges; see the base class."""
        return type(self).stated


def graph_kind(graph: nx.Graph, name: str) -> type[OwnGraph]:
    """A kind of topology.

    Parameters
    ----------
    graph : networkx.Graph
        Nodes 0 .. n-1 are those of the scenario; of other names the first is node 0 and so on.
        Edges may have `rate_bps` and `latency_s`, those of a DiGraph for each direction. Links of a
        node to itself are left out.
    name : str
        Of the kind.

    Raises
    ------
    ScenarioError
        If a DiGraph has an edge in one direction only, parallel edges differ, or a rate or latency
        is no such number.
    """
    ids = list(graph.nodes)
    if set(ids) == set(range(len(ids))):
        ids.sort()
    number = {name: i for i, name in enumerate(ids)}
    found: list[set[int]] = [set() for _ in ids]
    stated: dict[tuple[int, int], StatedWire] = {}
    for one, other, values in graph.edges(data=True):
        a, b = number[one], number[other]
        if a == b:
            continue
        told = f"[topology]: the graph's edge {one_line((one, other))[:80]}"
        wire = _wire(values, told)
        for pair in ((a, b),) if graph.is_directed() else ((a, b), (b, a)):
            if stated.setdefault(pair, wire) != wire:
                raise ScenarioError(
                    f"{told} has parallel ones of another rate_bps or latency_s, and a message "
                    "takes one wire; leave one of them"
                )
        if graph.is_directed() and not graph.has_edge(other, one):
            raise ScenarioError(
                f"{told} leads one way, and a topology's links go both ways; give "
                "graph.to_undirected(), or both directions"
            )
        found[a].add(b)
        found[b].add(a)
    kind: Any = (Literal[name], name)
    made: type[OwnGraph] = create_model(name, __base__=OwnGraph, kind=kind)
    made.peers = [tuple(sorted(peers)) for peers in found]
    made.stated = {pair: wire for pair, wire in stated.items() if any(v is not None for v in wire)}
    return made


def _wire(values: Mapping[Any, Any], told: str) -> StatedWire:
    """Read the rate and latency of a wire from the data of an edge."""
    for key in values:
        near = next((n for word, n in _CALLED.items() if str(key).lower().startswith(word)), None)
        if near is not None and key != near:
            raise ScenarioError(
                f"{told} has {one_line(key)[:40]}, which is not read; call it {near} and give it "
                f"in {'bit/s' if near == 'rate_bps' else 's'}, or take it out"
            )
    stated = []
    for key, least in zip(_STATED, ("more than 0", "at least 0"), strict=True):
        value = values.get(key)
        try:
            number = None if value is None else float(value)
        except (TypeError, ValueError):
            number = math.nan
        fits = number is None or (0 <= number < math.inf and (key == "latency_s" or number > 0))
        if not fits or isinstance(value, bool | str):
            raise ScenarioError(
                f"{told} has {key} = {one_line(repr(value))[:40]}; it must be a number {least}"
            )
        stated.append(number)
    return StatedWire(*stated)
