"""The fixed point of `_dcf` among few senders, in plain numbers.

Few senders are together mostly, and arrays of their number cost several times what plain numbers
do. The steps are those of `_stations` and `_hidden`, in the same order; where all hear each other,
with none hidden from them, nothing in the iteration but the failure probabilities matters.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from netsim.channels.mac._crowd import crowds
from netsim.channels.mac._few_sender import Constants, constants, follow
from netsim.channels.mac._hidden import by_hearing
from netsim.channels.mac._situation import Access, Hidden, Situation, Timing
from netsim.channels.mac._stations import MOMENT_S, SURE, Damping

MOST, MOST_HIDDEN = 30, 16
"""Of more senders than this, or with more hidden ones at all receptions, arrays are faster."""
_NEVER = 1e-300


def are_few(situation: Situation) -> bool:
    """Return whether plain numbers are faster than arrays."""
    if len(situation.senders) > MOST:
        return False
    return sum([len(found) for of in situation.hidden for found in of]) <= MOST_HIDDEN


class _Reception(NamedTuple):
    """Of a sender: by sender, the probability of losing a packet to its one; groups of hidden.

    `sure`: to whom it loses each, where it loses none to the others; None: it is not as simple.
    """

    sender: int
    lost: tuple[float, ...]
    sure: list[int] | None
    groups: list[list[Hidden]]


class _Against(NamedTuple):
    """One hidden from a sender, and for how long it must not begin, of itself, from there on."""

    sender: int
    constants: Constants
    earlier: float
    later: float
    brief: bool
    together: bool
    whole_s: float


class _Few:
    """The senders in the iteration; lists have one entry a sender."""

    def __init__(self, mac: Timing, situation: Situation) -> None:
        known = {one: constants(mac, one) for one in dict.fromkeys(situation.senders)}
        of = self.of = [known[one] for one in situation.senders]
        self.mac, n = mac, len(of)
        self.receptions = _receptions(situation)
        first: dict[int, int] = {}
        for number, reception in enumerate(self.receptions):
            first.setdefault(reception.sender, number)
        self.first = [*first.values()]
        self.hiding = any(reception.groups for reception in self.receptions)
        self.partial = any(
            one.later < 1.0 for of in situation.hidden for found_at in of for one in found_at
        )
        longest = sorted(range(n), key=lambda i: -of[i].heard_failed_s)
        self.longest = [[j for j in longest if j in heard] for heard in situation.contenders]
        self.warned = [
            sorted({one.sender for found in found_at for one in found if one.warned})
            for found_at in situation.hidden
        ]
        self.crowds, self.crowd = crowds(situation.contenders), [-1] * n
        for number, crowd in enumerate(self.crowds):
            for i in crowd.who.tolist():
                self.crowd[i] = number
        self.groups = [
            [[self._against(one.sender, hidden) for hidden in group] for group in one.groups]
            for one in self.receptions
        ]
        # As in `Stations`, by two senders; of those in a crowd alone.
        self.counts, self.beside, self.paces = (
            [[value] * n for _ in of] if self.crowds else [] for value in (1.0, 0.0, 1.0)
        )
        self.heard_failed_s = [one.heard_failed_s for one in of]
        self.answering = sorted({j for heard in self.warned for j in heard})
        self.fails = [0.5 if one.repeats else 0.0 for one in of]
        self.spoilt = [0.0] * n
        self.cycle_s = self.own_s = [one.success_s for one in of]
        self._damping = Damping()
        self._begin()

    def _against(self, i: int, hidden: Hidden) -> _Against:
        me, (j, earlier, later, warned) = self.of[i], hidden
        brief = warned and me.rts
        together = self.crowd[i] >= 0 and self.crowd[i] == self.crowd[j]
        whole_s = self.mac.rts_s + self.mac.sifs_s if brief else me.body_s
        return _Against(j, self.of[j], earlier, later, brief, together, whole_s)

    def _begin(self) -> None:
        """Mean backoff [slots], and the probability of beginning in a slot."""
        both = zip(self.of, self.fails, strict=True)
        if self.hiding:
            found = [one.begins(f) for one, f in both]
            self.backoff = [backoff for backoff, _ in found]
        else:
            self.backoff = [one.backoff(f) for one, f in both]
        self.tau = [min(1.0 / (1.0 + backoff), SURE) for backoff in self.backoff]
        if self.hiding:
            slot_s = self.mac.slot_s
            self.weights = [weights for _, weights in found]
            self.silent_s = [
                weights[0] * one.gaps_s[0] + (1.0 - weights[0]) * one.gaps_s[-1] + slot_s * backoff
                for one, weights, backoff in zip(self.of, self.weights, self.backoff, strict=True)
            ]
            self.on_air_s = [
                one.body_s + f * (one.failed_s - one.body_s)
                for one, f in zip(self.of, self.fails, strict=True)
            ]

    def solve(self, close: float, rounds: int) -> list[float]:
        """Iterate; the probabilities of losing an attempt to others, by reception."""
        follows = self.hiding or bool(self.crowds)
        losses: list[float] = []
        collided: list[float] = []
        for _ in range(rounds):
            if follows:
                self._wait()
            collided = self._collided()
            losses = self._lost(collided) if self.hiding else collided
            change = self._learn(losses, close)
            if follows:
                self._spoil(losses, collided)
            if change < close:
                break
        self._spoil(losses, collided)
        self._wait()
        return losses

    def _learn(self, losses: list[float], close: float) -> float:
        """Take over new failure probabilities; by how much one differs at most."""
        fails = [
            1.0 - (1.0 - losses[r]) * (1.0 - one.error) if one.repeats else 0.0
            for r, one in zip(self.first, self.of, strict=True)
        ]
        changes = [new - f for new, f in zip(fails, self.fails, strict=True)]
        most = max(map(abs, changes))
        step = 1.0 if most < close else self._damping.of(changes)
        self.fails = [f + step * more for f, more in zip(self.fails, changes, strict=True)]
        self._begin()
        return most

    def _spoil(self, losses: list[float], collided: list[float]) -> None:
        """Set how probably an attempt fails of which no other's began in the same slot."""
        for i, (r, one) in enumerate(zip(self.first, self.of, strict=True)):
            spoilt = 1.0 - (1.0 - losses[r]) * (1.0 - one.error) / max(1.0 - collided[r], 1e-12)
            self.spoilt[i] = min(1.0, max(0.0, spoilt))

    def _wait(self) -> None:
        """Set the mean time of an attempt, from the states of those that it waits for."""
        of, tau, fails, slot_s = self.of, self.tau, self.fails, self.mac.slot_s
        more_s = [
            t / (1.0 - t) * (1.0 - s) * (one.success_s - one.heard_failed_s)
            for one, t, s in zip(of, tau, self.spoilt, strict=True)
        ]
        held_s = {}  # for what the receiver of a hidden sender answers
        for j in self.answering:
            begins = tau[j] if of[j].rts else slot_s / self.cycle_s[j]
            held_s[j] = begins * (1.0 - fails[j]) * of[j].answer_s
        failed_s, self.cycle_s, self.own_s = self.heard_failed_s, [], []
        for i, one in enumerate(of):
            idle, busy_s, succeed_s = 1.0, 0.0, 0.0
            for j in self.longest[i]:  # of those that begin in a slot the longest packet counts
                busy_s += idle * tau[j] * failed_s[j]
                idle *= 1.0 - tau[j]
                succeed_s += more_s[j]
            slots_s = idle * (slot_s + succeed_s) + busy_s
            for j in self.warned[i]:
                slots_s += held_s[j]
            own_s = one.success_s + fails[i] * (one.failed_s + self.mac.difs_s - one.success_s)
            self.own_s.append(own_s)
            self.cycle_s.append(self.backoff[i] * slots_s + own_s)
        for crowd in self.crowds:
            who = crowd.who.tolist()
            ratios = [self.own_s[i] / max(slot_s * self.backoff[i], MOMENT_S) for i in who]
            shares, *by_two = (found.tolist() for found in crowd.law(np.array(ratios)))
            for a, i in enumerate(who):
                self.cycle_s[i] = self.own_s[i] / shares[a]
                for rows, found in zip((self.counts, self.beside, self.paces), by_two, strict=True):
                    for b, j in enumerate(who):
                        rows[i][j] = found[a][b]

    def _collided(self) -> list[float]:
        """By reception: probability of losing an attempt to one of the same slot."""
        tau = self.tau
        if not self.crowds:
            idle = [1.0 - t for t in tau]
            return [
                1.0 - prod([1.0 - c * t for c, t in zip(one.lost, tau, strict=True)])
                if one.sure is None
                else 1.0 - prod(map(idle.__getitem__, one.sure))
                for one in self.receptions
            ]
        begins = [[t * c for t, c in zip(tau, row, strict=True)] for row in self.counts]
        return [
            1.0 - prod([1.0 - c * t for c, t in zip(one.lost, begins[one.sender], strict=True)])
            for one in self.receptions
        ]

    def _lost(self, collided: list[float]) -> list[float]:
        """By reception: probability of losing an attempt to others."""
        found: list[float] = []
        began_s: dict[tuple[int, float], float] = {}
        for reception, groups, loss in zip(self.receptions, self.groups, collided, strict=True):
            i, alone = reception.sender, 1.0 - loss
            for group in groups:
                alone *= max(self._left_alone(i, group, began_s), _NEVER)
            found.append(1.0 - alone)
        return found

    def _left_alone(
        self, i: int, group: list[_Against], began_s: dict[tuple[int, float], float]
    ) -> float:
        """Probability that hidden senders which hear each other spoil no attempt of another's.

        `began_s`: by sender and a packet's time, how long ago one began that its receiver has
        locked to; what was worked out before.
        """
        mac, cycles_s, own_s, on_air_s = self.mac, self.cycle_s, self.own_s, self.on_air_s
        busy = sum([own_s[one.sender] / cycles_s[one.sender] for one in group])
        on_air, spared, quiet, later_on = 0.0, 0.0, 1.0, 1.0
        for j, other, earlier, later, brief, together, whole_s in group:
            cycle_s, silent_s = cycles_s[j], self.silent_s[j]
            if brief:
                early_s = whole_s if other.rts else on_air_s[j]
                share, stretch = early_s / (early_s + silent_s), 1.0
            elif together:
                share = self.beside[i][j] * on_air_s[j] / own_s[j]
                stretch = 1.0 / self.paces[i][j]
            else:
                share = on_air_s[j] / cycle_s
                # While others than the group's hold it up, it does not count down.
                counted_s = max(mac.slot_s * self.backoff[j], MOMENT_S)
                stretch = max(cycle_s * (1.0 - busy) / counted_s, 1.0)
            on_air += share
            spared += share * (1.0 - later)
            if earlier != later:
                # The receiver has locked to one that began since the sender's own last packet.
                key = i, other.body_s
                if key not in began_s:
                    rest_s = self.of[i].rest_s(self.weights[i], other.body_s)
                    began_s[key] = self.silent_s[i] - rest_s
                spared += min(share, began_s[key] / cycle_s) * (later - earlier)
            if later:
                rest_s = other.rest_s(self.weights[j], whole_s / stretch)
                silent = rest_s / silent_s
                if self.partial and not brief:
                    # One on the air may also begin its next packet meanwhile, and any one several.
                    again = self._again(j, whole_s, stretch, rest_s)
                    once = share * again + (1.0 - share) * (1.0 - silent)
                    often = max(1.0, whole_s / cycle_s / max(once, _NEVER))
                    later = 1.0 - (1.0 - later) ** often
                    later_on *= 1.0 - later * again
                quiet *= max(1.0 - later * (1.0 - silent), _NEVER)
        return spared * later_on / max(on_air, 1.0) + max(1.0 - on_air, 0.0) * quiet

    def _again(self, j: int, time_s: float, stretch: float, rest_s: float) -> float:
        """Probability that a sender on the air begins its next packet within a time.

        `rest_s`: what is left then of its silence, with none of its packet left.
        """
        other, air_s, silent_s = self.of[j], self.on_air_s[j], self.silent_s[j]
        # Mean of max(0, t - silence), with none of the packet and with all of it left.
        begun_s = time_s / stretch - silent_s + rest_s
        within_s = max(time_s - air_s, 0.0) / stretch
        late_s = within_s - silent_s + other.rest_s(self.weights[j], within_s)
        return min(1.0, max(0.0, (begun_s - late_s) * stretch / air_s))

    def access(self, losses: list[float]) -> tuple[Access, ...]:
        """Return the access: means over all attempts, also those that follow a success at once."""
        again = follow(self.mac)
        attempts = [1.0 + (1.0 - f) * again for f in self.fails]
        by_sender: list[list[float]] = [[] for _ in self.of]
        for reception, loss in zip(self.receptions, losses, strict=True):
            by_sender[reception.sender].append(loss / attempts[reception.sender])
        return tuple(
            Access(
                self.cycle_s[i] / attempts[i],
                tuple(by_sender[i]),
                one.sent_s + self.fails[i] * (one.failed_s - one.sent_s),
            )
            for i, one in enumerate(self.of)
        )


def _receptions(situation: Situation) -> list[_Reception]:
    n, found = len(situation.senders), []
    for i, (heard, hidden) in enumerate(zip(situation.contenders, situation.hidden, strict=True)):
        rows = situation.lost[i] if situation.lost else ()
        for k in range(len(hidden) or 1):
            lost = [0.0] * n
            for j, c in zip(heard, rows[k] if rows else (1.0,) * len(heard), strict=True):
                lost[j] = c
            of_sender = {one.sender: one for one in hidden[k]} if hidden else {}
            apart = by_hearing(situation.contenders, tuple(of_sender)) if of_sender else []
            at = [[of_sender[j] for j in group] for group in apart]
            sure = [j for j, c in enumerate(lost) if c == 1.0] if {*lost} <= {0.0, 1.0} else None
            found.append(_Reception(i, tuple(lost), sure, at))
    return found


def solve(mac: Timing, situation: Situation, close: float, rounds: int) -> tuple[Access, ...]:
    """The fixed point of a situation.

    Parameters
    ----------
    mac : Csma
    situation : Situation
    close : float
        Change of a failure probability that ends the iteration.
    rounds : int
        Most steps.

    Returns
    -------
    tuple of Access
        One a sender.
    """
    few = _Few(mac, situation)
    return few.access(few.solve(close, rounds))
