"""NR sidelink, mode 2: vehicles pick resources that nobody has reserved (3GPP TR 37.985, 6.3.2.2).

Sensing-based semi-persistent scheduling, 3GPP TS 38.214, 8.1.4, and TS 38.321, 5.22.1.1. Time is
cut into slots, the band into sub-channels; a packet takes one sub-channel for one slot, longer ones
for as many as they last. Whoever sends reserves the same slot of the next period. A sender that
needs a resource

1. takes all slots of its selection window as candidates, in each sub-channel;
2. leaves out those that overlap a slot in which it sent itself, and so did not listen, and those
   that others have reserved with a signal over a threshold;
3. raises that threshold by 3 dB as long as fewer than a share of all candidates (20 %) are left;
4. draws one of what is left, and a counter from 5 to 15 (times 100 ms over the period where it is
   shorter): it keeps the resource for so many packets, and then with a probability for another
   number of them. One that is unused for `reselect_after_s` is given up.

Packets that overlap in a sub-channel interfere at each receiver by their powers; what a vehicle
sends, in whatever sub-channel, keeps it from receiving meanwhile. Two that pick blindly at a time
from N candidates collide with probability 1/N.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from netsim.channels.mac import Hearing, Mac, Medium, Reservations
from netsim.registry import Count, Fraction, Positive
from netsim.rng import Streams
from netsim.units import NS_PER_S

RAISE_DB = 3.0
"""Step of the threshold."""


class NrSidelinkMode2(Mac):
    """Semi-persistent reservations by sensing: a receiver is busy only while it sends.

    `[radio] bandwidth_hz` and the rate are those of one sub-channel; all clocks agree.

    Attributes
    ----------
    slot_s : float
        Length of a slot: 1 ms at 15 kHz between subcarriers, .5 ms at 30 kHz.
    subchannels : int
        Number of sub-channels.
    period_s : float
        Reservation period, and length of the selection window.
    rsrp_threshold_dbm : float
        Received power above which a reservation counts in the first round of the selection.
    candidate_share : float
        Least share of all candidates to choose from. Source: 3GPP TS 38.214, 8.1.4.
    keep_probability : float
        Probability that a sender keeps a resource when its counter has run out; the standard has 0
        to .8.
    reselect_after_s : float
        Time without sending after which a node gives up its resource.
    """

    kind: Literal["nr_sidelink_mode2"] = "nr_sidelink_mode2"
    exclusive: ClassVar[bool] = False
    random_access: ClassVar[bool] = True
    reserves: ClassVar[bool] = True
    slot_s: Annotated[Positive, Field(ge=1e-6, le=1.0)] = 1e-3
    subchannels: Annotated[Count, Field(le=1000)] = 4
    period_s: Annotated[Positive, Field(le=100.0)] = 0.1
    rsrp_threshold_dbm: Annotated[float, Field(ge=-200, le=200)] = -110.0
    candidate_share: Annotated[float, Field(gt=0, le=1)] = 0.2
    keep_probability: Fraction = 0.0
    reselect_after_s: Positive = 1.0

    def medium(self, contenders: int, nodes: int) -> Medium:
        """Nothing on the mean: packets are played one by one."""
        return Medium()

    @property
    def plays_all(self) -> bool:
        return True

    @property
    def one_channel(self) -> bool:
        return True

    def reservations(self, nodes: int, streams: Streams, hearing: Hearing) -> Reservations:
        return _Sensed(self, nodes, streams, hearing)

    @model_validator(mode="after")
    def _periods_are_of_whole_slots(self) -> Self:
        slots = self.period_s / self.slot_s
        if round(slots) < 1 or abs(slots - round(slots)) > 1e-6 * slots:
            raise ValueError(
                f"period_s = {self.period_s:g}: must be a whole number of slots of slot_s = "
                f"{self.slot_s:g}"
            )
        return self

    @property
    def period_slots(self) -> int:
        """Slots of a period."""
        return round(self.period_s / self.slot_s)

    def counter(self, draw: float) -> int:
        """Packets for which a resource is kept, by a uniform draw."""
        times = max(1, math.ceil(0.1 / max(0.02, self.period_s) - 1e-9))
        return 5 * times + int(draw * (10 * times + 1))


@dataclass(slots=True)
class _Resource:
    slot: int
    channel: int
    slots: int
    counter: int


@dataclass(slots=True)
class _Sent:
    """Transmission in the air, and what it announces."""

    src: int
    slot: int
    channel: int
    slots: int
    reserved: bool
    heard_dbm: NDArray[np.float64]


class _Sensed(Reservations):
    """Resources and their holders, and what everybody has heard in the last period.

    Parameters
    ----------
    mac : NrSidelinkMode2
    nodes : int
    streams : Streams
    hearing : callable
        (sender, time [ns]) -> power that each node receives from it [dBm].
    """

    def __init__(
        self, mac: NrSidelinkMode2, nodes: int, streams: Streams, hearing: Hearing
    ) -> None:
        self._mac, self._streams, self._hearing = mac, streams, hearing
        self._slot_ns, self._period = mac.slot_s * NS_PER_S, mac.period_slots
        self._held: dict[int, _Resource] = {}
        self._draws = [0] * nodes
        self._last: list[float] = [-math.inf] * nodes
        self._air: deque[_Sent] = deque()

    def begins_ns(self, src: int, ready_ns: float, packet_ns: float) -> float:
        slots = max(1, math.ceil((packet_ns - 0.5) / self._slot_ns))
        ready = math.ceil((ready_ns - 0.5) / self._slot_ns)  # half a nanosecond is forgiven
        held, mac = self._held.get(src), self._mac
        if held is not None:
            behind = max(0, ready - held.slot)
            held.slot += -(-behind // self._period) * self._period
            unused_s = (held.slot - self._last[src]) * mac.slot_s
            if held.slots < slots or unused_s > mac.reselect_after_s + mac.period_s:
                held = None
        if held is None:
            slot, channel = self._select(src, ready, slots)
            held = self._held[src] = _Resource(slot, channel, slots, mac.counter(self._draw(src)))
        return held.slot * self._slot_ns

    def begun(self, src: int, time_ns: int) -> int:
        held = self._held.get(src)
        if held is None:  # another rule has said when: it goes once, in any sub-channel
            channel = int(self._draw(src) * self._mac.subchannels)
            held = self._held[src] = _Resource(int(time_ns // self._slot_ns), channel, 1, 1)
        sent_in, self._last[src] = held.slot, held.slot
        held.counter -= 1
        held.slot += self._period
        kept = True
        if held.counter == 0:
            kept = self._draw(src) < self._mac.keep_probability
            held.counter = self._mac.counter(self._draw(src)) if kept else 0
            if not kept:
                del self._held[src]
        heard = self._hearing(src, time_ns)
        self._air.append(_Sent(src, sent_in, held.channel, held.slots, kept, heard))
        while self._air[0].slot <= sent_in - 2 * self._period - held.slots:
            self._air.popleft()
        return held.channel

    def _draw(self, src: int) -> float:
        self._draws[src] += 1
        return self._streams.uniform("sidelink", src, self._draws[src])

    def _select(self, src: int, ready: int, slots: int) -> tuple[int, int]:
        """Slot and sub-channel of a new resource."""
        mac, window = self._mac, np.arange(ready, ready + self._period)
        recent = [s for s in self._air if ready - s.slot <= self._period and s.slot < ready]
        own = [s for s in recent if s.src == src]
        deaf = np.zeros(self._period, dtype=bool)
        for mine in own:
            deaf |= self._overlap(window, mine, slots)
        power_dbm = np.full((self._period, mac.subchannels), -math.inf)
        for other in recent:
            heard = not any(_at_once(other, mine) for mine in own)
            if other.src != src and other.reserved and heard:
                where = self._overlap(window, other, slots)
                level = power_dbm[where, other.channel]
                power_dbm[where, other.channel] = np.maximum(level, other.heard_dbm[src])
        least = mac.candidate_share * power_dbm.size
        free = np.broadcast_to(~deaf[:, None], power_dbm.shape)
        if free.sum() < least:  # TS 38.214, 8.1.4, step 5a
            free = np.ones_like(free)
        threshold_dbm = mac.rsrp_threshold_dbm
        while (left := free & (power_dbm < threshold_dbm)).sum() < min(least, free.sum()):
            threshold_dbm += RAISE_DB
        candidates = np.argwhere(left)
        slot, channel = candidates[int(self._draw(src) * len(candidates))].tolist()
        return int(window[slot]), channel

    def _overlap(self, window: NDArray[np.int64], sent: _Sent, slots: int) -> NDArray[np.bool_]:
        """Mask of starts at which a packet of so many slots overlaps a repetition of `sent`."""
        after = (window - sent.slot) % self._period
        return (after < sent.slots) | (after > self._period - slots)


def _at_once(one: _Sent, other: _Sent) -> bool:
    """True if two were on the air in the same slot."""
    return one.slot < other.slot + other.slots and other.slot < one.slot + one.slots
