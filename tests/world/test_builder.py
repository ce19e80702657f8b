"""A world: made with keywords, whole, one entry a node."""

import dataclasses

import pytest
import torch

from netsim import scenario, world
from netsim.errors import ScenarioError


@pytest.fixture
def tables():
    return {
        "horizon_s": 10.0,
        "nodes": {
            "count": 4,
            "groups": [
                {"name": "server", "count": 1, "role": world.SERVER, "uplink_bps": 1e9},
                {"name": "slow", "count": 1, "speed": 0.5, "battery_j": 2.0},
            ],
        },
        "link": {"uplink_bps": 1e6},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "fedavg"},
    }


def test_every_field_of_a_world_is_a_keyword_without_a_default():
    for field in dataclasses.fields(world.World):
        assert field.kw_only
        assert field.default is dataclasses.MISSING


def test_what_groups_state_is_in_the_world(tables):
    built = world.build(scenario.from_dict(tables))
    assert built.roles == (world.SERVER, "node", "node", "node")
    assert built.speed_factor == (1.0, 0.5, 1.0, 1.0)
    assert built.batteries_j == (None, 2.0, None, None)
    assert [built.shards.train_size(i) > 0 for i in range(4)] == [False, True, True, True]
    uplinks = [built.wiring.capacity["up", i] for i in range(4)]
    assert uplinks[1:] == [uplinks[1]] * 3
    assert uplinks[0] != uplinks[1]


def test_a_device_that_is_not_there_is_an_error(tables, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    tables["run"] = {"device": "cuda:1"}
    with pytest.raises(ScenarioError, match=r'\[run\] device = "cuda:1": this machine has no CUDA'):
        world.build(scenario.from_dict(tables))


def test_a_cell_without_a_base_station_is_an_error(tables):
    tables["nodes"] = {"count": 4, "placement": "disc"}
    del tables["link"]
    tables["radio"] = {
        "path_loss": {"kind": "log_distance"},
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_error": {"kind": "outage"},
        "mac": {"kind": "ofdma"},
    }
    with pytest.raises(ScenarioError, match=r"\[radio.mac\] kind.*role = .server."):
        world.build(scenario.from_dict(tables))
