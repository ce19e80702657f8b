"""What every link has in common: a transmission, and what becomes of it.

A link moves messages in virtual time and knows nothing of learning. It ends each transmission
once, with one outcome, through `Link.finish`; delivery and the sender's report follow from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netsim.clock import Clock
from netsim.messaging.message import Message
from netsim.recording.recorder import Recorder
from netsim.traces.contacts import Meetings
from netsim.units import NS_PER_S

if TYPE_CHECKING:
    from netsim.devices.energy.meter import Meter

DELIVERED = "delivered"
PARTIAL = "partial"
OUTAGE = "outage"
RETRIES = "retries"
DEADLINE = "deadline"
BUSY = "busy"
COLLISION = "collision"
OFF = "off"
ASLEEP = "asleep"
ARRIVED = frozenset({DELIVERED, PARTIAL})


@dataclass(slots=True, eq=False)
class Transmission:
    """One message on its way to one receiver.

    Attributes
    ----------
    bits : int
        Size on the air, headers of the link excluded.
    round : int
        The sender's wake-up number.
    request : tuple of int or None
        (asking node, serial) of the request that this is, or that this answers.
    reply : bool
        Whether it answers `request`.
    patience_ns : int or None
        How long it may wait for radios or wires to become free; None: as long as it takes.
    tag : object
        What the exchange that it belongs to is known by; None outside exchanges.
    carries_values : bool
        Whether the message holds any Ref.
    done : callable
        Called once with (transmission, outcome, arrived mask or None).
    """

    src: int
    dst: int
    message: Message
    bits: int
    carries_values: bool
    round: int
    sent_ns: int
    done: Callable[[Transmission, str, Any], None]
    request: tuple[int, int] | None = None
    reply: bool = False
    patience_ns: int | None = None
    tag: Any = None


Report = tuple[Transmission, str, int, int, float | None, Any]
"""The arguments of `Link.finish`: outcome, attempts, packets lost, SNR in dB, mask."""


class Link(ABC):
    """Base of the links.

    Parameters
    ----------
    env : Clock
        The virtual clock, in nanoseconds.
    recorder : Recorder
    nodes : int
    ttl_ns : int or None
        A message that has not arrived this long after it was sent is given up.

    Attributes
    ----------
    in_flight : int
        Transmissions that have not ended.
    off : set of int
        Nodes that are switched off: they neither send nor receive.
    bits_sent : list of int
        Per node, counted as in the log: once per receiver, if it went on the air.
    meter : Meter
        Is told what the radios do.
    """

    acknowledged: bool
    """Whether a sender learns what became of a unicast."""

    control_bits: int
    """Size of a message that carries nothing else."""

    discovery: str = "oracle"
    """`oracle`: a node knows whom it reaches; `probe`: it has to ask."""

    broadcast_acknowledged: bool = False
    """Whether it learns that of a broadcast, too."""

    probe_window_s: float = 0.0

    meetings: Meetings | None = None
    """When pairs are in contact; None: always. A transmission under way when one ends is lost."""

    meter: Meter
    """Set when the link is opened: it switches nodes off that the link has to know of."""

    def __init__(self, env: Clock, recorder: Recorder, nodes: int, ttl_ns: int | None) -> None:
        self.env = env
        self.recorder = recorder
        self.bits_sent = [0] * nodes
        self.ttl_ns = ttl_ns
        self.in_flight = 0
        self.off: set[int] = set()

    def longest_wait_ns(self, tx: Transmission) -> int | None:
        """How long a transmission may wait before it starts."""
        if tx.patience_ns is None or self.ttl_ns is None:
            return self.ttl_ns if tx.patience_ns is None else tx.patience_ns
        return min(tx.patience_ns, self.ttl_ns)

    @abstractmethod
    def unicast(self, tx: Transmission) -> None:
        """Start or queue a transmission to one receiver."""

    def unicasts(self, group: Sequence[Transmission]) -> None:
        """The same for several, none of them a request or a reply."""
        for tx in group:
            self.unicast(tx)

    @abstractmethod
    def broadcast(self, group: Sequence[Transmission]) -> None:
        """Start or queue one message for several receivers."""

    def switched(self, node: int, on: bool) -> None:
        """A node is switched on or off; off ends what it sends and receives as `off`.

        A link that ends transmissions early extends this.
        """
        if on:
            self.off.discard(node)
        else:
            self.off.add(node)

    def meet(self, meetings: Meetings | None) -> None:
        """Nodes are in contact as a trace says."""
        self.meetings = meetings

    def contact_ns(self, tx: Transmission) -> int | None:
        """How long the two ends of a transmission stay in contact; 0: they are not; None: ever."""
        if self.meetings is None:
            return None
        return self.meetings.left_ns(tx.src, tx.dst, self.env.now)

    @abstractmethod
    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        """Those of `others` that are in reach of `src` at this instant."""

    def finish(
        self,
        tx: Transmission,
        outcome: str,
        attempts: int = 1,
        packets_lost: int = 0,
        snr_db: float | None = None,
        arrived: Any = None,
    ) -> None:
        """Record what became of a transmission and tell whoever waits for it."""
        now = self.env.now
        self.in_flight -= 1
        if self.off and outcome in ARRIVED and not self.off.isdisjoint((tx.src, tx.dst)):
            outcome, arrived = OFF, None
        if attempts:
            self.bits_sent[tx.src] += tx.bits
        self.recorder.message(
            tx.sent_ns,
            now,
            tx.src,
            tx.dst,
            type(tx.message).__name__,
            tx.bits,
            attempts,
            packets_lost,
            snr_db,
            outcome,
            tx.round,
            (now - tx.sent_ns) / NS_PER_S if outcome in ARRIVED else None,
        )
        tx.done(tx, outcome, arrived)
