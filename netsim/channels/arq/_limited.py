"""Retransmission with a limit on the attempts at one packet: base of `abort` and `hole`.

Within a block the packets are alike, so it is enough to draw how many of them took 1, 2, ...
attempts; that costs the same for any number of packets. Only where a message outlasts its block, or
is interrupted in it, their order is needed: then the counts are assigned to the packets at random,
and the packet on the boundary carries its failed attempts into the next block. All of it is exact:
attempts are independent, so what was drawn beyond a boundary is dropped, and drawn anew with the
next block's error probability.
"""

from functools import lru_cache
from operator import mul
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.channels.arq import Arq, Decode, Sending

MOST_ATTEMPTS = 10_000
"""Greatest limit: a draw takes memory for each attempt."""


class Limited(Arq):
    """Retransmission with a limit.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7).
    """

    acknowledged: ClassVar[bool] = True
    max_attempts: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] = 7

    @property
    def limit(self) -> int | None:
        return self.max_attempts

    def begin(
        self, packets: int, want_mask: bool = False, decode: Decode | None = None
    ) -> "LimitedSending":
        return LimitedSending(packets, self.max_attempts, self.gives_up, want_mask)


class LimitedSending(Sending):
    """A message under way with limited retransmission.

    Parameters
    ----------
    packets : int
        At least 1.
    limit : int
        Attempts at one packet, the first included.
    gives_up : bool
        Whether the first packet that is lost ends the message.
    want_mask : bool
        Whether to keep which packets arrive.

    Attributes
    ----------
    settled : int
        So many packets, in sending order, are through or lost; the next one is in turn.
    tried : int
        Failed attempts at the packet in turn.
    """

    settled = 0
    tried = 0
    delivered = 0
    lost = 0
    # Of the last block: (settled, lost, tried) before it, and its error probabilities.
    _before = (0, 0, 0)
    _per = 0.0
    _by_attempt: tuple[float, ...] | None = None
    # What was drawn in it: (attempts at the packet in turn, whether it was lost); how many of the
    # packets behind it took how many attempts (see `_draw_counts`); the same in sending order.
    _head: tuple[int, bool] | None = None
    _counts: NDArray[np.int64] | None = None
    _order: NDArray[np.int64] | None = None

    def __init__(self, packets: int, limit: int, gives_up: bool, want_mask: bool) -> None:
        self.packets = packets
        self.limit = limit
        self.gives_up = gives_up
        self._mask = np.zeros(packets, dtype=np.bool_) if want_mask else None

    @property
    def is_done(self) -> bool:
        return self.settled == self.packets or (self.gives_up and self.lost > 0)

    def attempt(
        self,
        rng: np.random.Generator,
        room: int | None,
        per: float,
        snr: float = 0.0,
        erasure: float = 0.0,
        by_attempt: tuple[float, ...] | None = None,
    ) -> int:
        self._before, self._per = (self.settled, self.lost, self.tried), per
        self._by_attempt = by_attempt
        self._head = self._counts = self._order = None
        if room is None:
            room = self.packets * self.limit
        if per == 0.0:
            return self._succeed(room)
        if per == 1.0:
            return self._fail(room)
        used = 0
        if self.tried or self.settled == self.packets - 1:
            used = self._draw_head(rng, room, per)
        if not self.is_done and used < room:
            used += self._draw_rest(rng, room - used, per)
        return used

    def rewind(self, rng: np.random.Generator, used: int) -> None:
        self.settled, self.lost, self.tried = self._before
        self.delivered = self.settled - self.lost
        if self._mask is not None:
            self._mask[self.settled :] = False
        if self._per == 0.0:
            self._succeed(used)
        elif self._per == 1.0:
            self._fail(used)
        else:
            self._replay(rng, used)

    def arrived(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        assert self._mask is not None
        return self._mask

    def copy(self) -> "LimitedSending":
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__)
        same._mask = None if self._mask is None else self._mask.copy()
        return same

    def _succeed(self, room: int) -> int:
        """Attempts used in a block without errors."""
        used = min(self.packets - self.settled, room)
        self._settle(used, 0)
        return used

    def _fail(self, room: int) -> int:
        """Attempts used in a block in which none succeeds."""
        left = 1 if self.gives_up else self.packets - self.settled
        used = min(left * self.limit - self.tried, room)
        gone, tried = divmod(self.tried + used, self.limit)
        self._settle(gone, gone)
        self.tried = tried
        return used

    def _draw_head(self, rng: np.random.Generator, room: int, per: float) -> int:
        """Attempts used on the packet in turn: the last one, or one tried in earlier blocks."""
        allowed = self.limit - self.tried
        needed = self._attempts_needed(rng, per)
        used = min(needed, allowed)
        self._head = (used, needed > allowed)
        return self._use_head(room)

    def _attempts_needed(self, rng: np.random.Generator, per: float) -> int:
        """Attempts that would get the packet in turn through, or one more than are allowed."""
        if self._by_attempt is None:
            return int(rng.geometric(1.0 - per))
        drawn, all_fail = rng.random(), 1.0
        allowed = self._by_attempt[self.tried :]
        for needed, fails in enumerate(allowed, start=1):
            all_fail *= fails
            if drawn >= all_fail:
                return needed
        return len(allowed) + 1

    def _use_head(self, room: int) -> int:
        """Attempts used on the packet in turn, whose fate (`_head`) has been drawn."""
        assert self._head is not None
        used, is_lost = self._head
        if used > room:
            self.tried += room
            return room
        self._settle(1, int(is_lost))
        return used

    def _draw_rest(self, rng: np.random.Generator, room: int, per: float) -> int:
        """Attempts used on the packets that nobody has tried yet."""
        left = self.packets - self.settled
        n = min(left, room)  # each takes an attempt at least: more packets cannot matter
        self._counts = self._draw_counts(rng, n, per)
        counts: list[int] = self._counts.tolist()
        lost = counts[-1]
        total: int = sum(map(mul, counts, range(1, self.limit + 1))) + self.limit * lost
        last = n == left or (self.gives_up and lost > 0)
        if last and total <= room and (self._mask is None or lost == 0):
            self._settle(sum(counts), lost)
            return total
        return self._use_rest(rng, room, total)

    def _use_rest(self, rng: np.random.Generator, room: int, total: int) -> int:
        """Attempts used on them, packet by packet; all of them would take `total`."""
        assert self._counts is not None
        if self._order is None:
            self._order = _assign_fates(rng, self._counts, self.gives_up)
        ends = _attempts_by_column(self.limit)[self._order].cumsum()
        done = int(ends.searchsorted(room, side="right"))
        if self._counts[-1]:
            self._settle_each(self._order[:done] == self.limit)
        else:
            self._settle(done, 0)
        if self.is_done:
            return total
        self.tried = room - (int(ends[done - 1]) if done else 0)
        return room

    def _replay(self, rng: np.random.Generator, used: int) -> None:
        """Repeat what was drawn in the last block, up to its attempt `used`."""
        if self._head is not None:
            used -= self._use_head(used)
        if used > 0 and self._counts is not None:
            self._use_rest(rng, used, used)

    def _draw_counts(self, rng: np.random.Generator, n: int, per: float) -> NDArray[np.int64]:
        """Sample how many of n packets get through at attempt 1, ..., limit, and are lost.

        Returns
        -------
        ndarray of int, shape (limit + 1,)
            The lost are last. If it gives up, the packets after the first lost one are not
            counted.
        """
        each = self._by_attempt or per
        if not self.gives_up:
            return rng.multinomial(n, _fate_probabilities(each, self.limit))
        through, all_fail = _chances_until_lost(each, self.limit)
        before = min(int(rng.geometric(all_fail)) - 1, n) if all_fail > 0.0 else n
        counts = np.empty(self.limit + 1, dtype=np.int64)
        counts[:-1] = rng.multinomial(before, through)
        counts[-1] = before < n
        return counts

    def _settle(self, packets: int, lost: int) -> None:
        """Settle the next packets: all arrived, all lost, or it does not matter which."""
        if packets == 0:
            return
        if self._mask is not None:
            self._mask[self.settled : self.settled + packets] = lost == 0
        self.settled += packets
        self.lost += lost
        self.delivered += packets - lost
        self.tried = 0

    def _settle_each(self, is_lost: NDArray[np.bool_]) -> None:
        """Settle the next packets, of which each is lost or not; shape (packets,)."""
        if self._mask is not None:
            self._mask[self.settled : self.settled + len(is_lost)] = ~is_lost
        lost = int(is_lost.sum())
        self.settled += len(is_lost)
        self.lost += lost
        self.delivered += len(is_lost) - lost
        self.tried = 0


@lru_cache
def _attempts_by_column(limit: int) -> NDArray[np.int64]:
    """Attempts that a packet takes, by its column in the counts: 1, 2, ..., limit, and limit."""
    return np.append(np.arange(1, limit + 1), limit)


@lru_cache
def _columns(limit: int) -> NDArray[np.int64]:
    return np.arange(limit + 1)


@lru_cache(maxsize=1024)
def _fate_probabilities(per: float | tuple[float, ...], limit: int) -> NDArray[np.float64]:
    """Distribution of a packet's fate: through at attempt 1, ..., limit, or lost.

    `per`: the error probability of an attempt, or of each.
    """
    if isinstance(per, tuple):
        still_lost = np.cumprod(per)
        return np.append(np.append(1.0, still_lost[:-1]) - still_lost, still_lost[-1])
    found = np.asarray(per ** _columns(limit))  # P(through at attempt k) = (1 - per) * per^(k - 1)
    found[:-1] *= 1.0 - per
    return found


@lru_cache(maxsize=1024)
def _chances_until_lost(
    per: float | tuple[float, ...], limit: int
) -> tuple[NDArray[np.float64], float]:
    """Distribution of the attempts 1, ..., limit of a packet that gets through; that it is lost."""
    if isinstance(per, tuple):
        through, lost = np.split(_fate_probabilities(per, limit), [limit])
        return through / through.sum(), float(lost[0])
    weights = per ** _columns(limit)[:-1]
    return weights / weights.sum(), per**limit


def _assign_fates(
    rng: np.random.Generator, counts: NDArray[np.int64], gives_up: bool
) -> NDArray[np.int64]:
    """The column of each packet, in sending order; shape (counts.sum(),)."""
    columns = _columns(len(counts) - 1).repeat(counts)
    rng.shuffle(columns[: -counts[-1]] if gives_up and counts[-1] else columns)
    return columns
