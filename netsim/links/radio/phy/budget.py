"""The link budget: what the radio's powers and the nodes' places come to."""

from dataclasses import dataclass
from typing import Any

from netsim.links.radio.phy.mean_snr import MeanSnr


@dataclass(frozen=True, slots=True)
class LinkBudget:
    """The link budget: what follows from powers and places.

    Attributes
    ----------
    mean_snr : MeanSnr
        Of every link.
    threshold : float
        SNR from which a node counts as reachable, linear.
    tx_power_w : tuple of float
        Each node's transmit power [W].
    range_m : float or None
        Distance [m] beyond which next to nothing is ever decoded (`netsim.world.coverage`); None
        where nodes have no places.
    """

    mean_snr: MeanSnr
    threshold: float
    tx_power_w: tuple[float, ...]
    range_m: float | None = None

    def described(self) -> dict[str, Any]:
        """`range_m` and `pairs_left_out`, for the summary of a run."""
        return {"range_m": self.range_m, "pairs_left_out": self.mean_snr.pairs_left_out}
