"""Rows that several nodes send at the same time, so that their receiver gets the sum."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from netsim.learning.refs import Ref
from netsim.messaging.message import Message


class Analogue(Message):
    """Base of what is sent as analogue symbols, together with those of other nodes."""

    over_the_air: ClassVar[bool] = True


@dataclass(frozen=True)
class OverTheAir(Analogue):
    """A row of numbers sent as analogue symbols, together with those of other nodes.

    A radio holds it until `senders` of them wait for one receiver, or the first has waited
    `wait_s`, and then sends all of them at once (`netsim.links.radio.superposition`). The receiver
    hands what it got to `node.superposed`, and reads the rows in no other way.

    Attributes
    ----------
    row : Ref
        (D,) values.
    truncation : float
        g_th: what meets a smaller power gain of the fading than this is not sent, 0 or more.
    senders : int
        Number of nodes that are to send together.
    wait_s : float
        Time for which the first of them waits for the last [s].
    """

    row: Ref
    truncation: float
    senders: int
    wait_s: float


@dataclass(frozen=True)
class Energies(Analogue):
    """Shares of the energy of a frame that a sender gives to its symbols.

    A radio holds it for `wait_s` after the first one that any node sends, and then sends all at
    once, in one frame for all who listen (`netsim.links.radio.noncoherent`). A listener hands what
    it got to `node.superposed`, and reads the rows in no other way.

    Attributes
    ----------
    row : Ref
        (M,) shares of the energy, not negative, of sum 1.
    reference_snr : float
        Mean SNR, linear, that counts as a weight of 1.
    wait_s : float
        Time for which the first sender waits for others [s].
    """

    row: Ref
    reference_snr: float
    wait_s: float


class Superposed(NamedTuple):
    """Reception of one sender's row in a frame; the mask of its `Received`.

    Attributes
    ----------
    frame : (int, int)
        Receiver, and number of the frame among its.
    noise : float
        Standard deviation of the receiver noise over the amplitude of a symbol.
    symbols : int
        Symbols on each resource block in a coherence block.
    sent : tuple of tuple of bool
        By coherence block and resource block: whether the channel was good enough.
    """

    frame: tuple[int, int]
    noise: float
    symbols: int
    sent: tuple[tuple[bool, ...], ...]

    @property
    def share(self) -> float:
        """Share of the blocks in which it was sent."""
        flags = [ok for row in self.sent for ok in row]
        return float(sum(flags) / len(flags))


class HeardEnergy(NamedTuple):
    """Reception of one sender's symbols in a frame of `Energies`; the mask of its `Received`.

    Attributes
    ----------
    frame : (int, int)
        Receiver, and number of the frame in the network.
    snr : float
        Mean SNR, linear.
    symbols : int
        Symbols on each resource block in a coherence block.
    gains : tuple of tuple of float
        Power gains by coherence block and resource block.
    """

    frame: tuple[int, int]
    snr: float
    symbols: int
    gains: tuple[tuple[float, ...], ...]
