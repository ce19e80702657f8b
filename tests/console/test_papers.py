"""`netsim list papers`."""

import json
import tomllib
from pathlib import Path

import pytest

from netsim import load, model_costs
from netsim.console import papers
from netsim.errors import ScenarioError
from netsim.scenario import draft_of
from netsim.scenario import file as scenario_file
from netsim.scenario.kinds import kinds_of
from tools import paper_hours


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "netsim" / "rates.json"


@pytest.mark.slow
def test_the_shipped_table_has_every_scenario_that_plays_something_of_a_paper():
    files = scenario_file.shipped()
    said = {name: tomllib.loads(path.read_text()).get("paper") for name, path in files.items()}
    playing = {name for name, paper in said.items() if paper}
    table = papers.shipped()
    assert playing <= {entry.scenario for entry in table.entries} <= set(files)
    for entry in table.entries:
        raw = draft_of(entry.scenario, (), kinds_of()).raw["paper"]
        assert (entry.paper, entry.plays) == (raw["name"], tuple(raw["plays"]))
        assert set(entry.flop) <= set(table.rates)
        assert entry.hours(table.rates, table.cores) > 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["paper_dpfl_period", "kd_pdfl_iot"])
def test_its_operations_are_those_that_are_counted_now(name):
    shipped = tomllib.loads(papers.SHIPPED.read_text())["flop"]
    assert paper_hours.counted(load(name)) == shipped[name]


@pytest.mark.slow
def test_all_of_its_operations_are_those_that_are_counted_now():
    assert paper_hours.table() == tomllib.loads(papers.SHIPPED.read_text())["flop"]


def test_operations_are_of_all_points_seeds_and_algorithms():
    """Table 3 of DPFL: 16 points, one seed, 100 nodes, 100 rounds of 5 epochs of 400 in 16."""
    scenario = load("paper_dpfl_period")
    [(trained, _)] = paper_hours.counted(scenario).values()
    [step] = model_costs(scenario)["step_flop"]
    assert trained == pytest.approx(16 * 100 * 100 * 5 * 25 * step, rel=1e-3)


def test_hours_are_operations_by_rates_and_cores():
    entry = papers.Entry("P", ("Table 1",), "s", {"mlp": (7.2e12, 3.6e12), "cnn": (3.6e12, 0.0)})
    rates = {"mlp": (1e9, 2e9), "cnn": (1e9, 1e9)}
    assert entry.hours(rates, 2) == pytest.approx((7200 + 1800 + 3600) / 2 / 3600)


def test_the_command_says_paper_table_scenario_hours_and_whose_they_are(netsim, cache):
    result = netsim("list", "papers")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert any("KD-PDFL" in x and "Table I, Fig. 3" in x for x in lines)
    assert any("paper_pfedgraph_sizes" in x for x in lines)
    assert "quickstart" not in result.output
    table = papers.shipped()
    told = " ".join(result.output.split())
    assert f"at the rates of {table.machine}, on {table.cores} cores" in told
    assert not cache.exists()


def test_measured_rates_are_kept_and_taken_from_then_on(netsim, cache, monkeypatch):
    table = papers.shipped()
    monkeypatch.setattr(papers, "measured", lambda t: {name: (1e9, 1e9) for name in t.rates})
    assert netsim("list", "papers", "--measure").exit_code == 0
    assert set(json.loads(cache.read_text())) == set(table.rates)
    monkeypatch.setattr(papers, "measured", lambda t: pytest.fail("it was not asked for"))
    told = " ".join(netsim("list", "papers").output.split())
    assert "at this machine's own rates" in told
    cache.write_text('{"lenet": [1e9, 1e9]}')  # before another model was shipped
    assert papers.kept(cache, table) is None
    for broken in ("[]", '{"lenet": [0, 1]}', "{"):
        cache.write_text(broken)
        with pytest.raises(ScenarioError, match="no table of rates"):
            papers.kept(cache, table)


@pytest.mark.slow
def test_measuring_keeps_the_rates_by_which_hours_are_printed(netsim, cache, monkeypatch):
    table = papers.shipped()
    some = [entry for entry in table.entries if entry.scenario == "kd_pdfl_iot"]
    rates = {name: table.rates[name] for name in some[0].flop}
    few = papers.Shipped("another machine", 1, rates, some)
    monkeypatch.setattr(papers, "shipped", lambda: few)
    monkeypatch.setattr(papers.os, "cpu_count", lambda: 1)
    monkeypatch.setenv("COLUMNS", "200")
    printed = netsim("list", "papers", "--measure")
    assert printed.exit_code == 0
    kept = {name: tuple(pair) for name, pair in json.loads(cache.read_text()).items()}
    assert set(kept) == set(some[0].flop)
    assert all(1e5 < rate < 1e15 for pair in kept.values() for rate in pair)
    (row,) = (line for line in printed.output.splitlines() if "kd_pdfl_iot" in line)
    hours = some[0].hours(kept, 1)
    assert float(row.split()[-1].replace(",", "")) == pytest.approx(hours, abs=0.5, rel=0.1)
    assert "another machine" not in printed.output
    assert netsim("list", "papers").output == printed.output


def test_rates_that_cannot_be_kept_are_told(netsim, cache, monkeypatch):
    monkeypatch.setattr(papers, "measured", lambda t: {name: (1e9, 1e9) for name in t.rates})
    cache.parent.write_text("a file where the folder has to be")
    result = netsim("list", "papers", "--measure")
    assert result.exit_code == 2
    assert "cannot be kept" in result.output
    assert "XDG_CACHE_HOME" in result.output


def test_the_page_of_clusters_has_the_core_hours_of_the_table():
    """Two papers in hours of a core, and in days and hours of machines of 16 cores."""
    page = " ".join((Path(__file__).parents[2] / "docs" / "cluster.md").read_text().split())
    table, said = papers.shipped(), []
    for paper in ("L2C", "MAPL"):
        own = [entry for entry in table.entries if entry.paper == paper]
        said.append(sum(entry.hours(table.rates, 1) for entry in own))
    core_hours = " and ".join(f"{round(hours, -2):,.0f}" for hours in said)
    assert f"L2C and MAPL take at least {core_hours} core-hours" in page
    days = [round(hours / 16 / 24) for hours in said]
    ten, hundred = ([round(hours / 16 / machines) for hours in said] for machines in (10, 100))
    told = f"takes {days[0]} and {days[1]} days, ten take {ten[0]} and {ten[1]} hours, a hundred "
    assert f"{told}{hundred[0]} and {hundred[1]} hours" in page
