"""Full power for far receivers, a fixed part of it for near ones."""

from typing import Literal

from netsim.channels.power import Power
from netsim.registry import Finite, NonNegative


class Starting(Power):
    """Two levels of power.

    Attributes
    ----------
    near_db : float
        Links with less loss [dB] get less power.
    back_off_db : float
        How much less [dB].
    """

    kind: Literal["starting"] = "starting"
    near_db: Finite = 70.0
    back_off_db: NonNegative = 10.0

    def dbm(self, loss_db: float, most_dbm: float, noise_dbm: float) -> float:
        """Transmit power [dBm] for a link of that loss [dB], at most `most_dbm`."""
        return most_dbm - self.back_off_db if loss_db < self.near_db else most_dbm
