"""Mean gains of all links: npz for `[radio.path_loss] kind = "gains"`."""

from pathlib import Path
from typing import Any

import numpy as np

from netsim.export.formats import Layout, sampled_gains

SUFFIX = ".gains.npz"


def write(layout: Layout, path: Path) -> None:
    """Write `gain_db[T, N, N]`, `t_s[T]`, `carrier_hz`, and places as `positions_m[T, N, 2]`."""
    t_s, gain_db = sampled_gains(layout)
    radio, _ = layout.on_air()
    members: dict[str, Any] = {
        "gain_db": gain_db,
        "t_s": t_s,
        "carrier_hz": np.array(radio.carrier_hz),
    }
    if layout.positions_m is not None:
        every = range(layout.nodes)
        members["positions_m"] = np.array(
            [
                layout.positions_m if layout.track is None else layout.track.at(every, round(t))
                for t in t_s * 1e9
            ]
        )
    with path.open("wb") as file:  # np.savez would add .npz to another ending
        np.savez_compressed(file, **members)
