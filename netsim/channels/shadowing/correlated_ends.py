"""Log-normal shadowing correlated across links: the sum of a field at both ends of a link.

With a Gaussian field F of variance 1 and correlation r(x) = exp(-x / d) (Gudmundson 1991),
the link between places a and b has

    X_ab = (F(a) + F(b)) / sqrt(2 (1 + r_ab)),    r_ab = r(|a - b|),

so that every link has variance 1 and two of them have the correlation

    (r_ac + r_ad + r_bc + r_bd) / (2 sqrt((1 + r_ab) (1 + r_cd))).

Long links that share an end are correlated by 1/2, as 3GPP has it between sites (TR 36.942, 5.1.1);
links between far places are independent. The sum over both ends is that of Wang, Tameh and Nix,
"Joint shadowing process in urban peer-to-peer radio channels" (IEEE Trans. Veh. Technol. 2008).
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.shadowing._field import FieldShadowing, Waves


class CorrelatedEnds(FieldShadowing):
    """Normal in dB; obstacles around a place shadow all links that end there."""

    kind: Literal["correlated_ends"] = "correlated_ends"

    def of_links(
        self, waves: Waves, one_m: NDArray[np.float64], other_m: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        apart = np.exp(-np.hypot(*(other_m - one_m).T) / self.decorrelation_m)
        both = _field(waves, one_m) + _field(waves, other_m)
        found: NDArray[np.float64] = both / np.sqrt(2.0 * (1.0 + apart))
        return found


def _field(waves: Waves, at_m: NDArray[np.float64]) -> NDArray[np.float64]:
    phase = at_m[:, :1] * waves.per_m_x + at_m[:, 1:] * waves.per_m_y + waves.phase
    found: NDArray[np.float64] = (waves.amplitude * np.cos(phase)).sum(axis=1)
    return found
