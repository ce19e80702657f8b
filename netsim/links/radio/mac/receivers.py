"""Receivers of a message that begins: their start times, and those that miss it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import ceil

from netsim.channels.block import ChannelBlock
from netsim.channels.sleep import Rhythm
from netsim.links.link import ASLEEP, BUSY, OFF, OUTAGE, Report, Transmission
from netsim.links.radio.mac.flight import Reception
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import linear_to_db


class Receivers:
    """Maker of the receptions of a message from the state of its receivers.

    Parameters
    ----------
    channel : RadioChannel
    packets : callable
        Bits of a message -> (how many packets, bits of each).
    off : set of int
        Nodes that are switched off.
    free : sequence of bool or None
        By node, whether its radio is free; None: nobody is too busy to receive.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    serial : dict of (int, int) to int
        How many messages of each pair of nodes there have been, which is kept up to date.
    """

    def __init__(
        self,
        channel: RadioChannel,
        packets: Callable[[int], tuple[int, int]],
        off: AbstractSet[int],
        free: Sequence[bool] | None,
        rhythms: Sequence[Rhythm | None],
        serial: dict[tuple[int, int], int],
    ) -> None:
        self._channel, self._packets = channel, packets
        self._off, self._free, self._rhythms = off, free, rhythms
        self._serial = serial

    def of_unicast(self, tx: Transmission, begins_ns: int) -> Reception:
        """The reception of a unicast; whether its receiver's radio is free was asked before."""
        reception = Reception(tx, self._next_serial(tx), OFF if tx.dst in self._off else None)
        if self._rhythms:
            reception.wakes_ns = self._wakes_ns(tx, begins_ns)
        return reception

    def of_broadcast(
        self, group: Sequence[Transmission], begins_ns: int, power: float = 1.0
    ) -> tuple[float, list[Reception], list[Report]]:
        """Rate [bit/s] of a broadcast, the lowest of its receivers'; who listens; who misses it.

        Parameters
        ----------
        group : sequence of Transmission
        begins_ns : int
        power : float
            Transmit power over the sender's full one.
        """
        channel = self._channel
        snrs = [power * channel.snr(tx.src, tx.dst, begins_ns) for tx in group]
        known = [power * channel.measured_snr(tx.src, tx.dst, begins_ns) for tx in group]
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
            elif self._rhythms and self._wakes_ns(tx, begins_ns) > begins_ns:
                missed.append((tx, ASLEEP, 0, 0, None, None))
            else:
                serial, predetermined = 0, None
                if rate > 0:
                    serial = self._next_serial(tx)
                else:
                    lost = self._packets(tx.envelope.bits)[0]
                    predetermined = (tx, OUTAGE, 0, lost, linear_to_db(snr), None)
                receptions.append(Reception(tx, serial, predetermined=predetermined))
        return rate_bps, receptions, missed

    def _wakes_ns(self, tx: Transmission, time_ns: int) -> int:
        """Return the time [ns] at which a message's receiver is awake; for a reply, at once.

        Whoever asked stays awake for the answer.
        """
        rhythm = self._rhythms[tx.dst]
        return time_ns if rhythm is None or tx.envelope.reply else rhythm.wakes_ns(time_ns)

    def _next_serial(self, tx: Transmission) -> int:
        """Number of this message among those of its pair of nodes: keys its random draws."""
        pair = (tx.src, tx.dst)
        serial = self._serial[pair] = self._serial.get(pair, 0) + 1
        return serial


def lost_while_asleep(blocks: Iterable[ChannelBlock], nap_ns: int) -> Iterator[ChannelBlock]:
    """Channel blocks in which every attempt that begins within the first `nap_ns` is lost."""
    for block in blocks:
        room, length_ns, attempt_ns = block.attempts, block.length_ns, block.attempt_ns
        if nap_ns > 0 and attempt_ns > 0.0:
            asleep = ceil(nap_ns / attempt_ns)
            missed = replace(block, per=1.0, erasure=1.0, by_attempt=None, asleep=True)
            if room is not None and room <= asleep:
                yield missed
            else:
                missed.attempts, missed.length_ns = asleep, round(asleep * attempt_ns)
                yield missed
                rest = None if room is None else room - asleep
                rest_ns = None if length_ns is None else length_ns - missed.length_ns
                yield replace(block, attempts=rest, length_ns=rest_ns)
        else:
            yield block
        nap_ns -= length_ns or 0


def first_lost(blocks: Iterable[ChannelBlock], loss: float) -> Iterator[ChannelBlock]:
    """Channel blocks whose first attempt is lost to other senders with a probability of its own."""
    fresh = True
    for block in blocks:
        if fresh and block.attempts != 0 and block.attempt_ns > 0.0:
            fresh = False
            own = 1.0 - (1.0 - block.per) / (1.0 - block.erasure) if block.erasure < 1.0 else 1.0
            taken_ns = ceil(block.attempt_ns)
            per = 1.0 - (1.0 - own) * (1.0 - loss)
            first = replace(block, attempts=1, per=per, erasure=loss, length_ns=taken_ns)
            first.by_attempt = None
            yield first
            if block.attempts == 1:
                continue
            rest = None if block.attempts is None else block.attempts - 1
            rest_ns = None if block.length_ns is None else max(0, block.length_ns - taken_ns)
            yield replace(block, attempts=rest, length_ns=rest_ns)
        else:
            yield block
