"""What flights cost: time on the air, told to the recorder and to the meter, and bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netsim.links.link import Report
from netsim.links.radio.flight import Flight, Reception
from netsim.recording.recorder import Recorder

if TYPE_CHECKING:
    from netsim.devices.energy.meter import Meter


def count_airtime(flight: Flight, to_ns: int, recorder: Recorder, meter: Meter) -> None:
    """Count what a sender has spent on the air up to a time; takes back what was too much."""
    from_ns, flight.counted_to_ns = flight.counted_to_ns, max(to_ns, flight.begins_ns)
    for begin_ns, end_ns, airtime_ns in _airtimes(flight, from_ns, flight.counted_to_ns):
        recorder.airtime_ns += airtime_ns
        meter.on_air(flight.src, _listening(flight), begin_ns, end_ns, airtime_ns)
    for reception in _late(flight):
        heard_from_ns, heard_to_ns = (
            max(t, reception.wakes_ns) for t in (from_ns, flight.counted_to_ns)
        )
        for begin_ns, end_ns, airtime_ns in _airtimes(flight, heard_from_ns, heard_to_ns):
            meter.receives(reception.tx.dst, begin_ns, end_ns, airtime_ns)


def take_back(flight: Flight, reception: Reception, now_ns: int, meter: Meter) -> None:
    """A receiver does not listen to the rest of a flight that has been counted to its end."""
    now_ns = max(now_ns, flight.begins_ns)
    for begin_ns, end_ns, airtime_ns in _airtimes(flight, flight.counted_to_ns, now_ns):
        meter.receives(reception.tx.dst, begin_ns, end_ns, airtime_ns)


def count_bits(flight: Flight, reports: Sequence[Report], meter: Meter) -> None:
    """Tell what a flight that has ended has carried, headers and repetitions included."""
    if flight.broadcast:
        attempts = flight.packets if flight.rate_bps else 0
        attempts = max((report[2] for report in reports if report[2]), default=attempts)
    else:
        attempts = reports[0][2]
    meter.carried(flight.src, flight.meant, _listening(flight), attempts * flight.packet_bits)
    for reception in _late(flight):
        if reception.wakes_ns <= flight.counted_to_ns:
            heard = attempts - reception.slept
            meter.hears(reception.tx.dst, heard * flight.packet_bits)


def _airtimes(flight: Flight, from_ns: int, to_ns: int) -> Iterator[tuple[int, int, int]]:
    """(from, to, time on the air) where a flight is sent between two instants.

    Backwards in time what is to be taken back: `to` is before `from`, the time negative.
    """
    back = to_ns < from_ns
    at_ns, last_ns = (to_ns, from_ns) if back else (from_ns, to_ns)
    for silent_ns, resumes_ns in (*flight.silent, (last_ns, last_ns)):
        end_ns = min(silent_ns, last_ns)
        if end_ns > at_ns:
            airtime_ns = end_ns - at_ns
            if flight.on_air != 1.0:
                airtime_ns = round(flight.on_air * airtime_ns)
            yield (end_ns, at_ns, -airtime_ns) if back else (at_ns, end_ns, airtime_ns)
        at_ns = max(at_ns, resumes_ns)


def _listening(flight: Flight) -> list[int]:
    """Who listens from the beginning of a flight on."""
    begins_ns = flight.begins_ns
    return [r.tx.dst for r in flight.receptions if not r.in_vain and r.wakes_ns <= begins_ns]


def _late(flight: Flight) -> list[Reception]:
    """Who listens from some time on, having slept before."""
    return [r for r in flight.receptions if not r.in_vain and r.wakes_ns > flight.begins_ns]
