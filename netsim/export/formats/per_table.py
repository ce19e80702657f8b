"""Packet error over SNR at every rate: CSV for `[radio.packet_error] kind = "table"`."""

from pathlib import Path

import numpy as np

from netsim.errors import ScenarioError
from netsim.export.formats import Layout
from netsim.links.radio.table import Radio
from netsim.units import db_to_linear

SUFFIX = ".per.csv"
_SNR_DB = np.arange(-20.0, 50.01, 0.25)
_MOST_RATES = 64


def write(layout: Layout, path: Path) -> None:
    """Write `rate,bytes,snr_db,per` for packets of full size, in steps of 0.25 dB.

    Rates that ignore the SNR are one curve. A threshold that is the radio's own is in the curves.

    Raises
    ------
    ScenarioError
        If the run has no radio, or its rates are a continuum.
    """
    radio, budget = layout.on_air()
    size = radio.packet_payload_bytes + radio.packet_header_bytes
    rows = []
    for rate_bps in _rates(radio, layout.name):
        rule, threshold = radio.packet_error.at_rate(rate_bps), budget.threshold
        if rule.per_rate:
            needed = radio.rate.needed_snr(rate_bps, radio.bandwidth_hz)
            threshold = threshold if needed is None else needed
        for snr_db in _SNR_DB.tolist():
            per = float(rule.probability(db_to_linear(snr_db), 8 * size, threshold))
            rows.append(f"{rate_bps!r},{size},{snr_db!r},{per!r}")
    path.write_text("\n".join(["rate,bytes,snr_db,per", *rows]) + "\n", encoding="utf-8")


def _rates(radio: Radio, name: str) -> list[float]:
    grid = np.arange(-60.0, 80.0, 0.1).tolist()
    found = {radio.rate.bits_per_s(db_to_linear(snr), radio.bandwidth_hz) for snr in grid} - {0.0}
    if len(found) > _MOST_RATES:
        raise ScenarioError(
            f'{name}: [radio.rate] kind = "{radio.rate.kind}": any rate is possible, and a table '
            "lists them; use one of a few rates, such as ofdm_80211"
        )
    return sorted(found)
