"""Channel models in whole runs: what the log, the summary and the folder say of them."""

import json

import numpy as np
import pytest

ADAPTIVE = {"kind": "ofdm_80211", "csi_delay_s": 0.01}
STREET = {
    "tx_power_dbm": 15.0,
    "path_loss": {"kind": "umi"},
    "shadowing": {"kind": "log_normal"},
    "fading": {"kind": "rician", "speed_m_per_s": 1.5, "process": "sum_of_sinusoids"},
    "rate": ADAPTIVE,
    "packet_error": {"kind": "logistic"},
    "packet_payload_bytes": 200,
    "ttl_s": 0.3,
}
DISC = {"count": 8, "placement": "disc", "radius_m": 150.0}


@pytest.mark.slow
def test_a_street_in_a_run(play, tmp_path):
    played = play("toy_flood", "rounds", radio=STREET, nodes=DISC, horizon_s=3.9)
    log = played.log
    assert {"delivered"} < set(log.outcome) <= {"delivered", "retries", "outage", "deadline"}
    arrived = log[log.outcome == "delivered"]
    # what arrived had an SNR that some rate decodes; the least is 3.96 dB, for one packet in ten
    assert arrived.snr_db.min() > 3.0
    assert arrived.snr_db.std() > 3.0
    links = played.summary["links"]
    assert links["pairs_left_out"] == 0
    assert 150.0 < links["range_m"] < 5000.0
    (out,) = tmp_path.glob("run-*")
    environment = json.loads((out / "environment.json").read_text())
    assert any("between two devices" in said for said in environment["assumptions"])


@pytest.mark.slow
def test_links_are_the_same_in_either_direction_and_in_every_run(play):
    first = play("toy_flood", "rounds", radio=STREET, nodes=DISC)
    second = play("toy_hello", "poisson", radio=STREET, nodes=DISC)
    one, other = first.run.link._channel, second.run.link._channel
    for i in range(8):
        for j in range(i):
            for t in (0, 1_000_000_000, 3_700_000_000):
                assert one.snr(i, j, t) == one.snr(j, i, t) == other.snr(i, j, t)


@pytest.mark.slow
def test_pairs_out_of_range_are_left_out_and_the_summary_says_so(play, tmp_path):
    servers = {"name": "mast", "count": 1050, "role": "server"}  # digits are too few to share
    line = [[10.0 * i, 0.0] for i in range(1100)]
    nodes = {"count": 1100, "placement": "given", "positions_m": line, "groups": [servers]}
    played = play(
        "toy_flood",
        "rounds",
        timing_only=True,
        radio={"tx_power_dbm": 0.0},
        nodes=nodes,
        topology={"kind": "ring"},
        horizon_s=0.4,
        data={
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 1, "test_samples": 1},
        },
    )
    world, log = played.run.world, played.log
    links = played.summary["links"]
    assert links["pairs_left_out"] > 0.8 * 1100 * 1099 / 2
    apart_m = np.hypot(*(world.positions_m[log.src] - world.positions_m[log.dst]).T)
    far = apart_m > links["range_m"]
    assert 0 < far.sum() < 10  # the ring closes between its ends, and only there
    assert set(log.outcome[far]) == {"outage"}
    assert (log.outcome[~far] == "delivered").mean() > 0.9
    (out,) = tmp_path.glob("run-*")
    said, *_ = json.loads((out / "environment.json").read_text())["assumptions"]
    assert f"{links['range_m']:.0f} m" in said


@pytest.mark.thinned(2)
@pytest.mark.parametrize("sigma_db", [0.0, 8.0])
def test_alike_links_differ_by_shadowing_alone(play, sigma_db):
    radio = {
        "mean_snr_db": 15.0,
        "fading": {"kind": "none"},
        "shadowing": {"kind": "log_normal", "sigma_db": sigma_db},
    }
    log = play("toy_flood", "rounds", radio=radio).log
    snrs = {(min(r.src, r.dst), max(r.src, r.dst)): round(r.snr_db, 9) for r in log.itertuples()}
    assert len(snrs) == 10
    assert len(set(snrs.values())) == (10 if sigma_db else 1)
    if not sigma_db:
        assert snrs[0, 1] == pytest.approx(15.0)


CONTROLLED = {
    "path_loss": {"kind": "umi"},
    "rate": {"kind": "minstrel"},
    "packet_error": {"kind": "ofdm_80211"},
    "power": {"kind": "inversion", "target_snr_db": 20.0},
    "broadcast": {"kind": "repeated"},
    "packet_payload_bytes": 200,
    "ttl_s": 0.3,
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("kind", "toy", "moving"),
    [("correlated_ends", "toy_flood", False), ("nesh", "toy_hello", True)],
)
@pytest.mark.slow
def test_power_rates_rounds_and_heights_in_a_run(play, kind, toy, moving):
    """They go together, and a run that is played again is the same."""
    radio = CONTROLLED | {"shadowing": {"kind": kind, "decorrelation_m": 15.0}}
    groups = [{"name": "mast", "count": 1, "height_m": 20.0}]
    tables = {"radio": radio, "nodes": DISC | {"height_m": 1.5, "groups": groups}}
    if moving:
        speeds = {"min_m_per_s": 1.0, "max_m_per_s": 20.0}
        tables["mobility"] = {"kind": "random_waypoint"} | speeds
        tables["radio"] = radio | {"mac": {"kind": "shared"}}
    logs = [play(toy, "rounds", horizon_s=2.9, **tables).log for _ in range(2)]
    assert logs[0].equals(logs[1])
    arrived = logs[0][logs[0].outcome == "delivered"]
    assert len(arrived) > 100
    if toy == "toy_flood":  # a broadcast is louder than some of its receivers need
        assert arrived.snr_db.mean() < 25.0


@pytest.mark.parametrize(("mac", "says_so"), [("aloha", True), ("orthogonal", False)])
def test_aloha_says_that_nothing_is_captured(play, tmp_path, mac, says_so):
    play("toy_hello", "poisson", radio={"mac": {"kind": mac}}, horizon_s=0.1, timing_only=True)
    (out,) = tmp_path.glob("run-*")
    said = json.loads((out / "environment.json").read_text())["assumptions"]
    assert any("capture" in one for one in said) == says_so
