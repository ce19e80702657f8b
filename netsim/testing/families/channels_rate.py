"""Rates: none below the SNR that they need, and no lower ones at a higher SNR."""

import numpy as np

from netsim.channels.rate import Rate
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

BANDWIDTH_HZ = 20e6


def check(model: Rate, case: ComponentCase) -> None:
    """Check that the rate never falls as the SNR rises, and is chosen from `needed_snr` on."""
    snrs = np.geomspace(1e-3, 1e5, 100).tolist()
    rates = [model.bits_per_s(snr, BANDWIDTH_HZ) for snr in snrs]
    require(min(rates) >= 0.0, "bits_per_s is negative; 0.0 is a link that cannot be used")
    require(max(rates) > 0.0, "bits_per_s is 0 at 50 dB, too: no link can ever be used")
    require(np.all(np.diff(rates) >= 0.0), "bits_per_s must not fall as the SNR rises")
    for rate_bps in {rate for rate in rates if rate > 0.0}:
        needed = model.needed_snr(rate_bps, BANDWIDTH_HZ)
        if needed is not None:
            chosen = model.bits_per_s(needed * (1 + 1e-9), BANDWIDTH_HZ)
            require(
                chosen >= rate_bps * (1 - 1e-6),
                f"needed_snr({rate_bps:g}) is {needed:g}, where {chosen:g} bit/s is chosen",
            )
