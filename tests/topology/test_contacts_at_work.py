"""Whole runs over a contact trace: the same algorithm files, wires and radios."""

import math

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.protocols.declaration import declaration_of
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

MODULES = {
    kind: module
    for kind, module in kinds_of().items()
    if declaration_of(module).learns and not declaration_of(module).needs_server
}
SCHEDULES = {
    "star": {"schedule": "star", "slots_per_exchange": 2, "slot_s": 0.5},
    "rounds": {"schedule": "rounds", "interval_s": 2.0},
    "poisson": {"schedule": "poisson", "rate_hz": 0.4, "slot_s": 0.5},
    "periodic": {"schedule": "periodic", "period_s": 2.0, "slot_s": 0.5},
}
NODES, HORIZON_S = 6, 12.0
REQUIRED = {"fedavg_plus": {"switch_s": 6.0}, "pfedsim": {"general_rounds": 1}}


@pytest.fixture
def trace(tmp_path):
    """Every pair meets now and then, for a second on average."""
    rng = np.random.default_rng(1)
    lines = ["0 1 0 0.5"]  # so that the trace starts at 0
    for i in range(NODES):
        for j in range(i):
            start = rng.exponential(2.0)
            while start < HORIZON_S:
                end = start + rng.exponential(1.0)
                lines.append(f"{i} {j} {start:.6f} {end:.6f}")
                start = end + rng.exponential(2.0)
    path = tmp_path / "contacts.txt"
    path.write_text("\n".join(lines))
    return path


def tables(kind, schedule, trace, **changed):
    people = [str(i) for i in range(NODES)]
    return {
        "horizon_s": HORIZON_S,
        "nodes": {"count": NODES},
        "topology": {"kind": "contacts", "path": str(trace), "people": people},
        "exchange": SCHEDULES[schedule],
        "link": {"latency_s": 0.02, "rate_bps": 2e5},
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "metrics": {"every_s": 6.0, "common_test_samples": 5},
        "run": {"device": "cpu"},
        "algorithm": {"kind": kind} | REQUIRED.get(kind, {}),
    } | changed  # fmt: skip


def play(kind, schedule, trace, tmp_path, **changed):
    scenario = from_dict(tables(kind, schedule, trace, **changed))
    made = world.build(scenario)
    summary = engine.play(made, scenario.algorithm[0], tmp_path / "out")
    return summary, pd.read_parquet(tmp_path / "out" / "messages"), made.meetings


@pytest.mark.thinned(64)
@pytest.mark.parametrize("kind", sorted(MODULES))
def test_every_algorithm_runs_while_peers_come_and_go(kind, trace, tmp_path):
    schedule = (declaration_of(MODULES[kind]).schedules or tuple(SCHEDULES))[-1]
    summary, log, meetings = play(kind, schedule, trace, tmp_path)
    assert 0.0 <= summary["accuracy"]["mean"] <= 1.0
    for row in log[log.outcome.isin(["delivered", "partial"])].itertuples():
        left_ns = meetings.left_ns(row.src, row.dst, math.ceil(row.t_sent_s * 1e9))
        assert row.t_done_s - row.t_sent_s <= left_ns / 1e9 + 2e-9


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "air",
    [
        {"radio": {"mean_snr_db": 30.0, "rate": {"kind": "fixed", "rate_bps": 3e4}}, "link": None},
        {"link": {"latency_s": 0.02, "rate_bps": 3e4}},
    ],
)
@pytest.mark.parametrize("schedule", ["rounds", "poisson"])
def test_messages_get_through_within_contacts_only(air, schedule, trace, tmp_path):
    summary, log, meetings = play("dpsgd", schedule, trace, tmp_path, **air)
    outcomes = log.outcome.value_counts()
    assert outcomes["delivered"] > 10
    assert outcomes["outage"] > 0
    for row in log.itertuples():
        left_s = meetings.left_ns(row.src, row.dst, math.ceil(row.t_sent_s * 1e9)) / 1e9
        if row.outcome == "outage" and "radio" not in air:
            assert row.t_done_s == pytest.approx(row.t_sent_s + left_s, abs=2e-9)
        if row.outcome == "delivered":
            assert row.t_done_s <= row.t_sent_s + left_s + 2e-9
    assert summary["topology"]["components"] == 1
