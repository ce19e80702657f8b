"""OFDMA: a scheduler at the base station divides the sub-channels among the nodes of a cell.

Nodes of role `server` are base stations, and every message goes to one or comes from one. Uplink
and downlink have a band of `bandwidth_hz` each (frequency division), cut into K sub-channels. The
power over hertz is the same whatever share of the band a message has, so its SNR is, too.

- `round_robin`: the sub-channels go round, so that each of n messages under way has 1/n of the
  band on average.
- `proportional_fair`: in each coherence block every sub-channel k goes to the message f with the
  largest R_fk / T_f: R_fk is the rate that it would have there, T_f its average rate, which follows
  T <- (1 - w) T + w (rate served), w = block / `average_s` (Kelly, "Charging and Rate Control for
  Elastic Traffic", Eur. Trans. Telecommun. 1997; Viswanath, Tse and Laroia, "Opportunistic
  Beamforming Using Dumb Antennas", IEEE Trans. Inf. Theory 2002). Of n messages alike under
  Rayleigh fading the one served has the SNR of the best, on average 1 + 1/2 + ... + 1/n of the
  mean. Broadcasts have 1/n of the band, as in a round robin.

A message has a share of the band as long as no message of its cell and direction starts or ends and
no coherence block does. Shares are of time and band together: a message with half of the
sub-channels sends each packet over all of its own, and takes twice as long. A packet that is under
way when a coherence block ends keeps the share with which it began.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from netsim.channels.mac import Mac, Medium
from netsim.registry import Count, Positive


class Ofdma(Mac):
    """Sub-channels of a cell and their scheduler.

    Attributes
    ----------
    subchannels : int
        K, number of sub-channels of the band.
    scheduler : {"round_robin", "proportional_fair"}
        Order in which messages get a sub-channel: the messages of a cell in turn, or in each
        coherence block the one with the largest rate over its average one. Source: Viswanath, Tse
        and Laroia, IEEE Trans. Inf. Theory 2002.
    max_subchannels : int or None
        Greatest number of sub-channels of a unicast at a time. Absent: all.
    average_s : float
        Time over which proportional fairness averages rates [s].
    """

    kind: Literal["ofdma"] = "ofdma"
    exclusive: ClassVar[bool] = False
    has_base_stations: ClassVar[bool] = True
    subchannels: Count = 10
    scheduler: Literal["round_robin", "proportional_fair"] = "round_robin"
    max_subchannels: Count | None = None
    average_s: Positive = 1.0

    def unread_keys(self) -> Mapping[str, str]:
        if self.scheduler == "proportional_fair":
            return {}
        return {"average_s": 'it is read with scheduler = "proportional_fair"'}

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Self:
        if self.max_subchannels is not None and self.max_subchannels > self.subchannels:
            raise ValueError(f"max_subchannels: there are {self.subchannels}")
        return self

    @property
    def shares_change(self) -> bool:
        """True if messages get other shares of the band from block to block."""
        return self.scheduler == "proportional_fair"

    @property
    def most_per_unicast(self) -> int:
        """Greatest number of sub-channels of a unicast."""
        return self.max_subchannels or self.subchannels

    def medium(self, contenders: int, nodes: int) -> Medium:
        """An equal share of the band, for a unicast of at most `max_subchannels`."""
        return Medium(slowdown=max(float(contenders), self.subchannels / self.most_per_unicast))
