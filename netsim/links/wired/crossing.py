"""Times at which the packets of a message have crossed a bottleneck that follows another one.

Packets of p bits, the first of which is served from s on, come whole at A_1, A_2, ... and cross one
after the other. With F(t, b) the time at which b bits that begin at t have crossed, packet j has
done so at

    D_j = F(max(A_j, D_(j-1)), p) = max over i <= j of F(max(A_i, s), (j - i + 1) p),

Lindley's recursion; in network calculus the departures are the convolution of arrivals and
capacity (J.-Y. Le Boudec and P. Thiran, Network Calculus, 2001, chapter 1). With C(t) the bits that
can cross from s to t,

    D_j = C^-1(max over i <= j of (C(max(A_i, s)) - (i - 1) p) + j p).

All of it is linear between the instants at which a capacity changes, here or before, so a few
packets beside each of these say everything. Without packets (p = 0) bits take their place.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from netsim.links.wired.capacity import NO_BITS, Capacity
from netsim.units import FOREVER_NS

Point = tuple[float, float]
"""Bits, and the time [ns] at which so many have come, or crossed, in whole packets."""


class Curve:
    """Points of a function of bits that is linear between them, found as they are asked for.

    Parameters
    ----------
    points : iterable of Point
        Ascending in both; two of the same bits where nothing crosses for a while.
    """

    def __init__(self, points: Iterable[Point]) -> None:
        self._more, self._points = iter(points), list[Point]()
        self._bits: list[float] = []

    def point(self, number: int) -> Point | None:
        """Return the point of a number, from 0 on; None: there are no more."""
        while number >= len(self._points):
            found = next(self._more, None)
            if found is None:
                return None
            self._points.append(found)
            self._bits.append(found[0])
        return self._points[number]

    def is_straight(self) -> bool:
        """Return whether it has two points and no more."""
        return self.point(2) is None

    def time_ns(self, bits: float) -> float:
        """Return the time at which so many bits have come; `bits` is in the range of the curve."""
        last = len(self._bits)
        while (not last or self._bits[-1] < bits - NO_BITS) and self.point(last) is not None:
            last += 1
        at = min(bisect_left(self._bits, bits - NO_BITS), len(self._bits) - 1)
        (x, time_ns), (x0, before_ns) = self._points[at], self._points[max(0, at - 1)]
        if x - bits <= NO_BITS or x == x0:
            return time_ns
        return before_ns + (bits - x0) / (x - x0) * (time_ns - before_ns)


class _Integral:
    """Bits that can cross from an instant on.

    Parameters
    ----------
    capacity : Capacity
    start_ns : int
    """

    def __init__(self, capacity: Capacity, start_ns: int) -> None:
        self._capacity, self._start_ns = capacity, start_ns
        self._before = capacity.bits_until(start_ns)

    def bits_until(self, time_ns: float) -> float:
        """Return the bits that can cross until an instant; 0 before the first."""
        if time_ns <= self._start_ns:
            return 0.0
        return self._capacity.bits_until(time_ns) - self._before

    def time_ns(self, bits: float) -> float:
        """Return the first instant at which so many bits can have crossed."""
        if bits <= NO_BITS:
            return self._start_ns
        return self._capacity.reaches_ns(self._before + bits)

    def change_ns(self, time_ns: float) -> float:
        """Return the first instant after another one at which the capacity changes, or begins."""
        if time_ns < self._start_ns:
            return self._start_ns
        change_ns = self._capacity.at(math.floor(time_ns))[1]
        return math.inf if change_ns is None else change_ns


def departures(
    arrivals: Curve | None,
    hop_ns: int,
    start_ns: int,
    bits: float,
    packet_bits: float,
    capacity: Capacity,
) -> Curve:
    """Return when the packets of a message have crossed a bottleneck.

    Parameters
    ----------
    arrivals : Curve or None
        When they had crossed the one before; None: all are there from the beginning.
    hop_ns : int
        Their way from there.
    start_ns : int
        When the bottleneck begins to serve them.
    bits, packet_bits : float
        Of the message, and of a packet; 0: bit by bit.
    capacity : Capacity
        Of the bottleneck.

    Returns
    -------
    Curve
    """
    packets = math.ceil(bits / packet_bits - 1e-9) if packet_bits else 0
    size = bits / packets if packets else 0.0
    if arrivals is None:
        arrivals = Curve([(size, start_ns), (bits, start_ns)])
    integral = _Integral(capacity, start_ns)
    return Curve(
        _departure_points(_Places(arrivals, hop_ns, size, packets, integral), size, integral)
    )


class _Places:
    """Packets, or bits, beside which what comes or what can cross changes, and when they come.

    Parameters
    ----------
    arrivals : Curve
    hop_ns : int
    size : float
        Bits of a packet; 0: there are none.
    packets : int
    integral : _Integral
    """

    def __init__(
        self, arrivals: Curve, hop_ns: int, size: float, packets: int, integral: _Integral
    ) -> None:
        self._arrivals, self._hop_ns, self._integral = arrivals, hop_ns, integral
        self.size, self._packets = size, packets

    def packet_ends(self, bits: float, above: float = 0.0) -> Iterator[float]:
        """Bits up to the ends of the packets beside a place, from above another place on."""
        if not self.size:
            yield bits
            return
        number = math.floor(bits / self.size + 1e-9)
        for one in (number, number + 1):
            if 1 <= one <= self._packets and one * self.size > above + NO_BITS:
                yield one * self.size

    def __iter__(self) -> Iterator[Point]:
        number, last, before = 0, -1.0, self._arrivals.point(0)
        while before is not None:
            x0, t0 = before
            for bits in self._new_ends(x0, last):
                last = bits
                yield bits, self._comes_ns(bits, t0)
            number += 1
            after = self._arrivals.point(number)
            if after is not None:
                x1, t1 = after
                at_ns = self._integral.change_ns(t0 + self._hop_ns)
                while at_ns < t1 + self._hop_ns:
                    place = x0 + (at_ns - self._hop_ns - t0) / (t1 - t0) * (x1 - x0)
                    for bits in self._new_ends(place, last):
                        last = bits
                        yield bits, self._comes_ns(bits, at_ns - self._hop_ns)
                    if self.size:  # what changes before the next packet has come is of no account
                        at_ns = max(at_ns, self._comes_ns(last, 0.0))
                    at_ns = self._integral.change_ns(at_ns)
            before = after

    def _new_ends(self, bits: float, last: float) -> Iterable[float]:
        return self.packet_ends(bits, last) if self.size else (bits,)

    def _comes_ns(self, bits: float, of_place_ns: float) -> float:
        return (self._arrivals.time_ns(bits) if self.size else of_place_ns) + self._hop_ns


def _departure_points(places: _Places, size: float, integral: _Integral) -> Iterator[Point]:
    """Points of the departures; see the module for the letters."""
    most, before = -math.inf, None
    for x, time_ns in places:
        held = integral.bits_until(time_ns) - x + size
        if before is None:
            most, before = held, (x, held)
            yield x, integral.time_ns(most + x)
            continue
        (begin, its), ways = before, [(x, held)]
        if its < most < held and begin < x:  # in between it becomes idle, and waits from then on
            slope = (held - its) / (x - begin)
            idle = places.packet_ends(begin + (most - its) / slope, begin)
            ways = [*((y, its + slope * (y - begin)) for y in idle if begin < y < x), *ways]
        for y, held_there in ways:
            least, most = most, max(most, held_there)
            yield from _points_between(places, (begin, least + begin), (y, most + y), integral)
            begin = y
        before = (x, held)


def _points_between(
    places: _Places, one: Point, other: Point, integral: _Integral
) -> Iterator[Point]:
    """Departures after a place up to another one, both with the bits that could have crossed."""
    (x0, w0), (x1, w1) = one, other
    at_ns = integral.change_ns(integral.time_ns(w0))
    while (bits := integral.bits_until(at_ns)) < w1 and at_ns < FOREVER_NS:
        place = x0 + (bits - w0) / (w1 - w0) * (x1 - x0)
        if not places.size:
            yield place, at_ns
        else:
            ends = [y for y in places.packet_ends(place, x0) if y < x1 - NO_BITS]
            if not ends:
                break
            for y in ends:
                w0, x0 = w0 + (y - x0) / (x1 - x0) * (w1 - w0), y
                yield y, integral.time_ns(w0)
            at_ns = max(at_ns, integral.time_ns(w0))
        at_ns = integral.change_ns(at_ns)
    yield x1, integral.time_ns(w1)
