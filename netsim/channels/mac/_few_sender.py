"""A sender in the iteration of `_few`: what stays the same of it, and its backoff by stage."""

from __future__ import annotations

from functools import lru_cache

from netsim.channels.mac._situation import Sender, Timing, exchange_s
from netsim.channels.mac._stations import SURE, last_stage


class Constants:
    """Constants of a sender in the iteration."""

    def __init__(self, mac: Timing, sender: Sender) -> None:
        self.repeats, self.rts, self.error = sender.ack_s is not None, sender.rts, sender.error
        top = last_stage(mac, sender)
        self.endless = sender.limit is None and top > 0
        self.means = [0.5 * (mac.cw_min * 2.0 ** min(q, mac.stages) - 1.0) for q in range(top + 1)]
        before_s = mac.rts_s + mac.cts_s + 2.0 * mac.sifs_s if sender.rts else 0.0
        ends_s = (mac.sifs_s + (sender.ack_s or 0.0) if self.repeats else 0.0) + mac.difs_s
        self.gaps_s = [ends_s] + [mac.difs_s] * top
        widths_s = [2.0 * mac.slot_s * mean for mean in self.means]
        self.silences = [  # shortest, mean, longest, and twice the width
            (g, 0.5 * w + g, g + w, 2.0 * w) for g, w in zip(self.gaps_s, widths_s, strict=True)
        ]
        self.body_s = before_s + sender.frame_s
        self.failed_s = mac.rts_s if sender.rts else sender.frame_s
        self.sent_s = (mac.rts_s if sender.rts else 0.0) + sender.frame_s
        self.success_s = exchange_s(mac, sender) + mac.difs_s
        self.answer_s = self.success_s - (0.0 if sender.rts else sender.frame_s)
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

    def begins(self, fails: float) -> tuple[float, list[float]]:
        """`backoff`, and the probability that an attempt is made at each stage."""
        means, weights, weight, total, backoff = self.means, [], 1.0, 0.0, 0.0
        for mean in means:
            weights.append(weight)
            total += weight
            backoff += weight * mean
            weight *= fails
        of_stages = total
        if self.endless:
            left = 1.0 - min(fails, SURE)
            weights[-1] /= left
            of_stages = sum(weights)
            total += weight / left
            backoff += weight / left * means[-1]
        return backoff / total, [weight / of_stages for weight in weights]

    def rest_s(self, weights: list[float], time_s: float) -> float:
        """Mean of max(0, g + B - t): see `_dcf`; `weights`: as of `begins`."""
        found_s = 0.0
        for weight, (gap_s, mean_s, longest_s, twice_s) in zip(weights, self.silences, strict=True):
            if time_s <= gap_s:
                found_s += weight * (mean_s - time_s)
            elif time_s < longest_s:
                found_s += weight * (longest_s - time_s) ** 2 / twice_s
        return found_s


constants = lru_cache(maxsize=4096)(Constants)


def follow(mac: Timing) -> float:
    """Packets that follow in the slot after a success, to each that does not."""
    return 1.0 / (mac.cw_min - 1.0) if mac.anomalous_slots else 0.0
