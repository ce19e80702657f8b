"""The senders of a problem as they iterate towards the fixed point of `fixed_point`."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac._dcf.contention_problem import (
    PREAMBLE_S,
    Access,
    ContentionProblem,
    Sender,
    Timing,
    no_answer_s,
)
from netsim.channels.mac._dcf.independent_sets import Floats, partial_groups

DAMPING = 0.7
"""Weight of a new failure probability, at first."""
PATIENCE = 8
"""Rounds in which the largest change has to halve, or the weight does."""
SMALLER_FROM = 100
"""Rounds after which no weight is larger than this over their number."""
SURE, MOMENT_S = 1.0 - 1e-12, 1e-9
"""A probability this large counts as 1; the shortest mean backoff."""
SENSED = 4.0 / 9.0
"""Share of a slot within which a station does not yet notice that another one has begun."""
MOST_ZERO = 0.98
"""The largest probability of drawing no slot: with `cw_min = 1` nobody would ever give way."""


class Damping:
    """Weight of new failure probabilities in the iteration.

    The failure probability that follows from the windows falls as they grow, the steeper the more
    senders there are. Where it falls by more than 2 / `DAMPING` - 1 times what it was changed by,
    steps of that weight lead from too few failures to too many and back, for ever. So the weight
    is halved while changes go to and fro without becoming smaller, and doubled again where they
    go one way.
    """

    def __init__(self) -> None:
        self._weight, self._round, self._turns = DAMPING, 0, 0
        self._size = float("inf")
        self._last: Sequence[float] = ()

    def next_weight(self, changes: Sequence[float]) -> float:
        """Weight of the next step.

        Parameters
        ----------
        changes : sequence of float
            By sender, the difference of a new failure probability from the old one.
        """
        last, self._last = self._last, changes
        self._turns += sum(map(mul, changes, last)) < 0.0
        self._round += 1
        if self._round % PATIENCE == 0:
            size = max(map(abs, changes))
            if size > 0.5 * self._size:
                halve = self._turns > 1 or self._weight == DAMPING
                self._weight *= 0.5 if halve else 2.0
            self._size, self._turns = size, 0
        return min(self._weight, SMALLER_FROM / self._round)


class Stations:
    """The senders in the iteration; arrays have one entry a sender, in rows of stages or others."""

    def __init__(self, mac: Timing, problem: ContentionProblem) -> None:
        senders, n = problem.senders, len(problem.senders)
        self.slot_s, self.difs_s = mac.slot_s, mac.difs_s
        frame_s = np.array([one.frame_s for one in senders])
        rts = np.array([one.rts for one in senders])
        repeats = np.array([one.ack_s is not None for one in senders])
        ack_s = np.array([one.ack_s or 0.0 for one in senders])
        self.error = np.array([one.error for one in senders])
        before_s = rts * (mac.rts_s + mac.cts_s + 2.0 * mac.sifs_s)
        hops = 1.0 + repeats + 2.0 * rts
        ends_s = repeats * (mac.sifs_s + ack_s) + mac.difs_s
        self.body_s = before_s + frame_s  # of an exchange that succeeds, up to the packet's end
        self.failed_s = np.where(rts, mac.rts_s, frame_s)
        self.sent_s = rts * mac.rts_s + frame_s
        self.success_s = self.body_s + ends_s + hops * mac.propagation_s
        # What a sender that hears only the receiver has to wait for.
        self.answer_s = np.where(rts, self.success_s, self.success_s - frame_s)
        self.rts, self.repeats = rts, repeats
        missed_s = no_answer_s(mac) + mac.difs_s
        self.extra_s = mac.slot_s if mac.anomalous_slots else 0.0
        self.zero = min(1.0 / mac.cw_min, MOST_ZERO) if mac.anomalous_slots else 0.0
        self.collided_s = self.failed_s + mac.difs_s + self.extra_s
        # For how much longer than a DIFS others wait: after packets that collide, by listener, and
        # after one that no other collides with, whose frame they understand.
        self.hold, held_s = np.array(problem.held or ((0.0, 0.0),) * n).T
        hears = np.array([bool(heard) for heard in problem.contenders])
        answers_s = np.where(rts, 2.0 * (mac.sifs_s + mac.slot_s) + mac.cts_s + PREAMBLE_S, 0.0)
        answers_s = np.where(rts, answers_s, mac.sifs_s + ack_s)
        self.reserved_s = np.where(hears & repeats & mac.anomalous_slots, answers_s, 0.0)
        tops = [last_stage(mac, one) for one in senders]
        self.stages = np.arange(max(tops) + 1)
        self.exists = self.stages <= np.array(tops)[:, None]
        self.endless = [i for i, one in enumerate(senders) if one.limit is None and tops[i] > 0]
        self.widths = mac.cw_min * 2.0 ** np.minimum(self.stages, mac.stages) - 1.0
        self.widths_s = mac.slot_s * self.widths
        self.twice_s = 2.0 * np.maximum(self.widths_s, 1e-12)
        # Silence before a backoff: one at stage 0 follows a success, all others a failure.
        self.gaps_s = np.where(self.stages == 0, ends_s[:, None], missed_s)
        # Of it, what keeps others from counting down, too; by how much less a failure does.
        self.kept_s = np.where(self.stages == 0, ends_s[:, None], mac.difs_s)
        self.less_s = self.failed_s + mac.difs_s - self.success_s
        self.missed_s = missed_s
        self.idle = np.ones(n)
        self.hears = np.zeros((n, n))
        for i, heard in enumerate(problem.contenders):
            self.hears[i, list(heard)] = 1.0
        # Of a row's packet, to one of a column's that begins in the same slot.
        self.beaten: Floats | None = None
        if problem.lost:
            self.beaten = np.zeros((n, n))
            for i, (heard, found) in enumerate(zip(problem.contenders, problem.lost, strict=True)):
                self.beaten[i, list(heard)] = found[0] if found else 1.0
        near = self.hears.sum(1)
        held_s = self.hears @ (self.hold * held_s) / np.maximum(self.hears @ self.hold, 1e-12)
        hold = np.where(near > 1.0, self.hears @ self.hold / np.maximum(near, 1.0), 0.0)
        self.all_hold = hold ** np.maximum(near - 1.0, 1.0)  # none counts from a DIFS on
        self.some_hold = np.maximum(hold - self.all_hold, 0.0)
        self.all_held_s = self.all_hold * held_s
        # Slots before an attempt that follows a failure, and how likely it is made before any of
        # the others counts, by stage: where these wait for a DIFS, longer after a collision, and
        # after a failure without one.
        self.after_difs = self._backoff_after_failure(np.zeros(n))
        self.after_collision = self._backoff_after_failure(held_s)
        self.after_lone = self._backoff_after_failure(self.reserved_s)
        # After a collision some of the others are absent for a time: those that hold, and those
        # two that wait for an answer.
        miss = self.after_difs[1]
        splits = mac.anomalous_slots & (self.some_hold > 0.0)
        self.late = np.where(splits, held_s / mac.slot_s, 0.0)
        pair = 2.0 / np.maximum(near, 2.0)
        back = np.maximum(1.0 - miss / np.maximum(self.late, 1e-12), 0.0)
        self.without = (1.0 - self.some_hold) * (1.0 - pair) + pair * back
        self.absent, self.larger, self.lost_slots = np.zeros(n), np.ones(n), np.zeros(n)
        self.alike = bool(np.ptp(self.collided_s) == 0.0)
        self.warned = np.zeros((n, n))
        for i, of_sender in enumerate(problem.hidden):
            self.warned[i, [h.sender for found in of_sender for h in found if h.warned]] = 1.0
        self.any_warned = bool(self.warned.any())
        self.groups = partial_groups(problem.contenders)
        # Whether j counts down when i does: not where one that only j hears is on the air.
        self.counts = np.ones((n, n))
        # In a group: share of the time for which j is on the air when i counts down; how long it
        # counts down of the time for which it is silent while i is on the air.
        self.together = np.zeros((n, n), dtype=np.bool_)
        for group in self.groups:
            self.late[group.who] = self.some_hold[group.who] = 0.0
            self.together[np.ix_(group.who, group.who)] = True
        self.beside, self.paces = np.zeros((n, n)), np.ones((n, n))
        self.fails = np.where(repeats, 0.5, 0.0)
        self.spoilt = np.zeros(n)  # f given that no contender began in the same slot
        self.lone = np.zeros(n)  # share of failures in which none did
        self.attempt_s = self.success_s
        self.settled = True
        self._damping = Damping()
        self._update_stages()

    def _update_stages(self) -> None:
        """Stage probabilities, mean backoff and what follows from them; see `fixed_point`."""
        fails, spoilt = self.fails, np.where(self.repeats, self.spoilt, 0.0)
        waits, free = self._counted_and_free_slots()
        failed = fails[:, None] + free * (spoilt - fails)[:, None]
        after_success = np.ones_like(failed) * self.exists
        after_zero = np.zeros_like(failed)  # stages that a zero draw's failure leads to
        after_success[:, 1:] *= np.cumprod(failed[:, :-1], axis=1)
        after_zero[:, 1:2] = self.exists[:, 1:2]
        after_zero[:, 2:] = np.cumprod(failed[:, 1:-1], axis=1) * self.exists[:, 2:]
        for i in self.endless:
            for weights in (after_success, after_zero):
                weights[i, -1] /= max(1.0 - failed[i, -1], 1e-12)
        self.free = (after_success * free).sum(1) / after_success.sum(1)
        fails = fails + self.free * (spoilt - fails)
        zero, anew = self.zero, 1.0 - self.zero * (1.0 - spoilt)
        rate = zero * (1.0 - fails) / anew
        zeros = rate * after_success.sum(1) / (1.0 - rate * spoilt * after_zero.sum(1))
        stages = after_success + (spoilt * zeros)[:, None] * after_zero
        slots = stages.sum(1)
        if zero:
            through = (1.0 - fails) * slots + (1.0 - spoilt) * zeros
            share = np.minimum((1.0 - zero) * through / stages[:, 0], 1.0)
            waits[:, 0] += share * (max(0.5 * self.widths[0] - 0.5, 0.0) - waits[:, 0])
        self.backoff_s = self.slot_s * (stages * waits).sum(1) / slots * (1.0 + self.lost_slots)
        contends = 1.0 - self.free
        self.tau = np.minimum(contends / (contends + self.backoff_s / self.slot_s), SURE)
        self.failed = fails
        # In a run: one that succeeds, and those that follow it at once.
        more, self.zeros = zero / anew, zeros / slots
        spoilt_s = self.collided_s + self.reserved_s
        more_s = more * (self.success_s + spoilt * (spoilt_s - self.success_s))
        self.run_s = self.success_s + more_s + (1.0 - more * spoilt) * self.extra_s
        stages[:, 0] += zeros
        self.weights = stages / (slots + zeros)[:, None]
        self.silent_s = (self.weights * (self.gaps_s + 0.5 * self.widths_s)).sum(1)
        self.gap_s = (self.weights * self.kept_s).sum(1)
        self.lost = self.of_attempts(self.fails, spoilt)
        self.on_air_s = self.body_s + self.lost * (self.failed_s - self.body_s)

    def _backoff_after_failure(self, held_s: Floats) -> tuple[Floats, Floats, Floats]:
        """Slots of a backoff after a failure, those that others count before it, and free ones.

        Parameters
        ----------
        held_s : (n,) array
            For how much longer than a DIFS the others wait after that failure [s].

        Returns
        -------
        left : (n, stages) array
            Mean number of slots that are counted by all.
        late : (n,) array
            Slots that the others count before it does.
        free : (n, stages) array
            Probability that it begins before any of the others counts.
        """
        ahead = (self.missed_s - self.difs_s - held_s) / self.slot_s - 1.0
        first = np.ceil(np.maximum(-ahead - SENSED, 0.0))[:, None]
        left = np.maximum(self.widths - first, 0.0)
        left = left * (left + 1.0) / (2.0 * (self.widths + 1.0))
        free = np.minimum(first / (self.widths + 1.0), 1.0) * (self.stages > 0)
        return left, np.maximum(ahead, 0.0), free

    def _counted_and_free_slots(self) -> tuple[Floats, Floats]:
        """Counted slots before an attempt after a failure, and free ones.

        See `_backoff_after_failure`.
        """
        if not self.zero:
            half = self.widths / 2.0 * np.ones((len(self.fails), 1))
            return half, np.zeros_like(half)
        waits, free = (np.zeros((len(self.fails), len(self.stages))) for _ in range(2))
        idle = self.idle
        hold = (1.0 - self.lone) * self.all_hold
        for part, (left, late, first) in (
            (1.0 - self.lone - hold, self.after_difs),
            (hold, self.after_collision),
            (self.lone, self.after_lone),
        ):
            gone = (1.0 - idle**late) / np.maximum(1.0 - idle, 1e-12)
            gone = np.where(idle < SURE, idle * gone, late)
            waits = waits + part[:, None] * (left + gone[:, None])
            free = free + part[:, None] * first
        return waits, free

    def of_attempts(self, contended: Floats, followed: Floats) -> Floats:
        """Mean over attempts, from that over those after a backoff and that over those at once."""
        more = self.zeros + self.free
        return np.asarray((contended * (1.0 - self.free) + more * followed) / (1.0 + self.zeros))

    def update_idle_probability(self) -> None:
        """Set the probability that a slot which a sender counts is idle."""
        self.none = np.log1p(-self.tau)
        quiet, without = self.hears @ self.none, self.without
        whole, short = np.exp(self.larger * quiet), np.exp(self.larger * without * quiet)
        self.idle = whole + self.absent * (short - whole)
        # One alone begins in a slot with the probability idle alone times sum of tau / (1 - tau).
        self.alone = (whole + self.absent * (without * short - whole)) * self.larger / self.idle
        lone = self.alone * self.idle * (self.hears @ (self.tau / (1.0 - self.tau)))
        begins = np.maximum(1.0 - self.idle, 1e-12)
        collide = np.clip(1.0 - lone / begins, 0.0, 1.0)
        still = short**self.late
        slots = np.where(short < SURE, (1.0 - still) / np.maximum(1.0 - short, 1e-12), self.late)
        rest = (1.0 - collide + collide * still) / np.maximum(1.0 - whole, 1e-12)
        self.absent = collide * slots / np.maximum(collide * slots + rest, 1e-12)
        self.larger = 1.0 / (1.0 - self.absent * (1.0 - without))
        here = self.absent * (1.0 - self.some_hold)
        self.seen = here / np.maximum(here + 1.0 - self.absent, 1e-12)
        self.lost_slots = collide * begins * self.some_hold * short * slots

    def quiet_probability(self, logs: Floats, who: NDArray[np.int64]) -> Floats:
        """Probability that no contender begins, or spoils, in a slot that a sender counts.

        Parameters
        ----------
        logs : (k,) array
            Sum over its contenders of the logarithms of the probabilities that each does not, on
            average over its slots.
        who : (k,) array of int
            The sender.
        """
        more, seen = self.larger[who], self.seen[who]
        whole, short = np.exp(more * logs), np.exp(more * self.without[who] * logs)
        return np.asarray(whole + seen * (short - whole))

    def update_attempt_time(self) -> None:
        """Set the mean time of an attempt, from the states of those that it waits for."""
        self.update_idle_probability()
        tau, failed_s, none, idle = self.tau, self.collided_s, self.none, self.idle
        alone = tau / (1.0 - tau)
        lone_s = alone * self.spoilt * self.reserved_s
        more_s = alone * (1.0 - self.spoilt) * (self.run_s - failed_s)
        lone = idle * self.alone * (self.hears @ alone)
        if self.beaten is None:
            slot_s = idle * (self.slot_s + self.alone * (self.hears @ (more_s + lone_s)))
        else:  # also one that is received beside others
            through = self.hears * (1.0 - self.fails) / (1.0 - tau[:, None] * self.beaten.T)
            slot_s = idle * (self.slot_s + self.alone * (self.hears @ lone_s))
            slot_s += through @ (tau * (self.run_s - failed_s))
            lone = through @ tau + idle * self.alone * (self.hears @ (alone * self.spoilt))
        slot_s += self.all_held_s * np.maximum(1.0 - idle - lone, 0.0)
        # Attempts of others that nobody counts a slot before follow their failures.
        follow_s = tau * self.free / np.maximum(1.0 - self.free, 1e-12)
        follow_s *= self.run_s + self.spoilt * (failed_s + self.reserved_s - self.run_s)
        followed_s = self.hears @ follow_s
        slot_s += followed_s
        if self.alike:
            slot_s += (1.0 - idle) * failed_s[0]
        else:  # of those that begin in a slot the longest packet counts
            order = np.argsort(-failed_s, kind="stable")
            logs = self.hears[:, order] * none[order]
            none_longer = np.exp(np.cumsum(logs, axis=1) - logs)
            slot_s += (none_longer * self.hears[:, order]) @ (tau * failed_s)[order]
        if self.any_warned:  # it holds back for what the receiver of a hidden sender answers
            begins = np.where(self.rts, tau, self.slot_s / self.attempt_s)
            slot_s += self.warned @ (begins * (1.0 - self.lost) * self.answer_s)
        held_s = self.lone * self.reserved_s + (1.0 - self.lone) * self.all_held_s
        own_s = followed_s + self.run_s + self.failed * (self.collided_s + held_s - self.run_s)
        attempts = 1.0 + self.zeros
        self.own_s = own_s / attempts
        self.counted_s = np.maximum(self.backoff_s / attempts, MOMENT_S)
        self.attempt_s = self.counted_s / self.slot_s * slot_s + self.own_s
        for group in self.groups:  # not in step with each other, so that no slot is anybody's own
            who = group.who
            own_s = self.success_s[who] + self.lost[who] * self.less_s[who]
            counted_s = np.maximum(self.silent_s[who] - self.gap_s[who], MOMENT_S)
            law = group.stationary_law(own_s / counted_s)
            self.own_s[who], self.counted_s[who] = own_s, counted_s
            self.attempt_s[who] = own_s / law.shares
            pairs = np.ix_(who, who)
            self.counts[pairs], self.beside[pairs], self.paces[pairs] = law[1:]

    def update_losses(self, losses: Floats, collided: Floats, close: float) -> float:
        """Update the probabilities of losing an attempt.

        Parameters
        ----------
        losses : ndarray, shape (n,)
            Of each sender, to collisions and hidden senders.
        collided : ndarray, shape (n,)
            The part of them that is collisions.
        close : float
            Changes up to this are taken over whole, larger ones in part.

        Returns
        -------
        float
            By how much a probability differs at most.
        """
        fails = 1.0 - (1.0 - losses) * (1.0 - self.error)
        change = np.where(self.repeats, fails - self.fails, 0.0)
        most = float(np.abs(change).max())
        self.fails = self.fails + change * (
            1.0 if most < close else self._damping.next_weight(change.tolist())
        )
        self.spoilt = np.clip(1.0 - (1.0 - fails) / np.maximum(1.0 - collided, 1e-12), 0.0, 1.0)
        lone = self.spoilt * (1.0 - collided)
        self.lone = np.minimum(lone / np.maximum(fails, 1e-12), 1.0)
        self._update_stages()
        return most

    def rest_s(self, who: NDArray[np.int64], time_s: Floats) -> Floats:
        """Mean of max(0, g + B - t) at each stage, B uniform between 0 and a width."""
        left_s = time_s[:, None] - self.gaps_s[who]
        over_s = np.maximum(self.widths_s - np.maximum(left_s, 0.0), 0.0)
        return np.asarray(over_s * over_s / self.twice_s + np.maximum(-left_s, 0.0))

    def access(
        self, losses: Floats, collided: Floats, senders: NDArray[np.int64]
    ) -> tuple[Access, ...]:
        """Return the access: means over all attempts, also those that follow a success at once.

        Parameters
        ----------
        losses, collided : (pairs,) array
            Share of attempts that are lost, and that collide.
        senders : (pairs,) array
            The sender of each pair.
        """
        apart = np.clip(1.0 - (1.0 - losses) / np.maximum(1.0 - collided, 1e-12), 0.0, 1.0)
        zeros, free = self.zeros[senders], self.free[senders]
        losses = ((1.0 - free) * losses + (zeros + free) * apart) / (1.0 + zeros)
        sent_s = self.sent_s + self.lost * (self.failed_s - self.sent_s)
        contended = (1.0 - self.free) / (1.0 + self.zeros)
        met = (self.hears * self.counts * self.tau * contended[:, None]).tolist()
        meets = [
            tuple([x for x, near in zip(*rows, strict=True) if near])
            for rows in zip(met, self.hears.tolist(), strict=True)
        ]
        found: list[list[float]] = [[] for _ in sent_s]
        for i, loss in zip(senders.tolist(), losses.tolist(), strict=True):
            found[i].append(loss)
        return tuple(
            Access(time_s, tuple(of), sent, None, by_contender, self.settled)
            for time_s, of, sent, by_contender in zip(
                self.attempt_s.tolist(), found, sent_s.tolist(), meets, strict=True
            )
        )


def last_stage(mac: Timing, sender: Sender) -> int:
    """The last backoff stage of a sender."""
    if sender.ack_s is None:
        return 0
    return mac.stages if sender.limit is None else sender.limit
