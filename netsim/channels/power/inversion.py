"""Channel inversion: each sender compensates its mean path loss.

P = min(Pmax, target SNR + noise + PL) [dB, dBm], as under the power control of ElSawy and Hossain,
"On stochastic geometry modeling of cellular uplink transmission with truncated channel inversion
power control" (IEEE Trans. Wireless Commun. 2014), but that a sender that would need more than Pmax
sends with Pmax.
"""

from typing import Literal

from netsim.channels.power import Power
from netsim.registry import Decibels


class InversionPower(Power):
    """The least power that gives a mean SNR.

    Attributes
    ----------
    target_snr_db : float
        Mean SNR at the receiver if the full power is enough for it [dB].
    """

    kind: Literal["inversion"] = "inversion"
    target_snr_db: Decibels

    def dbm(self, loss_db: float, most_dbm: float, noise_dbm: float) -> float:
        return min(most_dbm, self.target_snr_db + noise_dbm + loss_db)
