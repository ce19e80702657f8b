"""Mean gains of all links as a scenario file of the emulator Colosseum (MATLAB, `chMatrix`).

One matrix of gains in dB where nothing changes; else N x N x T structures with one tap each, of a
delay of 1 ns, and `time` in ms. Colosseum takes gains from -43 to 0 dB; none is scaled here.
"""

from pathlib import Path

import numpy as np
import scipy.io

from netsim.export.formats import Layout, sampled_gains

SUFFIX = ".colosseum.mat"
_TAP_DELAY_S = 1e-9


def write(layout: Layout, path: Path) -> None:
    """Write `chMatrix`, and `time` where gains change."""
    t_s, gain_db = sampled_gains(layout)
    members: dict[str, object] = {"chMatrix": gain_db[0]}
    if len(t_s) > 1:
        cells = np.empty((layout.nodes, layout.nodes, len(t_s)), dtype=object)
        for (k, i, j), gain in np.ndenumerate(gain_db):
            amplitude = 10.0 ** (gain / 20.0)
            cells[i, j, k] = {"delay": np.array([_TAP_DELAY_S]), "iq": np.array([amplitude + 0j])}
        members = {"chMatrix": cells, "time": t_s[None] * 1e3}
    with path.open("wb") as file:
        scipy.io.savemat(file, members, do_compression=True)
