"""A part of the nodes takes part in a round: those drawn for it train and send, nobody else."""

import pandas as pd
import pytest
from pydantic import ValidationError

from netsim import engine, world
from netsim.errors import NetsimError
from netsim.protocols.sampling import SamplingParams
from netsim.scenario import from_dict

NODES, ROUNDS, DRAWN = 5, 4, 2
PEERS = {"nodes": {"count": NODES}}
SERVER = {
    "nodes": {
        "count": NODES + 1,
        "groups": [{"name": "c", "count": NODES}, {"name": "s", "count": 1, "role": "server"}],
    },
    "topology": {"kind": "hub"},
}


def played(folder, where, **entry):
    tables = {
        "horizon_s": 10.0 * ROUNDS - 1,
        "exchange": {"schedule": "rounds", "interval_s": 10.0},
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 30, "test_samples": 10},
        },
        "model": {"kind": "mlp", "hidden": [8]},
        "metrics": {"every_s": 10.0},
        "algorithm": {"sampled": DRAWN / NODES, **entry},
        **where,
    }
    scenario = from_dict(tables)
    run = engine.play(world.build(scenario), scenario.algorithm[0], folder)
    log = pd.read_parquet(folder / "messages").astype({"kind": str})
    return run, log


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ({"kind": "fedavg"}, PEERS),
        ({"kind": "fedavg"}, SERVER),
        ({"kind": "fedavg_plus", "switch_s": 20.0}, PEERS),
        ({"kind": "ditto"}, PEERS),
        ({"kind": "fedfomo"}, PEERS),
        ({"kind": "fedfomo", "downloads": 1}, {"nodes": {"count": 10}}),
    ],
    ids=["fedavg", "fedavg-server", "fedavg-plus", "ditto", "fedfomo", "fedfomo-downloads"],
)
def test_those_drawn_train_and_send_and_nobody_else(tmp_path, entry, where):
    summary, log = played(tmp_path, where, **entry)
    nodes = where["nodes"]["count"] - (where is SERVER)
    kind = "Wish" if "downloads" in entry else "Model" if entry["kind"] == "fedfomo" else "Share"
    sent = log[(log.kind == kind) & (log.src < nodes)]
    senders = sent.groupby(sent.t_sent_s // 10).src.agg(set)
    assert len(senders) == ROUNDS
    assert {len(who) for who in senders} == {DRAWN * nodes // NODES}
    assert len(set(map(frozenset, senders))) > 1  # drawn anew
    passes = 2 if entry["kind"] == "ditto" else 1
    assert summary["local_steps"] == ROUNDS * (DRAWN * nodes // NODES) * 3 * passes


def test_a_part_is_over_0_and_none_is_everybody():
    assert SamplingParams().sampled is None
    for part in (0.0, 1.1):
        with pytest.raises(ValidationError):
            SamplingParams(sampled=part)


@pytest.mark.parametrize(
    ("entry", "schedule"),
    [
        ({"kind": "fedavg"}, {"schedule": "star"}),
        ({"kind": "fedavg", "pace": "rounds"}, {"schedule": "periodic", "period_s": 5.0}),
        ({"kind": "ditto"}, {"schedule": "periodic", "period_s": 5.0}),
    ],
)
def test_without_rounds_a_part_is_refused(tmp_path, entry, schedule):
    with pytest.raises(NetsimError, match="sampled is for"):
        played(tmp_path, PEERS | {"exchange": schedule}, **entry)
