"""A networkx graph of the user's own as a kind of topology."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import networkx as nx
from pydantic import create_model

from netsim.errors import ScenarioError, one_line
from netsim.topology import Site, StatedWire, Topology
from netsim.traces.files import whole_number
from netsim.traces.remarks import note_other_ids, note_remark

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
    names: ClassVar[tuple[str, ...]]
    unread: ClassVar[tuple[str, ...]]

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        peers = type(self).peers
        if len(peers) != site.nodes:
            raise ScenarioError(
                f'[topology] kind = "{self.kind}": the graph has {len(peers)} nodes, [nodes] count '
                f"= {site.nodes}; set the count to {len(peers)}"
            )
        note_other_ids("topology", type(self).names)
        if type(self).unread:
            note_remark(
                f'[topology] kind = "{self.kind}": of values of edges rate_bps and latency_s are '
                f"read, not {', '.join(type(self).unread)}"
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
        Nodes are those of the scenario: whole numbers, also as texts, in their numerical order,
        other names in their order in the graph; `run.nodes` has them as `topology_id`. Edges may
        have `rate_bps` and `latency_s`, those of a DiGraph for each direction. Links of a node to
        itself are left out.
    name : str
        Of the kind.

    Raises
    ------
    ScenarioError
        If a DiGraph has an edge in one direction only, parallel edges differ, a rate or latency is
        no such number, or two nodes are one number.
    """
    if not isinstance(graph, nx.Graph):
        raise ScenarioError(
            f"[topology] is a {type(graph).__name__}, no networkx graph; give one, of a matrix "
            "networkx.from_numpy_array(matrix)"
        )
    ids = _in_order(list(graph.nodes))
    number = {name: i for i, name in enumerate(ids)}
    found: list[set[int]] = [set() for _ in ids]
    stated: dict[tuple[int, int], StatedWire] = {}
    for one, other, values in graph.edges(data=True):
        a, b = number[one], number[other]
        if a == b:
            continue
        where = f"[topology]: the graph's edge {one_line((one, other))[:80]}"
        wire = _wire(values, where)
        for pair in ((a, b),) if graph.is_directed() else ((a, b), (b, a)):
            if stated.setdefault(pair, wire) != wire:
                raise ScenarioError(
                    f"{where} has parallel ones of another rate_bps or latency_s, and a message "
                    "takes one wire; leave one of them"
                )
        if graph.is_directed() and not graph.has_edge(other, one):
            raise ScenarioError(
                f"{where} leads one way, and a topology's links go both ways; give "
                "graph.to_undirected(), or both directions"
            )
        found[a].add(b)
        found[b].add(a)
    kind: Any = (Literal[name], name)
    made: type[OwnGraph] = create_model(name, __base__=OwnGraph, kind=kind)
    made.peers = [tuple(sorted(peers)) for peers in found]
    made.names = tuple(one_line(name) for name in ids)
    made.unread = _unread(graph)
    made.stated = {pair: wire for pair, wire in stated.items() if any(v is not None for v in wire)}
    return made


def _in_order(ids: list[Any]) -> list[Any]:
    """Nodes of a graph in the order of the scenario's."""
    if set(ids) == set(range(len(ids))):
        return sorted(ids)
    if any(isinstance(name, bool) or not isinstance(name, int | str) for name in ids):
        return ids
    numbers = [whole_number(str(name)) for name in ids]
    if None in numbers:
        return ids
    twice = next((i for i, n in enumerate(numbers) if n in numbers[:i]), None)
    if twice is not None:
        one = ids[numbers.index(numbers[twice])]
        raise ScenarioError(
            f"[topology]: the graph's nodes {one!r} and {ids[twice]!r} are one number; write a "
            "node in one way"
        )
    return [name for _, name in sorted(zip(numbers, ids, strict=True))]


def _unread(graph: nx.Graph) -> tuple[str, ...]:
    """Names of values of edges that nothing reads; a weight of 1 everywhere says nothing."""
    values: dict[str, list[Any]] = {}
    for _, _, data in graph.edges(data=True):
        for key, value in data.items():
            values.setdefault(one_line(key)[:40], []).append(value)
    return tuple(
        key
        for key, found in values.items()
        if key not in _STATED and not (key == "weight" and all(v == 1 for v in found))
    )


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
