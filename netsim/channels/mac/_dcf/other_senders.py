"""Effect of other senders on attempts, at each reception: contenders, and groups of hidden ones."""

from __future__ import annotations

import numpy as np

from netsim.channels.mac._dcf.contention_problem import ContentionProblem, Hidden, Timing
from netsim.channels.mac._dcf.independent_sets import Floats
from netsim.channels.mac._dcf.stations import SURE, Stations


class Others:
    """Effect of the others on the attempts of each sender, at each of its receptions.

    Arrays have one entry a reception, or one for each hidden sender at a reception.
    """

    def __init__(self, mac: Timing, problem: ContentionProblem, stations: Stations) -> None:
        receptions = [
            (i, k) for i, found in enumerate(problem.hidden) for k in range(len(found) or 1)
        ]
        self.senders = np.array([i for i, _ in receptions])
        self.first = np.array([r for r, (_, k) in enumerate(receptions) if k == 0])
        self.lost = np.zeros((len(receptions), len(problem.senders)))
        hidden: list[tuple[int, Hidden, int]] = []
        of_group: list[int] = []
        for r, (i, k) in enumerate(receptions):
            contenders = list(problem.contenders[i])
            lost = problem.lost[i] if problem.lost else ()
            self.lost[r, contenders] = lost[k] if lost else 1.0
            found = problem.hidden[i]
            of_sender = {one.sender: one for one in found[k]} if found else {}
            for group in by_hearing(problem.contenders, tuple(of_sender)):
                hidden += [(i, of_sender[j], len(of_group)) for j in group]
                of_group.append(r)
        self.of_group = np.array(of_group, dtype=np.int64)
        self.group = np.array([g for _, _, g in hidden], dtype=np.int64)
        self.me = np.array([i for i, _, _ in hidden], dtype=np.int64)
        self.other = np.array([one.sender for _, one, _ in hidden], dtype=np.int64)
        self.earlier = np.array([one.earlier for _, one, _ in hidden])
        self.later = np.array([one.later for _, one, _ in hidden])
        warned = np.array([one.warned for _, one, _ in hidden], dtype=np.bool_)
        self.warning_s = mac.rts_s + mac.sifs_s
        self.stations, me, other = stations, self.me, self.other
        self.brief, self.together = warned & stations.rts[me], stations.together[me, other]
        self.any_brief, self.any_together = bool(self.brief.any()), bool(self.together.any())
        self.any_partial = bool((self.later < 1.0).any())
        self.whole_s = np.where(self.brief, self.warning_s, stations.body_s[me])
        self.rest_s = stations.rest_s(me, stations.body_s[other])

    def losses(self) -> Floats:
        """Probability that an attempt is lost to others, by reception."""
        stations, me, other, groups = self.stations, self.me, self.other, len(self.of_group)
        begins = stations.tau * stations.counts[self.senders]
        logs = np.log1p(-np.minimum(self.lost * begins, SURE)).sum(1)
        alone = stations.quiet_probability(logs, self.senders)
        self.collided: Floats = 1.0 - alone
        if not len(me):
            return np.asarray(self.collided)
        attempt_s, silent_s = stations.attempt_s[other], stations.silent_s[other]
        own_s = stations.own_s[other]
        on_air_s = stations.on_air_s[other]
        share = on_air_s / attempt_s
        if self.any_together:
            beside = stations.beside[me, other] * on_air_s / own_s
            share = np.where(self.together, beside, share)
        if self.any_brief:
            early_s = np.where(stations.rts[other], self.warning_s, on_air_s)
            share = np.where(self.brief, early_s / (early_s + silent_s), share)
        # While others than the group's hold it up, a sender of the group does not count down.
        busy = np.bincount(self.group, own_s / attempt_s, groups)[self.group]
        counted_s = stations.counted_s[other]
        stretch = np.maximum(attempt_s * (1.0 - busy) / counted_s, 1.0)
        if self.any_together:
            stretch = np.where(self.together, 1.0 / stations.paces[me, other], stretch)
        if self.any_brief:
            stretch = np.where(self.brief, 1.0, stretch)
        rest_s = stations.rest_s(other, self.whole_s / stretch)
        silent = (stations.weights[other] * rest_s).sum(1) / silent_s
        # The receiver has locked to one that began since the sender's own last packet.
        began_s = stations.silent_s[me] - (stations.weights[me] * self.rest_s).sum(1)
        locked = np.minimum(share, began_s / attempt_s)
        spared = locked * (1.0 - self.earlier) + (share - locked) * (1.0 - self.later)
        later, again = self.later, np.zeros(len(me))
        if self.any_partial:
            # One on the air may also begin its next packet meanwhile, and any one several.
            again = np.where(
                self.brief, 0.0, self._restart_probability(stretch, on_air_s, silent_s)
            )
            once = np.maximum(share * again + (1.0 - share) * (1.0 - silent), 1e-300)
            often = np.where(self.brief, 1.0, np.maximum(self.whole_s / attempt_s / once, 1.0))
            later = 1.0 - (1.0 - later) ** often
        quiet = np.log(np.maximum(1.0 - later * (1.0 - silent), 1e-300))
        on_air = np.bincount(self.group, share, groups)
        survives = np.bincount(self.group, spared, groups) / np.maximum(on_air, 1.0)
        logs = np.log(np.maximum(1.0 - later * again, 1e-300))
        survives *= np.exp(np.bincount(self.group, logs, groups))
        survives += np.maximum(1.0 - on_air, 0.0) * np.exp(np.bincount(self.group, quiet, groups))
        logs = np.log(np.maximum(survives, 1e-300))
        return np.asarray(1.0 - alone * np.exp(np.bincount(self.of_group, logs, len(alone))))

    def _restart_probability(self, stretch: Floats, on_air_s: Floats, silent_s: Floats) -> Floats:
        """Probability that one on the air begins its next packet within a packet of the sender."""
        stations, other = self.stations, self.other
        begun_s = []  # mean of max(0, t - silence), with all of the packet and with none of it left
        for within_s in (self.whole_s, np.maximum(self.whole_s - on_air_s, 0.0)):
            rest_s = stations.rest_s(other, within_s / stretch)
            begun_s.append(
                within_s / stretch - silent_s + (stations.weights[other] * rest_s).sum(1)
            )
        again = (begun_s[0] - begun_s[1]) * stretch / on_air_s
        return np.asarray(np.clip(again, 0.0, 1.0))


def by_hearing(
    contenders: tuple[tuple[int, ...], ...], senders: tuple[int, ...]
) -> list[list[int]]:
    """Senders in groups of which all hear each other."""
    groups: list[list[int]] = []
    for one in senders:
        for group in groups:
            if all(other in contenders[one] for other in group):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups
