"""Messages of L2C and meta-L2C, and their fates where links and clocks are not ideal."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.api import Collaborators
from netsim.errors import NetsimError
from netsim.scenario import from_dict

from .weights import logged

NODES, ROUNDS, PRUNED_AFTER, KEPT = 5, 6, 3, 2
SETTING = {"prune_after": PRUNED_AFTER, "kept_peers": KEPT, "local_epochs": 1}
PAIRS = NODES * (NODES - 1)
PARAMETERS = 65 * 6 + 7 * 10
ENCODER = 65 * 10 + 11 * 5 + 7 * 10 + 11 * 5  # filters of 64 and of 6 weights
WORLD = {
    "seed": 2,
    "horizon_s": (ROUNDS - 0.5) * 1000.0,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 1000.0},
    "data": {
        "kind": "digits",
        "validation": 0.25,
        "partition": {"kind": "iid", "train_samples": 60, "test_samples": 40},
    },
    "model": {"kind": "mlp", "hidden": [6]},
    "metrics": {"every_s": 1e6, "weights": False, "stages": ["mixed"]},
}


def read(folder: Path):
    return pd.read_parquet(folder / "messages")


def encoders(run):
    return [node.publishing.kept_values()["encoder"] for node in run.parts]


@pytest.fixture
def mixed(monkeypatch):
    """(node, ids of those whose updates it mixes), round after round of all nodes."""
    seen, exchange = [], Collaborators.exchange

    def watched(circle, update):
        heard = yield from exchange(circle, update)
        seen.append((circle.node.id, heard.ids))
        return heard

    monkeypatch.setattr(Collaborators, "exchange", watched)
    return seen


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("kind", "rows"), [("l2c", 1), ("meta_l2c", 2)])
def test_pruned_peers_are_told_once_and_stop_sending(play, tmp_path, kind, rows):
    play({"kind": kind, **SETTING}, tmp_path / "run", **WORLD)
    log = read(tmp_path / "run")
    updates = log[log.kind == "Update"]
    rest = NODES * KEPT
    expected = {1: PAIRS, 2: PAIRS, 3: PAIRS, 4: rest, 5: rest, 6: rest}
    assert updates.groupby("round").size().to_dict() == expected
    assert set(updates.bits) == {32 * rows * PARAMETERS}
    told = log[log.kind == "Dropped"]
    assert len(told) == PAIRS - rest
    assert set(told["round"]) == {PRUNED_AFTER}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_weights_of_a_mixture_sum_to_one_when_peers_have_been_dropped_too(tmp_path, kind):
    """Played with all checks; what was learned of those dropped is 0 from then on."""
    tables = WORLD | {"metrics": {"every_s": 1e6}, "algorithm": {"kind": kind, **SETTING}}
    made = from_dict(tables)
    engine.play(world.build(made), made.algorithm[0], tmp_path / "run", check=True)
    graph = pd.read_parquet(tmp_path / "run" / "graph")
    applied = graph[graph.what == "applied"].groupby(["t_s", "node"]).weight.sum()
    assert np.allclose(applied, 1.0)
    last = graph[graph.what == "learned"].groupby(["node", "peer"]).weight.last()
    assert (last == 0.0).sum() == PAIRS - NODES * KEPT


@pytest.mark.slow
def test_a_lost_word_is_repeated_until_the_peer_stops(play, tmp_path):
    lossy = WORLD | {"horizon_s": 25_500.0, "link": {"loss": 0.5}}
    play({"kind": "l2c", **SETTING}, tmp_path / "run", **lossy)
    log = read(tmp_path / "run")
    assert len(log[log.kind == "Dropped"]) > PAIRS - NODES * KEPT
    updates = log[log.kind == "Update"]
    assert len(updates[updates["round"] == updates["round"].max()]) == NODES * KEPT


def test_without_pruning_all_peers_stay(play, tmp_path):
    play({"kind": "l2c", **SETTING, "prune_after": 0}, tmp_path / "run", **WORLD)
    log = read(tmp_path / "run")
    assert set(log.kind) == {"Update"}
    assert len(log) == ROUNDS * PAIRS


@pytest.mark.slow
def test_a_ring_gives_every_node_the_same_mean_bit_for_bit(play, tmp_path):
    run = play({"kind": "meta_l2c", **SETTING}, tmp_path / "run", **WORLD)
    first, *others = encoders(run)
    assert first.shape == (ENCODER,)
    assert all(np.array_equal(first, other) for other in others)
    pieces = read(tmp_path / "run").query("kind == 'Piece'")
    assert len(pieces) == ROUNDS * 2 * NODES * (NODES - 1)
    assert set((pieces.dst - pieces.src) % NODES) == {1}
    assert pieces.bits.sum() == ROUNDS * 2 * (NODES - 1) * 32 * ENCODER


@pytest.mark.slow
def test_a_ring_of_100_is_19800_messages_a_round(play, tmp_path):
    many = {"nodes": {"count": 100}, "data": {"kind": "digits", "validation": 0.25}}
    run = play({"kind": "meta_l2c"}, **(WORLD | many | {"horizon_s": 0.5}))
    one_round = run.world.scenario.model_copy(update={"horizon_s": 999.0})
    world = dataclasses.replace(run.world, scenario=one_round)
    engine.play(world, run.entry, tmp_path / "run", timing_only=True)
    assert (read(tmp_path / "run").kind == "Piece").sum() == 19_800


@pytest.mark.slow
def test_unlimited_retransmission_keeps_the_ring_whole(play):
    ideal = play({"kind": "meta_l2c", **SETTING}, **WORLD)
    retried = {"link": {"loss": 0.3, "arq": {"kind": "unlimited"}}}
    lossy = play({"kind": "meta_l2c", **SETTING}, **(WORLD | retried))
    for a, b in zip(encoders(ideal), encoders(lossy), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.slow
def test_a_ring_that_never_closes_leaves_everyone_the_local_encoder(play, tmp_path):
    run = play(
        {"kind": "meta_l2c", **SETTING}, tmp_path / "run", **(WORLD | {"link": {"loss": 0.6}})
    )
    pieces = read(tmp_path / "run").query("kind == 'Piece' and outcome == 'delivered'")
    assert pieces.groupby(["round", "dst"]).size().max() < 2 * (NODES - 1)
    found = encoders(run)
    assert len({e.tobytes() for e in found}) == NODES


@pytest.mark.slow
def test_without_rounds_nodes_average_their_neighbours_encoders(play, tmp_path):
    poisson = {"exchange": {"schedule": "poisson", "rate_hz": 0.02}, "topology": {"kind": "ring"}}
    world = WORLD | poisson | {"horizon_s": 600.0}
    run = play({"kind": "meta_l2c", **SETTING}, tmp_path / "run", **world)
    log = read(tmp_path / "run")
    assert set(log.kind) == {"Update", "Encoder"}  # a ring's two neighbours are kept both
    assert set((log.dst - log.src) % NODES) == {1, NODES - 1}
    assert set(log[log.kind == "Encoder"].bits) == {32 * ENCODER}
    assert np.ptp(encoders(run), axis=0).max() < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
@pytest.mark.parametrize(("schedule", "absent"), [
    ({"schedule": "rounds", "interval_s": 60.0, "deadline_s": 90.0}, "self"),
    ({"schedule": "poisson", "rate_hz": 0.02}, "renormalise"),
    ({"schedule": "poisson", "rate_hz": 0.02}, "self"),
    ({"schedule": "poisson", "rate_hz": 0.02}, "last"),
    ({"schedule": "periodic", "period_s": 60.0, "drift": 0.1}, "renormalise"),
    ({"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 15}, "last"),
])  # fmt: skip
def test_over_fading_links_it_learns_under_every_schedule(play, kind, schedule, absent):
    """Chance is 0.1; over 5 x 40 test samples it deviates by 0.021: 0.2 is five of them away."""
    fading = {"horizon_s": 1200.0, "exchange": schedule, "radio": {"reachable": 2.5}}
    training = {"training": {"learning_rate": 0.1}}
    algorithm = {"kind": kind, **SETTING, "absent": absent, "max_age_s": 300.0}
    run = play(algorithm, **(WORLD | fading | training))
    assert run.score > 0.2


@pytest.mark.slow
def test_an_update_is_added_once_where_clocks_differ(play, mixed):
    """Node 1 trains 45 steps of 100 s, node 0 wakes every 20 s: most find no new update."""
    clocks = {
        "horizon_s": 2000.0,
        "nodes": {"count": 2, "groups": [{"name": "fast", "count": 1, "speed": 1000.0}]},
        "exchange": {"schedule": "periodic", "period_s": 20.0},
        "compute": {"kind": "fixed", "step_s": 100.0},
    }
    algorithm = {"kind": "l2c", **SETTING, "prune_after": 0}
    play(algorithm, **(WORLD | clocks))
    fast, slow = ([ids for i, ids in mixed if i == node] for node in (0, 1))
    assert len(fast) > 5 * len(slow) > 0
    together = sum(len(ids) == 2 for ids in fast)
    assert len(slow) - 1 <= together <= len(slow)
    mixed.clear()
    play(algorithm | {"absent": "last"}, **(WORLD | clocks))
    assert sum(i == 0 and len(ids) == 2 for i, ids in mixed) > 2 * together


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_updates_older_than_max_age_are_not_mixed(play, mixed, kind):
    """Over links of 50 s all updates are late."""
    periodic = {"schedule": "periodic", "period_s": 20.0}
    slow = {"exchange": periodic, "link": {"latency_s": 50.0}, "horizon_s": 300.0}
    play({"kind": kind, **SETTING, "max_age_s": 40.0}, **(WORLD | slow))
    assert {len(ids) for _, ids in mixed} == {1}
    play({"kind": kind, **SETTING, "max_age_s": 60.0}, **(WORLD | slow))
    assert {len(ids) for _, ids in mixed} > {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_what_misses_its_deadline_counts_in_the_next_round(play, mixed, kind):
    late = {
        "exchange": {"schedule": "rounds", "interval_s": 20.0, "deadline_s": 20.0},
        "link": {"latency_s": 19.0},
        "horizon_s": 210.0,
    }
    play({"kind": kind, **SETTING, "prune_after": 0}, **(WORLD | late))
    assert [len(ids) for _, ids in mixed[:NODES]] == [1] * NODES
    assert max(len(ids) for _, ids in mixed) > 1


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_timing_only_sends_the_same_messages(play, tmp_path, kind):
    algorithm = {"kind": kind, **SETTING}
    run = play(algorithm, tmp_path / "run", **WORLD)
    engine.play(run.world, run.entry, tmp_path / "timing", timing_only=True)
    counts = [read(tmp_path / name).kind.value_counts() for name in ("run", "timing")]
    pd.testing.assert_series_equal(*counts)


# -- finding collaborators, transfer -------------------------------------------------------------

GROUPS = WORLD | {
    "nodes": {"count": 15},
    "data": {"kind": "digits", "validation": 0.2, "partition": {"kind": "l2c_groups"}},
    "training": {"learning_rate": 0.1},
    "horizon_s": 5400.0,
}


def weight_on_own_group(run, rounds):
    """Mean over nodes and the first rounds; 3 of 15 equal weights are 0.2."""
    found = []
    for time_ns, i, ids, w in logged(run, "learned"):
        if not isinstance(w, list) and time_ns < rounds * 1e12:
            pairs = zip(ids, w.tensor().tolist(), strict=True)
            found.append(sum(value for j, value in pairs if j // 3 == i // 3))
    return np.mean(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_nodes_with_the_same_classes_find_each_other(play, tmp_path, kind):
    """The small case of Fig. 4: 15 nodes in groups of three."""
    algorithm = {"kind": kind, "kept_peers": 2, "prune_after": 4, "local_epochs": 2}
    play(algorithm, tmp_path / "run", **GROUPS)
    log = read(tmp_path / "run")
    last = log[(log.kind == "Update") & (log["round"] == log["round"].max())]
    assert len(last) == 15 * 2
    assert (last.src // 3 == last.dst // 3).all()


@pytest.mark.slow
def test_a_trained_encoder_serves_other_nodes_with_other_tasks(play, tmp_path):
    """It knows how to tell apart tasks that it has not seen, and stays as it is."""
    meta = {"kind": "meta_l2c", "prune_after": 0, "local_epochs": 2}
    play(meta, tmp_path / "first", **GROUPS)
    file = tmp_path / "first" / "kept" / "encoder.npz"
    with np.load(file) as kept:
        assert sorted(kept.files) == sorted(f"node_{i}" for i in range(15))
        trained = np.mean([kept[name] for name in kept.files], axis=0)

    other = GROUPS | {
        "seed": 7,
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "l2c_groups"},
            "split_seed": 3,
        },
    }
    other |= {"horizon_s": 900.0}
    fresh = play(meta, **other)
    moved = play(meta | {"encoder": str(file), "learn_encoder": False}, **other)
    assert all(np.array_equal(e, trained.astype(e.dtype)) for e in encoders(moved))
    assert weight_on_own_group(moved, rounds=1) > weight_on_own_group(fresh, rounds=1) + 0.1


@pytest.mark.slow
def test_an_encoder_that_does_not_fit_is_refused(play, tmp_path):
    play({"kind": "meta_l2c", **SETTING}, tmp_path / "first", **WORLD)
    algorithm = {"kind": "meta_l2c", "encoder": str(tmp_path / "first" / "kept" / "encoder.npz")}
    wider = WORLD | {"model": {"kind": "mlp", "hidden": [7]}}
    with pytest.raises(NetsimError, match=f"has {ENCODER} parameters, but .* need {ENCODER + 10}"):
        play(algorithm, **wider)
    with pytest.raises(NetsimError, match=r"no_such_file\.npz': there is no such file"):
        play(algorithm | {"encoder": "no_such_file.npz"}, **WORLD)
