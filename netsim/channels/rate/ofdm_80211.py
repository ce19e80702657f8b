"""IEEE 802.11a/g OFDM: 6 to 54 Mb/s in 20 MHz, by the SNR for 10 % loss of 1500-byte packets.

The SNRs follow from the union bound of the K = 7 convolutional code with hard decisions (Pei and
Henderson, "Validation of OFDM error rate model in ns-3", 2010): PER = 1 - (1 - Pe)^12000 with
Pe = sum c_d (4 p (1 - p))^(d/2) / (2 b), p being the bit error rate of the constellation.
"""

from typing import ClassVar, Literal

from netsim.channels.rate._adaptive import TableRate

MBPS_AT_20_MHZ = (
    (6, 3.96),
    (9, 6.85),
    (12, 6.97),
    (18, 9.86),
    (24, 13.51),
    (36, 16.61),
    (48, 21.36),
    (54, 22.62),
)
"""Rate [Mbit/s], and SNR from which it is chosen [dB]."""


class Ofdm80211(TableRate):
    """BPSK 1/2 to 64-QAM 3/4; in another bandwidth all rates scale with it (802.11p: 10 MHz)."""

    kind: Literal["ofdm_80211"] = "ofdm_80211"
    table: ClassVar = tuple((mbps / 20.0, snr_db) for mbps, snr_db in MBPS_AT_20_MHZ)
