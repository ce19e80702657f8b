"""Overhearing of radios, where several messages are on the air at once.

A radio is in one state at a time: while it sends it hears nothing, and two messages that overlap
are heard for as long as the air is busy, not for the sum of their times.
"""

from __future__ import annotations

from collections.abc import Iterable

from netsim.links.radio.mac.flight import Flight

Span = tuple[int, int]
"""Begin and end [ns]."""


class Overhearing:
    """Recent times at which each node's radio was busy."""

    def __init__(self) -> None:
        self._at_work: dict[int, list[Span]] = {}

    def heard_spans(
        self, flight: Flight, nodes: Iterable[int], others: Iterable[Flight]
    ) -> list[tuple[int, list[Span]]]:
        """Return the times at which idle nodes heard a flight that has ended.

        Parameters
        ----------
        flight : Flight
        nodes : iterable of int
            All that notice its sender and that it was not for.
        others : iterable of Flight
            Those that are still on the air.

        Returns
        -------
        list of (int, list of Span)
            By node; those that heard nothing more are left out.
        """
        begins_ns, ends_ns = flight.begins_ns, flight.accounted_to_ns
        under_way: dict[int, int] = {}
        oldest_ns = ends_ns
        for other in others:
            oldest_ns = min(oldest_ns, other.begins_ns)
            for node, since_ns in _taking_part(other):
                under_way[node] = min(since_ns, under_way.get(node, since_ns))
        for node, since_ns in _taking_part(flight):
            self._note_busy(node, (since_ns, ends_ns), oldest_ns)
        found = []
        for node in nodes:
            until_ns = min(ends_ns, under_way.get(node, ends_ns))
            spans = _subtract_spans((begins_ns, until_ns), self._at_work.get(node, ()))
            for span in spans:
                self._note_busy(node, span, oldest_ns)
            if spans:
                found.append((node, spans))
        return found

    def _note_busy(self, node: int, span: Span, oldest_ns: int) -> None:
        """Note a time at which a radio was busy; forget those before all flights on the air."""
        kept = [one for one in self._at_work.get(node, ()) if one[1] > oldest_ns]
        if span[1] > oldest_ns:
            kept.append(span)
        self._at_work[node] = kept


def _taking_part(flight: Flight) -> list[tuple[int, int]]:
    """Nodes that send a flight or listen to it, and from when on [ns]."""
    begins_ns = flight.begins_ns
    return [
        (flight.src, begins_ns),
        *[
            (one.tx.dst, max(begins_ns, one.wakes_ns))
            for one in flight.receptions
            if one.unreachable is None
        ],
    ]


def _subtract_spans(span: Span, others: Iterable[Span]) -> list[Span]:
    """Subtract spans from a span."""
    left = [span] if span[0] < span[1] else []
    for begins_ns, ends_ns in others:
        parts = [((a, min(b, begins_ns)), (max(a, ends_ns), b)) for a, b in left]
        left = [(a, b) for both in parts for a, b in both if a < b]
    return left
