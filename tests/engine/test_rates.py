"""Rates of this machine."""

from netsim.backends.route_tables import shipped_rules
from netsim.engine import rates
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
