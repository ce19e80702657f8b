"""Rounds in which every node is answered with a value of its own."""

import pytest
import torch

from netsim import engine, world
from netsim.errors import NetsimError
from netsim.protocols.personal import _row
from netsim.scenario import from_dict

TABLES = {
    "horizon_s": 25.0,
    "exchange": {"schedule": "rounds", "interval_s": 10.0},
    "data": {
        "kind": "digits",
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": {"kind": "mlp", "hidden": [4]},
    "metrics": {"every_s": 25.0, "common_test_samples": 5},
    "run": {"device": "cpu"},
}
METHODS = {
    "fedamp": {},
    "pfedsim": {"general_rounds": 1},
    "cfl": {},
    "sfl": {},
    "flt": {},
    "pfedhn": {"hidden": 5},
}


def played(kind, servers, clients=3, **tables):
    groups = [
        {"name": "clients", "count": clients},
        {"name": "servers", "count": servers, "role": "server"},
    ]
    nodes = {"count": clients + servers, "groups": groups}
    algorithm = {"kind": kind, **METHODS[kind]}
    scenario = from_dict(TABLES | {"nodes": nodes, "algorithm": algorithm} | tables)
    return engine.play(world.build(scenario), scenario.algorithm[0])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", METHODS)
def test_a_second_server_is_refused(kind):
    with pytest.raises(NetsimError, match="more than one node of role server"):
        played(kind, servers=2)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", METHODS)
def test_a_server_answers_once_for_each_message(kind):
    summary = played(kind, servers=1, topology={"kind": "hub"})
    assert summary["messages"]["sent"] == 3 * 2 * 3


@pytest.mark.thinned(6)
@pytest.mark.parametrize("kind", METHODS)
def test_a_node_that_hears_nobody_goes_on(kind):
    summary = played(kind, servers=1, clients=1, topology={"kind": "hub"})
    assert summary["messages"]["sent"] == 6
    silent = played(kind, servers=1, topology={"kind": "hub"}, link={"loss": 1.0})
    assert silent["local_steps"] > 0


def test_what_is_missing_stays_with_the_own_model():
    graph = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    torch.testing.assert_close(_row(graph, 1, 2, 0.0), graph[1])
    torch.testing.assert_close(_row(graph, 0, 1, 0.5), torch.tensor([0.25, 0.65, 0.1]))
