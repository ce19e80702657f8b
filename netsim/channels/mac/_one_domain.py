"""The fixed point of `_dcf` among senders that all hear each other, with none hidden from them.

Then nothing in the iteration but the failure probabilities matters, and few senders are together:
plain numbers cost a tenth of what arrays of their size do. The steps are those of `_stations` and
`_hidden`, in the same order.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from netsim.channels.mac._situation import Access, Sender, Situation, Timing
from netsim.channels.mac._stations import DAMPING, SURE, last_stage

MOST = 30
"""Of more senders than this, arrays are faster."""


class _Constants:
    """What stays the same of a sender in the iteration."""

    def __init__(self, mac: Timing, sender: Sender) -> None:
        self.repeats, self.error = sender.ack_s is not None, sender.error
        top = last_stage(mac, sender)
        self.endless = sender.limit is None and top > 0
        self.means = [0.5 * (mac.cw_min * 2.0 ** min(q, mac.stages) - 1.0) for q in range(top + 1)]
        before_s = mac.rts_s + mac.cts_s + 2.0 * mac.sifs_s if sender.rts else 0.0
        hops = 1.0 + self.repeats + 2.0 * sender.rts
        ends_s = (mac.sifs_s + (sender.ack_s or 0.0) if self.repeats else 0.0) + mac.difs_s
        self.failed_s = mac.rts_s if sender.rts else sender.frame_s
        self.sent_s = (mac.rts_s if sender.rts else 0.0) + sender.frame_s
        self.success_s = before_s + sender.frame_s + ends_s + hops * mac.propagation_s
        if mac.anomalous_slots:
            self.success_s = (self.success_s + mac.slot_s) * (1.0 + follow(mac))
        self.heard_failed_s = self.failed_s + (mac.difs_s if mac.eifs_s is None else mac.eifs_s)

    def backoff(self, fails: float) -> float:
        """Mean backoff, in slots, of a sender whose attempts fail with a probability."""
        means = self.means
        if fails == 0.0 or len(means) == 1:
            return means[0]
        weight = 1.0
        weights = backoff = 0.0
        for mean in means:
            weights += weight
            backoff += weight * mean
            weight *= fails
        if self.endless:  # all later stages are like the last one
            weight /= 1.0 - min(fails, SURE)
            weights += weight
            backoff += weight * means[-1]
        return backoff / weights


_constants = lru_cache(maxsize=4096)(_Constants)


def follow(mac: Timing) -> float:
    """Packets that follow in the slot after a success, to each that does not."""
    return 1.0 / (mac.cw_min - 1.0) if mac.anomalous_slots else 0.0


def is_one_domain(situation: Situation) -> bool:
    """Whether a situation is one of few senders that all hear each other."""
    others = len(situation.senders) - 1
    if others >= MOST or any(found for of in situation.hidden for found in of):
        return False
    return all(len(heard) == others for heard in situation.contenders)


def solve(mac: Timing, situation: Situation, close: float, rounds: int) -> tuple[Access, ...]:
    """The fixed point of a situation that `is_one_domain`.

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
    of = [_constants(mac, one) for one in situation.senders]
    fails = [0.5 if one.repeats else 0.0 for one in of]
    tau = _begins(of, fails)
    losses = [[0.0]]
    for _ in range(rounds):
        losses = _collided(situation, tau)
        new = [
            1.0 - (1.0 - lost[0]) * (1.0 - one.error) if one.repeats else 0.0
            for one, lost in zip(of, losses, strict=True)
        ]
        most = max(abs(n - f) for n, f in zip(new, fails, strict=True))
        step = 1.0 if most < close else DAMPING
        fails = [f + step * (n - f) for n, f in zip(new, fails, strict=True)]
        tau = _begins(of, fails)
        if most < close:
            break
    spoilt = [
        min(1.0, max(0.0, 1.0 - (1.0 - lost[0]) * (1.0 - one.error) / max(1.0 - lost[0], 1e-12)))
        for one, lost in zip(of, losses, strict=True)
    ]
    slots_s = _slots_s(mac, of, tau, spoilt)
    again, found = follow(mac), []
    for i, one in enumerate(of):
        own_s = one.success_s + fails[i] * (one.failed_s + mac.difs_s - one.success_s)
        cycle_s = one.backoff(fails[i]) * slots_s[i] + own_s
        attempts = 1.0 + (1.0 - fails[i]) * again
        sent_s = one.sent_s + fails[i] * (one.failed_s - one.sent_s)
        found.append(
            Access(cycle_s / attempts, tuple(loss / attempts for loss in losses[i]), sent_s)
        )
    return tuple(found)


def _begins(of: list[_Constants], fails: list[float]) -> list[float]:
    """Probability that each begins in a slot."""
    return [min(1.0 / (1.0 + one.backoff(f)), SURE) for one, f in zip(of, fails, strict=True)]


def _collided(situation: Situation, tau: list[float]) -> list[list[float]]:
    """By sender and reception: probability of losing an attempt to one of the same slot."""
    found = []
    for i, heard in enumerate(situation.contenders):
        begin = [tau[j] for j in heard]
        if situation.lost and situation.lost[i]:
            rows = situation.lost[i]
            found.append(
                [1.0 - prod([1.0 - c * t for c, t in zip(row, begin, strict=True)]) for row in rows]
            )
        else:
            lost = 1.0 - prod([1.0 - t for t in begin])
            found.append([lost] * (len(situation.hidden[i]) or 1))
    return found


def _slots_s(
    mac: Timing, of: list[_Constants], tau: list[float], spoilt: list[float]
) -> list[float]:
    """Mean time of a slot that each counts down.

    Parameters
    ----------
    mac : Timing
    of : list of _Constants
        By sender.
    tau, spoilt : list of float
        Probability that it begins in a slot; that its attempt then fails though no other did.
    """
    more_s = [
        t / (1.0 - t) * (1.0 - s) * (one.success_s - one.heard_failed_s)
        for one, t, s in zip(of, tau, spoilt, strict=True)
    ]
    longest = sorted(range(len(of)), key=lambda i: -of[i].heard_failed_s)
    found = []
    for i in range(len(of)):
        idle, busy_s, succeed_s = 1.0, 0.0, 0.0
        for j in longest:  # of those that begin in a slot the longest packet counts
            if j != i:
                busy_s += idle * tau[j] * of[j].heard_failed_s
                idle *= 1.0 - tau[j]
                succeed_s += more_s[j]
        found.append(idle * (mac.slot_s + succeed_s) + busy_s)
    return found
