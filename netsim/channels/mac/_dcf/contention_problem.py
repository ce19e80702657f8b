"""Senders of the DCF that are active together, and their effects on each other.

`fixed_point` solves the problem.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

PREAMBLE_S = 20e-6
"""Preamble and header of an OFDM frame: a receiver knows by then that a frame has begun."""


class Timing(Protocol):
    """Times and windows that are read from `Csma`."""

    slot_s: float
    sifs_s: float
    difs_s: float
    rts_s: float
    cts_s: float
    propagation_s: float
    eifs_s: float | None
    cw_min: int
    stages: int
    anomalous_slots: bool

    def __hash__(self) -> int: ...


class Sender(NamedTuple):
    """A sender that always has a packet.

    Attributes
    ----------
    frame_s : float
        Time of a packet, headers included [s].
    ack_s : float or None
        Time of its acknowledgement [s]; None: there is none, and it is not repeated.
    rts : bool
        Whether RTS and CTS precede it.
    limit : int or None
        Attempts at a packet; None: any number.
    error : float
        e: probability that an attempt is lost without other senders.
    unsent_s : float or None
        Time of the packet where nobody answers its RTS, which is the frame then; None: it is sent.
    """

    frame_s: float
    ack_s: float | None
    rts: bool
    limit: int | None
    error: float
    unsent_s: float | None = None

    @property
    def packet_s(self) -> float:
        """Time of the packet, be it sent or not [s]."""
        return self.frame_s if self.unsent_s is None else self.unsent_s


def exchange_s(mac: Timing, sender: Sender) -> float:
    """Time of an exchange that succeeds, from its first frame's beginning to its end [s].

    Parameters
    ----------
    mac : Csma
    sender : Sender
        Whose packet is sent, after RTS and CTS where it has them, and acknowledged where it is.
    """
    acknowledged = sender.ack_s is not None
    before_s = mac.rts_s + mac.cts_s + 2.0 * mac.sifs_s if sender.rts else 0.0
    answer_s = mac.sifs_s + (sender.ack_s or 0.0) if acknowledged else 0.0
    hops = 1.0 + acknowledged + 2.0 * sender.rts
    return before_s + sender.frame_s + answer_s + hops * mac.propagation_s


def no_answer_s(mac: Timing) -> float:
    """Time after the end of its packet at which a sender knows that no answer comes [s].

    A SIFS, a slot and the preamble by which it would have noticed one (IEEE 802.11-2020,
    10.3.2.11).

    Parameters
    ----------
    mac : Csma
    """
    return mac.sifs_s + mac.slot_s + PREAMBLE_S + 2.0 * mac.propagation_s


class Hidden(NamedTuple):
    """A sender that another one does not hear, at the receiver of that one.

    Attributes
    ----------
    sender : int
        Its index.
    earlier, later : float
        y and z: probability that the packet is lost if this sender is on the air when it begins,
        and if it begins meanwhile.
    warned : bool
        Whether it hears the CTS of that receiver, and that sender the CTS of its receiver.
    """

    sender: int
    earlier: float
    later: float
    warned: bool


class ContentionProblem(NamedTuple):
    """Senders that are active together; tuples have one entry a sender.

    Attributes
    ----------
    senders : tuple of Sender
    contenders : tuple of tuple of int
        N: whom each hears.
    lost : tuple of tuple of tuple of float
        c: by reception of each sender and by contender; () where all are 1.
    hidden : tuple of tuple of tuple of Hidden
        By reception of each sender. A unicast has one reception.
    held : tuple of (float, float)
        How likely each waits longer than a DIFS after a collision of others that it hears, as it
        finds one of their preambles, and for how much longer [s]; () where none does.
    """

    senders: tuple[Sender, ...]
    contenders: tuple[tuple[int, ...], ...]
    lost: tuple[tuple[tuple[float, ...], ...], ...]
    hidden: tuple[tuple[tuple[Hidden, ...], ...], ...]
    held: tuple[tuple[float, float], ...] = ()


class Access(NamedTuple):
    """Effect of the others on a sender's attempts.

    Attributes
    ----------
    attempt_s : float
        C: mean time from one attempt to the next [s].
    losses : tuple of float
        By reception: probability that an attempt is lost to other senders.
    sent_s : float
        How much of this the sender transmits, on average [s].
    by_attempt : tuple of float or None
        The same loss for the first, second, ... attempt at a packet, where that is known; their
        mean is in `losses`.
    meets : tuple of float
        By contender: probability that an attempt meets one that begins in the same slot.
    settled : bool
        Whether the iteration has converged; if not, these are its last values.
    late : float or None
        Share of attempts that begin while the one sender that is hidden is on the air; None: as
        large as that one's share of the time.
    """

    attempt_s: float
    losses: tuple[float, ...]
    sent_s: float
    by_attempt: tuple[float, ...] | None = None
    meets: tuple[float, ...] = ()
    settled: bool = True
    late: float | None = None

    def losses_with(self, loss: float) -> tuple[float, ...] | None:
        """Losses of first, second, ... attempts at a packet; None: they are not known.

        Parameters
        ----------
        loss : float
            Their mean, to these senders and to others beside them.
        """
        if self.by_attempt is None or self.losses[0] >= 1.0:
            return None
        spared = (1.0 - loss) / (1.0 - self.losses[0])  # by those beside the problem's
        return tuple([1.0 - (1.0 - one) * spared for one in self.by_attempt])
