"""Position of a flight in its leg when it is interrupted."""

from __future__ import annotations

from typing import NamedTuple

from netsim.links.radio.mac.flight import Flight


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
    if flight.leg_begins_ns < flight.begins_ns:  # in its first attempt, that is made at once
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
    return at_last and first.sending.over


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
