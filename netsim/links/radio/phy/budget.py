"""The link budget, and the transmit power of nodes over their full one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio
from netsim.units import db_to_linear, linear_to_db, w_to_dbm


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

    def strongest_link(self, neighbours: Sequence[Sequence[int]]) -> tuple[float, tuple[int, int]]:
        """The link of the largest mean SNR at the start.

        Parameters
        ----------
        neighbours : sequence of sequence of int
            Of nodes 0, 1, ...; links of other nodes are not looked at.

        Returns
        -------
        float, (int, int)
            The SNR, linear, 0 if there is no link; sender and receiver.
        """
        best, pair = 0.0, (0, 0)
        for src, others in enumerate(neighbours):
            if others:
                heard = self.mean_snr.snr(src, others, 0)
                strongest = int(heard.argmax())
                if heard[strongest] > best:
                    best, pair = float(heard[strongest]), (src, others[strongest])
        return best, pair

    def as_dict(self) -> dict[str, Any]:
        """`range_m` and `pairs_left_out`, for the summary of a run."""
        return {"range_m": self.range_m, "pairs_left_out": self.mean_snr.pairs_left_out}


class PowerControl:
    """The rule of `[radio.power]` at work.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget

    Attributes
    ----------
    at_work : bool
        Whether any node ever sends with less than its full power.
    """

    def __init__(self, radio: Radio, budget: LinkBudget) -> None:
        self._rule, self._noise_dbm = radio.power, radio.noise_dbm
        self._budget, self.at_work = budget, radio.power.controlled

    def over_full(self, src: int, receivers: Sequence[int], time_ns: int) -> float:
        """Power with which a node sends to others, over its full one; the largest that one needs.

        Parameters
        ----------
        src : int
        receivers : sequence of int
        time_ns : int
            When the message begins.

        Returns
        -------
        float
            In (0, 1].
        """
        if not self.at_work:
            return 1.0
        most_dbm, least = w_to_dbm(self._budget.tx_power_w[src]), 0.0
        for dst in receivers:
            mean = self._budget.mean_snr.pair_snr(src, dst, time_ns)
            if mean == 0.0:
                return 1.0
            loss_db = most_dbm - self._noise_dbm - linear_to_db(mean)
            needed_dbm = self._rule.dbm(loss_db, most_dbm, self._noise_dbm)
            least = max(least, db_to_linear(needed_dbm - most_dbm))
        return min(1.0, least)
