"""What flights cost: time on the air, told to the recorder and to the meter, and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netsim.links.air.flight import Flight, Reception
from netsim.links.link import Report
from netsim.results.log import Recorder

if TYPE_CHECKING:
    from netsim.energy.meter import Meter


def count_airtime(flight: Flight, to_ns: int, recorder: Recorder, meter: Meter) -> None:
    """Count what a sender has spent on the air up to a time; takes back what was too much."""
    to_ns = max(to_ns, flight.begins_ns)
    from_ns = flight.counted_to_ns
    if to_ns == from_ns:
        return
    airtime_ns = to_ns - from_ns
    if flight.on_air != 1.0:
        airtime_ns = round(flight.on_air * airtime_ns)
    flight.counted_to_ns = to_ns
    recorder.airtime_ns += airtime_ns
    meter.on_air(flight.src, _listening(flight), from_ns, airtime_ns)
    for reception in _late(flight):
        wakes_ns = reception.wakes_ns
        heard_ns = round(flight.on_air * (max(to_ns, wakes_ns) - max(from_ns, wakes_ns)))
        meter.receives(reception.tx.dst, max(from_ns, wakes_ns), heard_ns)


def take_back(flight: Flight, reception: Reception, now_ns: int, meter: Meter) -> None:
    """A receiver does not listen to the rest of a flight that has been counted to its end."""
    too_much_ns = round(flight.on_air * (flight.counted_to_ns - max(now_ns, flight.begins_ns)))
    meter.receives(reception.tx.dst, flight.counted_to_ns, -too_much_ns)


def count_bits(flight: Flight, reports: Sequence[Report], meter: Meter) -> None:
    """Tell what a flight that has ended has carried, headers and repetitions included."""
    meant = [report[0].dst for report in (*reports, *flight.missed)]
    if flight.broadcast:
        attempts = flight.packets if flight.rate_bps else 0
        attempts = max((report[2] for report in reports if report[2]), default=attempts)
    else:
        attempts = reports[0][2]
    if meant:
        meter.carried(flight.src, meant, _listening(flight), attempts * flight.packet_bits)
    for reception in _late(flight):
        if reception.wakes_ns <= flight.counted_to_ns:
            heard = attempts - reception.slept
            meter.hears(reception.tx.dst, heard * flight.packet_bits)


def _listening(flight: Flight) -> list[int]:
    """Who listens from the beginning of a flight on."""
    begins_ns = flight.begins_ns
    return [r.tx.dst for r in flight.receptions if not r.in_vain and r.wakes_ns <= begins_ns]


def _late(flight: Flight) -> list[Reception]:
    """Who listens from some time on, having slept before."""
    return [r for r in flight.receptions if not r.in_vain and r.wakes_ns > flight.begins_ns]
