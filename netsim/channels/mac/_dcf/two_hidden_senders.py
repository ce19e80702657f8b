"""Two senders that are hidden from each other: one Markov chain of both their backoffs.

`fixed_point` takes the stages of different senders as independent. Those of two hidden senders are
not: while one waits long the other gets packet after packet through, and after packets that
overlapped one begins anew while the other is still on the air.

States. A visit is an instant at which X, one of the two, ends a packet while the other one, Y, is
on the air: i is the stage at which X draws its next silence, j that of Y's packet, m says whether
this packet is lost already. Y's packet goes on for U; its law in a state is taken as uniform, with
the mean and variance that the chain itself gives. So is the share of visits in which X's receiver
has locked to Y's packet. X draws a silence A, and Y, once it has ended, a silence B: a gap and a
backoff, uniform given the stage. T: time of a packet.

- A < U: X begins while Y is on the air. If A + T_X < U, X is the next to end, else Y.
- Else with D = U + B - A
  - 0 < D < T_X: Y begins while X is on the air, -T_Y < D < 0: X while Y is. One of them ends first.
  - D > T_X: X has a packet alone. It goes on alone until Y begins, D - T_X later: with c its mean
    time from one packet to the next, so often as V = (D - T_X) / c > 1 has whole units, which is
    V - 1/2 on average. Y begins during a packet of X with probability T_X / c, else before one.
  - D < -T_Y: the same with X and Y exchanged.

A packet that begins while the other one is on the air is lost with probability y if its receiver
has locked to that one, else z; one during which the other begins is lost with z; either is lost
with probability e anyway (`Hidden`, `Sender`).

Derived here. Beside a simulation of the same process (packets of .25 to 4 ms, of equal and unequal
length, y and z of .5 to 1, e of 0 and .2) throughput is within 4 % mostly, within 14 % at most;
stages in independence are off by factors of up to 7. Packets much shorter than the first window are
less well described: 10 % too many attempts at .1 ms.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.channels.mac._dcf.contention_problem import (
    Access,
    ContentionProblem,
    Sender,
    Timing,
    no_answer_s,
)
from netsim.channels.mac._dcf.independent_sets import Floats
from netsim.channels.mac._dcf.stations import last_stage

Integers = NDArray[np.int64]

SPOILS = 0.25
"""Share of the other's packets that one of the two spoils, up to which they are independent."""
MOST_ERROR = 0.5
"""Loss by other causes above which they are independent, too."""
MOST_UNLIKE = 5.0
"""Longer packet over shorter one up to which the chain's law of U is good enough."""
MOST_STATES = 150
"""Stages of the one times stages of the other up to which the chain is solved."""
ROUNDS = 3
"""Number of solutions of the chain, each with the last one's packet under way."""
NODES_U, NODES_A = 4, 6
"""Values of U and A over which means are taken."""
SIDES = math.sqrt(12.0)
"""Width of a uniform law, in standard deviations."""
CLOSE, MOST_STEPS = 1e-6, 1000
"""Change of the shares of visits that ends a round, and most steps of it."""
RARE = 1e-9
"""A probability this small does not count."""
MOMENT_S = 1e-9
"""The shortest window."""


def is_applicable(mac: Timing, problem: ContentionProblem) -> bool:
    """Return whether a problem is of two senders that spoil each other's packets.

    And of such that the chain describes: where packets are longer than all backoffs the two are
    always on the air, and their packets lost.

    Parameters
    ----------
    mac : Csma
    problem : ContentionProblem

    Returns
    -------
    bool
    """
    senders = problem.senders
    if len(senders) != 2 or any(problem.contenders):
        return False
    if not all(one.ack_s is not None and not one.rts and one.frame_s > 0.0 for one in senders):
        return False
    if max(one.error for one in senders) > MOST_ERROR:
        return False
    if not all(len(of) == 1 and of[0] and of[0][0].later > SPOILS for of in problem.hidden):
        return False
    shorter_s, longer_s = sorted(one.frame_s for one in senders)
    tops = [last_stage(mac, one) for one in senders]
    widest_s = mac.slot_s * (mac.cw_min * 2.0 ** min(*tops, mac.stages) - 1.0)
    if longer_s > min(MOST_UNLIKE * shorter_s, widest_s):
        return False
    return (tops[0] + 1) * (tops[1] + 1) <= MOST_STATES


def solve(mac: Timing, problem: ContentionProblem) -> tuple[Access, ...]:
    """Solve for the effect of two hidden senders on each other's attempts.

    Parameters
    ----------
    mac : Csma
    problem : ContentionProblem
        One for which `is_applicable` is true.

    Returns
    -------
    tuple of Access
        One a sender.
    """
    sides = [
        Side(mac, one, hidden[0][0].earlier, hidden[0][0].later)
        for one, hidden in zip(problem.senders, problem.hidden, strict=True)
    ]
    chain = _Chain(*sides)
    return tuple(chain.access(k) for k in range(2))


class _Visit(NamedTuple):
    """Visits of X, `who`, to states, and what may happen there: rows of values of U and A."""

    who: int
    src: Integers
    i: Integers
    j: Integers
    u_s: Floats
    a_s: Floats
    weight: Floats


class _Chain:
    """The chain, solved; arrays have one entry a state, in order of X, i, j, m."""

    def __init__(self, one: Side, other: Side) -> None:
        self.sides = (one, other)
        surely = one.later == other.later == 1.0  # then m is 1 always
        self.flags = 1 if surely else 2
        self.half = one.stages * other.stages * self.flags
        air_s = np.repeat((other.air_s, one.air_s), self.half)  # Y's
        self.mean_s, self.spread_s = 0.5 * air_s, air_s / SIDES
        self.locked = np.zeros(2 * self.half)
        self.shares = np.full(2 * self.half, 0.5 / self.half)
        for k in range(ROUNDS):
            if k:
                self._update_left_time()
            self._build()
            self.settled = self._settle()

    def _build(self) -> None:
        """Probabilities of going from state to state, and what happens on the way."""
        states = 2 * self.half
        # Probability, and with it U, U² and whether the receiver has locked.
        self.moves = np.zeros((4, states, states))
        self.lasts_s = np.zeros(states)
        self.tries = [np.zeros((states, side.stages)) for side in self.sides]
        self.fails = [np.zeros((states, side.stages)) for side in self.sides]
        self.late = [np.zeros(states) for _ in self.sides]  # begun while the other is on the air
        self._add_visits(0)
        if self.sides[0].same == self.sides[1].same:
            first, second = slice(self.half), slice(self.half, None)
            self.moves[:, second, second] = self.moves[:, first, first]
            self.moves[:, second, first] = self.moves[:, first, second]
            self.lasts_s[second] = self.lasts_s[first]
            for counts in (self.tries, self.fails):
                counts[0][second], counts[1][second] = counts[1][first], counts[0][first]
            self.late[0][second], self.late[1][second] = self.late[1][first], self.late[0][first]
        else:
            self._add_visits(1)

    def _settle(self) -> bool:
        """Find the share of visits to each state; return whether that converged."""
        onward = scipy.sparse.csr_array(self.moves[0].T)
        for _ in range(MOST_STEPS):
            change = onward @ self.shares - self.shares
            self.shares = self.shares + 0.5 * change  # not all of it: visits may alternate
            if np.abs(change).sum() < CLOSE:
                return True
        return False

    def _update_left_time(self) -> None:
        """Update the law of U and the share of locked receivers by the last round's moves."""
        flow = np.einsum("s,csd->cd", self.shares, self.moves)
        seen = flow[0] > RARE
        visits = np.where(seen, flow[0], 1.0)
        mean_s = flow[1] / visits
        variance = np.maximum(flow[2] / visits - mean_s**2, 0.0)
        self.mean_s = np.where(seen, mean_s, self.mean_s)
        self.spread_s = np.where(seen, np.sqrt(variance), self.spread_s)
        self.locked = np.where(seen, flow[3] / visits, 0.0)

    def access(self, k: int) -> Access:
        """Return the access of one of the two senders."""
        side = self.sides[k]
        tries, fails = self.shares @ self.tries[k], self.shares @ self.fails[k]
        spared = 1.0 - side.error
        by_stage = np.where(tries > 0.0, fails / np.where(tries > 0.0, tries, 1.0), 1.0)
        by_attempt = None
        if side.limit is not None:
            found = _by_attempt(np.clip(by_stage, 0.0, 1.0), side.limit)
            by_attempt = tuple(np.clip(1.0 - (1.0 - found) / spared, 0.0, 1.0).tolist())
        loss = 1.0 - (1.0 - float(fails.sum() / tries.sum())) / spared
        attempt_s = float(self.shares @ self.lasts_s / tries.sum())
        late = float(self.shares @ self.late[k] / tries.sum())
        losses = (min(1.0, max(0.0, loss)),)
        return Access(
            attempt_s, losses, side.air_s, by_attempt, settled=self.settled, late=min(1.0, late)
        )

    # -- what follows a visit ----------------------------------------------------------------------

    def _add_visits(self, who: int) -> None:
        """Add all moves that may follow when `who`, here X, ends a packet."""
        x, y = self.sides[who], self.sides[1 - who]
        i, j, m = (of.ravel() for of in np.indices((x.stages, y.stages, self.flags)))
        lost = m == self.flags - 1  # Y's packet
        src = who * self.half + np.arange(self.half)
        nodes_u, nodes_a = ((np.arange(n) + 0.5) / n for n in (NODES_U, NODES_A))
        law_s = self.mean_s[src, None] + self.spread_s[src, None] * SIDES * (nodes_u - 0.5)
        u_s = np.repeat(np.clip(law_s, 0.0, y.air_s), NODES_A, axis=1)
        a_s = np.tile(x.gap_s[i, None] + x.width_s[i, None] * nodes_a, NODES_U)
        hits = a_s < u_s
        visit = _Visit(who, src, i, j, u_s, a_s, hits / (NODES_U * NODES_A))
        self._while_on_air(visit, lost)
        silent = visit._replace(j=np.where(lost, y.next[j], 0), weight=~hits / (NODES_U * NODES_A))
        self._add_overlaps_after_silence(silent)
        self._go_on_alone(silent)

    def _while_on_air(self, visit: _Visit, lost: NDArray[np.bool_]) -> None:
        """X begins while Y is on the air, with a packet that may be `lost` already."""
        who, src, i, j, u_s, a_s, weight = visit
        x, y = self.sides[who], self.sides[1 - who]
        locked = self.locked[src]
        lost_x = x.loss_probability(locked * x.earlier + (1.0 - locked) * x.later)
        lost_y = np.where(lost, 1.0, y.later)
        p = weight.sum(1)
        self._count_attempt(who, src, i, p, lost_x)
        self.late[who][src] += p
        self.fails[1 - who][src, j] += p * np.where(lost, 0.0, y.later)
        x_ends = a_s + x.air_s <= u_s
        ends_s = np.where(x_ends, a_s + x.air_s, u_s)
        self.lasts_s[src] += (weight * ends_s).sum(1)
        left_s = np.abs(a_s + x.air_s - u_s)
        found = [(weight * x_ends * left_s**k).sum(1) for k in range(3)]
        self._add_packet_end(src, who, (i, j), found, (lost_x, lost_y), locked)
        found = [(weight * ~x_ends * left_s**k).sum(1) for k in range(3)]
        self._add_packet_end(src, 1 - who, (j, i), found, (lost_y, lost_x), 0.0)

    def _add_overlaps_after_silence(self, visit: _Visit) -> None:
        """Add the moves from silence of both, where one begins while the other is on the air."""
        who, src, i, j, u_s, a_s, weight = visit
        x, y = self.sides[who], self.sides[1 - who]
        r_s = a_s - u_s
        longer_x_s, longer_y_s = max(0.0, x.air_s - y.air_s), max(0.0, y.air_s - x.air_s)
        for x_begins, x_ends, start_s, stop_s in (  # in which order, for which B
            (True, True, r_s + longer_x_s, r_s + x.air_s),
            (True, False, r_s, r_s + longer_x_s),
            (False, False, r_s - y.air_s, r_s - longer_y_s),
            (False, True, r_s - longer_y_s, r_s),
        ):
            p, b_s, squares = silence_moments(y, j, start_s, stop_s)
            lost_x = x.loss_probability(x.later if x_begins else x.earlier)
            lost_y = y.loss_probability(y.earlier if x_begins else y.later)
            more_s = y.air_s - x.air_s - r_s  # Y's end is this and B after X's
            left_s, ends_s = b_s + more_s * p, (a_s + x.air_s) * p
            if not x_ends:
                left_s, ends_s = -left_s, b_s + (u_s + y.air_s) * p
            left2 = squares + 2.0 * more_s * b_s + more_s**2 * p
            found = [(weight * of).sum(1) for of in (p, left_s, left2)]
            self._count_attempt(who, src, i, found[0], lost_x)
            self._count_attempt(1 - who, src, j, found[0], lost_y)
            self.late[1 - who if x_begins else who][src] += found[0]
            self.lasts_s[src] += (weight * ends_s).sum(1)
            locked = float(x_begins != x_ends)
            if x_ends:
                self._add_packet_end(src, who, (i, j), found, (lost_x, lost_y), locked)
            else:
                self._add_packet_end(src, 1 - who, (j, i), found, (lost_y, lost_x), locked)

    def _go_on_alone(self, visit: _Visit) -> None:
        """Both are silent; one gets packets off until the other one begins."""
        who, src, i, j, u_s, a_s, weight = visit
        x, y = self.sides[who], self.sides[1 - who]
        r_s = a_s - u_s
        end_s = r_s + x.air_s
        p, b_s, _ = silence_moments(y, j, end_s, np.inf)
        later, later_s, _ = silence_moments(y, j, end_s + x.cycle_s, np.inf)
        more = (later_s - end_s * later) / x.cycle_s - 0.5 * later
        self._add_until_other_begins(
            src, who, (i, j), *((weight * of).sum(1) for of in (p, more, b_s + u_s * p))
        )
        end_s = r_s - y.air_s
        p, _, _ = silence_moments(y, j, -np.inf, end_s)
        later, later_s, _ = silence_moments(y, j, -np.inf, end_s - y.cycle_s)
        more = (end_s * later - later_s) / y.cycle_s - 0.5 * later
        self._add_until_other_begins(
            src, 1 - who, (j, i), *((weight * of).sum(1) for of in (p, more, a_s * p))
        )

    def _add_until_other_begins(
        self, src: Integers, alone: int, stages: tuple[Integers, Integers], p: Floats,
        more: Floats, begins_s: Floats,
    ) -> None:  # fmt: skip
        """`alone` gets a packet off with probability p, then `more`, until the other begins."""
        one, other = self.sides[alone], self.sides[1 - alone]
        self._count_attempt(alone, src, stages[0], p, one.error)
        self.lasts_s[src] += begins_s
        within = one.air_s / one.cycle_s
        longer_s = max(0.0, one.air_s - other.air_s)
        short = longer_s / one.air_s  # the part of a packet in which the other one's also ends
        wait_s = 0.5 * one.silent_s
        after_s = wait_s + one.air_s - other.air_s  # where the other one begins in a silence
        meetings = (  # which begins first, which ends first, probability, time left, time it takes
            (
                True, True, within * (1.0 - short),
                (longer_s - one.air_s + other.air_s, other.air_s), 0.5 * (one.air_s - longer_s),
            ),
            (True, False, within * short, (0.0, longer_s), other.air_s),
            (
                False, after_s < 0.0, 1.0 - within,
                (abs(after_s), abs(after_s)), other.air_s + min(0.0, after_s),
            ),
        )  # fmt: skip
        for stage in np.flatnonzero(one.alone > RARE):
            i, j, share = np.full_like(src, stage), stages[1], one.alone[stage]
            self._count_attempt(alone, src, i, share * more, one.error)
            for begins, ends, chance, (low_s, high_s), lasts_s in meetings:
                q = p * share * chance
                lost = one.loss_probability(one.later if begins else one.earlier)
                lost_other = other.loss_probability(other.earlier if begins else other.later)
                self._count_attempt(alone, src, i, q, lost)
                self._count_attempt(1 - alone, src, j, q, lost_other)
                self.late[1 - alone if begins else alone][src] += q
                self.lasts_s[src] += q * lasts_s
                squares = (low_s**2 + low_s * high_s + high_s**2) / 3.0
                found = [q, q * 0.5 * (low_s + high_s), q * squares]
                locked = float(begins != ends)
                if ends:
                    self._add_packet_end(src, alone, (i, j), found, (lost, lost_other), locked)
                else:
                    self._add_packet_end(src, 1 - alone, (j, i), found, (lost_other, lost), locked)

    def _count_attempt(
        self, who: int, src: Integers, stage: Integers, tries: Any, lost: Any
    ) -> None:
        self.tries[who][src, stage] += tries
        self.fails[who][src, stage] += tries * lost

    def _add_packet_end(
        self, src: Integers, first: int, stages: tuple[Integers, Integers], found: list[Floats],
        losses: tuple[Any, Any], locked: Any,
    ) -> None:  # fmt: skip
        """`first` ends a packet, and the other one's goes on; losses of these packets.

        found: the probability, and with it the time left and its square.
        """
        p = found[0]
        if not p.any():
            return
        one, other = self.sides[first], self.sides[1 - first]
        weighted = np.array([*found, p * locked])
        for failed, doomed in product((1, 0), repeat=2):
            chance = (losses[0] if failed else 1.0 - losses[0]) * (
                losses[1] if doomed else 1.0 - losses[1]
            )
            if not np.any(chance):
                continue
            stage = one.next[stages[0]] if failed else np.zeros_like(stages[0])
            dst = first * self.half + (stage * other.stages + stages[1]) * self.flags
            dst += doomed * (self.flags - 1)
            self.moves[:, src, dst] += weighted * chance


def _by_attempt(by_stage: Floats, limit: int) -> Floats:
    """Losses of a packet's first, second, ... attempt, from those by stage.

    A packet that is given up leaves the stage of the next one's first attempt as it is (station
    retry counter), so that attempts and stages run apart until one succeeds.
    """
    stages = len(by_stage)
    tries, fails = np.zeros(limit), np.zeros(limit)
    left = 1.0
    for n in range(limit * stages):
        tries[n % limit] += left
        left *= by_stage[n % stages]
        fails[n % limit] += left
    return fails / np.maximum(tries, 1e-300)


class Side:
    """One of the two; arrays have one entry a stage.

    Parameters
    ----------
    mac : Csma
    sender : Sender
        One whose packets are acknowledged.
    earlier, later : float
        y and z: see `Hidden`.
    """

    def __init__(self, mac: Timing, sender: Sender, earlier: float, later: float) -> None:
        top = last_stage(mac, sender)
        stages = np.arange(top + 1)
        after_s = mac.sifs_s + (sender.ack_s or 0.0) + 2.0 * mac.propagation_s
        self.limit, self.stages, self.error = sender.limit, top + 1, sender.error
        self.gap_s = np.where(stages == 0, after_s, no_answer_s(mac)) + mac.difs_s
        windows = mac.cw_min * 2.0 ** np.minimum(stages, mac.stages) - 1.0
        self.width_s = np.maximum(mac.slot_s * windows, MOMENT_S)
        self.next = np.append(stages[1:], top if sender.limit is None else 0)  # after a failure
        self.air_s, self.earlier, self.later = sender.frame_s, earlier, later
        weights = sender.error ** stages.astype(np.float64)
        if sender.limit is None:
            weights[-1] /= 1.0 - sender.error
        self.alone = weights / weights.sum()  # stages of attempts while the other one is silent
        self.silent_s = float(self.alone @ (self.gap_s + 0.5 * self.width_s))
        self.cycle_s = self.silent_s + self.air_s
        self.same = (sender, earlier, later)

    def loss_probability(self, spoilt: Any) -> Any:
        """Probability of losing a packet.

        Parameters
        ----------
        spoilt : float or ndarray
            Probability that the other one spoils it.
        """
        return 1.0 - (1.0 - self.error) * (1.0 - spoilt)


def silence_moments(
    side: Side, stage: NDArray[np.int64], start_s: Any, stop_s: Any
) -> tuple[Floats, ...]:
    """Probability of a silence between two times, and with it the silence and its square.

    Parameters
    ----------
    side : Side
    stage : (n,) int64
    start_s, stop_s : float or (n, k) float64
        The times [s].

    Returns
    -------
    tuple of (n, k) float64
    """
    low_s, width_s = side.gap_s[stage, None], side.width_s[stage, None]
    a = np.clip(start_s, low_s, low_s + width_s)
    b = np.maximum(np.clip(stop_s, low_s, low_s + width_s), a)
    return (b - a) / width_s, (b**2 - a**2) / (2.0 * width_s), (b**3 - a**3) / (3.0 * width_s)
