"""One SNR for a packet that spans several resource blocks of different SNR.

EESM, the exponential effective SNR mapping of one rate:

    snr_eff = -beta ln( (1/K) sum over k of exp(-snr_k / beta) )

(3GPP TR 25.892, A.4.3; Wan, Tsang and Almers, "A Fading-Insensitive Performance Metric for a
Unified Link Quality Model", IEEE WCNC 2006). The packet error of a flat channel at snr_eff is that
of the packet. beta belongs to modulation and code rate: a small one weighs the weakest blocks, a
large one tends to the mean. `BETAS` are those of 3GPP NR's 29 schemes up to 64-QAM (TS 38.214,
table 5.1.3.1-1) as fitted by Lagen, Wanuga, Elkotby, Goyal, Patriciello and Giupponi, "New Radio
Physical Layer Abstraction for System-Level Simulations of 5G Networks", IEEE ICC 2020.

Capacity, the mean mutual information of Gaussian symbols at a gap from capacity:

    log2(1 + snr_eff / gap) = (1/K) sum over k of log2(1 + snr_k / gap)
"""

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

BETAS = (
    (0.2344, 1.60), (0.3066, 1.61), (0.3770, 1.63), (0.4902, 1.65), (0.6016, 1.67),
    (0.7402, 1.70), (0.8770, 1.73), (1.0273, 1.76), (1.1758, 1.79), (1.3262, 1.82),
    (1.3281, 3.97), (1.4766, 4.27), (1.6953, 4.71), (1.9141, 5.16), (2.1602, 5.66),
    (2.4063, 6.16), (2.5703, 6.50), (2.5664, 9.95), (2.7305, 10.97), (3.0293, 12.92),
    (3.3223, 14.96), (3.6094, 17.06), (3.9023, 19.33), (4.2129, 21.85), (4.5234, 24.51),
    (4.8164, 27.14), (5.1152, 29.94), (5.3320, 32.05), (5.5547, 34.28),
)  # fmt: skip
"""(efficiency [bit/s/Hz], beta) of the NR schemes, in the order of their numbers."""

_ASCENDING = sorted(BETAS)
_MIDDLES = [0.5 * (low[0] + high[0]) for low, high in pairwise(_ASCENDING)]


def beta_of(efficiency: float | None) -> float:
    """Beta of the NR scheme nearest to an efficiency [bit/s/Hz]; None: of the most robust one."""
    if efficiency is None:
        return BETAS[0][1]
    return _ASCENDING[bisect_left(_MIDDLES, efficiency)][1]


def eesm(snr: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    """Exponential effective SNR.

    Parameters
    ----------
    snr : (..., K) array
        Of each resource block, linear.
    beta : float
        Of the rate in use.

    Returns
    -------
    (...) array
        Linear, between the least and the mean of the blocks' SNRs.
    """
    least = snr.min(axis=-1)
    spread = np.exp((least[..., None] - snr) / beta).mean(axis=-1)
    found: NDArray[np.float64] = least - beta * np.log(spread)
    return found


def capacity(snr: NDArray[np.float64], gap: float = 1.0) -> NDArray[np.float64]:
    """Effective SNR by mean mutual information.

    Parameters
    ----------
    snr : (..., K) array
        Of each resource block, linear.
    gap : float
        From capacity, linear.

    Returns
    -------
    (...) array
        Linear, between the least and the mean of the blocks' SNRs.
    """
    found: Any = gap * np.expm1(np.log1p(snr / gap).mean(axis=-1))
    return np.asarray(found)
