"""Rates of this machine."""

import pytest

from netsim import world
from netsim.backends.route_tables import shipped_rules
from netsim.engine import rates
from netsim.learning.flops import step_flops
from netsim.scenario import load


def test_rates_are_measured():
    [form] = rates.forms(load("quickstart", ["algorithm=[{kind='local'}]"]))
    found = rates.measured(form)
    assert 1e5 < found.train < 1e14
    assert 1e5 < found.look < 1e14


def test_so_many_nodes_are_timed_that_steps_go_a_runs_way():
    """Few nodes with a model may be computed otherwise than many, as routes.toml says."""
    few = max(rule.most_nodes or 0 for rule in shipped_rules())
    assert few < rates.NODES


@pytest.mark.parametrize("name", ["small_next_token", "small_regression", "quickstart"])
def test_operations_are_those_of_the_models_that_a_run_trains(name):
    """Without reading the data: tokens are whole numbers, and a task says what is put out."""
    scenario = load(name, ["algorithm=[{kind='local'}]"])
    [form] = rates.forms(scenario)
    built = world.build(scenario)
    a, x = built.architectures[0], built.shards.x
    size = scenario.training.batch_size
    expected = step_flops(a, x.shape[1:], size, x.dtype) + 2 * a.num_parameters
    assert rates.flops(form)[0] == expected
