"""One meaning of absence, lateness and age, and a record of what was used.

The network is planted so that each message has a fate that is known by hand.
"""

import json

import numpy as np
import pandas as pd
import pytest

from netsim import engine, scenario, world

BASE = {
    "nodes": {"count": 4},
    "data": {"kind": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}},
    "model": {"kind": "mlp", "hidden": [4]},
    "training": {"learning_rate": 0.1, "batch_size": 50},
    "compute": {"kind": "fixed", "step_s": 0.001},
    "link": {"latency_s": 0.05},
    "metrics": {"every_s": 50.0},
}
CLOCKS = {
    "poisson": {"schedule": "poisson", "rate_hz": 0.1, "slot_s": 1.0},
    "periodic": {"schedule": "periodic", "period_s": 10.0, "slot_s": 1.0},
    "star": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 4},
}
"""Mean intervals of a node: 10 s, 10 s, and 4 s times as many as there are nodes."""


def play(out, algorithm, **tables):
    tables = {"horizon_s": 120.0, **BASE, "algorithm": algorithm, **tables}
    made = scenario.from_dict(tables)
    engine.play(world.build(made), made.algorithm[0], out)
    return json.loads((out / "summary.json").read_text())


def uses(out):
    return pd.read_parquet(out / "uses")


def off_from_25_s(tmp_path):
    path = tmp_path / "off.csv"
    path.write_text("node,on_s,off_s\n3,0,25\n")
    return {"churn": {"kind": "trace", "path": str(path)}}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("schedule", ["poisson", pytest.param("periodic", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind",
    ["fedavg", "mapl", "l2c", pytest.param("pfedgraph", marks=pytest.mark.slow)],
)
def test_what_absence_means_differs_under_every_schedule(tmp_path, kind, schedule):
    churn = off_from_25_s(tmp_path)
    found = {}
    for absent in ("renormalise", "self", "last"):
        algorithm = {"kind": kind, "absent": absent}
        algorithm |= {"pace": "rounds"} if kind == "fedavg" else {}
        partition = {"kind": "iid", "train_samples": 60, "test_samples": 10}
        data = {"kind": "digits", "validation": 0.2, "partition": partition}
        out = tmp_path / absent
        summary = play(out, algorithm, exchange=CLOCKS[schedule], data=data, **churn)
        found[absent] = summary["parameters_sha256"]
    assert len(set(found.values())) == 3


@pytest.mark.slow
def test_a_node_that_is_off_counts_until_its_last_message_is_three_intervals_old(tmp_path):
    """It is off from 25 s on; its last message was sent by then, so by 55 s nobody counts it."""
    algorithm = {"kind": "fedavg", "pace": "rounds"}
    play(tmp_path / "run", algorithm, exchange=CLOCKS["poisson"], **off_from_25_s(tmp_path))
    graph = pd.read_parquet(tmp_path / "run" / "graph")
    on_it = graph[(graph.peer == 3) & (graph.node != 3) & (graph.weight > 0)]
    messages = pd.read_parquet(tmp_path / "run" / "messages")
    last_s = messages[(messages.src == 3) & (messages.outcome == "delivered")].t_sent_s.max()
    assert len(on_it) > 3
    assert on_it.t_s.max() <= last_s + 30.0
    after = graph[(graph.t_s > last_s + 30.0) & (graph.node != 3)]
    assert len(after) > 10
    assert not (after.peer == 3).any()


@pytest.mark.slow
def test_the_last_message_counts_for_ever_where_the_params_say_so(tmp_path):
    algorithm = {"kind": "fedavg", "pace": "rounds", "absent": "last"}
    play(tmp_path / "run", algorithm, exchange=CLOCKS["poisson"], **off_from_25_s(tmp_path))
    graph = pd.read_parquet(tmp_path / "run" / "graph")
    assert graph[(graph.peer == 3) & (graph.node != 3)].t_s.max() > 100.0


@pytest.mark.slow
def test_every_message_with_a_model_that_arrived_has_one_fate(tmp_path):
    for kind in ("dpsgd", "kd_pdfl", "l2c"):
        data = BASE["data"] | {"validation": 0.2}
        out = tmp_path / kind
        summary = play(out, {"kind": kind}, exchange=CLOCKS["poisson"], data=data)
        messages, found = pd.read_parquet(out / "messages"), uses(out)
        assert not found.message.duplicated().any()
        rows = messages.loc[found.message.to_numpy()]
        assert (rows.src.to_numpy() == found.src.to_numpy()).all()
        assert (rows.dst.to_numpy() == found.dst.to_numpy()).all()
        assert (rows.kind.astype(str).to_numpy() == found.kind.astype(str).to_numpy()).all()
        assert np.allclose(rows.t_sent_s, found.t_sent_s)
        assert np.allclose(rows.t_done_s, found.t_arrived_s)
        counts = found.fate.astype(str).value_counts().to_dict()
        told = summary["uses"]
        assert {k: told[k] for k in counts} == counts
        assert told["arrived"] == len(found)
        used = found[found.fate.astype(str) == "used"]
        assert np.allclose(used.t_used_s - used.t_sent_s, used.age_at_use_s)
        assert (used.t_used_s >= used.t_arrived_s).all()
        assert told["mean_age_s"] == pytest.approx(used.age_at_use_s.mean())


@pytest.mark.thinned(2)
@pytest.mark.parametrize("latency_s", [0.1, 30.0])
def test_an_answer_that_is_mixed_counts_however_old_it_is(tmp_path, latency_s):
    """AD-PSGD has no limit of age, and mixes each answer once, when it comes."""
    link = {"rate_bps": 1e6, "latency_s": latency_s}
    summary = play(tmp_path / "run", {"kind": "ad_psgd"}, exchange=CLOCKS["poisson"], link=link)
    assert summary["uses"]["used"] > 10
    assert summary["staleness"]["mean_s"] == pytest.approx(summary["uses"]["mean_age_s"])
    assert summary["staleness"]["mean_s"] > latency_s


@pytest.mark.slow
def test_models_that_come_after_the_time_out_are_late_and_a_warning_says_so(tmp_path):
    """A model takes longer than the time-out, so that not one is ever mixed."""
    link = {"rate_bps": 1e4}
    algorithm = {"kind": "kd_pdfl", "timeout_s": 0.2}
    summary = play(tmp_path / "run", algorithm, exchange=CLOCKS["poisson"], link=link)
    assert summary["uses"]["arrived"] > 50
    assert summary["uses"]["late"] == summary["uses"]["arrived"]
    assert any("not one was used" in text for text in summary["warnings"])
    graph = pd.read_parquet(tmp_path / "run" / "graph")
    assert set(graph.weight) == {1.0}
    assert (graph.node == graph.peer).all()


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("lost_until_s", "told"),
    [(120.0, "not one arrived"), (60.0, "a fifth of the run or more"), (10.0, None)],
)
def test_a_method_that_mixes_nothing_for_long_is_told_of_where_all_is_lost(
    tmp_path, lost_until_s, told
):
    """All but node 0 are off until an instant: until then every message is lost."""
    path = tmp_path / "on.csv"
    on = "".join(f"{i},{lost_until_s},1000\n" for i in (1, 2, 3))
    path.write_text(f"node,on_s,off_s\n0,0,1000\n{on}")
    churn = {"kind": "trace", "path": str(path)}
    clock = {"schedule": "periodic", "period_s": 5.0}
    summary = play(tmp_path / "run", {"kind": "dpsgd"}, churn=churn, exchange=clock)
    warned = [text for text in summary["warnings"] if "was used" in text or "arrived" in text]
    assert len(warned) == (told is not None), warned
    assert told is None or told in warned[0]


@pytest.mark.slow
def test_the_time_out_by_default_follows_from_the_link(tmp_path):
    link = {"rate_bps": 1e4}
    summary = play(tmp_path / "run", {"kind": "kd_pdfl"}, exchange=CLOCKS["poisson"], link=link)
    assert summary["uses"]["used"] > 0.8 * summary["uses"]["arrived"]
    assert summary["warnings"] == []


def test_a_message_older_than_the_params_allow_is_too_old(tmp_path):
    """Every message is 3 s on its way and counts up to an age of 1 s."""
    algorithm = {"kind": "dpsgd", "max_age_s": 1.0}
    link = {"latency_s": 3.0}
    summary = play(tmp_path / "run", algorithm, exchange=CLOCKS["periodic"], link=link)
    told = summary["uses"]
    assert told["used"] == 0
    assert told["too_old"] > 50
    assert any("older than max_age_s" in text for text in summary["warnings"])


def test_the_age_at_use_over_an_ideal_network_is_the_time_that_messages_wait(tmp_path):
    """Periods of 10 s at random phases: what counts is at most one period old."""
    summary = play(
        tmp_path / "run", {"kind": "dpsgd"}, exchange=CLOCKS["periodic"], link={"latency_s": 0.0}
    )
    ages = uses(tmp_path / "run").dropna(subset="t_used_s").age_at_use_s
    assert summary["delay"]["mean_s"] == 0.0
    assert 2.0 < ages.mean() < 8.0
    assert ages.max() <= 10.0 + 1e-6


ROUNDS = {
    "horizon_s": 5.5,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "link": {"latency_s": 0.25},
}


@pytest.mark.slow
def test_a_last_model_that_is_mixed_again_counts_with_its_age_then(tmp_path):
    """Three rounds of two messages, .25 s old. Node 1 then leaves; node 0 learns so at 3.25, 4.25
    and 5.25 s, and mixes what came at 2.25 s, which node 1 had sent at 2 s."""
    path = tmp_path / "off.csv"
    path.write_text("node,on_s,off_s\n1,0,2.5\n")
    off = {"churn": {"kind": "trace", "path": str(path)}}
    ages_s = [0.25] * 6
    for absent, again_s in (("self", []), ("last", [1.25, 2.25, 3.25])):
        found = play(tmp_path / absent, {"kind": "dpsgd", "absent": absent}, **ROUNDS, **off)
        told = found["staleness"]
        assert told["used"] == len(ages_s + again_s)
        assert told["mean_s"] == pytest.approx(np.mean(ages_s + again_s))
        assert told["max_s"] == max(ages_s + again_s)


@pytest.mark.slow
def test_what_came_late_has_an_age_at_use_only_where_it_is_used(tmp_path):
    """All comes .15 s after its round has ended: nobody uses it, or all in the next round.

    A round ends at .1 s, and models are mixed then: those sent a second before, but for those that
    both nodes sent at 5 s.
    """
    late = ROUNDS | {"exchange": ROUNDS["exchange"] | {"deadline_s": 0.1}}
    found = play(tmp_path / "self", {"kind": "dpsgd"}, **late)
    assert (found["uses"]["late"], found["staleness"]) == (12, {})
    found = play(tmp_path / "last", {"kind": "dpsgd", "absent": "last"}, **late)
    assert found["staleness"]["used"] == found["uses"]["used"] == 10
    assert found["staleness"]["mean_s"] == pytest.approx(1.1)
    assert found["staleness"]["mean_s"] == pytest.approx(found["uses"]["mean_age_s"])


@pytest.mark.slow
def test_learned_and_applied_weights_are_told_apart(tmp_path):
    """With every message lost a node mixes with itself alone, whatever it believes of others."""
    for kind in ("l2c", "mapl"):
        out = tmp_path / kind
        play(
            out,
            {"kind": kind},
            exchange={"schedule": "rounds", "interval_s": 10.0},
            data=BASE["data"] | {"validation": 0.2},
            link={"loss": 0.9999999},
        )
        graph = pd.read_parquet(out / "graph")
        applied = graph[graph.what.astype(str) == "applied"]
        learned = graph[graph.what.astype(str) == "learned"]
        assert (applied.node == applied.peer).all()
        assert np.allclose(applied.weight, 1.0)
        assert learned.groupby(["t_s", "node"]).size().max() == 4
        assert np.allclose(learned.groupby(["t_s", "node"]).weight.sum(), 1.0)


@pytest.mark.slow
def test_pfedgraph_logs_what_it_learned_of_the_models_at_hand_and_what_it_mixes(tmp_path):
    """Half the messages are lost: the part of the missing stays with the own model when mixed."""
    out = tmp_path / "run"
    link, algorithm = {"loss": 0.5}, {"kind": "pfedgraph", "steps": 2, "absent": "self"}
    exchange = {"schedule": "rounds", "interval_s": 10.0}
    play(out, algorithm, exchange=exchange, link=link)
    graph = pd.read_parquet(out / "graph")
    key, what = ["t_s", "node", "peer"], graph.what.astype(str)
    both = [graph[what == w].set_index(key).weight for w in ("learned", "applied")]
    missing = 1.0 - (both[0].groupby(["t_s", "node"]).size() - 1) / 3
    assert 0.2 < missing.mean() < 0.8
    for (t_s, node, peer), weight in both[0].items():
        part = missing[t_s, node]
        kept = (1.0 - part) * weight + part * (node == peer)
        assert both[1][t_s, node, peer] == pytest.approx(kept, abs=1e-6)
