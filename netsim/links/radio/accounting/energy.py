"""Costs of flights: time on the air and bits, for the recorder and the energy meter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from netsim.devices.energy.meter import EnergyMeter
from netsim.links.link import Report
from netsim.links.radio.accounting.overhearing import Overhearing
from netsim.links.radio.mac.flight import Flight, Piece, Reception, Stretch
from netsim.recording.recorder import Recorder
from netsim.units import NS_PER_S


class EnergyAccounting:
    """Count the airtime and the bits of flights, and report them to the energy meter.

    Airtime is counted to a flight's planned end when it starts, so that a battery knows when it
    will be empty, and taken back where the flight ends earlier. The meter spreads it evenly over
    its time, also where it is sent in slots.

    Parameters
    ----------
    recorder : Recorder
    meter : EnergyMeter

    Attributes
    ----------
    listens : bool
        Whether `count_overheard` has to be called, where all nodes share a channel.
    """

    def __init__(self, recorder: Recorder, meter: EnergyMeter) -> None:
        self._recorder, self._meter = recorder, meter
        self.listens = meter.listens
        self._overhearing = Overhearing()

    def count_airtime(self, flight: Flight, until_ns: int) -> None:
        """Count a flight's airtime up to an instant; take back what was counted beyond it."""
        begin_ns, end_ns = flight.accounted_to_ns, max(until_ns, flight.begins_ns)
        if begin_ns == end_ns:
            return
        flight.accounted_to_ns = end_ns
        sent = _sent_pieces(flight, begin_ns, end_ns)
        for piece in sent:
            self._recorder.airtime_ns += round(piece.airtime_ns)
            flight.airtime_ns += round(piece.airtime_ns)
        pieces: Sequence[Piece] = sent
        if end_ns > begin_ns:
            flight.counted += sent
        else:
            pieces = _take_back(flight, flight.counted, end_ns)
        awake, waking_later = _awake_receivers(flight), _waking_later(flight)
        for piece in pieces:
            self._meter_piece(flight, awake, piece)
        for reception in waking_later:
            wakes_ns = reception.wakes_ns
            counted = flight.counted_late.setdefault(reception, [])
            if end_ns > begin_ns:
                heard = _sent_pieces(flight, max(begin_ns, wakes_ns), max(end_ns, wakes_ns))
                counted += heard
            else:
                heard = _take_back(flight, counted, end_ns)
            for piece in heard:
                self._meter_reception(reception.tx.dst, piece)
                if piece.answers:
                    self._meter_answers(flight, piece)

    def _meter_piece(self, flight: Flight, awake: Sequence[int], piece: Piece) -> None:
        """Meter a piece: sending, reception by the listeners, and answers."""
        meter, (from_ns, to_ns, airtime_ns, found, _) = self._meter, piece
        if found is None:
            meter.on_air(flight.src, awake, from_ns, to_ns, airtime_ns, flight.power_now)
        else:
            meter.on_air(flight.src, (), from_ns, to_ns, airtime_ns, flight.power_now)
            for node in awake:
                self._meter_reception(node, piece)
            before_ns = flight.found_ns
            flight.found_ns = found * airtime_ns + (0.0 if before_ns is None else before_ns)
        if awake and piece.answers:
            self._meter_answers(flight, piece)

    def _meter_answers(self, flight: Flight, piece: Piece) -> None:
        """Meter the answers of a message's receiver, which listens."""
        answered_ns = piece.answers * piece.airtime_ns
        flight.answered_ns += answered_ns
        dst = flight.receptions[0].tx.dst
        self._meter.on_air(dst, [flight.src], piece.from_ns, piece.to_ns, answered_ns)

    def _meter_reception(self, node: int, piece: Piece) -> None:
        airtime_ns = piece.airtime_ns
        if piece.found is not None:
            airtime_ns *= float(piece.found[node])
        self._meter.count_reception(node, piece.from_ns, piece.to_ns, airtime_ns)

    def set_transmit_share(
        self, flight: Flight, from_ns: int, share: float, stretches: Sequence[Stretch] = ()
    ) -> None:
        """Let a flight's sender transmit for another share of the time, from an instant on.

        Nothing else changes it: the time before counts with the share that it had.

        Parameters
        ----------
        flight : Flight
            Not counted beyond that instant.
        from_ns : int
        share : float
        stretches : sequence of (int, int, float)
            Times with a share of their own; all of those that end later, beside the past.
        """
        if share != flight.transmit_share and flight.accounted_to_ns < from_ns:
            self.count_airtime(flight, from_ns)
        flight.transmit_share, flight.stretches = share, stretches

    def to_end(self, flight: Flight) -> None:
        """Count a flight's airtime to its planned end."""
        self.count_airtime(flight, flight.ends_ns)

    def airtime_ahead_ns(self, flight: Flight, now_ns: int) -> int:
        """Return the airtime that has been counted for a flight and is still to come [ns]."""
        now_ns = max(now_ns, flight.begins_ns)
        if now_ns >= flight.accounted_to_ns:
            return 0
        pieces = _sent_pieces(flight, now_ns, flight.accounted_to_ns)
        return round(sum(piece.airtime_ns for piece in pieces))

    def receiver_leaves(
        self, flight: Flight, reception: Reception, now_ns: int, attempts: int
    ) -> None:
        """Take back the airtime that a receiver will not listen to, to the end of a flight.

        Parameters
        ----------
        flight : Flight
            Counted to its planned end.
        reception : Reception
            That of the receiver.
        now_ns : int
        attempts : int
            Those that it has been sent.
        """
        if self._meter.by_bits:
            self._meter_received_bits(flight, reception, attempts)
        listens_ns = max(flight.begins_ns, reception.wakes_ns)
        late = listens_ns > flight.begins_ns
        counted_to_ns, leaves_ns = (max(t, listens_ns) for t in (flight.accounted_to_ns, now_ns))
        heard = _sent_pieces(flight, counted_to_ns, leaves_ns)
        if leaves_ns < counted_to_ns:  # the others listen on
            counted = flight.counted_late.get(reception, ()) if late else flight.counted
            heard = _take_back(flight, list(counted), leaves_ns)
        for piece in heard:
            self._meter_reception(reception.tx.dst, piece)

    def count_overheard(
        self,
        flight: Flight,
        noticing: Callable[..., Iterable[int]],
        nodes: Sequence[int],
        others: Iterable[Flight] | None = None,
    ) -> None:
        """Count what other nodes than the addressees have heard of a flight and of its answers.

        Parameters
        ----------
        flight : Flight
            One that has ended.
        noticing : callable
            (sender, nodes, time [ns], power over its full one) -> those that notice the sender.
        nodes : sequence of int
            All of them.
        others : iterable of Flight or None
            Those on the air that may be sent at the very same time; None: there are none, where
            senders take turns.
        """
        begins_ns, ends_ns = flight.begins_ns, flight.accounted_to_ns
        meant = {flight.src, *flight.addressees}
        if ends_ns > begins_ns:
            near = noticing(flight.src, nodes, begins_ns, flight.power_now)
            self._count_overheard_flight(
                flight, [node for node in near if node not in meant], others
            )
        if flight.answered_ns:
            near = noticing(flight.receptions[0].tx.dst, nodes, begins_ns, 1.0)
            apart = [node for node in near if node not in meant]
            self._meter.count_overhearing(apart, begins_ns, ends_ns, round(flight.answered_ns))

    def _count_overheard_flight(
        self, flight: Flight, apart: Sequence[int], others: Iterable[Flight] | None
    ) -> None:
        """Count what some nodes have heard of a flight itself."""
        begins_ns, ends_ns = flight.begins_ns, flight.accounted_to_ns
        if others is None:
            if flight.found_ns is None:
                self._meter.count_overhearing(apart, begins_ns, ends_ns, flight.airtime_ns)
                return
            for node in apart:
                self._meter.count_overhearing(
                    (node,), begins_ns, ends_ns, round(flight.found_ns[node])
                )
            return
        for node, spans in self._overhearing.heard_spans(flight, apart, others):
            for from_ns, to_ns in spans:
                airtime_ns = round(_airtime_between(flight.counted, from_ns, to_ns))
                self._meter.count_overhearing((node,), from_ns, to_ns, airtime_ns)

    def count_bits(self, flight: Flight, reports: Sequence[Report], cut: bool) -> int:
        """Count the bits that a flight has carried, headers and repetitions included.

        Parameters
        ----------
        flight : Flight
            One that has ended, with its airtime counted up to then.
        reports : sequence of Report
            What became of it at each of its receptions.
        cut : bool
            Whether it ended before its planned end.

        Returns
        -------
        int
            Bits transmitted: an attempt that was cut short counts by the part that was sent.
        """
        if flight.broadcast:
            bits = self._of_broadcast(flight, cut)
        else:
            bits = round(flight.receptions[0].transmissions * flight.packet_bits)
        if self._meter.by_bits:
            self._tell_meter(flight, reports, bits)
        return bits

    def _of_broadcast(self, flight: Flight, cut: bool) -> int:
        if not flight.rate_bps:
            return 0
        whole = flight.packets * flight.packet_bits
        if flight.medium.transmissions == 1.0 and not (cut or flight.expired):
            return whole
        one_ns = flight.overhead_ns + flight.packet_bits / flight.rate_bps * NS_PER_S
        return round(flight.airtime_ns / one_ns * flight.packet_bits) if one_ns else whole

    def _tell_meter(self, flight: Flight, reports: Sequence[Report], bits: int) -> None:
        if flight.broadcast:
            attempts = math.ceil(min(bits / flight.packet_bits, flight.packets) - 1e-9)
            attempts = max((report[2] for report in reports if report[2]), default=attempts)
        else:
            attempts = reports[0][2]
        self._meter.count_sent(flight.src, flight.addressees, (), attempts * flight.packet_bits)
        for reception in flight.receptions:
            self._meter_received_bits(flight, reception, attempts)

    def _meter_received_bits(self, flight: Flight, reception: Reception, attempts: int) -> None:
        """Meter the bits of a flight that a receiver has listened to."""
        if reception.unreachable is not None and not reception.listened:
            return
        if reception.wakes_ns > flight.begins_ns:
            attempts -= reception.attempts_asleep
        if max(reception.wakes_ns, flight.begins_ns) <= flight.accounted_to_ns:
            self._meter.count_received_bits(reception.tx.dst, attempts * flight.packet_bits)


def _sent_pieces(flight: Flight, from_ns: int, to_ns: int) -> list[Piece]:
    """The times between two instants at which a flight is sent.

    Where `to_ns` is the earlier one, they are what to take back: backwards, with negative airtime.
    A first attempt that is made at once has times of its own, for it has another share of airtime.
    """
    if from_ns == to_ns:
        return []
    if not flight.stretches and not flight.at_once_ends_ns and flight.turns is None:  # most are so
        airtime_ns = to_ns - from_ns
        if flight.transmit_share != 1.0:
            airtime_ns = round(flight.transmit_share * airtime_ns)
        return [Piece(from_ns, to_ns, airtime_ns, flight.found, flight.answers)]
    found: list[Piece] = []
    back, flight_parts = to_ns < from_ns, (flight.found, flight.answers)
    first_ns, last_ns = (to_ns, from_ns) if back else (from_ns, to_ns)
    at_once_ns = flight.at_once_ends_ns
    for at_ns, end_ns, share in _transmit_stretches(flight, first_ns, last_ns):
        inside = (at_once_ns,) if at_ns < at_once_ns < end_ns else ()
        for begin_ns, stop_ns in pairwise((at_ns, *inside, end_ns)):
            airtime_ns = _on_ns(flight, stop_ns) - _on_ns(flight, begin_ns)
            if share != 1.0:
                airtime_ns = round(share * airtime_ns)
            if back:
                found.append(Piece(stop_ns, begin_ns, -airtime_ns, *flight_parts))
            elif begin_ns == at_ns and found and found[-1].to_ns == at_ns:  # only the share changes
                before = found[-1]
                together_ns = before.airtime_ns + airtime_ns
                found[-1] = before._replace(to_ns=stop_ns, airtime_ns=together_ns)
            else:
                found.append(Piece(begin_ns, stop_ns, airtime_ns, *flight_parts))
    return found


def _transmit_stretches(flight: Flight, first_ns: int, last_ns: int) -> list[Stretch]:
    """The times between two instants in which a sender transmits, and for what share of each."""
    found: list[Stretch] = []
    at_ns, share = first_ns, flight.transmit_share
    for from_ns, to_ns, its_share in (*flight.stretches, (last_ns, last_ns, 0.0)):
        parts = (
            (at_ns, min(from_ns, last_ns), share),
            (max(at_ns, from_ns), min(to_ns, last_ns), its_share),
        )
        found += [part for part in parts if part[0] < part[1] and part[2]]
        at_ns = max(at_ns, to_ns)
    return found


def _take_back(flight: Flight, counted: list[Piece], until_ns: int) -> list[Piece]:
    """Take from the metered pieces of a flight what lies beyond an instant; returns what to tell.

    That is backwards and with negative airtime. Of a piece over which the share changes, or that is
    sent in slots, it is all, and what remains of it follows.

    Parameters
    ----------
    flight : Flight
    counted : list of Piece
        What it has been told, in order; each is spread evenly over its time. Changed.
    until_ns : int
    """
    back: list[Piece] = []
    while counted and counted[-1].to_ns > until_ns:
        piece = counted.pop()
        begin_ns, end_ns, airtime_ns = piece[:3]
        at_ns = max(begin_ns, until_ns)
        if (flight.stretches or flight.turns is not None) and at_ns > begin_ns:
            rest_ns = sum(one.airtime_ns for one in _sent_pieces(flight, at_ns, end_ns))
            counted.append(piece._replace(to_ns=at_ns, airtime_ns=airtime_ns - rest_ns))
            back += [piece._replace(from_ns=end_ns, to_ns=begin_ns, airtime_ns=-airtime_ns)]
            back += counted[-1:]
            break
        rest_ns = airtime_ns * (end_ns - at_ns) / (end_ns - begin_ns)
        back.append(piece._replace(from_ns=end_ns, to_ns=at_ns, airtime_ns=-rest_ns))
        if at_ns > begin_ns:
            counted.append(piece._replace(to_ns=at_ns, airtime_ns=airtime_ns - rest_ns))
    return back


def _airtime_between(counted: Iterable[Piece], from_ns: int, to_ns: int) -> float:
    """Airtime of the metered pieces of a flight between two instants [ns]."""
    airtime_ns = 0.0
    for piece in counted:
        inside_ns = min(to_ns, piece.to_ns) - max(from_ns, piece.from_ns)
        if inside_ns > 0:
            airtime_ns += piece.airtime_ns * inside_ns / (piece.to_ns - piece.from_ns)
    return airtime_ns


def _on_ns(flight: Flight, time_ns: int) -> int:
    """Time that a flight has been under way at an instant, spread where it has slots.

    A first attempt that is made at once counts as long as the others, of which a sender is on the
    air for a share.
    """
    elapsed_ns = time_ns - flight.begins_ns
    if flight.at_once_ends_ns:
        first_ns = min(elapsed_ns, flight.at_once_ends_ns - flight.begins_ns)
        return elapsed_ns + round((flight.at_once_stretch - 1.0) * first_ns)
    return elapsed_ns if flight.turns is None else round(flight.turns.spread_ns(elapsed_ns))


def _awake_receivers(flight: Flight) -> list[int]:
    """Receivers that listen from a flight's beginning."""
    begins_ns = flight.begins_ns
    return [
        r.tx.dst for r in flight.receptions if r.unreachable is None and r.wakes_ns <= begins_ns
    ]


def _waking_later(flight: Flight) -> list[Reception]:
    """Receptions whose receiver wakes up after the beginning of a flight."""
    begins_ns = flight.begins_ns
    return [r for r in flight.receptions if r.unreachable is None and r.wakes_ns > begins_ns]
