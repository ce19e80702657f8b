"""Who hears a message that begins: from when on, and who misses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from netsim.channels.sleep import Rhythm
from netsim.links.link import ASLEEP, BUSY, OFF, OUTAGE, Report, Transmission
from netsim.links.radio.channel import Propagation, Stretch
from netsim.links.radio.flight import Reception
from netsim.units import linear_to_db


class Listening:
    """Makes the receptions of messages.

    Parameters
    ----------
    channel : Propagation
    packets : callable
        Bits of a message -> how many packets, and bits of each.
    off : set of int
        Nodes that are off.
    free : sequence of bool or None
        Whose radio is free; None: nobody is too busy to receive.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    """

    def __init__(
        self,
        channel: Propagation,
        packets: Callable[[int], tuple[int, int]],
        off: set[int],
        free: Sequence[bool] | None,
        rhythms: Sequence[Rhythm | None],
    ) -> None:
        self._channel, self._packets = channel, packets
        self._off, self._free, self._rhythms = off, free, rhythms
        self._serial: dict[tuple[int, int], int] = {}

    def receiver(self, tx: Transmission, from_ns: int) -> Reception:
        """The receiver of a unicast, whose radio is free or need not be."""
        reception = Reception(tx, self._next_serial(tx), tx.dst in self._off)
        if self._rhythms:
            reception.wakes_ns = self._wakes_ns(tx, from_ns)
        return reception

    def audience(
        self, group: Sequence[Transmission], from_ns: int
    ) -> tuple[float, list[Reception], list[Report]]:
        """Rate of a broadcast, the lowest among its receivers; who listens, and who misses it."""
        channel = self._channel
        snrs = [channel.snr(tx.src, tx.dst, from_ns) for tx in group]
        known = [channel.measured_snr(tx.src, tx.dst, from_ns) for tx in group]
        rates = [channel.rate_bps(snr) for snr in known]
        # The sender can't tell who is busy, off or asleep.
        rate_bps = min((r for r in rates if r > 0), default=0.0)
        receptions: list[Reception] = []
        missed: list[Report] = []
        for tx, snr, rate in zip(group, snrs, rates, strict=True):
            if tx.dst in self._off:
                missed.append((tx, OFF, 0, 0, None, None))
            elif self._free is not None and not self._free[tx.dst]:
                missed.append((tx, BUSY, 0, 0, None, None))
            elif self._rhythms and self._wakes_ns(tx, from_ns) > from_ns:
                missed.append((tx, ASLEEP, 0, 0, None, None))
            else:
                serial, fixed = 0, None
                if rate > 0:
                    serial = self._next_serial(tx)
                else:
                    lost = self._packets(tx.bits)[0]
                    fixed = (tx, OUTAGE, 0, lost, linear_to_db(snr), None)
                receptions.append(Reception(tx, serial, in_vain=False, fixed=fixed))
        return rate_bps, receptions, missed

    def _wakes_ns(self, tx: Transmission, time_ns: int) -> int:
        """When a receiver is awake for a message that begins at an instant."""
        rhythm = self._rhythms[tx.dst]
        return time_ns if rhythm is None or tx.reply else rhythm.wakes_ns(time_ns)

    def _next_serial(self, tx: Transmission) -> int:
        """How many messages this pair has had: keys the draws of the next one."""
        pair = (tx.src, tx.dst)
        serial = self._serial[pair] = self._serial.get(pair, 0) + 1
        return serial


def slept_through(stretches: Iterable[Stretch], nap_ns: int) -> Iterator[Stretch]:
    """Stretches whose first attempts are lost: those that begin within so long."""
    for stretch in stretches:
        room, length_ns, attempt_ns = stretch.attempts, stretch.length_ns, stretch.attempt_ns
        if nap_ns > 0 and attempt_ns > 0.0:
            asleep = ceil(nap_ns / attempt_ns)
            missed = replace(stretch, per=1.0, ruined=1.0, asleep=True)
            if room is not None and room <= asleep:
                yield missed
            else:
                missed.attempts, missed.length_ns = asleep, round(asleep * attempt_ns)
                yield missed
                rest = None if room is None else room - asleep
                rest_ns = None if length_ns is None else length_ns - missed.length_ns
                yield replace(stretch, attempts=rest, length_ns=rest_ns)
        else:
            yield stretch
        nap_ns -= length_ns or 0
