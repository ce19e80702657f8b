"""The wires between the nodes: bottlenecks, routes, latencies; read from files once."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.links.wired.backbone import BackboneRoutes
from netsim.links.wired.capacity import Capacity, ConstantCapacity
from netsim.links.wired.wire import Wire
from netsim.rng import Streams
from netsim.topology import StatedWire
from netsim.units import to_ns


@dataclass(frozen=True)
class Route:
    """The way of a message from one node to another.

    Attributes
    ----------
    bottlenecks : tuple of hashable
        Keys of `Wiring.capacity`, in order.
    hop_ns : tuple of int
        Propagation from each to the next [ns].
    last_ns : int
        Propagation behind the last one [ns]; all of it where there is no bottleneck.
    """

    bottlenecks: tuple[Hashable, ...]
    hop_ns: tuple[int, ...]
    last_ns: int

    @property
    def latency_ns(self) -> int:
        """All propagation [ns]."""
        return sum(self.hop_ns) + self.last_ns


@dataclass(eq=False)
class Wiring:
    """The wires of one scenario.

    Attributes
    ----------
    wire : Wire
        The table `[link]`.
    capacity : dict of hashable to Capacity
        Of every bottleneck: ("up", node), ("down", node), ("pair", i, j), ("line", a, b).
    shared : bool
        Whether any of them is for more than one pair of nodes.
    routes : BackboneRoutes or None
        Routers between the nodes; None: there are none.
    matrix_ns : (nodes, nodes) int64 or None
        Measured latency of each pair, from row to column.
    stated : mapping of (int, int) to StatedWire
        What the topology says of the wire from one node to another, in place of the table.
    """

    wire: Wire
    capacity: dict[Hashable, Capacity]
    shared: bool
    routes: BackboneRoutes | None = None
    matrix_ns: NDArray[np.int64] | None = None
    stated: Mapping[tuple[int, int], StatedWire] = field(default_factory=dict)
    _routes: dict[tuple[int, int], Route] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Return whether each ordered pair has a wire of its own, all alike, without slow start."""
        alike = self.routes is None and self.matrix_ns is None and not self.stated
        alike = alike and not self.wire.jitter_s
        return alike and not self.shared and self.wire.slow_start is None

    def route(self, src: int, dst: int) -> Route:
        """The route from `src` to `dst`; it is worked out once."""
        found = self._routes.get((src, dst))
        if found is None:
            found = self._routes[src, dst] = self._new_route(src, dst)
        return found

    def _new_route(self, src: int, dst: int) -> Route:
        bottlenecks: list[Hashable] = []
        behind_ns: list[int] = []
        stated = self.stated.get((src, dst), StatedWire(None, None))
        rate_bps = self.wire.rate_bps if stated.rate_bps is None else stated.rate_bps
        before_ns = to_ns(self.wire.latency_s if stated.latency_s is None else stated.latency_s)
        if self.matrix_ns is not None:
            before_ns += int(self.matrix_ns[src, dst])

        def add_bottleneck(bottleneck: Hashable) -> None:
            if bottleneck in self.capacity:
                bottlenecks.append(bottleneck)
                behind_ns.append(0)

        add_bottleneck(("up", src))
        if rate_bps is not None:
            self.capacity[("pair", src, dst)] = ConstantCapacity(rate_bps)
            add_bottleneck(("pair", src, dst))
        for line in self.routes.route_lines(src, dst) if self.routes is not None else ():
            if line.rate_bps is not None:
                self.capacity[("line", line.a, line.b)] = ConstantCapacity(line.rate_bps)
                add_bottleneck(("line", line.a, line.b))
            if behind_ns:
                behind_ns[-1] += line.latency_ns
            else:
                before_ns += line.latency_ns
        add_bottleneck(("down", dst))
        if not bottlenecks:
            return Route((), (), before_ns)
        # Where on the route the rest of the latency is does not change when a message arrives.
        return Route(tuple(bottlenecks), tuple(behind_ns[:-1]), behind_ns[-1] + before_ns)


def read_wiring(
    wire: Wire,
    up_bps: Sequence[float | None],
    down_bps: Sequence[float | None],
    traced: Sequence[bool],
    streams: Streams,
    folder: Path | None,
    stated: Mapping[tuple[int, int], StatedWire] | None = None,
) -> Wiring:
    """Read the wires that a scenario describes.

    Parameters
    ----------
    wire : Wire
    up_bps, down_bps : sequence of (float or None)
        What each node's group says of its access; None: nothing.
    traced : sequence of bool
        Which nodes a bandwidth trace may hold for.
    folder : Path or None
        The data folder.
    stated : mapping of (int, int) to StatedWire, optional
        What the topology says of single wires.

    Returns
    -------
    Wiring

    Raises
    ------
    DataError
        If a file is missing or malformed.
    """
    nodes = len(traced)
    capacity: dict[Hashable, Capacity] = {}
    for direction, own, common in (
        ("up", up_bps, wire.uplink_bps),
        ("down", down_bps, wire.downlink_bps),
    ):
        measured = None
        if wire.trace is not None:
            name = "uplink" if direction == "up" else "downlink"
            measured = wire.trace.read(name, nodes, streams, folder)  # type: ignore[arg-type]
        for node, of_group in enumerate(own):
            if of_group is not None:
                capacity[direction, node] = ConstantCapacity(of_group)
            elif measured is not None and traced[node]:
                capacity[direction, node] = measured[node]
            elif common is not None:
                capacity[direction, node] = ConstantCapacity(common)
    routes = matrix_ns = None
    if wire.backbone is not None:
        routes = wire.backbone.read(nodes, streams, folder)
    if wire.latency_matrix is not None:
        matrix_ns = wire.latency_matrix.read_ns(nodes, streams, folder)
    shared = bool(capacity) or routes is not None
    return Wiring(wire, capacity, shared, routes, matrix_ns, stated or {})
