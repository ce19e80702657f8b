"""A block of a channel: a time over which nothing about it changes."""

from dataclasses import dataclass


@dataclass(slots=True)
class ChannelBlock:
    """A time over which a channel does not change, as the packets of one message meet it.

    Attributes
    ----------
    attempts : int or None
        How many attempts begin in it; None for a block without end. 0 where the rate is 0.
    per : float
        Packet error rate: probability that an attempt fails, in [0, 1].
    snr : float
        Signal over noise and interference, linear; 0 for a wire, which has none.
    attempt_ns : float
        Duration of one attempt; 0 where the rate is 0 or infinite, and for a wire.
    length_ns : int or None
        Duration of the block; None: without end, or not needed.
    erasure : float
        Part of `per`: probability that an attempt fails whatever the SNR (collisions, bursts).
    asleep : bool
        Whether the receiver's radio sleeps, so that its decoder gets no signal.
    noise_rise : float
        Interference and noise over noise, linear: so much more the SNR would be without others.
    by_attempt : tuple of float or None
        `per` of the first, second, ... attempt at a packet, where they differ; `per` is their mean.
    rate_bps : float
        Rate of its attempts [bit/s] where it follows acknowledgements; else not told.
    transmit_share : float
        Share of an attempt's time in which its sender transmits over the whole band, in [0, 1].
    """

    attempts: int | None
    per: float
    snr: float = 0.0
    attempt_ns: float = 0.0
    length_ns: int | None = None
    erasure: float = 0.0
    asleep: bool = False
    noise_rise: float = 1.0
    by_attempt: tuple[float, ...] | None = None
    rate_bps: float = 0.0
    transmit_share: float = 1.0
