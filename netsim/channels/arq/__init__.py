"""Retransmission (automatic repeat request); one model a file, named as its `kind` in a scenario.

A message of M packets is sampled as a whole: the number of attempts and which packets got through,
with the distribution that sampling every attempt would have. A negative binomial or multinomial
draw takes the place of thousands of events.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels.block import ChannelBlock
from netsim.registry import Component


class Transfer(NamedTuple):
    """Outcome of a message.

    Attributes
    ----------
    attempts : list of int
        Attempts made in each block that was entered, in order; all that fit in all but the last.
    delivered : int
        Packets that arrived.
    lost : int
        Packets that were given up. Packets that are still to be sent where the blocks end, or the
        message is given up, are neither delivered nor lost.
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
"""Linear SNR -> probability that a packet can't be decoded."""


class Sending(ABC):
    """A message under way: attempts are sampled a block at a time, the last block can be undone.

    Attributes
    ----------
    packets : int
        Of the message.
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
    def is_done(self) -> bool:
        """Return whether nothing is left to send."""

    @abstractmethod
    def attempt(
        self,
        rng: np.random.Generator,
        room: int | None,
        per: float,
        snr: float = 0.0,
        erasure: float = 0.0,
        by_attempt: tuple[float, ...] | None = None,
    ) -> int:
        """Sample the attempts in a block: as many as there is room for, or as are needed.

        Parameters
        ----------
        rng : numpy.random.Generator
            The message's own stream.
        room : int or None
            How many attempts the block has room for; None: any number.
        per : float
            Probability that an attempt fails, in [0, 1].
        snr : float
            SNR of an attempt, linear; read where attempts are combined.
        erasure : float
            Part of `per`: probability that an attempt fails whatever its SNR; read where attempts
            are combined.
        by_attempt : tuple of float or None
            Probabilities that the first, second, ... attempt at a packet fails, where they differ:
            take the place of `per`, their mean, where attempts are limited and not combined.

        Returns
        -------
        int
            How many attempts were made.
        """

    @abstractmethod
    def rewind(self, rng: np.random.Generator, used: int) -> None:
        """Undo the last `attempt` but for its first `used` attempts, in [0, what it returned].

        Their successes are drawn given those of all its attempts, so it is as if every attempt had
        been drawn in turn. At most once per `attempt`.
        """

    @abstractmethod
    def arrived(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Mask of packets that arrived, in sending order: (packets,); only with `want_mask`."""

    @abstractmethod
    def copy(self) -> "Sending":
        """A copy, which goes on independently."""


class Arq(Component):
    """Reaction of a sender to lost packets: base of the models.

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
        """Begin a message, of which no packet has been sent.

        Parameters
        ----------
        packets : int
            At least 1.
        want_mask : bool
            Whether to keep which packets arrive. Counts do not depend on it.
        decode : callable or None
            Sum of the SNRs of combined attempts, linear -> probability that they can't be decoded;
            None: attempts fail independently.

        Returns
        -------
        Sending
        """

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        blocks: Iterable[ChannelBlock],
        want_mask: bool = False,
    ) -> Transfer:
        """Send one message.

        Parameters
        ----------
        rng : numpy.random.Generator
            The message's own stream; nothing is drawn while every `per` is 0 or 1.
        packets, want_mask
            See `begin`.
        blocks : iterable of ChannelBlock
            Taken one at a time, as far as needed; may be endless. Their boundaries must not
            depend on this message's own outcomes. Where they end, so does the message, unfinished:
            that is how to impose a deadline.

        Returns
        -------
        Transfer
            With endlessly many blocks of `per` 1 this does not return: bound them by a deadline.
        """
        sending = self.begin(packets, want_mask)
        attempts: list[int] = []
        for block in blocks:
            each = block.by_attempt
            attempts.append(sending.attempt(rng, block.attempts, block.per, by_attempt=each))
            if sending.is_done or block.attempts is None:
                break
        arrived = sending.arrived(rng) if want_mask else None
        delivered = sending.delivered
        return Transfer(attempts, delivered, sending.lost, delivered == packets, arrived)


_EXACT = 10**9
"""NumPy draws hypergeometric numbers from populations up to this size."""


def among_first(rng: np.random.Generator, used: int, attempts: int, marked: int) -> int:
    """Sample how many of some marked attempts are among the first ones.

    Every order is equally likely, so it is hypergeometric. Of more than 1e9 attempts it is drawn
    as binomial, which errs by less than `marked` / 1e9.

    Parameters
    ----------
    rng : numpy.random.Generator
    used : int
        How many are the first ones.
    attempts : int
        How many there are.
    marked : int
        How many of them are marked, such as successful.

    Returns
    -------
    int
        In [0, min(used, marked)].
    """
    if used >= attempts or marked == 0:
        return marked
    if marked == attempts:
        return used
    if attempts < _EXACT:
        return int(rng.hypergeometric(marked, attempts - marked, used))
    return int(rng.binomial(marked, used / attempts))
