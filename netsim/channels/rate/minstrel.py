"""Minstrel: a rate chosen by the share of acknowledged attempts, among the rates of IEEE 802.11a/g.

After the rate control of Linux (mac80211) and of ns-3's MinstrelWifiManager: a sender keeps, for
each neighbour and each rate, an exponentially weighted mean of the share of attempts that were
acknowledged, updates it in windows of 100 ms, and uses the rate of the largest throughput (share
over the time of an attempt); now and then it tries another rate. It does not read the SNR.

Different from them, since messages are sampled as a whole:

- The first attempts in a window are the trials, not a tenth of all frames, at one rate a window: it
  is drawn among those that would be faster than the best one if nothing were lost, if there are
  any.
- There is no chain of rates for the repetitions of a packet: they go at the rate of the moment. So
  after a sudden fall of the channel packets are lost until the mean has fallen as far: from a rate
  a to a rate b that loses nothing, ln(a / b) / ln(1 / kept) windows.
- Its acknowledgements are never lost.

A broadcast, which nobody acknowledges, is sent at the slowest rate.
"""

from typing import ClassVar, Literal

from netsim.channels.rate import Rate
from netsim.channels.rate.ofdm_80211 import MBPS_AT_20_MHZ, Ofdm80211
from netsim.registry import Count, Duration, Fraction


class Minstrel(Rate):
    """802.11a/g's rates by acknowledgements; in another bandwidth all rates scale with it.

    Attributes
    ----------
    window_s : float
        Time between two updates of the shares [s].
    kept : float
        Weight of the mean so far against that of a window.
    trials : int
        Attempts at another rate in a window.
    """

    kind: Literal["minstrel"] = "minstrel"
    window_s: Duration = 0.1
    kept: Fraction = 0.75
    trials: Count = 2
    adapts: ClassVar[bool] = True

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """The slowest rate, whatever the channel: whom it does not reach, none does."""
        return self.rates_bps(bandwidth_hz)[0]

    def rates_bps(self, bandwidth_hz: float) -> tuple[float, ...]:
        """The rates to choose from [bit/s], ascending."""
        return tuple(mbps / 20.0 * bandwidth_hz for mbps, _ in MBPS_AT_20_MHZ)

    def needed_snr(self, rate_bps: float, bandwidth_hz: float) -> float:
        """SNR of the entry of `ofdm_80211` with this rate."""
        return Ofdm80211().needed_snr(rate_bps, bandwidth_hz)
