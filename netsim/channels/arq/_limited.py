"""Retransmission with a limit on the attempts at one packet: what `abort` and `hole` share.

Within a segment the packets are alike, so it is enough to draw how many of them took 1, 2, ...
attempts; that costs the same for any number of packets. Only a message that outlasts its segment
needs their order: then the counts are dealt out to the packets at random, and the packet on the
boundary carries its failed attempts into the next segment. All of it is exact: attempts are
independent, so what was drawn beyond a boundary is dropped and drawn anew with the next
segment's error probability.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.channels.arq import Arq, Segment, Transfer
from netsim.registry import Count


def send(
    rng: np.random.Generator,
    packets: int,
    segments: Iterable[Segment],
    max_attempts: int,
    gives_up: bool,
    want_mask: bool,
) -> Transfer:
    """`Arq.transfer` with at most `max_attempts` a packet; `gives_up` at the first that is lost."""
    message = _Message(packets, max_attempts, gives_up, want_mask)
    attempts: list[int] = []
    for attempts_fit, per in segments:
        room = packets * max_attempts if attempts_fit is None else attempts_fit
        if per == 0.0:
            attempts.append(message.succeed(room))
        elif per == 1.0:
            attempts.append(message.fail(room))
        else:
            attempts.append(message.draw(rng, room, per))
        if message.over:
            break
    delivered = message.settled - message.lost
    return Transfer(attempts, delivered, message.lost, delivered == packets, message.arrived)


class Limited(Arq):
    """Retransmission with a limit.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7).
    gives_up : bool
        Whether the first packet that is lost ends the message.
    """

    acknowledged: ClassVar[bool] = True
    gives_up: ClassVar[bool]
    max_attempts: Count = 7

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Send packets until all are settled, or one is lost and the message given up."""
        return send(rng, packets, segments, self.max_attempts, self.gives_up, want_mask)


class _Message:
    """A message under way: packets below `settled` are through or lost, the next is in turn."""

    def __init__(self, packets: int, limit: int, gives_up: bool, want_mask: bool) -> None:
        self.packets = packets
        self.limit = limit
        self.gives_up = gives_up
        self.settled = 0
        self.lost = 0
        self.tried = 0  # failed attempts at the packet in turn
        self.arrived = np.zeros(packets, dtype=np.bool_) if want_mask else None

    @property
    def over(self) -> bool:
        return self.settled == self.packets or (self.gives_up and self.lost > 0)

    def succeed(self, room: int) -> int:
        """Attempts used in a segment without errors."""
        used = min(self.packets - self.settled, room)
        self._settle(used, 0)
        return used

    def fail(self, room: int) -> int:
        """Attempts used in a segment in which none succeeds."""
        left = 1 if self.gives_up else self.packets - self.settled
        used = min(left * self.limit - self.tried, room)
        gone, tried = divmod(self.tried + used, self.limit)
        self._settle(gone, gone)
        self.tried = tried
        return used

    def draw(self, rng: np.random.Generator, room: int, per: float) -> int:
        """Attempts used in a segment in which some succeed."""
        used = 0
        if self.tried or self.settled == self.packets - 1:
            used = self._draw_head(rng, room, per)
        if not self.over and used < room:
            used += self._draw_rest(rng, room - used, per)
        return used

    def _draw_head(self, rng: np.random.Generator, room: int, per: float) -> int:
        """Attempts used on the packet in turn: the last one, or one tried in earlier segments."""
        allowed = self.limit - self.tried
        needed = int(rng.geometric(1.0 - per))
        used = min(needed, allowed)
        if used > room:
            self.tried += room
            return room
        self._settle(1, 0 if needed <= allowed else 1)
        return used

    def _draw_rest(self, rng: np.random.Generator, room: int, per: float) -> int:
        """Attempts used on the packets that nobody has tried yet."""
        left = self.packets - self.settled
        n = min(left, room)  # each takes an attempt at least: more packets cannot matter
        counts = _draw_counts(rng, n, per, self.limit, self.gives_up)
        costs = _costs(self.limit)
        total = int(counts @ costs)
        lost = int(counts[-1])
        last = n == left or (self.gives_up and lost > 0)
        if last and total <= room and (self.arrived is None or lost == 0):
            self._settle(int(counts.sum()), lost)
            return total
        order = _deal(rng, counts, self.gives_up)
        ends = costs[order].cumsum()
        done = int(ends.searchsorted(room, side="right"))
        self._settle_each(order[:done] == self.limit)
        if self.over:
            return total
        self.tried = room - (int(ends[done - 1]) if done else 0)
        return room

    def _settle(self, packets: int, lost: int) -> None:
        """Settle the next packets, which fare alike or of which nobody asks which were lost."""
        if packets == 0:
            return
        if self.arrived is not None:
            self.arrived[self.settled : self.settled + packets] = lost == 0
        self.settled += packets
        self.lost += lost
        self.tried = 0

    def _settle_each(self, is_lost: NDArray[np.bool_]) -> None:
        """Settle the next packets, of which each is lost or not; shape (packets,)."""
        if self.arrived is not None:
            self.arrived[self.settled : self.settled + len(is_lost)] = ~is_lost
        self.settled += len(is_lost)
        self.lost += int(is_lost.sum())
        self.tried = 0


@lru_cache
def _costs(limit: int) -> NDArray[np.int64]:
    """Attempts that a packet takes, by its column in the counts: 1, 2, ... limit; limit if lost."""
    return np.append(np.arange(1, limit + 1), limit)


def _draw_counts(
    rng: np.random.Generator, n: int, per: float, limit: int, gives_up: bool
) -> NDArray[np.int64]:
    """How many of n packets get through at attempt 1, ..., limit, and how many are lost.

    Returns
    -------
    ndarray of int, shape (limit + 1,)
        The lost are last. With `gives_up` the packets after the first lost one are not counted.
    """
    weights = per ** np.arange(limit)  # P(through at attempt k) = (1 - per) * weights[k - 1]
    all_fail = per**limit
    if not gives_up:
        return rng.multinomial(n, np.append((1.0 - per) * weights, all_fail))
    before = min(int(rng.geometric(all_fail)) - 1, n) if all_fail > 0.0 else n
    through = rng.multinomial(before, weights / weights.sum())
    return np.append(through, 1 if before < n else 0)


def _deal(rng: np.random.Generator, counts: NDArray[np.int64], gives_up: bool) -> NDArray[np.int64]:
    """The column of each packet, in sending order; shape (counts.sum(),)."""
    columns = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(columns[: -counts[-1]] if gives_up and counts[-1] else columns)
    return columns
