"""Admission of messages to the air: a queue of half-duplex radios, and receivers that listen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter

from netsim.channels.sleep import Rhythm
from netsim.links.link import ASLEEP, BUSY, OFF, OUTAGE, Report, Transmission
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.repeated_broadcast import BroadcastRounds
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.resource_blocks import Gain
from netsim.units import linear_to_db


@dataclass(slots=True, eq=False)
class QueuedMessage:
    """A message that needs radios: a unicast both ends', a broadcast its sender's.

    Attributes
    ----------
    group : sequence of Transmission
        One for each receiver; a unicast has one.
    radios : (int, int)
        Nodes whose radios it needs to start, the sender first; twice the sender for a broadcast,
        and for a unicast that does not occupy its receiver's radio.
    broadcast : bool
    rounds : BroadcastRounds or None
        Of a broadcast of which a further round is to be sent.
    left_queue : bool
        Whether it has started or was given up.
    order : int
        Its place in the order of arrival.
    """

    group: Sequence[Transmission]
    radios: tuple[int, int]
    broadcast: bool
    rounds: BroadcastRounds | None = None
    left_queue: bool = False
    order: int = 0


class RadioQueue:
    """First-come, first-served queue of half-duplex radios.

    A message waits in the line of each radio that it needs. Of those whose radios are all free the
    oldest goes first, so a busy peer holds up no other message, and nothing can deadlock.

    Parameters
    ----------
    nodes : int
    limit : int or None
        How many messages may wait at a sender; None: any number.

    Attributes
    ----------
    free : list of bool
        By node, whether its radio is free. Whoever starts a message takes its radios.
    waiting : list of deque of QueuedMessage
        By radio, the line of messages that wait for it, those among them that wait no more, too.
    limit : int or None
    """

    def __init__(self, nodes: int, limit: int | None) -> None:
        self.free = [True] * nodes
        self.waiting: list[deque[QueuedMessage]] = [deque() for _ in range(nodes)]
        self._order = 0
        self.limit = limit

    def is_full(self, sender: int) -> bool:
        """Return whether a sender's queue is full."""
        return self.limit is not None and len(self.waiting_from(sender)) >= self.limit

    def change_needs(self, receivers: bool, flights: Iterable[Flight]) -> Iterator[QueuedMessage]:
        """Set whether messages take their receivers' radios.

        Parameters
        ----------
        receivers : bool
            Whether they do.
        flights : iterable of Flight
            Those on the air, which take those of receivers whose radios are free.

        Yields
        ------
        QueuedMessage
            Those that can start now, oldest first; each has to take its radios before the next one
            is asked for.
        """
        for flight in flights:
            for node in (r.tx.dst for r in flight.receptions if r.unreachable is None):
                if receivers and self.free[node]:
                    self.free[node] = False
                    flight.radios.append(node)
                elif not receivers and node in flight.radios and node != flight.src:
                    self.free[node] = True
                    flight.radios.remove(node)
        waiting = {id(m): m for line in self.waiting for m in line if not m.left_queue}
        for line in self.waiting:
            line.clear()
        for message in sorted(waiting.values(), key=attrgetter("order")):
            if not message.broadcast:
                src, dst = message.radios[0], message.group[0].dst
                message.radios = (src, dst if receivers else src)
            for radio in dict.fromkeys(message.radios):
                self.waiting[radio].append(message)
        yield from self._ready_messages(range(len(self.free)))

    def add(self, message: QueuedMessage) -> None:
        """Let a message wait for its radios."""
        self._order += 1
        message.order = self._order
        for radio in dict.fromkeys(message.radios):
            self.waiting[radio].append(message)

    def waiting_from(self, sender: int) -> list[QueuedMessage]:
        """The messages of a sender that wait, oldest first."""
        return [q for q in self.waiting[sender] if q.radios[0] == sender and not q.left_queue]

    def release(self, radios: Sequence[int]) -> Iterator[QueuedMessage]:
        """Free the radios of some nodes; yield the messages that can start now, oldest first.

        Each one has to take its radios before the next one is asked for.
        """
        for radio in radios:
            self.free[radio] = True
            line = self.waiting[radio]
            while line and line[0].left_queue:
                line.popleft()
        yield from self._ready_messages(radios)

    def _ready_messages(self, radios: Sequence[int]) -> Iterator[QueuedMessage]:
        """Yield the messages at some radios that can start, oldest first."""
        while (message := self._oldest_ready(radios)) is not None:
            message.left_queue = True
            yield message

    def _oldest_ready(self, radios: Sequence[int]) -> QueuedMessage | None:
        """The oldest message that waits for one of some radios and can start; None: none can."""
        free, first = self.free, None
        for radio in radios:
            if not free[radio]:
                continue
            for message in self.waiting[radio]:
                one, other = message.radios
                if free[one] and free[other] and not message.left_queue:
                    if first is None or message.order < first.order:
                        first = message
                    break
        return first


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
        """Reception of a unicast whose receiver's radio is known to be free."""
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
        known: Sequence[Gain] = snrs
        if not channel.is_known_now:
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
