"""The `[link.backbone]` table: a network of routers between the nodes."""

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import networkx as nx

from netsim.errors import one_line
from netsim.registry import FilePath, NonNegative, OffClock, Positive, Table, did_you_mean
from netsim.rng import Streams
from netsim.traces import remarks
from netsim.traces.csv_columns import BITS_PER_S, SECONDS, counts_bytes, unit_of
from netsim.traces.files import parse_number, quote, read_text
from netsim.traces.graphs import Edge, Graph, components, distance_m, has_place
from netsim.traces.graphs.reading import read_graph
from netsim.units import to_ns

LIGHT_IN_FIBRE_M_PER_S = 2e8
_DELAYS = {end: SECONDS[end] for end in ("s", "sec", "ms", "us", "ns")}
"""Units that names of latencies end with; `rtt_min` is the least of several."""
_QUANTITY = re.compile(r"[-+.]?\d|[\[{].*\d")
"""Beginnings of values that are numbers with a unit, or hold numbers."""


class Line(NamedTuple):
    """One direction of a line between two routers.

    Attributes
    ----------
    a, b : str
        From which router to which.
    rate_bps : float or None
        None: it is no bottleneck.
    latency_ns : int
    """

    a: str
    b: str
    rate_bps: float | None
    latency_ns: int


class BackboneRoutes:
    """Routers, the nodes attached to them, and the routes between.

    Parameters
    ----------
    graph : networkx.DiGraph
        With `latency_ns` and `rate_bps` of every direction of a line.
    router : tuple of str
        Name of each node's router.
    """

    def __init__(self, graph: nx.DiGraph, router: tuple[str, ...]) -> None:
        self.graph, self.router = graph, router
        self._paths: dict[str, Mapping[str, list[str]]] = {}

    def route_lines(self, src: int, dst: int) -> list[Line]:
        """The lines of the route of least latency; none where both nodes are at one router."""
        start = self.router[src]
        if start not in self._paths:
            self._paths[start] = nx.single_source_dijkstra_path(
                self.graph, start, weight="latency_ns"
            )
        lines = []
        for a, b in pairwise(self._paths[start][self.router[dst]]):
            data = self.graph[a][b]
            lines.append(Line(a, b, data["rate_bps"], data["latency_ns"]))
        return lines


class Backbone(Table):
    """Routers and lines from a file; messages take the route of least latency.

    Every line carries both directions at once, each at its rate. A line that the file gives a
    direction (GraphML, GEXF, GML, JSON; a pair that an edge list has in both orders) carries that
    one alone. Of parallel lines the one of least latency is used, of equal ones the fastest.

    Parameters
    ----------
    path : str
        The graph, in any format of `docs/formats.md`; may be `.gz`, or a `.zip` that holds it.
        Beside the scenario, else below the data folder.
    member : str
        File of a zip. Absent: the only one.
    rate_bps : float, optional
        Rate of lines for which the file states none. Absent: those are no bottleneck.
    latency_s : float
        Latency of lines for which neither an attribute nor positions say it.
    rate_attribute : str
        Name in the file of the rate of a line; in an edge list the number of its column, from 1
        (without a header, ids are columns 1 and 2), or its name in the header.
    latency_attribute : str
        Name in the file of the latency of a line; in an edge list as for the rate.
    rate_unit_bps : float, optional
        Unit of the rates in the file; 1e6 where they are Mbit/s. Absent: what the name of the
        attribute ends with (`rate_mbps`), else 1.
    latency_unit_s : float, optional
        Unit of the latencies in the file; 1 where they are s. Absent: what the name of the
        attribute ends with (`delay_us`, `latency (s)`), else 1e-3.
    distances : bool
        Whether a line without a latency has that of light in fibre (2e8 m/s) along the great
        circle, where the file gives its ends' `Latitude` and `Longitude` (or `lat`, `lon`).
    component : {"all", "largest"}
        Whether all routers of the file are there, or only those of its "largest" part in which each
        reaches each.
    routers : tuple of str, optional
        Id or label of each node's router; empty: drawn by the seed, all before one is again.
    drop_self_loops : bool
        Whether lines from a router to itself are left out; otherwise they are an error.
    """

    path: FilePath
    member: str | None = None
    rate_bps: Positive | None = None
    latency_s: NonNegative = 1e-3
    rate_attribute: str = "LinkSpeedRaw"
    latency_attribute: str = "latency"
    rate_unit_bps: Positive | None = None
    latency_unit_s: Annotated[Positive, OffClock()] | None = None
    distances: bool = True
    component: Literal["all", "largest"] = "all"
    routers: tuple[str, ...] = ()
    drop_self_loops: bool = False

    def read(self, nodes: int, streams: Streams, folder: Path | None) -> BackboneRoutes:
        """Read the graph and attach the nodes to its routers.

        Parameters
        ----------
        nodes : int
            Number of nodes.
        streams : Streams
            For the routers that are drawn.
        folder : Path or None
            The data folder, where the file may lie.

        Returns
        -------
        BackboneRoutes

        Raises
        ------
        DataError
            If the file is malformed, a value makes no sense, a router is unknown, or two nodes
            would not be connected.
        """
        text = read_text(self.path, folder, "link.backbone", member=self.member)
        named = self.changed(("rate_attribute", "latency_attribute"))
        read = read_graph(text, self.drop_self_loops, columns_named=bool(named))
        self._require_attributes(read)
        self._remark_unread(read)
        rate_unit = self._unit(read, "rate_attribute", "rate_unit_bps", BITS_PER_S, 1.0)
        latency_unit = self._unit(read, "latency_attribute", "latency_unit_s", _DELAYS, 1e-3)
        self._remark_missing(read)
        graph = nx.DiGraph()
        graph.add_nodes_from(read.nodes)
        for edge in read.edges:
            latency_ns = self._latency_ns(read, edge, latency_unit)
            rate = self._rate(read, edge, rate_unit)
            rank = latency_ns, -math.inf if rate is None else -rate
            for a, b in ((edge.a, edge.b), (edge.b, edge.a))[: 1 if edge.directed else 2]:
                known = graph.get_edge_data(a, b)
                if known is None or rank < known["rank"]:
                    graph.add_edge(a, b, latency_ns=latency_ns, rate_bps=rate, rank=rank)
        ways = " both ways" if read.one_way() else ""
        if ways:
            parts = sorted(map(list, nx.strongly_connected_components(graph)), key=len)[::-1]
        else:
            parts = components(list(read.nodes), read.edges)
        usable = set(parts[0]) if self.component == "largest" else set(read.nodes)
        routers = self._attach_nodes(
            read, [name for name in read.nodes if name in usable], nodes, streams
        )
        part = {name: k for k, names in enumerate(parts) for name in names}
        apart = [i for i, name in enumerate(routers) if part[name] != part[routers[0]]]
        if apart:
            raise text.error(
                f"node 0 at {quote(routers[0])} and node {apart[0]} at {quote(routers[apart[0]])} "
                f'are not connected{ways}; set component = "largest", or other routers'
            )
        return BackboneRoutes(graph, routers)

    def _require_attributes(self, graph: Graph) -> None:
        """Refuse an attribute that the user names and no line has; the defaults may be absent."""
        there = list(dict.fromkeys(name for edge in graph.edges for name in edge.values))
        for key in ("rate_attribute", "latency_attribute"):
            name: str = getattr(self, key)
            if name != type(self).model_fields[key].default and name not in there:
                raise graph.text.error(
                    f'no line has the {key} "{name}"; what they have: '
                    f"{', '.join(map(quote, there[:20])) or 'nothing'}"
                    + one_line(did_you_mean(name, there))
                )

    def _remark_unread(self, graph: Graph) -> None:
        """Remark on numbers of lines that no key reads, where columns or no number is read."""
        keys = {self.rate_attribute, self.latency_attribute}
        found = {
            name
            for edge in graph.edges
            for name, word in edge.values.items()
            if _QUANTITY.match(word)
        }
        if graph.columns:
            unread = [
                f"column {column}" + (f" ({quote(name)})" if name else "")
                for column, name in graph.columns.items()
                if column in found and not keys & {column, name}
            ]
        else:
            unread = [] if found & keys else sorted(map(quote, found))
        if unread:
            more = f" and {len(unread) - 20} more" if len(unread) > 20 else ""
            remarks.note_remark(
                f"{graph.text.where}: no key reads {', '.join(unread[:20])}{more} of its lines; "
                "if one is their rate or latency, name it by rate_attribute or latency_attribute"
            )

    def _remark_missing(self, graph: Graph) -> None:
        """Remark on lines without a rate or latency where others have one."""
        usual_s = f"latency_s = {self.latency_s:g}"
        rate = (
            "are no bottleneck" if self.rate_bps is None else f"have rate_bps = {self.rate_bps:g}"
        )
        for what, name, instead in (
            ("rate", self.rate_attribute, rate),
            ("latency", self.latency_attribute, f"have {usual_s}"),
        ):
            lacking = [edge for edge in graph.edges if not edge.values.get(name)]
            there = len(lacking) < len(graph.edges)
            if what == "latency" and self.distances:
                placed = [e for e in lacking if has_place(graph, e.a) and has_place(graph, e.b)]
                there = there or bool(placed)
                lacking = [edge for edge in lacking if edge not in placed]
            if there and lacking:
                at = f", the first in line {lacking[0].line}" if lacking[0].line else ""
                remarks.note_remark(
                    f"{graph.text.where}: {len(lacking):,} of {len(graph.edges):,} lines state no "
                    f"{what}{at}; they {instead}"
                )

    def _unit(
        self, graph: Graph, attribute: str, key: str, units: Mapping[str, float], usual: float
    ) -> float:
        """The unit of an attribute, by the scenario or by its name, which must agree.

        Raises
        ------
        DataError
            If they do not, or it counts bytes.
        """
        stated: float | None = getattr(self, key)
        name: str = getattr(self, attribute)
        name = graph.columns.get(name) or name
        if stated is None and units is BITS_PER_S and counts_bytes(name):
            raise graph.text.error(
                f"{quote(name)} counts bytes, or may; set {key} to what one of its unit is in bit/s"
            )
        said = unit_of(name, units)
        if None not in (stated, said) and not math.isclose(stated or 0.0, said or 0.0):
            raise graph.text.error(
                f"{quote(name)} says that its unit is {said:g}, and {key} = {stated:g}; leave the "
                "key out, or rename the attribute"
            )
        return stated or said or usual

    def _latency_ns(self, graph: Graph, edge: Edge, unit_s: float) -> int:
        value = self._value(graph, edge, self.latency_attribute)
        if value is not None:
            return to_ns(value * unit_s)
        length_m = distance_m(graph, edge) if self.distances else None
        return to_ns(self.latency_s if length_m is None else length_m / LIGHT_IN_FIBRE_M_PER_S)

    def _rate(self, graph: Graph, edge: Edge, unit_bps: float) -> float | None:
        value = self._value(graph, edge, self.rate_attribute)
        if value == 0:
            raise graph.text.error(
                f"{_line(edge)} has {self.rate_attribute} = 0: nothing would ever cross it",
                edge.line,
            )
        return self.rate_bps if value is None else value * unit_bps

    def _value(self, graph: Graph, edge: Edge, name: str) -> float | None:
        word = edge.values.get(name)
        if not word:
            return None
        value = parse_number(word)
        if value is None or not 0 <= value < math.inf:
            raise graph.text.error(
                f"{_line(edge)} has {name} = {quote(word)}, not a number of at least 0",
                edge.line,
            )
        return value

    def _attach_nodes(
        self, graph: Graph, usable: list[str], nodes: int, streams: Streams
    ) -> tuple[str, ...]:
        if not self.routers:
            order = streams.permutation("backbone", n=len(usable))
            return tuple(usable[order[i % len(usable)]] for i in range(nodes))
        if len(self.routers) != nodes:
            raise graph.text.error(
                f"routers: {len(self.routers)} are listed for {nodes} nodes; list one a node"
            )
        labels: dict[str, list[str]] = {}
        for name in usable:
            labels.setdefault(graph.nodes[name].get("label", name), []).append(name)
        found = []
        for wanted in self.routers:
            fitting = [wanted] if wanted in usable else labels.get(wanted, [])
            if len(fitting) != 1:
                raise graph.text.error(
                    f'routers: {len(fitting)} routers are called "{wanted}"'
                    + one_line(did_you_mean(wanted, [*labels, *usable]))
                )
            found += fitting
        return tuple(found)


def _line(edge: Edge) -> str:
    """A line as errors call it."""
    return f"the line {quote(edge.a)} - {quote(edge.b)}"
