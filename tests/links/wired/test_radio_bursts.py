"""Bursty loss over the air."""

import math

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.links.radio.table import Radio
from netsim.scenario import from_dict


@pytest.mark.slow
def test_losses_of_a_message_vary_as_bursts_do(tmp_path):
    """Packets of 20 bytes, sent once: 62 or 63 a model, an eighth of them lost in bursts of 4."""
    bursts = {"p_good_to_bad": 1 / 28, "p_bad_to_good": 0.25}
    scenario = from_dict(
        {
            "horizon_s": 399.0,
            "nodes": {"count": 6},
            "exchange": {"schedule": "rounds", "interval_s": 2.0},
            "radio": {
                "mean_snr_db": 40.0,
                "fading": {"kind": "none"},
                "rate": {"kind": "fixed", "rate_bps": 1e6},
                "packet_payload_bytes": 20,
                "arq": {"kind": "none"},
                "bursts": bursts,
            },
            "data": {
                "kind": "digits",
                "partition": {"kind": "iid", "train_samples": 5, "test_samples": 2},
            },
            "model": {"kind": "mlp", "hidden": [4]},
            "metrics": {"every_s": 399.0, "common_test_samples": 2},
            "run": {"device": "cpu"},
            "algorithm": {"kind": "dpsgd"},
        }
    )
    engine.play(world.build(scenario), scenario.algorithm[0], tmp_path / "out", timing_only=True)
    log = pd.read_parquet(tmp_path / "out" / "messages")
    packets = np.ceil(log.bits / 160)
    assert packets.nunique() == 1
    m, n, lost = int(packets.iloc[0]), len(log), log.packets_lost
    assert n > 5000
    h, r = 1 / 8, 1 - 1 / 28 - 0.25
    k = np.arange(1, m)
    variance = m * h * (1 - h) + 2 * h * (1 - h) * ((m - k) * r**k).sum()
    assert abs(lost.mean() - m * h) < 4 * math.sqrt(variance / n)
    fourth = ((lost - lost.mean()) ** 4).mean()
    assert abs(lost.var() - variance) < 4 * math.sqrt((fourth - lost.var() ** 2) / n)
    assert set(log.outcome) == {"delivered", "retries"}


def test_bursts_are_not_of_frames():
    with pytest.raises(ValueError, match='set fidelity = "message"'):
        Radio(bursts={}, fidelity="packet", mac={"kind": "csma"})
