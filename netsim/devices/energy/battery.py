"""A battery with several loads at once, each between two instants that are known beforehand."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from netsim.channels.sleep import Rhythm
from netsim.devices.energy.harvest import Supply
from netsim.devices.energy.loads import Load
from netsim.devices.energy.steps import Steps
from netsim.units import NS_PER_S


class Drawn(NamedTuple):
    """Power that loads draw at a time.

    Attributes
    ----------
    watt, woken_w : float
        See `Load`.
    """

    watt: float
    woken_w: float


NOTHING = Drawn(0.0, 0.0)


class Battery:
    """Energy that is left, and when none will be left.

    Parameters
    ----------
    joules : float
        What it holds at time 0.
    standing_w : float
        Power drawn while its node is on.
    saved_w : float
        How much less is drawn while its radio sleeps.
    rhythm : Rhythm or None
        When the radio is awake; None: always.
    """

    def __init__(
        self,
        joules: float,
        standing_w: float,
        saved_w: float = 0.0,
        rhythm: Rhythm | None = None,
    ) -> None:
        self._joules, self._at_ns, self._empty_j = joules, 0, 0.0
        self._standing_w, self._saved_w, self._rhythm = standing_w, saved_w, rhythm
        self._loads = Steps(NOTHING)

    def draw(self, load: Load) -> None:
        """Add a load; the part of it that lies in the past is drawn at once."""
        from_ns, to_ns, watt, woken_w = load
        if from_ns < self._at_ns:
            past_ns = min(to_ns, self._at_ns)
            self._joules -= load.joules(from_ns, past_ns, self._rhythm)
            from_ns = past_ns
        if from_ns < to_ns:
            drawn = self._loads.then
            for k in self._loads.range_between(from_ns, to_ns):
                drawn[k] = Drawn(drawn[k].watt + watt, drawn[k].woken_w + woken_w)

    def take(self, joules: float) -> None:
        """Draw an amount of energy at once."""
        self._joules -= joules

    def give(self, joules: float, now_ns: int) -> float:
        """Draw an amount of energy at once, at most what may be drawn; return what was drawn."""
        usable_j = max(0.0, self.usable_j(now_ns))
        if joules <= usable_j:
            self.take(joules)
            return joules
        self._joules = min(self._joules, self._empty_j)  # no rounding leaves anything
        return usable_j

    def set_standing_power(self, standing_w: float, saved_w: float = 0.0) -> None:
        """Change the standing power, from the instant of the last `left_j` on."""
        self._standing_w, self._saved_w = standing_w, saved_w

    def left_j(self, now_ns: int) -> float:
        """Joules left at an instant, which is no earlier than that of the last call."""
        for begin_ns, end_ns, watt, saved_w in self._powers(self._at_ns):
            stop_ns = now_ns if end_ns is None else min(end_ns, now_ns)
            self._joules -= self._drawn_nj(watt, saved_w, begin_ns, stop_ns) / NS_PER_S
            if stop_ns == now_ns:
                break
        self._loads.forget(now_ns)
        self._at_ns = now_ns
        return self._joules

    def usable_j(self, now_ns: int) -> float:
        """Joules that may still be drawn at an instant, as of `left_j`."""
        return self.left_j(now_ns)

    def empty_ns(self, now_ns: int) -> int | None:
        """Return the time [ns] at which it will be empty with its present loads; None: never."""
        left = self.left_j(now_ns) * NS_PER_S
        if left <= 0:
            return now_ns
        for begin_ns, end_ns, watt, saved_w in self._powers(now_ns):
            if self._mean_w(watt, saved_w) > 0 and (
                end_ns is None or self._drawn_nj(watt, saved_w, begin_ns, end_ns) >= left
            ):
                return begin_ns + self._takes_ns(watt, saved_w, begin_ns, left)
            if end_ns is not None:
                left -= self._drawn_nj(watt, saved_w, begin_ns, end_ns)
        return None

    def _powers(self, from_ns: int) -> Iterator[tuple[int, int | None, float, float]]:
        """Yield (begin, end or None [ns], power, what of it is saved by sleep [W]), in order."""
        loads, standing_w, saved_w = self._loads, self._standing_w, self._saved_w
        place = loads.index_at(from_ns)
        for k in range(place, len(loads.from_ns)):
            more_w, woken_w = NOTHING if k < 0 else loads.then[k]
            begin_ns = max(from_ns, loads.from_ns[k]) if k >= 0 else from_ns
            end_ns = loads.from_ns[k + 1] if k + 1 < len(loads.from_ns) else None
            yield begin_ns, end_ns, standing_w + more_w, saved_w - woken_w

    def _drawn_nj(self, watt: float, saved_w: float, from_ns: int, to_ns: int) -> float:
        """Energy [nJ] of a constant power between two instants, less what is saved by sleep."""
        drawn = watt * (to_ns - from_ns)
        if saved_w and self._rhythm is not None:
            drawn -= saved_w * self._rhythm.asleep_ns(from_ns, to_ns)
        return drawn

    def _mean_w(self, watt: float, saved_w: float) -> float:
        """Mean power [W] in the long run, less what is saved by sleep."""
        if saved_w and self._rhythm is not None:
            watt -= saved_w * self._rhythm.share_asleep
        return watt

    def _takes_ns(self, watt: float, saved_w: float, from_ns: int, left: float) -> int:
        """Return the time [ns] in which a power draws `left` [nJ]."""
        if not saved_w or self._rhythm is None:
            return math.ceil(left / watt)
        longest_ns = math.ceil(left / self._mean_w(watt, saved_w)) + self._rhythm.period_ns
        return bisect_left(
            range(longest_ns),
            left,
            key=lambda ns: self._drawn_nj(watt, saved_w, from_ns, from_ns + ns),
        )


AHEAD = 64
"""Stretches of constant power that a prediction looks ahead; after them it is made anew."""


class Charge(NamedTuple):
    """Energy of a battery that is filled [J]: stored = start + harvested - drawn - spilled.

    Attributes
    ----------
    stored_j, harvested_j, spilled_j : float
        What it holds, and what it has been offered and could not hold since time 0.
    """

    stored_j: float
    harvested_j: float = 0.0
    spilled_j: float = 0.0


class HarvestingBattery(Battery):
    """A battery that its node fills, and that has its node switched off and on.

    Parameters
    ----------
    node : int
    capacity_j : float
        What it holds at most.
    supply : Supply
        What the node harvests, with the levels at which it goes off and on.
    standing_w, saved_w, rhythm
        As of `Battery`.

    Attributes
    ----------
    capacity_j, start_j : float
    is_out : bool
        Whether the node is off until there is enough energy again.
    """

    def __init__(
        self,
        node: int,
        capacity_j: float,
        supply: Supply,
        standing_w: float,
        saved_w: float = 0.0,
        rhythm: Rhythm | None = None,
    ) -> None:
        law = supply.law
        self.capacity_j, self.start_j = capacity_j, law.start_level * capacity_j
        super().__init__(self.start_j, standing_w, saved_w, rhythm)
        self._empty_j, self._on_j = law.off_level * capacity_j, law.on_level * capacity_j
        self._node, self._supply = node, supply
        self._harvested_j = self._spilled_j = 0.0
        self.is_out = self.start_j <= self._empty_j

    def charge(self, now_ns: int) -> Charge:
        """The energy at an instant, no earlier than the last `left_j`; asking changes nothing."""
        stored_j, harvested_j, spilled_j = self._joules, self._harvested_j, self._spilled_j
        for begin_ns, end_ns, gained_w, drawn_w in self._stretches(self._at_ns):
            stop_ns = now_ns if end_ns is None else min(end_ns, now_ns)
            seconds = (stop_ns - begin_ns) / NS_PER_S
            harvested_j += gained_w * seconds
            stored_j += (gained_w - drawn_w) * seconds
            if stored_j > self.capacity_j:
                spilled_j += stored_j - self.capacity_j
                stored_j = self.capacity_j
            if stop_ns >= now_ns:
                break
        return Charge(stored_j, harvested_j, spilled_j)

    def left_j(self, now_ns: int) -> float:
        self._joules, self._harvested_j, self._spilled_j = self.charge(now_ns)
        self._loads.forget(now_ns)
        self._at_ns = now_ns
        return self._joules

    def usable_j(self, now_ns: int) -> float:
        return self.left_j(now_ns) - self._empty_j

    def must_switch(self, now_ns: int) -> bool:
        """Return whether its node has to be switched at an instant."""
        stored_j = self.left_j(now_ns)
        return stored_j >= self._on_j if self.is_out else stored_j <= self._empty_j

    def empty_ns(self, now_ns: int) -> int | None:
        """Instant [ns] at which its node may have to be switched, off or on; None: never."""
        if self.must_switch(now_ns):
            return now_ns
        stored_j, level_j = self._joules, self._on_j if self.is_out else self._empty_j
        if not self.is_out:
            lasts_ns = self._lasts_ns(stored_j - level_j)
            first_ns = self._supply.piece_at(self._node, now_ns).until_ns
            if first_ns is not None and lasts_ns > AHEAD * (first_ns - now_ns):
                return now_ns + int(lasts_ns) if lasts_ns < math.inf else None
        for number, (begin_ns, end_ns, gained_w, drawn_w) in enumerate(self._stretches(now_ns)):
            rise_w, missing_j = gained_w - drawn_w, level_j - stored_j
            if rise_w * missing_j > 0:
                at_ns = begin_ns + max(1, math.ceil(missing_j / rise_w * NS_PER_S))
                if end_ns is None or at_ns <= end_ns:
                    return at_ns
            if end_ns is None or number == AHEAD:
                return end_ns
            stored_j += rise_w * (end_ns - begin_ns) / NS_PER_S
            stored_j = min(stored_j, self.capacity_j)
            if stored_j >= level_j if self.is_out else stored_j <= level_j:  # but for rounding
                return end_ns
        return None

    def _lasts_ns(self, joules: float) -> float:
        """Return the time [ns] that an amount of energy lasts at least, with nothing harvested."""
        loads_w = max((one.watt + max(0.0, one.woken_w) for one in self._loads.then), default=0.0)
        most_w = self._standing_w + max(0.0, loads_w) + max(0.0, -self._saved_w)
        return joules * NS_PER_S // most_w if most_w > 0 else math.inf

    def _stretches(self, now_ns: int) -> Iterator[tuple[int, int | None, float, float]]:
        """Yield stretches (begin, end or None [ns]) of constant harvested and drawn powers [W]."""
        for begin_ns, end_ns, watt, saved_w in self._powers(now_ns):
            while end_ns is None or begin_ns < end_ns:
                until_ns, gained_w = self._supply.piece_at(self._node, begin_ns)
                stop_ns = earlier_instant(end_ns, until_ns)
                drawn_w = watt
                if saved_w and self._rhythm is not None:
                    wakes_ns = self._rhythm.wakes_ns(begin_ns)
                    if wakes_ns > begin_ns:
                        drawn_w -= saved_w
                        stop_ns = earlier_instant(stop_ns, wakes_ns)
                    else:
                        stop_ns = earlier_instant(stop_ns, self._rhythm.sleeps_ns(begin_ns))
                yield begin_ns, stop_ns, gained_w, drawn_w
                if stop_ns is None:
                    return
                begin_ns = stop_ns


def earlier_instant(one_ns: int | None, other_ns: int | None) -> int | None:
    """The earlier of two instants; None is later than all."""
    if one_ns is None or other_ns is None:
        return other_ns if one_ns is None else one_ns
    return min(one_ns, other_ns)
