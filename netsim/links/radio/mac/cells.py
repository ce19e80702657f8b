"""Division of the sub-channels among the flights of a cell, under `[radio.mac] kind = "ofdma"`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import Medium, Share, Shares
from netsim.channels.mac.ofdma import Ofdma
from netsim.errors import ProtocolError
from netsim.links.radio.mac.allocation import Allocation
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.interference import Changed
from netsim.links.radio.phy.channel import RadioChannel
from netsim.rng import Streams
from netsim.units import to_ns

RATES = 1 << 14
"""For so many pairs and blocks it is kept what rates they have."""

LEVEL = 1.0 - 1e-9
"""Merits are level from this ratio on."""


class Cells:
    """Cells that keep the `medium` of each flight up to date, cell by cell and by direction.

    Parameters
    ----------
    mac : Ofdma
    channel : RadioChannel
        Says what rates flights would have.
    nodes : int
        How many nodes there are.
    base_stations : set of int
    block_s : float
        How long a coherence block lasts, for which sub-channels are given away [s].
    streams : Streams
    """

    def __init__(
        self,
        mac: Ofdma,
        channel: RadioChannel,
        nodes: int,
        base_stations: AbstractSet[int],
        block_s: float,
        streams: Streams,
    ) -> None:
        self._streams = streams
        self._mac, self._channel, self._nodes = mac, channel, nodes
        self._base_stations, self._block_ns = base_stations, max(1, to_ns(block_s))
        self._rates = lru_cache(maxsize=RATES)(self._rates_of_pair)
        self._pools: dict[tuple[int, bool], list[Flight]] = {}
        self._fair: dict[tuple[int, bool], ProportionalFair] = {}
        self._allocated: dict[tuple[int, bool], Allocation] = {}
        self._due: dict[tuple[int, bool], None] = {}  # pools of which a flight has gone
        self._touched: dict[Flight, None] = {}

    def goes_on_from(self, before: Cells) -> bool:
        """Take over the flights on the air; return False if they must join again."""
        self._pools, self._fair = before._pools, before._fair
        self._due, self._touched = before._due, before._touched
        for (base_station, uplink), allocation in before._allocated.items():
            self.allocate(base_station, uplink, allocation)
        return True

    def allocate(self, base_station: int, uplink: bool, allocation: Allocation | None) -> None:
        """Divide a cell's band in one direction, from the next `settle` on.

        Parameters
        ----------
        base_station : int
        uplink : bool
            What it receives; else what it sends.
        allocation : Allocation or None
            None: the scheduler divides it again.

        Raises
        ------
        ProtocolError
            If it is no base station, or the shares or powers can't be.
        """
        key, bases = (base_station, uplink), self._base_stations
        if base_station not in bases:
            raise ProtocolError(
                f"allocate: node {base_station} is no base station; those are the nodes of role "
                f"server: {', '.join(map(str, sorted(bases))) or 'none'}"
            )
        if allocation is None:
            self._allocated.pop(key, None)
        else:
            problem = allocation.problem(self._mac, self._nodes, bases)
            if problem is not None:
                raise ProtocolError(f"allocate: {problem}")
            self._allocated[key] = allocation
        if key in self._pools:
            self._due[key] = None

    def power_factor(self, src: int, receivers: Sequence[int]) -> float:
        """Power of a message that begins, over what its sender would have by itself."""
        if not self._allocated or len(receivers) > 1:
            return 1.0
        uplink = src not in self._base_stations
        base_station, node = (receivers[0], src) if uplink else (src, receivers[0])
        found = self._allocated.get((base_station, uplink))
        return 1.0 if found is None else found.powers.get(node, 1.0)

    def band_shares(self) -> Iterator[tuple[int, bool, list[float]]]:
        """Base station, direction, and shares of the band of the messages under way."""
        for (base_station, uplink), flights in self._pools.items():
            yield base_station, uplink, [1.0 / flight.medium.slowdown for flight in flights]

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        """Add a flight that begins.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        now_ns : int
        """
        key = self.pool_of(flight)
        self._pools.setdefault(key, []).append(flight)
        self._share_out(key, now_ns)
        flight.known_medium = flight.medium  # it begins under what it has now
        self._touched.pop(flight, None)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> None:
        """Remove a flight that has ended; the next `settle` gives its share to the others."""
        key = self.pool_of(flight)
        self._pools[key].remove(flight)
        self._touched.pop(flight, None)
        self._due[key] = None

    def settle(self, now_ns: int) -> Changed:
        """Return the flights that have another share from now on."""
        for key in list(self._due):
            self._share_out(key, now_ns)
        touched, self._touched = self._touched, {}
        changed = [flight for flight in touched if flight.medium != flight.known_medium]
        for flight in changed:
            flight.known_medium = flight.medium
        return Changed(changed, [])

    def pool_of(self, flight: Flight) -> tuple[int, bool]:
        """Base station, and whether it is the receiver."""
        if flight.src in self._base_stations:
            return flight.src, False
        dst = flight.addressees[0]
        if len(flight.addressees) > 1 or dst not in self._base_stations:
            raise ProtocolError(
                f'[radio.mac] kind = "ofdma": node {flight.src} sends to node {dst}, and neither '
                "is a base station; every message needs one, a node of role server, at one end"
            )
        return dst, True

    def _rates_of_pair(self, src: int, dst: int, block: int) -> NDArray[np.float64]:
        """Rate of a pair on each sub-channel [bit/s], if it had it, in a coherence block: (K,)."""
        count, channel = self._mac.subchannels, self._channel
        time_ns = block * self._block_ns
        snr = channel.known_snr(src, dst, time_ns)
        if isinstance(snr, float):
            return np.full(count, channel.rate_bps(snr) / count)
        if channel.resource_blocks is not None and len(snr) % count == 0:
            return channel.resource_blocks.rates_bps(snr.reshape(count, -1)) / count
        return np.array([channel.rate_bps(part) for part in np.array_split(snr, count)]) / count

    def _owner(self, allocation: Allocation, flight: Flight, key: tuple[int, bool]) -> int | None:
        """The node in whose share a flight is sent; None: in what is left."""
        node = flight.src if key[1] else flight.addressees[0]
        return node if node in allocation.shares and len(flight.addressees) == 1 else None

    def _share_out(self, key: tuple[int, bool], now_ns: int) -> None:
        """Set the media of the flights of a pool."""
        mac, flights = self._mac, self._pools[key]
        self._due.pop(key, None)
        if not flights:
            del self._pools[key]
            self._fair.pop(key, None)
            return
        n, allocation = len(flights), self._allocated.get(key)
        beside: Counter[int | None] = Counter()
        if allocation is not None:
            beside.update(self._owner(allocation, flight, key) for flight in flights)
        fair: ProportionalFair | None = None
        if mac.scheduler == "proportional_fair":
            unicasts = [f for f in flights if not f.broadcast]
            before, draw = self._fair.get(key), partial(self._streams.uniform, "level flights")
            fair = self._fair[key] = ProportionalFair(
                mac, self._rates, unicasts, self._block_ns, now_ns, len(unicasts) / n, draw, before
            )
        for flight in flights:
            if allocation is not None:
                owner = self._owner(allocation, flight, key)
                medium = allocation.medium(owner, beside[owner], mac)
            elif flight.broadcast:
                medium = Medium(slowdown=float(n))
            elif fair is not None:
                medium = Medium(shares=FlightShares(fair, flight))
            else:
                medium = mac.medium(n, self._nodes)
            if medium != flight.medium:
                flight.medium = medium
                for reception in flight.receptions:
                    reception.medium = medium
                self._touched[flight] = None


class ProportionalFair:
    """Allocations of one pool's sub-channels, coherence block by coherence block.

    They are worked out as far as they are asked for, as if no flight came or went: then another
    one takes over from the block under way. Each of n flights begins with an n-th of the rate that
    it would have alone as its average, and all that begin in one block with the same part.

    Parameters
    ----------
    mac : Ofdma
    of_pair : callable
        (sender, receiver, block) -> its rate on each sub-channel [bit/s], if it had it: (K,).
    flights : sequence of Flight
    block_ns : int
    now_ns : int
    part : float
        Of the band that is theirs.
    draw : callable
        (sender, receiver, block) -> a uniform draw: of flights that are level the one with the
        smallest is served.
    before : ProportionalFair or None
        What this takes over from: past allocations, and average rates.
    """

    def __init__(
        self,
        mac: Ofdma,
        of_pair: Callable[[int, int, int], NDArray[np.float64]],
        flights: Sequence[Flight],
        block_ns: int,
        now_ns: int,
        part: float,
        draw: Callable[[int, int, int], float],
        before: ProportionalFair | None = None,
    ) -> None:
        self._mac, self._of_pair, self._block_ns = mac, of_pair, block_ns
        self._flights, self._part, self._draw = flights, part, draw
        self._weight = min(1.0, block_ns * 1e-9 / mac.average_s)
        self._first = self._next = now_ns // block_ns
        self._past: dict[int, dict[Flight, NDArray[np.bool_]]] = {}
        known: dict[Flight, float] = {}
        self._fresh: set[Flight] = set()  # those that begin in its first block
        if before is not None:
            known = before.averages(self._first)
            self._fresh = before._fresh if before._first == self._first else set()
            self._past = {b: a for b, a in before._past.items() if self._first - 2 <= b}
            self._past = {b: a for b, a in self._past.items() if b < self._first}
        self._averages = {self._first: known}
        rates = self._rates(self._first)
        self._fresh |= {flight for flight in flights if flight not in known}
        for flight, row in zip(flights, rates, strict=True):
            if flight in self._fresh:
                known[flight] = float(row.sum()) / len(flights)

    def averages(self, block: int) -> dict[Flight, float]:
        """Average rate of each flight [bit/s] where a block begins."""
        self._work_out(block)
        return dict(self._averages[block])

    def allocation(self, block: int, flight: Flight) -> NDArray[np.bool_] | None:
        """Return the sub-channels of a flight in a block: (K,); None: none."""
        self._work_out(block)
        return self._past.get(block, {}).get(flight)

    def share(self, time_ns: int, flight: Flight) -> Share:
        """Share of the sub-channels that a flight holds at a time."""
        block = time_ns // self._block_ns
        mask, until_ns = self.allocation(block, flight), (block + 1) * self._block_ns
        if mask is None or not mask.any():
            return Share(0.0, None, until_ns)
        return Share(self._part * float(mask.mean()), mask, until_ns)

    def _work_out(self, block: int) -> None:
        while self._next <= block:
            at = self._next
            averages, rates = self._averages[at], self._rates(at)
            masks = self._allocate_subchannels(averages, rates, at)
            self._past[at] = dict(zip(self._flights, masks, strict=True))
            self._averages[at + 1] = {
                flight: (1.0 - self._weight) * averages[flight]
                + self._weight * self._part * float(row[mask].sum())
                for flight, row, mask in zip(self._flights, rates, masks, strict=True)
            }
            self._next += 1

    def _rates(self, block: int) -> NDArray[np.float64]:
        """Rate of each flight on each sub-channel [bit/s], if it had it: (flights, K)."""
        rows = [self._of_pair(f.src, f.addressees[0], block) for f in self._flights]
        return np.array(rows).reshape(len(rows), self._mac.subchannels)

    def _allocate_subchannels(
        self, averages: dict[Flight, float], rates: NDArray[np.float64], block: int
    ) -> NDArray[np.bool_]:
        """Give each sub-channel to the flight with the largest rate over average: (flights, K)."""
        given = np.zeros(rates.shape, dtype=bool)
        if not self._flights:
            return given
        mean = np.array([averages[flight] for flight in self._flights])
        merit = np.where(rates > 0.0, rates / np.maximum(mean, 1e-300)[:, None], 0.0)

        def turn(i: int) -> float:
            flight = self._flights[i]
            return self._draw(flight.src, flight.addressees[0], block)

        for k in range(rates.shape[1]):
            level = np.flatnonzero(merit[:, k] >= LEVEL * merit[:, k].max()).tolist()
            best = level[0] if len(level) == 1 else min(level, key=turn)
            if merit[best, k] > 0.0:
                given[best, k] = True
                if given[best].sum() == self._mac.most_per_unicast:
                    merit[best] = 0.0
        return given


class FlightShares(Shares):
    """The shares of one flight.

    Parameters
    ----------
    fair : ProportionalFair
    flight : Flight
    """

    def __init__(self, fair: ProportionalFair, flight: Flight) -> None:
        self._fair, self._flight = fair, flight

    def at(self, time_ns: int) -> Share:
        return self._fair.share(time_ns, self._flight)
