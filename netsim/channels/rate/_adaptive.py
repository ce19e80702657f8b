"""Base of the rates that follow the channel: the age of the known SNR, tables of rates by SNR."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from netsim.channels.rate import Rate
from netsim.registry import NonNegative
from netsim.units import db_to_linear


class AdaptiveRate(Rate):
    """A rate chosen on the SNR that the sender knows of.

    Attributes
    ----------
    csi_delay_s : float
        Age of the SNR that the sender knows [s]; with 0 it knows the present one, so that the rate
        always suits the channel.
    """

    csi_delay_s: NonNegative = 0.0

    @property
    def choice_delay_s(self) -> float:
        """`csi_delay_s`."""
        return self.csi_delay_s


class TableRate(AdaptiveRate):
    """The fastest entry of a table whose SNR is met; below the first one the link waits."""

    table: ClassVar[Sequence[tuple[float, float]]]
    """(efficiency [bit/s/Hz], SNR from which it is chosen [dB]), both ascending."""

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Rate [bit/s] at a linear SNR; 0.0 below the table's first entry."""
        met = [bits for bits, snr_db in self.table if snr >= db_to_linear(snr_db)]
        return met[-1] * bandwidth_hz if met else 0.0

    def slowest_bps(self, bandwidth_hz: float) -> float:
        """Rate [bit/s] of the table's first entry."""
        return self.table[0][0] * bandwidth_hz

    def needed_snr(self, rate_bps: float, bandwidth_hz: float) -> float:
        """SNR of the slowest entry that is not slower than `rate_bps`."""
        # Limits lie halfway between entries, so rounding in `rate_bps` can't change the entry.
        for (bits, snr_db), (faster, _) in pairwise(self.table):
            if rate_bps < 0.5 * (bits + faster) * bandwidth_hz:
                return db_to_linear(snr_db)
        return db_to_linear(self.table[-1][1])
