"""Asynchronous methods over radios that lose messages, with nodes that go, and in odd settings."""

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.scenario import from_dict

METHODS = {
    "ad_psgd": {"local_steps": 3},
    "swift": {"local_steps": 3},
    "epidemic": {"local_steps": 3},
    "sgp": {"local_steps": 3},
    "dfedpgp": {"local_steps": 3, "head_steps": 3},
    "dfedsam": {"local_steps": 3, "gossip_steps": 2},
    "deprl": {"local_steps": 3, "head_steps": 3},
    "pens": {"local_steps": 3, "sampled": 2, "kept": 1, "selection_rounds": 8},
    "dispfl": {"local_steps": 3},
    "divshare": {"local_steps": 3},
    "fedasync": {"local_steps": 3},
    "fedbuff": {"local_steps": 3},
    "dec_lora": {"local_steps": 20},  # a random base has all to learn
}
RADIO = {
    "path_loss": {"kind": "log_distance"},
    "rate": {"kind": "fixed", "rate_bps": 1e5},
    "fading": {"kind": "rayleigh", "coherence_s": 0.1},
    "packet_error": {"kind": "exponential_snr"},
    "packet_payload_bytes": 500,
    "arq": {"kind": "hole", "max_attempts": 2},
    "reachable": 4.0,
    "ttl_s": 3.0,
}
CLOCKS = {
    "poisson": {"schedule": "poisson", "rate_hz": 0.2},
    "rounds": {"schedule": "rounds", "interval_s": 5.0},
}


def scenario(algorithm, schedule="poisson", **more):
    network = {} if "link" in more else {"radio": RADIO}
    tables = network | {
        "horizon_s": 120.0,
        "nodes": {"count": 8, "placement": "disc", "radius_m": 100.0},
        "exchange": CLOCKS[schedule],
        "churn": {"kind": "exponential", "mean_on_s": 40.0, "mean_off_s": 8.0},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 60, "test_samples": 40},
        },
        "model": {"kind": "mlp", "hidden": [16]},
        "compute": {"kind": "fixed", "step_s": 0.1},
        "training": {"learning_rate": 0.2, "batch_size": 10},
        "metrics": {"every_s": 120.0},
        "algorithm": algorithm,
    }
    return from_dict(tables | more)


def played(out, algorithm, schedule="poisson", **more):
    made = scenario(algorithm, schedule, **more)
    return engine.play(world.build(made), made.algorithm[0], out, check=True)


@pytest.mark.slow
@pytest.mark.thinned(22)
@pytest.mark.parametrize(
    ("kind", "schedule"),
    [(kind, s) for kind in METHODS for s in CLOCKS],
)
def test_a_method_learns_over_a_lossy_radio_among_nodes_that_go(tmp_path, kind, schedule):
    """All invariants hold, messages are lost, what came is used, and nodes learn from it."""
    out = tmp_path / "run"
    found = played(out, {"kind": kind, **METHODS[kind]}, schedule)
    assert found["messages"]["lost"] + found["messages"]["expired"] > 10
    assert found["power"]["switch_offs"] > 5
    told, uses = found["uses"], pd.read_parquet(out / "uses")
    assert told["arrived"] == len(uses) > 50
    assert told["used"] > 0.3 * told["arrived"]
    used = uses[uses.fate.astype(str) == "used"]
    assert (used.age_at_use_s >= 0).all()
    assert found["accuracy"]["mean"] > 0.3


@pytest.mark.thinned(2)
@pytest.mark.parametrize("acknowledged", [True, False])
def test_push_sum_conserves_mass_where_senders_learn_what_was_lost(tmp_path, acknowledged):
    """In rounds nothing is under way at their end: the weights sum to the number of nodes."""
    link = {"loss": 0.3, "latency_s": 0.05, "acknowledged": acknowledged}
    tables = {"link": link, "nodes": {"count": 8}, "churn": {"kind": "none"}}
    made = scenario({"kind": "sgp"}, "rounds", **tables)
    engine.play(world.build(made), made.algorithm[0], tmp_path / "run")
    metrics = pd.read_parquet(tmp_path / "run" / "metrics")
    weights = metrics[metrics.metric.astype(str) == "push_sum_weight"]
    last = weights.groupby("node").value.last().to_numpy()
    assert len(last) == 8
    assert (last > 0).all()
    if acknowledged:
        assert np.isclose(last.sum(), 8.0, rtol=1e-12)
    else:
        assert last.sum() < 4.0


@pytest.mark.slow
def test_what_was_not_sent_in_time_gives_way_to_newer_fragments(tmp_path):
    """Over a radio that takes longer for a model than nodes wait between two of theirs."""
    radio = RADIO | {"rate": {"kind": "fixed", "rate_bps": 1e4}, "ttl_s": 100.0}
    found = played(tmp_path / "run", {"kind": "divshare", "local_steps": 3}, radio=radio)
    assert found["messages"]["withdrawn"] > 0.5 * found["messages"]["sent"]
    assert found["messages"]["expired"] == 0
    assert found["accuracy"]["mean"] > 0.3


SERVER = {"count": 8, "groups": [{"name": "server", "count": 1, "role": "server"}]}
WIRED = {"link": {"latency_s": 0.1}, "churn": {"kind": "none"}}
LEAVING = {"kind": "exponential", "mean_on_s": 8.0, "mean_off_s": 16.0}


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("algorithm", "tables", "told"),
    [
        # A buffer that the few nodes that are on never fill before models are too old.
        ({"kind": "fedbuff", "buffer": 60}, {"churn": LEAVING}, "not one was used"),
        ({"kind": "fedbuff", "buffer": 900}, {"nodes": SERVER}, "a server, is one"),
        ({"kind": "divshare", "max_age_s": 0.01}, {}, "older than max_age_s"),
        ({"kind": "swift", "max_age_s": 0.01}, {}, "older than max_age_s"),
        ({"kind": "pens", "sampled": 99}, {}, "it never had sampled = 99 models"),
        ({"kind": "fedasync", "alpha": 0.0}, {}, "given weight 0"),
        ({"kind": "sgp"}, {"link": {"loss": 1.0}}, "not one arrived"),
        ({"kind": "ad_psgd"}, {"churn": LEAVING}, "it alone has moved"),
    ],
    ids=lambda one: one["kind"] if isinstance(one, dict) and "kind" in one else None,
)
def test_models_that_never_enter_one_are_told_of(tmp_path, algorithm, tables, told):
    found = played(tmp_path / "run", algorithm | {"local_steps": 1}, **WIRED | tables)
    assert any(told in text for text in found["warnings"]), found["warnings"]


@pytest.mark.slow
def test_a_buffer_of_neighbours_models_holds_none_that_is_too_old(tmp_path):
    """Each node hears one neighbour, every 5 s: four are there when the first is 15 s old."""
    tables = WIRED | {"topology": {"kind": "ring"}, "nodes": {"count": 2}}
    tables |= {"exchange": {"schedule": "periodic", "period_s": 5.0}}
    used = {}
    for buffer, limit_s in ((4, 22.0), (4, 14.0), (6, 22.0)):
        out = tmp_path / f"{buffer}-{limit_s}"
        algorithm = {"kind": "fedbuff", "buffer": buffer, "max_age_s": limit_s, "local_steps": 1}
        played(out, algorithm, **tables)
        uses = pd.read_parquet(out / "uses")
        used[buffer, limit_s] = uses[uses.fate.astype(str) == "used"].age_at_use_s
    assert 15.0 < used[4, 22.0].max() <= 22.0
    assert len(used[4, 14.0]) == len(used[6, 22.0]) == 0
