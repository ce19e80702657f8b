"""The attempt of a flight that is under way: its position, and interference that grows meanwhile.

What was sampled of an attempt stands when interference falls, with the interference from before
the fall; so it does where rates follow the SNR, since the rate of an attempt is chosen where it
begins. Should more interference come before it has ended, an attempt that had got through fails
after all, with the probability

    1 - (1 - error with the new interference) / (1 - error with the old),

so that it is as if it had been drawn with the worst of its time.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import NamedTuple

from netsim.links.radio.mac.flight import Flight, Reception, interferers_at
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import NS_PER_S


class AttemptPosition(NamedTuple):
    """A place in a leg.

    Attributes
    ----------
    block : int
        Index of the channel block in which the attempt under way began.
    done : int
        Attempts that have ended in that block.
    fraction : float
        Fraction of the attempt under way that has been sent, in [0, 1); 0: none is under way.
    attempt_ns : float
        Duration of an attempt in that block.
    """

    block: int
    done: int
    fraction: float
    attempt_ns: float


def position_at(flight: Flight, time_ns: int) -> AttemptPosition:
    """Return the position in a flight's leg at an instant after the leg's beginning."""
    elapsed_ns: float = flight.passed_ns(time_ns)
    at_once = flight.at_once_ends_ns > 0  # its first attempt
    if at_once and flight.leg_begins_ns < flight.begins_ns:
        attempt_ns = flight.at_once_ends_ns - flight.leg_begins_ns
        if time_ns < flight.at_once_ends_ns:
            elapsed_ns = (time_ns - flight.begins_ns) * flight.at_once_stretch
            return AttemptPosition(0, 0, elapsed_ns / attempt_ns, attempt_ns)
    if flight.broadcast:
        return _within_block(0, elapsed_ns, flight.attempt_ns, flight.packets_left)
    reception = flight.receptions[0]
    blocks, at = reception.blocks, 0
    while at < len(blocks) - 1 and elapsed_ns >= (blocks[at].length_ns or 0):
        elapsed_ns -= blocks[at].length_ns or 0
        at += 1
    return _within_block(at, elapsed_ns, blocks[at].attempt_ns, reception.block_attempts[at])


def has_made_its_last_attempt(flight: Flight, position: AttemptPosition) -> bool:
    """Return whether a flight has nothing left to send at a position in its leg."""
    if flight.broadcast:
        return position.done >= flight.packets_left
    first = flight.receptions[0]
    assert first.sending is not None
    attempts = first.block_attempts
    at_last = position.block == len(attempts) - 1 and position.done >= attempts[-1]
    return at_last and first.sending.is_done


def _within_block(
    block: int, elapsed_ns: float, attempt_ns: float, attempts: int
) -> AttemptPosition:
    """The place in a block of so many attempts, `elapsed_ns` after the block's beginning.

    Times of attempts were rounded to nanoseconds, so half of one is forgiven.
    """
    if attempt_ns <= 0.0:
        return AttemptPosition(block, 0, 0.0, 0.0)
    done = int((elapsed_ns + 0.5) / attempt_ns)
    fraction = elapsed_ns / attempt_ns - done
    if done >= attempts or fraction * attempt_ns < 0.5:
        return AttemptPosition(block, min(done, attempts), 0.0, attempt_ns)
    return AttemptPosition(block, done, fraction, attempt_ns)


def worsen_current_attempt(flight: Flight, channel: RadioChannel) -> None:
    """Apply the present interference to the current attempt (`Flight.held_ns`)."""
    began_ns = max(0, flight.leg_begins_ns - round(flight.held_ns))
    for reception in flight.receptions:
        met = reception.last_block
        if met is None or reception.leg_start is None or reception.held_attempts == 0:
            continue
        rise = reception.rise
        if not channel.constant:
            others = interferers_at(flight, reception)
            rise = channel.noise_rise(reception.tx.dst, others, began_ns)
        if rise <= met.noise_rise:
            continue
        snr = met.snr * met.noise_rise / rise
        rate_bps = flight.rate_bps
        if rate_bps is None:  # that of the attempt, which does not follow what comes meanwhile
            rate_bps = rate_under_way(flight, flight.held_ns)
        old, new = met.per, channel.packet_error(snr, flight.packet_bits, rate_bps)
        if met.erasure:  # what is lost whatever the SNR stays as it was
            old = channel.packet_error(met.snr, flight.packet_bits, rate_bps)
        fails = 1.0 - (1.0 - new) / (1.0 - old) if new > old else 0.0
        _draw_again(reception, fails)
        per = 1.0 - (1.0 - met.per) * (1.0 - fails)
        reception.last_block = replace(met, snr=snr, per=per, noise_rise=rise)
        reception.weighted_snr += snr - met.snr


def rate_under_way(flight: Flight, attempt_ns: float) -> float:
    """Rate [bit/s] of an attempt of a given duration, alone on the medium."""
    medium = flight.medium
    bits_ns = (attempt_ns - medium.wait_ns) / medium.slowdown - flight.overhead_ns
    return flight.packet_bits / bits_ns * NS_PER_S if bits_ns > 0.0 else inf


def _draw_again(reception: Reception, fails: float) -> None:
    """Let the last attempt fail with a probability, if it got through."""
    after, rng = reception.leg_start, reception.rng
    assert after is not None
    assert rng is not None
    before = after.copy()
    before.rewind(rng, reception.held_attempts - 1)
    through = after.delivered > before.delivered
    if through and fails > 0.0:
        through = bool(rng.random() >= fails)
    before.attempt(rng, 1, 0.0 if through else 1.0)
    reception.leg_start, reception.held_attempts = before, 1
