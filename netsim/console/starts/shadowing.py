"""Log-normal shadowing with the numbers of one place."""

from typing import Literal

from netsim.channels.shadowing.log_normal import LogNormal
from netsim.registry import NonNegative, Positive


class Starting(LogNormal):
    """Normal in dB, correlated along motion; what it does is that of `log_normal`.

    Attributes
    ----------
    sigma_db : float
        Standard deviation [dB].
    decorrelation_m : float
        Motion over which the correlation falls to 1/e [m].
    """

    kind: Literal["starting"] = "starting"  # type: ignore[assignment]
    sigma_db: NonNegative = 6.0
    decorrelation_m: Positive = 20.0
