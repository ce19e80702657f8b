"""A measured network, 50 nodes of IoT-LAB in Grenoble, as gains of links."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netsim.channels.path_loss.gains import MeasuredGains

ROOT = Path(__file__).resolve().parents[2]
K7 = "traces/link_quality/grenoble_iotlab_802154.k7.gz"


@pytest.mark.slow
@pytest.mark.data
def test_a_measured_network_is_read(tmp_path):
    found = Path(os.environ.get("NETSIM_DATA", "")) / K7
    if not os.environ.get("NETSIM_DATA") or not found.is_file():
        pytest.skip(f"needs {K7} below NETSIM_DATA")
    script = ROOT / "examples" / "measured_links.py"
    command = [sys.executable, str(script), str(found), str(tmp_path / "g.npz")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("50 nodes, 12 matrices")
    gains = MeasuredGains(path=str(tmp_path / "g.npz"), after="loop").link_gains(
        50, 2.44e9, 2e6, None
    )
    heard = np.isfinite(gains.gain_db)
    assert 300 < heard.sum() / 12 < 50 * 49
    both = heard & heard.transpose(0, 2, 1)
    differs_db = gains.gain_db[both] - gains.gain_db.transpose(0, 2, 1)[both]
    assert np.median(np.abs(differs_db)) < 6.0  # nearly reciprocal, as radio links are
    assert gains.gain_db[heard].max() < -20.0
