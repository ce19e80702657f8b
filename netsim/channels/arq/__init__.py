"""One arq model a file; the file's name is its `kind` in a scenario.

A message of M packets is simulated as a whole. What is drawn is the number of attempts and which
packets got through, with the distribution that simulating every attempt would have: a negative
binomial or multinomial draw takes the place of thousands of events.
"""

from abc import abstractmethod
from collections.abc import Iterable
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


class Arq(Component):
    """What a sender does about lost packets.

    Packets are sent one after the other, each until it is through or given up.

    Attributes
    ----------
    acknowledged : bool
        Whether the sender learns what arrived.
    """

    acknowledged: ClassVar[bool]

    @abstractmethod
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
        packets : int
            Packets in the message, at least 1.
        segments : iterable of Segment
            Taken one at a time, as far as needed; may be endless. Their boundaries must not
            depend on this message's own outcomes. Where they end, the message ends unfinished:
            that is how a deadline is told.
        want_mask : bool
            Whether to report which packets arrived. Counts do not depend on it.

        Returns
        -------
        Transfer
            A message that never ends in endlessly many segments of `per` 1 does not return:
            bound the segments by a deadline.
        """
