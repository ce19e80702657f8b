"""BAA: without noise and truncation it is FedAvg with equal weights; with them, as published."""

import numpy as np
import pandas as pd
import pytest
import torch

from algorithms.baa import add_mean

GROUPS = [{"name": "devices", "count": 3}, {"name": "server", "count": 1, "role": "server"}]
WORLD = {
    "horizon_s": 179.0,
    "metrics": {"every_s": 179.0, "weights": False},
    "nodes": {"count": 4, "groups": GROUPS},
    "topology": {"kind": "hub"},
    "exchange": {"schedule": "rounds", "interval_s": 60.0},
    "compute": {"kind": "fixed", "step_s": 0.01},
    "model": {"kind": "mlp", "hidden": [6]},
    "training": {"learning_rate": 0.2, "batch_size": 8},
    "data": {
        "kind": "digits",
        "validation": 0.3,
        "partition": {
            "kind": "class_mix", "alpha": 0.3, "train_min": 20, "train_max": 40, "test_samples": 5,
        },
    },
}  # fmt: skip
PEERS = WORLD | {"nodes": {"count": 4}, "topology": {"kind": "complete"}}
CLEAR = {
    "bandwidth_hz": 1e6,
    "fading": {"kind": "none"},
    "mean_snr_db": 200.0,
}
IID = {"nodes": WORLD["nodes"] | {"placement": "iid_links"}}


def models(play, algorithm, folder=None, **world):
    run = play(algorithm, folder, **world)
    published = [node.publishing.published.get("mixed") for node in run.parts]
    return [p.ref.tensor().double().numpy() for p in published if p is not None]


@pytest.mark.slow
def test_over_wires_it_is_fedavg_with_equal_weights(play):
    for world in (WORLD, PEERS):
        mean = models(play, {"kind": "fedavg", "weights": "equal"}, **world)
        found = models(play, {"kind": "baa"}, **world)
        assert len(found) == len(mean) >= 3
        for one, other in zip(found, mean, strict=True):
            assert one == pytest.approx(other, abs=2e-5)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("plain", [WORLD | IID, PEERS], ids=["server", "peers"])
def test_over_a_clear_channel_it_is_the_same(play, plain):
    wires = models(play, {"kind": "baa", "truncation": 0.0}, **plain)
    radio = models(play, {"kind": "baa", "truncation": 0.0}, **plain, radio=CLEAR)
    for one, other in zip(wires, radio, strict=True):
        assert one == pytest.approx(other, abs=2e-5)


def test_devices_send_at_the_same_time_and_no_bits(play, tmp_path):
    run = play({"kind": "baa"}, tmp_path, **WORLD, radio=CLEAR)
    log = pd.read_parquet(tmp_path / "messages")
    up = log[log.kind == "OverTheAir"]
    values = run.parts[0].training.initial().part("parameters").num_values
    assert (up.bits_transmitted == 0).all()
    for _, frame in up.groupby("round"):
        assert len(frame) == 3
        assert frame.t_done_s.nunique() == 1
        assert frame.t_done_s.iloc[0] - frame.t_sent_s.max() == pytest.approx(values / 1e6)


@pytest.mark.slow
def test_noise_is_in_the_model(play):
    clear = models(play, {"kind": "baa", "truncation": 0.0}, **WORLD, radio=CLEAR)
    loud = CLEAR | {"mean_snr_db": 10.0}
    noisy = models(play, {"kind": "baa", "truncation": 0.0}, **WORLD, radio=loud)
    assert 1e-4 < np.abs(noisy[0] - clear[0]).mean() < 0.1


def test_entries_that_nobody_sent_stay():
    w, total = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([4.0, 3.0, 0.7])
    heard = torch.tensor([2.0, 1.0, 0.0])
    assert add_mean(w, total, heard, (), None).tolist() == [3.0, 4.0, 1.0]
    assert add_mean(w, total, heard, (), 4.0).tolist() == [2.0, 1.75, 1.0]
    own = torch.tensor([2.0, 1.0, 5.0])
    assert add_mean(w, total, heard, (own,), None).tolist() == [3.0, 3.0, 6.0]
    assert add_mean(w, None, None, (own,), None).tolist() == [3.0, 2.0, 6.0]
