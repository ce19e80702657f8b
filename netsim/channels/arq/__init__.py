"""One arq model a file; the file's name is its `kind` in a scenario.

A message of M packets is simulated as a whole. What is drawn is the number of attempts and which
packets got through, with the distribution that simulating every attempt would have: a negative
binomial or multinomial draw takes the place of thousands of events.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.registry import Component


class Segment(NamedTuple):
    """A stretch of time over which the link does not change.

    Attributes
    ----------
    attempts : int or None
        How many attempts it has room for; None for one that never ends.
    per : float
        Probability that an attempt fails, in [0, 1].
    """

    attempts: int | None
    per: float


class Transfer(NamedTuple):
    """What became of a message.

    Attributes
    ----------
    attempts : list of int
        Attempts made in each segment that was consumed, in order. All but the last are full.
    delivered : int
        Packets that arrived.
    lost : int
        Packets that were given up. Where the segments ran out, or the message was given up, the
        packets that were not settled are neither delivered nor lost.
    complete : bool
        Whether every packet arrived.
    arrived : ndarray of bool, shape (packets,), or None
        Which packets arrived, in sending order; None unless asked for.
    """

    attempts: list[int]
    delivered: int
    lost: int
    complete: bool
    arrived: NDArray[np.bool_] | None


Decode = Callable[[float], float]
"""Linear SNR -> probability that a packet can't be decoded from it."""


class Sending(ABC):
    """A message under way: attempts are drawn a segment at a time, and the last can be taken back.

    Attributes
    ----------
    packets : int
    """

    packets: int

    @property
    @abstractmethod
    def delivered(self) -> int:
        """Packets that arrived so far."""

    @property
    @abstractmethod
    def lost(self) -> int:
        """Packets that were given up so far."""

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether nothing is left to send."""

    @abstractmethod
    def attempt(
        self,
        rng: np.random.Generator,
        room: int | None,
        per: float,
        snr: float = 0.0,
        ruined: float = 0.0,
    ) -> int:
        """Attempts made in a segment: all there is room for, or the rest.

        Parameters
        ----------
        rng, room, per
            See `Segment`.
        snr : float
            Signal-to-noise ratio of an attempt, linear; read where attempts are combined.
        ruined : float
            Probability that an attempt is lost whatever its SNR, of which `per` is made, too;
            read where attempts are combined.
        """

    @abstractmethod
    def rewind(self, rng: np.random.Generator, used: int) -> None:
        """Undo the last `attempt` but for its first `used` attempts, in [0, what it returned].

        What these brought is drawn given what all of them brought, so it is as if every attempt
        had been drawn in turn. Once per `attempt`.
        """

    @abstractmethod
    def arrived(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Which packets arrived, in sending order; for one that was begun with `want_mask`."""

    @abstractmethod
    def copy(self) -> "Sending":
        """The same message at the same point."""


class Arq(Component):
    """What a sender does about lost packets.

    Packets are sent one after the other, each until it is through or given up.

    Attributes
    ----------
    acknowledged : bool
        Whether the sender learns what arrived.
    gives_up : bool
        Whether the first packet that is lost ends the message.
    combines : bool
        Whether the receiver keeps what it could not decode, so that attempts help each other.
    """

    acknowledged: ClassVar[bool]
    gives_up: ClassVar[bool] = False
    combines: ClassVar[bool] = False

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """Attempts at one packet, the first included; None: any number."""

    @abstractmethod
    def begin(self, packets: int, want_mask: bool = False, decode: Decode | None = None) -> Sending:
        """A message of so many packets, at least 1, of which none has been sent.

        Parameters
        ----------
        packets : int
        want_mask : bool
            Whether to keep which packets arrive. Counts do not depend on it.
        decode : callable or None
            What combined attempts make of their SNR; None: attempts fail independently.
        """

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Send one message.

        Parameters
        ----------
        rng : numpy.random.Generator
            The message's own stream; left alone while every `per` met is 0 or 1.
        packets, want_mask
            See `begin`.
        segments : iterable of Segment
            Taken one at a time, as far as needed; may be endless. Their boundaries must not
            depend on this message's own outcomes. Where they end, the message ends unfinished:
            that is how a deadline is told.

        Returns
        -------
        Transfer
            A message that never ends in endlessly many segments of `per` 1 does not return:
            bound the segments by a deadline.
        """
        sending = self.begin(packets, want_mask)
        attempts: list[int] = []
        for room, per in segments:
            attempts.append(sending.attempt(rng, room, per))
            if sending.over or room is None:
                break
        arrived = sending.arrived(rng) if want_mask else None
        delivered = sending.delivered
        return Transfer(attempts, delivered, sending.lost, delivered == packets, arrived)
