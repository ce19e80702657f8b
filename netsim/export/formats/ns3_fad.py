"""Fading of the link between nodes 0 and 1: `.fad` for `[radio.fading] kind = "ns3_fad"`.

A line per resource block, in samples of 1 ms over the run, at most `_MOST` of them, ns-3's own
number: of a longer run the file has its first 10 s, and a remark says so.
"""

from pathlib import Path

import numpy as np

from netsim.errors import ScenarioError
from netsim.export.formats import Layout
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import to_s

SUFFIX = ".fad"
_SAMPLE_NS = 1_000_000
_MOST = 10_000


def write(layout: Layout, path: Path) -> None:
    """Write gains in dB: one line, or one per resource block where the fading has them.

    Raises
    ------
    ScenarioError
        If the run has no radio, one node, or a fading that is no function of time.
    """
    radio, budget = layout.on_air()
    if radio.fading.hold == "exchange":
        raise ScenarioError(
            f'{layout.name}: [radio.fading] hold = "exchange": the gain depends on wake-ups, not '
            "on time alone; this format is one over time"
        )
    if layout.nodes < 2:
        raise ScenarioError(f"{layout.name}: has one node, and this format is one of a link")
    channel = RadioChannel(radio, budget, lambda _node, _time: (0, 0), layout.streams)
    count = min(_MOST, max(1, layout.horizon_ns // _SAMPLE_NS))
    if count * _SAMPLE_NS < layout.horizon_ns:
        layout.remarks.append(
            f"it has the first {to_s(count * _SAMPLE_NS):g} s of a run of "
            f"{to_s(layout.horizon_ns):g} s, in samples of 1 ms"
        )
    times = [k * _SAMPLE_NS for k in range(count)]
    if any(budget.mean_snr.pair_snr(0, 1, time_ns) == 0.0 for time_ns in times):
        raise ScenarioError(f"{layout.name}: nodes 0 and 1 never hear each other")
    gains = np.array([channel.gain(0, 1, time_ns) for time_ns in times]).reshape(count, -1)
    if channel.resource_blocks is not None:
        layout.remarks.append(
            f"it has the gains of {gains.shape[1]} resource blocks; a run that plays it has their "
            "mean, this one the effective SNR"
        )
    with np.errstate(divide="ignore"):
        fades_db = (10.0 * np.log10(gains)).T.tolist()
    lines = [" ".join(map(repr, block)) for block in fades_db]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
