"""How far a radio reaches: the distance beyond which next to nothing is ever decoded."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from netsim.links.radio import Radio
from netsim.units import db_to_linear, linear_to_db

HARDLY_EVER = 1e-6
"""Probability below which a link counts as none."""

_SNR_DB = np.arange(-60.0, 80.0, 0.1)
_FARTHEST_M = 1e9


def range_m(radio: Radio, tx_power_dbm: float, threshold: float) -> float:
    """Distance beyond which a peer is in reach, and a packet decoded, less than once in 1e6 times.

    The probability is that of one attempt at the smallest packet, over fading, shadowing and line
    of sight; the SNR at which a packet is decoded counts to 0.1 dB, on the safe side.

    Parameters
    ----------
    radio : Radio
    tx_power_dbm : float
        Of the strongest sender.
    threshold : float
        SNR from which a node counts as reachable, linear.

    Returns
    -------
    float
        Metres, at least 1; infinity if it holds at no distance (a loss that ignores the channel).
    """
    success = _success(radio, threshold)
    variation_db, weight = _variations(radio)

    def decoded(mean_snr_db: float, which: int) -> float:
        return float(np.interp(mean_snr_db + variation_db[which], _SNR_DB, success) @ weight)

    def probability(distance_m: float) -> float:
        sight = float(radio.path_loss.sight_probability(distance_m))
        best_db = tx_power_dbm - radio.noise_dbm
        total = 0.0
        for which, (share, u) in enumerate(((sight, 0.0), (1.0 - sight, 1.0))):
            if share > 0.0:
                loss_db = float(radio.path_loss.loss_db(distance_m, radio.carrier_hz, u))
                total += share * decoded(best_db - loss_db, which)
        return total

    def excess(log_m: float) -> float:
        return 1.0 if probability(math.exp(log_m)) >= HARDLY_EVER else -1.0

    last = math.log(_FARTHEST_M)
    if excess(last) > 0:
        return math.inf
    if excess(0.0) < 0:
        return 1.0
    return math.exp(optimize.bisect(excess, 0.0, last, xtol=1e-6)) * (1.0 + 1e-6)


def _success(radio: Radio, threshold: float) -> NDArray[np.float64]:
    """Probability that a peer at an instantaneous SNR is of any use, by `_SNR_DB`."""
    rate, rule = radio.rate, radio.packet_error
    bits = min(radio.control_bits, 8 * radio.packet_payload_bytes) + 8 * radio.packet_header_bytes

    def decoded(snr: float) -> float:
        rate_bps = rate.bits_per_s(snr, radio.bandwidth_hz)
        if rate_bps <= 0:
            return 0.0
        own = rate.needed_snr(rate_bps, radio.bandwidth_hz) if rule.per_rate else None
        return float(1.0 - rule.probability(snr, bits, threshold if own is None else own))

    found = np.array([decoded(db_to_linear(snr_db)) for snr_db in _SNR_DB])
    found[linear_to_db(threshold) <= _SNR_DB] = 1.0
    # as good as one step up: the SNR at which it steps lies between two of the grid
    best: NDArray[np.float64] = np.maximum.accumulate(np.append(found[1:], found[-1]))
    return best


def _variations(
    radio: Radio,
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """By how much the SNR differs from its mean [dB], with and without sight, and how often."""
    tail = np.exp(-np.arange(0.05, 30.0, 0.1))  # of the distribution of the gain: small values
    share = tail / tail.sum()
    gain_db = 10.0 * np.log10(np.maximum(radio.fading.power_gain(1.0 - tail), 1e-30))
    sigmas = np.linspace(-8.0, 8.0, 161) if radio.shadowing.drawn else np.zeros(1)
    density = np.exp(-0.5 * sigmas**2)
    weight = np.outer(share, density / density.sum()).ravel()

    def spread(sigma_db: float) -> NDArray[np.float64]:
        return np.ravel(gain_db[:, None] - sigma_db * sigmas)

    own = radio.path_loss.own_shadowing
    given = getattr(radio.shadowing, "sigma_db", None)
    if given is not None or own is None:
        both = spread(given or 0.0)
        return (both, both), weight
    return (spread(own[0].sigma_db), spread(own[1].sigma_db)), weight
