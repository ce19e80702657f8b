"""Interface of all links: a transmission, its outcomes, and its end.

A link moves messages in virtual time and knows nothing of learning. It ends each transmission once,
with one outcome, through `PhysicalLink.finish`, which records it and tells the receiver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.messaging.latest_messages import Tag, Taker, put_to_all
from netsim.messaging.message import Envelope
from netsim.recording.recorder import Recorder
from netsim.recording.schema import MessageRow
from netsim.traces.contacts import Meetings
from netsim.units import NS_PER_S

DELIVERED = "delivered"
PARTIAL = "partial"
OUTAGE = "outage"
RETRIES = "retries"
DEADLINE = "deadline"
BUSY = "busy"
COLLISION = "collision"
OFF = "off"
ASLEEP = "asleep"
WITHDRAWN = "withdrawn"
ARRIVED = frozenset({DELIVERED, PARTIAL})

_message_row = partial(tuple.__new__, MessageRow)
"""`MessageRow` of a tuple of all its fields, in half the time; there is one for every message."""

NO_BAND = (
    "allocate: messages of servers go over wires, which have no band to divide; write [radio] "
    'without [link], and [radio.mac] kind = "ofdma"'
)


class Transmission:
    """One message on its way to one receiver.

    Parameters
    ----------
    envelope : Envelope
        The message; one for all receivers of one sending.
    dst : int
        The receiver.
    done : callable
        Called once with (transmission, outcome, mask of the packets that arrived or None).

    Attributes
    ----------
    src : int
        The sender.
    """

    __slots__ = ("done", "dst", "envelope", "src")

    set_costs: Callable[[int, int, float | None, int], None] | None = None
    """Takes attempts, packets lost, SNR and bits of one that is no row of its own."""

    def __init__(
        self, envelope: Envelope, dst: int, done: Callable[[Transmission, str, Any], None]
    ) -> None:
        self.envelope, self.src, self.dst, self.done = envelope, envelope.src, dst, done


Delivery = Callable[[Transmission, str, Any], None]
"""Reaction of a receiver to the end of a transmission: (transmission, outcome, mask or None)."""

Sending = tuple[Envelope, Sequence[int]]
"""A message and its receivers, one or more."""


class Deliveries(list[Delivery]):
    """Deliveries by receiver.

    Attributes
    ----------
    takers : dict of Tag to dict of int to Taker
        By exchange and receiver, those that take its messages directly; see `LatestMessages`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.takers: dict[Tag, dict[int, Taker]] = {}

    def of_all(self, envelope: Envelope, receivers: Sequence[int], outcome: str) -> None:
        """End a transmission that ends alike, and not in part, at several receivers.

        Parameters
        ----------
        envelope : Envelope
        receivers : sequence of int
            One or more.
        outcome : str
        """
        takers = self.takers.get(envelope.tag)
        if takers is not None and outcome in ARRIVED:
            receivers = put_to_all(takers, envelope, receivers)
        for dst in receivers:
            self[dst](Transmission(envelope, dst, self[dst]), outcome, None)


def transmissions(
    sendings: Iterable[Sending], deliveries: Sequence[Delivery]
) -> list[Transmission]:
    """Transmissions of messages to each of their receivers, by whom they are delivered."""
    return [
        Transmission(envelope, dst, deliveries[dst])
        for envelope, receivers in sendings
        for dst in receivers
    ]


Report = tuple[Transmission, str, int, int, float | None, Any]
"""The arguments of `PhysicalLink.finish`: what became of a transmission."""


class Link(ABC):
    """Link over which nodes send their messages.

    Attributes
    ----------
    acknowledged : bool
        Whether a sender learns the outcome of a unicast.
    broadcast_acknowledged : bool
        Whether it learns the outcomes of a broadcast, too.
    control_bits : int
        Size of a message without payload.
    discovery : {"oracle", "probe"}
        `oracle`: a node knows whom it reaches; `probe`: it has to ask, with a message.
    probe_window_s : float
        How long it then waits for answers.
    off : set of int
        Nodes that are switched off; kept by `netsim.devices.availability`.
    has_parts : bool
        Whether other links carry its messages, which `between` tells apart.
    """

    acknowledged: bool
    broadcast_acknowledged: bool = False
    control_bits: int
    discovery: str = "oracle"
    probe_window_s: float = 0.0
    off: AbstractSet[int]
    has_parts: bool = False

    def between(self, src: int, dst: int) -> Link:
        """The link that carries messages from one node to another: this one, or a part of it."""
        return self

    @property
    @abstractmethod
    def in_flight(self) -> int:
        """Number of transmissions that have not ended."""

    @abstractmethod
    def bits_transmitted_by(self, node: int) -> int:
        """Bits of a node's transmissions that have ended, headers and retransmissions included."""

    def airtime_ahead_ns(self, now_ns: int) -> int:
        """Airtime that the recorder has been told of and that is still to come at an instant."""
        return 0

    @abstractmethod
    def unicast(self, tx: Transmission) -> None:
        """Send to one receiver: start, or wait for radio or wire."""

    def unicasts(self, group: Sequence[Transmission]) -> None:
        """Send several unicasts at once, none of them a request or a reply."""
        for tx in group:
            self.unicast(tx)

    def exchange(self, sendings: Sequence[Sending], deliveries: Deliveries) -> None:
        """Send a node's messages of one exchange, each as a unicast to each of its receivers.

        Parameters
        ----------
        sendings : sequence of Sending
        deliveries : Deliveries
        """
        self.unicasts(transmissions(sendings, deliveries))

    @abstractmethod
    def broadcast(self, group: Sequence[Transmission]) -> None:
        """Send one message to several receivers; `group` has a transmission for each."""

    @abstractmethod
    def withdraw(self, src: int, kind: type) -> int:
        """End a node's waiting messages of a class as `withdrawn`, and return their number.

        What has begun goes on: once a bit has been sent, a message takes its course.

        Parameters
        ----------
        src : int
        kind : type
            The message class.
        """

    @abstractmethod
    def waiting(self, src: int) -> int:
        """Number of a node's transmissions that wait to be sent, one for each receiver."""

    def csi(self, src: int, dst: int) -> tuple[float, float]:
        """SNR of a pair, linear, and the rate [bit/s] that its sender would choose now.

        Raises
        ------
        ProtocolError
            If it is no radio.
        """
        raise ProtocolError(
            f"csi: from node {src} to node {dst} there is a wire, which has no SNR; write [radio]"
        )

    def allocate(
        self,
        base_station: int,
        uplink: bool,
        shares: Mapping[int, float] | None,
        powers: Mapping[int, float],
    ) -> None:
        """Divide the band of a base station in one direction from now on.

        Parameters
        ----------
        base_station : int
        uplink : bool
            What it receives; else what it sends.
        shares : mapping of int to float or None
            Part of the band that each of some nodes has; None: the scheduler divides it again.
        powers : mapping of int to float
            Transmit power over the full one, of messages from or to a node that begin.

        Raises
        ------
        ProtocolError
            If the link has no such band, or it can't be divided so.
        """
        raise ProtocolError(NO_BAND)

    @abstractmethod
    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        """Select those of `others` that are in reach of `src` at this instant."""

    @abstractmethod
    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        """Time in which one message of each of some senders comes to one receiver [s].

        On an otherwise quiet network, at mean SNR, without losses. Time-outs that follow from the
        link are multiples of it.

        Parameters
        ----------
        senders : sequence of int
            Those that can never be heard take no time.
        dst : int
        bits : int
            Of each message.
        """

    @abstractmethod
    def on_switch(self, node: int, on: bool) -> None:
        """End, as `off`, what a node sends and receives when it has been switched off."""


class PhysicalLink(Link):
    """Base of the links that carry messages themselves.

    Parameters
    ----------
    env : Clock
        The virtual clock, in nanoseconds.
    recorder : Recorder
        Is told of every transmission that ends.
    nodes : int
        Number of nodes.
    ttl_ns : int or None
        A message that has not arrived this long after it was sent is given up; None: never.
    off : set of int
        Nodes that are switched off; whoever switches them keeps it and calls `on_switch`.
    meetings : Meetings or None
        When pairs are in contact; None: always. A transmission under way when a contact ends is
        lost.
    """

    def __init__(
        self,
        env: Clock,
        recorder: Recorder,
        nodes: int,
        ttl_ns: int | None,
        off: AbstractSet[int] = frozenset(),
        meetings: Meetings | None = None,
    ) -> None:
        self.env = env
        self.recorder = recorder
        self.ttl_ns = ttl_ns
        self.off = off
        self.meetings = meetings
        self._in_flight = 0
        self._bits_transmitted = [0] * nodes

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def bits_transmitted_by(self, node: int) -> int:
        return self._bits_transmitted[node]

    def count_transmitted(self, src: int, bits: int) -> None:
        """Count what a node has transmitted: once a transmission, whatever becomes of it."""
        self._bits_transmitted[src] += bits
        self.recorder.bits_transmitted += bits

    def on_switch(self, node: int, on: bool) -> None:
        """Do nothing; a link whose transmissions can be cut short extends this."""

    def is_asleep(self, node: int) -> bool:
        """True if a node hears nothing now because its radio sleeps."""
        return False

    def keep_waiting(self, more: int) -> None:
        """Count transmissions that no radio or wire has now as in flight; negative: no longer."""
        self._in_flight += more

    def longest_wait_ns(self, tx: Transmission) -> int | None:
        """Greatest wait of a transmission before it starts [ns]; None: no limit."""
        patience_ns = tx.envelope.patience_ns
        if patience_ns is None or self.ttl_ns is None:
            return self.ttl_ns if patience_ns is None else patience_ns
        return min(patience_ns, self.ttl_ns)

    def deadline_ns(self, tx: Transmission) -> int | None:
        """Return when the time to live of a transmission ends [ns], now at least; None: never."""
        return None if self.ttl_ns is None else max(self.env.now, tx.envelope.sent_ns + self.ttl_ns)

    def may_wait_ns(self, tx: Transmission) -> int | None:
        """Greatest wait from now on before it starts [ns], at a relay, too; None: no limit."""
        longest_ns, deadline_ns = self.longest_wait_ns(tx), self.deadline_ns(tx)
        if longest_ns is None or deadline_ns is None:
            return longest_ns
        return min(longest_ns, deadline_ns - self.env.now)

    def contact_ns(self, tx: Transmission) -> int | None:
        """Time for which sender and receiver stay in contact [ns]; 0: none; None: for ever."""
        if self.meetings is None:
            return None
        return self.meetings.left_ns(tx.src, tx.dst, self.env.now)

    def are_apart(self, one: int, other: int) -> bool:
        """Return whether two nodes are not in contact now."""
        return self.meetings is not None and self.meetings.left_ns(one, other, self.env.now) == 0

    def in_contact(self, group: Sequence[Transmission]) -> Sequence[Transmission]:
        """The transmissions whose ends are in contact; the others end at once as `outage`."""
        if self.meetings is None:
            return group
        apart = [tx for tx in group if self.contact_ns(tx) == 0]
        for tx in apart:
            self.env.call_after(0, self.finish, tx, OUTAGE, 0)
        return [tx for tx in group if tx not in apart]

    def propagation_ns(self, src: int, dst: int) -> int:
        """Return the time [ns] that what one node sends now is on its way to another one."""
        return 0

    def deliver(self, report: Report, bits: int = 0, wait_ns: int = 0) -> None:
        """Finish a transmission: at once, or after its propagation, which holds up no radio.

        Parameters
        ----------
        report : Report
        bits : int
            Transmitted; see `finish`.
        wait_ns : int
            Propagation of what arrives.
        """
        if not wait_ns or report[1] not in ARRIVED:
            self.finish(*report, bits)
            return
        tx, now, deadline_ns = report[0], self.env.now, self.deadline_ns(report[0])
        if deadline_ns is not None and now + wait_ns > deadline_ns:  # then it is still on its way
            wait_ns, report = deadline_ns - now, (tx, DEADLINE, *report[2:5], None)
        self.env.call_after(wait_ns, self.finish, *report, bits)

    def finish(
        self,
        tx: Transmission,
        outcome: str,
        attempts: int = 1,
        packets_lost: int = 0,
        snr_db: float | None = None,
        arrived: Any = None,
        bits_transmitted: int = 0,
    ) -> None:
        """End a transmission: record its outcome, then call its `done`.

        Parameters
        ----------
        tx : Transmission
        outcome : str
            One of the constants of this module. What arrives while sender or receiver is off
            ends as `off`.
        attempts : int
            Packet transmissions in all; 0 if it never went on the air.
        packets_lost : int
        snr_db : float or None
            Attempt-weighted linear mean in dB; None where there is none.
        arrived : ndarray of bool, shape (packets,), or None
            Which packets arrived, for a message that is of use in part.
        bits_transmitted : int
            For the log; `count_transmitted` has counted them. Those of a broadcast come with the
            first of its transmissions that ends.
        """
        if self.off and outcome in ARRIVED and not self.off.isdisjoint((tx.src, tx.dst)):
            outcome, arrived = OFF, None
        self.record(tx, outcome, attempts, packets_lost, snr_db, arrived, bits_transmitted)

    def record(
        self,
        tx: Transmission,
        outcome: str,
        attempts: int,
        packets_lost: int,
        snr_db: float | None,
        arrived: Any,
        bits_transmitted: int,
    ) -> None:
        """End a transmission as `finish` does, whoever is off now.

        Parameters
        ----------
        tx : Transmission
        outcome : str
        attempts, packets_lost : int
        snr_db : float or None
        arrived : ndarray of bool or None
        bits_transmitted : int
        """
        envelope, now = tx.envelope, self.env.now
        self._in_flight -= 1
        if tx.set_costs is not None:
            tx.set_costs(attempts, packets_lost, snr_db, bits_transmitted)
            tx.done(tx, outcome, arrived)
            return
        sent_ns, kind = envelope.sent_ns, type(envelope.message).__name__
        delay_s = (now - sent_ns) / NS_PER_S if outcome in ARRIVED else None
        row = _message_row((
            sent_ns, now, tx.src, tx.dst, kind, envelope.bits, attempts, packets_lost, snr_db,
            outcome, envelope.round, delay_s, bits_transmitted,
        ))  # fmt: skip
        first_row, fates = self.recorder.messages(row, (tx.dst,)), envelope.fates
        if fates is not None:
            if outcome in ARRIVED:
                fates.arrive((tx.dst,), first_row, now)
            elif outcome != WITHDRAWN:
                fates.uses.lost(now, 1)
        tx.done(tx, outcome, arrived)

    def finish_alike(
        self, sendings: Sequence[Sending], deliveries: Deliveries, outcome: str
    ) -> None:
        """End all messages of an exchange, as `finish` does one by one.

        Each was one attempt without headers.

        Parameters
        ----------
        sendings : sequence of Sending
        deliveries : Deliveries
        outcome : str
            Of all of them.
        """
        if self.off:
            for tx in transmissions(sendings, deliveries):
                self.count_transmitted(tx.src, tx.envelope.bits)
                self.finish(tx, outcome, 1, 0, None, None, tx.envelope.bits)
            return
        now, recorder = self.env.now, self.recorder
        for envelope, receivers in sendings:
            number, bits, src = len(receivers), envelope.bits, envelope.src
            self._in_flight -= number
            self._bits_transmitted[src] += bits * number
            recorder.bits_transmitted += bits * number
            sent_ns, kind = envelope.sent_ns, type(envelope.message).__name__
            delay_s = (now - sent_ns) / NS_PER_S if outcome in ARRIVED else None
            row = _message_row((
                sent_ns, now, src, receivers[0], kind, bits, 1, 0, None,
                outcome, envelope.round, delay_s, bits,
            ))  # fmt: skip
            first_row, fates = recorder.messages(row, receivers), envelope.fates
            if fates is not None and outcome in ARRIVED:
                fates.arrive(receivers, first_row, now)
            elif fates is not None:
                fates.uses.lost(now, number)
        for envelope, receivers in sendings:
            deliveries.of_all(envelope, receivers, outcome)
