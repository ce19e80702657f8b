"""Radio for "5 peers reachable on average": transmit power against threshold.

A peer is reachable while its SNR is at or over the threshold. Everything here is for Rayleigh
fading, under which a link of mean SNR m is reachable with probability exp(-threshold / m).
Thresholds and SNRs are linear unless a name ends in `_db`.
"""

import math

import scipy

from netsim.errors import ScenarioError


def mean_reachable_disc(nodes: int, radius_over_d0: float, exponent: float) -> float:
    """Mean number of reachable peers of a node, all nodes being uniform in a disc.

    E = (N-1) int_0^2 f(s) exp(-(s R/d0)^alpha) ds, where
    f(s) = (4s/pi) acos(s/2) - (2s^2/pi) sqrt(1 - s^2/4) is the density of the distance between
    two points of the unit disc.

    Parameters
    ----------
    nodes : int
        N.
    radius_over_d0 : float
        R/d0, the disc's radius over the distance at which the mean SNR falls to the threshold.
    exponent : float
        alpha of the path loss.

    Returns
    -------
    float
        In [0, N-1].
    """

    def density(s: float) -> float:
        chord = 4.0 * s / math.pi * math.acos(s / 2.0)
        return chord - 2.0 * s * s / math.pi * math.sqrt(1.0 - s * s / 4.0)

    # beyond exp(-40) nothing counts; cutting there keeps a small d0 from hiding between the
    # points at which the integrator looks
    end = min(2.0, 40.0 ** (1.0 / exponent) / radius_over_d0)
    share, _ = scipy.integrate.quad(
        lambda s: density(s) * math.exp(-((s * radius_over_d0) ** exponent)), 0.0, end
    )
    return (nodes - 1) * float(share)


def solve_d0_over_radius(nodes: int, reachable: float, exponent: float) -> float:
    """Range d0 over the disc's radius at which `reachable` peers are reachable on average.

    Parameters
    ----------
    nodes, exponent
        As in `mean_reachable_disc`.
    reachable : float
        Mean number of reachable peers wanted, between 0 and N-1.

    Returns
    -------
    float
        d0/R.

    Raises
    ------
    ScenarioError
        If `reachable` is not between 0 and N-1, both excluded.
    """
    _check(nodes, reachable)

    def excess(log_ratio: float) -> float:
        return mean_reachable_disc(nodes, math.exp(-log_ratio), exponent) - reachable

    # without a border E would be (N-1) (d0/R)^2 Gamma(1 + 2/alpha), and a border only takes away
    low = 0.5 * math.log(reachable / ((nodes - 1) * math.gamma(1.0 + 2.0 / exponent)))
    high = low + 1.0
    while excess(high) < 0.0:
        high += 1.0
    return math.exp(scipy.optimize.brentq(excess, low - 1e-6, high, xtol=1e-13))


def iid_links_threshold_over_mean_snr(nodes: int, reachable: float) -> float:
    """Threshold over mean SNR when every link has the same mean: ln((N-1) / reachable).

    Jeong and Kountouris (ICC 2023) state it for the amplitude, whose mean square is 2 sigma^2:
    their threshold over sigma is sqrt(2 ln((N-1) / reachable)).

    Raises
    ------
    ScenarioError
        If `reachable` is not between 0 and N-1, both excluded.
    """
    _check(nodes, reachable)
    return math.log((nodes - 1) / reachable)


def tx_power_dbm(threshold_db: float, noise_dbm: float, loss_db: float) -> float:
    """Transmit power at which the mean SNR is the threshold where the loss is `loss_db`.

    Parameters
    ----------
    threshold_db : float
        SNR [dB] at which a peer is reachable.
    noise_dbm : float
        Noise power over the bandwidth [dBm].
    loss_db : float
        Path loss [dB].

    Returns
    -------
    float
        [dBm]
    """
    return threshold_db + noise_dbm + loss_db


def threshold_db(tx_power_dbm: float, noise_dbm: float, loss_db: float) -> float:
    """SNR threshold that this power just meets on average where the loss is `loss_db`.

    Parameters
    ----------
    tx_power_dbm : float
        Transmit power [dBm].
    noise_dbm : float
        Noise power over the bandwidth [dBm].
    loss_db : float
        Path loss [dB].

    Returns
    -------
    float
        [dB]
    """
    return tx_power_dbm - noise_dbm - loss_db


def _check(nodes: int, reachable: float) -> None:
    if not 0.0 < reachable < nodes - 1:
        raise ScenarioError(
            f"{reachable} reachable peers on average out of {nodes} nodes: under Rayleigh fading "
            f"the number must lie between 0 and {nodes - 1}, both excluded"
        )
