"""The keys of [[nodes.groups]]: each is one line of `Group`."""

import pytest

from netsim.scenario import Scenario, from_dict
from netsim.scenario.nodes import Group, overridden

GROUPS = [
    {"name": "server", "count": 1, "role": "server", "speed": 4.0},
    {
        "name": "phones",
        "count": 2,
        "battery_j": 5.0,
        "churn": {"kind": "exponential", "mean_on_s": 3.0, "mean_off_s": 1.0},
    },
]


@pytest.fixture
def scenario():
    return from_dict(
        {
            "horizon_s": 10.0,
            "nodes": {"count": 4, "groups": GROUPS},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "data": {"kind": "digits"},
            "model": {"kind": "mlp"},
            "energy": {"battery_j": 7.0},
            "algorithm": {"kind": "local"},
        }
    )


def test_every_node_has_its_groups_key_else_the_scenarios(scenario):
    assert scenario.per_node("role") == ("server", "node", "node", "node")
    assert scenario.per_node("speed") == (4.0, 1.0, 1.0, 1.0)
    assert scenario.per_node("battery_j") == (7.0, 5.0, 5.0, 7.0)
    assert [law.kind for law in scenario.per_node("churn")] == [
        "none", "exponential", "exponential", "none",
    ]  # fmt: skip


def test_a_key_of_a_table_that_the_scenario_lacks_is_none(scenario):
    assert scenario.radio is None
    assert scenario.per_node("tx_power_dbm") == (None,) * 4


def test_what_groups_say_is_told_apart_from_what_the_scenario_says(scenario):
    assert scenario.nodes.of_groups("battery_j") == (None, 5.0, 5.0, None)


@pytest.mark.parametrize(("key", "path"), sorted(overridden().items()))
def test_a_key_that_groups_override_is_a_key_of_the_scenario(key, path):
    assert key in Group.model_fields
    table, _, rest = path.partition(".")
    assert table in Scenario.model_fields
    if rest:
        inside = Scenario.model_fields[table].annotation
        kinds = [inside, *getattr(inside, "__args__", ())]
        assert any(rest in getattr(kind, "model_fields", {}) for kind in kinds)
