"""What wires there are between the nodes: bottlenecks, routes, latencies, read from files once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.links.wired.backbone import Routes
from netsim.links.wired.capacity import Capacity, Steady
from netsim.links.wired.wire import Wire
from netsim.rng import Streams
from netsim.units import to_ns


@dataclass(frozen=True)
class Way:
    """How messages go from one node to another.

    Attributes
    ----------
    bottlenecks : tuple of hashable
        Those on the way, in order.
    hop_ns : tuple of int
        Propagation from each to the next.
    last_ns : int
        Propagation behind the last one.
    """

    bottlenecks: tuple[Hashable, ...]
    hop_ns: tuple[int, ...]
    last_ns: int

    @property
    def latency_ns(self) -> int:
        """All propagation."""
        return sum(self.hop_ns) + self.last_ns


@dataclass(eq=False)
class Wiring:
    """The wires of one scenario.

    Attributes
    ----------
    capacity : dict of hashable to Capacity
        Of every bottleneck: ("up", node), ("down", node), ("pair", i, j), ("line", a, b).
    shared : bool
        Whether any of them is for more than one pair of nodes.
    """

    wire: Wire
    capacity: dict[Hashable, Capacity]
    shared: bool
    routes: Routes | None = None
    matrix_ns: NDArray[np.int64] | None = None
    _ways: dict[tuple[int, int], Way] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether each ordered pair of nodes is a wire of its own, all alike."""
        alike = self.routes is None and self.matrix_ns is None and not self.wire.jitter_s
        return alike and not self.shared

    def way(self, src: int, dst: int) -> Way:
        """How messages go from `src` to `dst`."""
        found = self._ways.get((src, dst))
        if found is None:
            found = self._ways[src, dst] = self._new_way(src, dst)
        return found

    def _new_way(self, src: int, dst: int) -> Way:
        bottlenecks: list[Hashable] = []
        behind_ns: list[int] = []
        before_ns = to_ns(self.wire.latency_s)
        if self.matrix_ns is not None:
            before_ns += int(self.matrix_ns[src, dst])

        def over(bottleneck: Hashable) -> None:
            if bottleneck in self.capacity:
                bottlenecks.append(bottleneck)
                behind_ns.append(0)

        over(("up", src))
        if self.wire.rate_bps is not None:
            self.capacity[("pair", src, dst)] = Steady(self.wire.rate_bps)
            over(("pair", src, dst))
        for line in self.routes.between(src, dst) if self.routes is not None else ():
            if line.rate_bps is not None:
                self.capacity[("line", line.a, line.b)] = Steady(line.rate_bps)
                over(("line", line.a, line.b))
            if behind_ns:
                behind_ns[-1] += line.latency_ns
            else:
                before_ns += line.latency_ns
        over(("down", dst))
        if not bottlenecks:
            return Way((), (), before_ns)
        # Where on the way the rest of the latency is changes no time of arrival.
        return Way(tuple(bottlenecks), tuple(behind_ns[:-1]), behind_ns[-1] + before_ns)


def read(
    wire: Wire,
    up_bps: Sequence[float | None],
    down_bps: Sequence[float | None],
    traced: Sequence[bool],
    streams: Streams,
    folder: Path | None,
) -> Wiring:
    """The wires that a scenario describes.

    Parameters
    ----------
    wire : Wire
    up_bps, down_bps : sequence of (float or None)
        What each node's group says of its access; None: nothing.
    traced : sequence of bool
        Which nodes a bandwidth trace may hold for.
    folder : Path or None
        The data folder.

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
                capacity[direction, node] = Steady(of_group)
            elif measured is not None and traced[node]:
                capacity[direction, node] = measured[node]
            elif common is not None:
                capacity[direction, node] = Steady(common)
    routes = matrix_ns = None
    if wire.backbone is not None:
        routes = wire.backbone.read(nodes, streams, folder)
    if wire.latency_matrix is not None:
        matrix_ns = wire.latency_matrix.read_ns(nodes, streams, folder)
    shared = bool(capacity) or routes is not None
    return Wiring(wire, capacity, shared, routes, matrix_ns)
