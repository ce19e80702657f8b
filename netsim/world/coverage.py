"""Range of a radio, and the threshold that makes a given number of nodes reachable.

Both are found numerically from the distribution of a link's SNR around its mean, by fading and by
shadowing, whatever the models of either.
"""

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.links.radio.table import Radio
from netsim.units import db_to_linear, linear_to_db

HARDLY_EVER = 1e-6
"""Probability below which a link counts as none."""

_COARSE, _FINE = 0.1, 0.02
"""Steps in the logarithm of the probability of a stronger gain."""
_SNR_DB = np.arange(-60.0, 80.0, 0.1)
_FARTHEST_M = 1e9


def range_m(radio: Radio, tx_power_dbm: float, threshold: float) -> float:
    """Distance beyond which a peer is in reach, and a packet decoded, less than once in 1e6 times.

    The probability is that of one attempt at the smallest packet, or of as many as are combined,
    over fading, shadowing and line of sight; the SNR at which a packet is decoded counts to 0.1 dB,
    on the safe side.

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
    variation_db, weight = _variations(radio, _COARSE)

    def decoded(mean_snr_db: float, which: int) -> float:
        return float(np.interp(mean_snr_db + variation_db[which], _SNR_DB, success) @ weight)

    def probability(distance_m: float) -> float:
        sight = float(radio.path_loss.sight_probability(distance_m))
        best_db = tx_power_dbm - radio.noise_dbm
        total = 0.0
        for which, (share, u) in enumerate(((sight, 0.0), (1.0 - sight, 1.0))):
            if share > 0.0:
                loss_db = float(radio.path_loss.least_beyond_db(distance_m, radio.carrier_hz, u))
                total += share * decoded(best_db - loss_db, which)
        return total

    def excess(log_m: float) -> float:
        return 1.0 if probability(math.exp(log_m)) >= HARDLY_EVER else -1.0

    last = math.log(_FARTHEST_M)
    if excess(last) > 0:
        return math.inf
    if excess(0.0) < 0:
        return 1.0
    return math.exp(scipy.optimize.bisect(excess, 0.0, last, xtol=1e-6)) * (1.0 + 1e-6)


def _success(radio: Radio, threshold: float) -> NDArray[np.float64]:
    """Probability that a peer at an instantaneous SNR is of any use, by `_SNR_DB`."""
    rate, rule = radio.rate, radio.packet_error
    bits = min(radio.control_bits, 8 * radio.packet_payload_bytes) + 8 * radio.packet_header_bytes

    def decoded(snr: float) -> float:
        rate_bps = rate.bits_per_s(snr, radio.bandwidth_hz)
        if rate_bps <= 0:
            return 0.0
        of_rate = rule.at_rate(rate_bps)
        own = rate.needed_snr(rate_bps, radio.bandwidth_hz) if rule.per_rate else None
        combined = snr * (radio.arq.limit or 1) if radio.combines else snr
        return float(1.0 - of_rate.probability(combined, bits, threshold if own is None else own))

    found = np.array([decoded(db_to_linear(snr_db)) for snr_db in _SNR_DB])
    found[linear_to_db(threshold) <= _SNR_DB] = 1.0
    if radio.sensitivity > 0.0:
        found[linear_to_db(radio.sensitivity) > _SNR_DB] = 0.0
    # as good as one step up: the SNR at which it steps lies between two of the grid
    best: NDArray[np.float64] = np.maximum.accumulate(np.append(found[1:], found[-1]))
    return best


def share_over_mean(radio: Radio, share: float) -> float:
    """SNR over its mean [dB] that the given share of links without places is at or over."""
    (variation_db, _), weight = _variations(radio, _FINE)
    differs_db, over = _survival(variation_db, weight)
    return float(np.interp(-share, -over, differs_db))


def edge_loss_db(radio: Radio, nodes: int, radius_m: float, reachable: float) -> float:
    """Path loss at which the mean SNR has to fall to the threshold for so many reachable peers.

    Nodes are uniform in a disc: E = (N-1) int_0^2 f(s) P(reach over s R) ds with the density f of
    `calibration.mean_reachable_disc`, over fading, shadowing and line of sight.

    Parameters
    ----------
    radio : Radio
    nodes : int
        N.
    radius_m : float
        R.
    reachable : float
        E, between 0 and N-1.

    Returns
    -------
    float
        Loss [dB].
    """
    edges = np.linspace(0.0, 1.0, 4001) ** 2 * 2.0  # finest where losses differ most
    s = 0.5 * (edges[1:] + edges[:-1])
    density = 4.0 * s / math.pi * np.arccos(s / 2.0)
    density -= 2.0 * s * s / math.pi * np.sqrt(1.0 - s * s / 4.0)
    density *= np.diff(edges)
    sight = radio.path_loss.sight_probability(s * radius_m)
    variation_db, weight = _variations(radio, _FINE)
    cases = []
    for which, (share, u) in enumerate(((sight, 0.0), (1.0 - sight, 1.0))):
        loss_db = radio.path_loss.loss_db(s * radius_m, radio.carrier_hz, u)
        cases.append((share * density, loss_db, *_survival(variation_db[which], weight)))

    def excess(edge_db: float) -> float:
        found = sum(
            float(share @ np.interp(loss_db - edge_db, differs_db, over, left=1.0, right=0.0))
            for share, loss_db, differs_db, over in cases
        )
        return (nodes - 1) * found - reachable

    losses_db = np.concatenate([case[1] for case in cases])
    low, high = float(losses_db.min()) - 300.0, float(losses_db.max()) + 300.0
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-6))


def _survival(
    values: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values in ascending order, and the probability of a greater one: half of their own counts."""
    order = np.argsort(values)
    over = np.cumsum(weight[order][::-1])[::-1] - 0.5 * weight[order]
    return values[order], over


def _variations(
    radio: Radio, step: float
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """Return the SNR's deviations from its mean [dB], with and without sight, and their shares."""
    faded = radio.fading.kind != "none"
    tail = np.exp(-np.arange(0.5 * step, 30.0, step)) if faded else np.ones(1)
    share = tail / tail.sum()  # tail: the probability of a stronger gain
    gain_db = 10.0 * np.log10(np.maximum(radio.fading.power_gain(1.0 - tail), 1e-30))
    points = (81 if faded else 1601) if radio.shadowing.drawn else 1
    sigmas = np.linspace(-8.0, 8.0, points) if points > 1 else np.zeros(1)
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
