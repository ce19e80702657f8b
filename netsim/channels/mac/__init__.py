"""One medium access rule a file; the file's name is its `kind` in a scenario.

A rule says what other senders do to an attempt at a packet. Messages are sampled as a whole, so it
gives means: a factor on the attempt's time, a wait added to it, a probability that it is lost in a
collision. They hold until a sender starts or stops. Where `interferes` is set, their power is noise
as well: `netsim.links.radio.phy.background` has it as a function of time.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.registry import Component
from netsim.rng import Streams


class Share(NamedTuple):
    """Share that a message has of a band that others use, too.

    Attributes
    ----------
    part : float
        Of the band, in [0, 1].
    subchannels : (K,) bool array or None
        Which ones; None where it has none.
    until_ns : int or None
        When that may next change; None: nothing says that it does.
    """

    part: float
    subchannels: NDArray[np.bool_] | None = None
    until_ns: int | None = None

    def of(self, snr: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Select the SNRs of the blocks in its sub-channels; the SNR of a band stays as it is."""
        if self.subchannels is None or isinstance(snr, float):
            return snr
        parts = np.array_split(snr, len(self.subchannels))
        return np.concatenate([p for p, its in zip(parts, self.subchannels, strict=True) if its])


WHOLE = Share(1.0)
"""All of the band."""


class Shares(ABC):
    """Shares of one message as a function of time."""

    @abstractmethod
    def at(self, time_ns: int) -> Share:
        """Return the share of the message at an instant."""


class Medium(NamedTuple):
    """Effect of the other senders on an attempt, but for their power as noise.

    Attributes
    ----------
    slowdown : float
        Factor on an attempt's time, because others have a share of the medium.
    wait_ns : float
        Added to an attempt's time.
    collision : float
        Probability that an attempt is lost in a collision, whatever the SNR.
    transmissions : float
        How often a packet is sent in what counts as one attempt, for the sender's airtime.
    shares : Shares or None
        Shares of the band, where they change with the channel; None: `slowdown` says all.
    by_attempt : tuple of float or None
        `collision` of the first, second, ... attempt at a packet, where they differ.
    """

    slowdown: float = 1.0
    wait_ns: float = 0.0
    collision: float = 0.0
    transmissions: float = 1.0
    shares: Shares | None = None
    by_attempt: tuple[float, ...] | None = None

    def transmit_share(self, attempt_ns: float) -> float:
        """Share of an attempt's time in which its sender transmits, in [0, 1]."""
        if attempt_ns <= 0.0 or (self.slowdown == 1.0 and self.wait_ns == 0.0):
            return 1.0
        alone_ns = (attempt_ns - self.wait_ns) / self.slowdown
        return self.transmissions * alone_ns / attempt_ns


ALONE = Medium()
"""No other sender has any effect."""


class Turns(NamedTuple):
    """The slots of a sender that has one at the beginning of every frame.

    Attempts are drawn in spread time, in which each takes `slots` times as long, as if they were
    sent without a break at one `slots`-th of the rate. In true time they are sent in the slots.

    Attributes
    ----------
    slot_ns : float
        Length of a slot [ns].
    slots : int
        Slots of a frame.
    """

    slot_ns: float
    slots: int

    def elapsed_ns(self, spread_ns: float) -> float:
        """Convert spread time since a sender's first slot into elapsed time [ns].

        The end of a slot is meant where it is reached, not the beginning of the next one; half a
        nanosecond is forgiven.
        """
        frame_ns = self.slots * self.slot_ns
        before = max(0, math.ceil((spread_ns - 0.5 * self.slots) / frame_ns) - 1)
        sent_ns = (spread_ns - before * frame_ns) / self.slots
        return before * frame_ns + min(max(0.0, sent_ns), self.slot_ns)

    def spread_ns(self, elapsed_ns: float) -> float:
        """Convert elapsed time since a sender's first slot into spread time [ns]."""
        frame_ns = self.slots * self.slot_ns
        before, within_ns = divmod(elapsed_ns, frame_ns)
        return before * frame_ns + min(within_ns, self.slot_ns) * self.slots


Hearing = Callable[[int, int], NDArray[np.float64]]
"""(sender, time [ns]) -> mean power that each node receives from it [dBm]; shape (N,)."""


class Reservations(ABC):
    """Times and places at which nodes may send, by a rule that remembers what it has heard."""

    @abstractmethod
    def begins_ns(self, src: int, ready_ns: float, packet_ns: float) -> float:
        """Time at which a node sends its next packet.

        Parameters
        ----------
        src : int
        ready_ns : float
            From when on it could be.
        packet_ns : float
            Its time on the air.
        """

    @abstractmethod
    def begun(self, src: int, time_ns: int) -> int:
        """Take note that a node sends now; returns in which sub-channel."""


def distance_among(
    nodes: Sequence[int], distance_m: Callable[[int, int, int], float] | None
) -> Callable[[int, int, int], float] | None:
    """The distance between two of some nodes, as a function of (place, place, time in ns).

    Parameters
    ----------
    nodes : sequence of int
        Ids, by place.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    """
    if distance_m is None:
        return None
    return lambda one, other, time_ns: distance_m(nodes[one], nodes[other], time_ns)


class Mac(Component):
    """Rule of access to the medium.

    Attributes
    ----------
    exclusive : bool
        Whether a message takes its sender's and its receiver's radio until it has ended. If not,
        senders share the medium packet by packet: each sends its own messages one after the
        other, and no receiver is ever busy.
    senses : bool
        Whether a sender listens before it talks, so that only those in its range wait for it.
    interferes : bool
        Whether the power of other senders adds to the noise; where senders contend, that of those
        out of each other's range.
    contends : bool
        Whether `medium` depends on how many in range have something to send.
    random_access : bool
        Whether packets begin at random times (`begins_ns`), and are lost where they overlap.
    reserves : bool
        Whether senders reserve sub-channels (`reservations`), in which powers add up.
    has_base_stations : bool
        Whether nodes of role `server` are base stations: they send any number of messages at a
        time.
    range_key : str
        The key of `range_m` in a scenario.
    assumes : str or None
        A limit of the model that a reader of results has to know; None: none.
    """

    exclusive: ClassVar[bool]
    senses: ClassVar[bool] = False
    interferes: ClassVar[bool] = False
    contends: ClassVar[bool] = False
    random_access: ClassVar[bool] = False
    reserves: ClassVar[bool] = False
    has_base_stations: ClassVar[bool] = False
    range_key: ClassVar[str] = "carrier_sense_m"
    assumes: ClassVar[str | None] = None

    @abstractmethod
    def medium(self, contenders: int, nodes: int) -> Medium:
        """Return the effect of others on each attempt of a sender.

        Parameters
        ----------
        contenders : int
            How many senders in range have something to send, this one included.
        nodes : int
            Number of nodes.
        """

    @property
    def one_channel(self) -> bool:
        """Return whether all nodes listen to one channel, and so hear messages for others."""
        return self.interferes or self.contends

    def slot_of_each(
        self, nodes: int, distance_m: Callable[[int, int, int], float] | None
    ) -> Sequence[int]:
        """The slot of each node in a frame: one of its own, unless a rule lets several share it.

        Parameters
        ----------
        nodes : int
            Number of nodes.
        distance_m : callable or None
            (node, node, time in ns) -> distance in m; None where nodes have no places.

        Returns
        -------
        sequence of int
            Each from 0 to one less than there are slots.
        """
        return range(nodes)

    def require_slots(
        self, nodes: int, distance_m: Callable[[int, int, int], float] | None
    ) -> None:
        """Raise ScenarioError if a frame has fewer slots than nodes need; see `slot_of_each`."""

    def wait_ns(self, node: int, nodes: int, time_ns: int) -> int:
        """Return the time [ns] until the turn of a sender whose message could start now.

        Parameters
        ----------
        node : int
            The slot of its sender, see `slot_of_each`.
        nodes : int
            How many slots nodes have.
        time_ns : int
            Now.

        Returns
        -------
        int
            In ns; 0 unless a rule says otherwise.
        """
        return 0

    def begins_ns(self, ready_ns: float, packet_ns: float, draw: float) -> float:
        """Time at which a packet is sent, under random access.

        Parameters
        ----------
        ready_ns : float
            From when on it could be.
        packet_ns : float
            Its time on the air.
        draw : float
            Uniform on [0, 1).
        """
        return ready_ns

    def silence_ns(self, packet_ns: float) -> float:
        """Silence of a sender after a packet of a length, under random access [ns]."""
        return 0.0

    def reservations(self, nodes: int, streams: Streams, hearing: Hearing) -> Reservations | None:
        """Reservations of all senders, under random access; None: they reserve nothing.

        Parameters
        ----------
        nodes : int
            Number of nodes.
        streams : Streams
            The only randomness.
        hearing : callable
            Who hears whom how well.
        """
        return None

    @property
    def shares_change(self) -> bool:
        """True if messages get other shares of the band from one coherence block to the next."""
        return False

    @property
    def plays_all(self) -> bool:
        """True if messages of any size are played packet by packet, under random access."""
        return False

    def turns(self, nodes: int) -> Turns | None:
        """The slots in which a sender's attempts are made; None: it may send at any time.

        `nodes` is how many slots nodes have.
        """
        return None

    @property
    def range_m(self) -> float | None:
        """Range in which senders take account of each other [m]; None: all senders are in it."""
        return None

    @property
    def noticed_in_time(self) -> bool:
        """Return whether one that listens notices another one before its own next slot."""
        return True

    @property
    def of_means(self) -> str:
        """The keys that count where means are taken, message by message; empty: none."""
        return ""
