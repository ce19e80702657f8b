"""Packet errors: a probability that does not rise with the SNR."""

import numpy as np

from netsim.channels.packet_error import PacketError
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

THRESHOLD = 3.0


def check(model: PacketError, case: ComponentCase) -> None:
    """Check a probability in [0, 1] that never rises with the SNR or falls with the size."""
    snrs = [0.0, *np.geomspace(1e-4, 1e6, 200).tolist(), float("inf")]
    for bits in (100, 12_000):
        found = [model.probability(snr, bits, THRESHOLD) for snr in snrs]
        require(all(0.0 <= p <= 1.0 for p in found), f"probability is not in [0, 1] at {bits} bits")
        require(
            np.all(np.diff(found) <= 1e-12), f"probability must not rise with the SNR ({bits} bits)"
        )
    for snr in snrs:
        small, large = (model.probability(snr, bits, THRESHOLD) for bits in (100, 12_000))
        require(large >= small - 1e-12, f"a larger packet is lost less often at an SNR of {snr:g}")
