"""Saturated senders of the DCF by Bianchi's fixed point, found by bisection."""

from scipy import optimize

SLOT_S, SIFS_S, DIFS_S, ACK_S = 9e-6, 16e-6, 34e-6, {6: 44e-6, 54: 28e-6}
WINDOW, STAGES = 16, 6


def mean_backoff(p, limit):
    """Slots before an attempt, by the probability that one fails; `limit`: attempts but one."""
    last = STAGES if limit is None else limit
    weights = [p**q for q in range(last + 1)]
    if limit is None:
        weights[-1] /= 1.0 - p
    means = [(WINDOW * 2 ** min(q, STAGES) - 1) / 2 for q in range(last + 1)]
    return sum(w * b for w, b in zip(weights, means, strict=True)) / sum(weights)


def throughput_bps(senders, frame_s, payload_bits, mbps, limit=None):
    """Payload that gets through in a second; `limit`: attempts at a packet, but one."""

    def begins(p):
        return 1.0 / (1.0 + mean_backoff(p, limit))

    p = optimize.brentq(lambda p: 1 - (1 - begins(p)) ** (senders - 1) - p, 0.0, 1 - 1e-12)
    tau = begins(p)
    idle = (1 - tau) ** senders
    one = senders * tau * (1 - tau) ** (senders - 1)
    through_s = frame_s + SIFS_S + ACK_S[mbps] + DIFS_S
    mean_s = idle * SLOT_S + one * through_s + (1 - idle - one) * (frame_s + DIFS_S)
    return one * payload_bits / mean_s
