"""The papers' tables as data: rules of rounds, cells that can be played, what was searched."""

import json
import tomllib
from pathlib import Path

import pytest

from netsim import ScenarioError

from .little import cell_runs, command, table_files, tables

ALL = table_files.names()
SEARCHED = Path(__file__).resolve().parents[2] / "scenarios" / "kd_pdfl_iot.toml"


@pytest.mark.parametrize(
    ("rule", "rounds", "value"),
    [
        ("rounds", 7, 7),
        ("rounds - 2", 7, 5),
        ("200 * rounds + 100", 7, 1500),
        ("rounds / 4", 6, 1.5),
    ],
)
def test_keys_follow_the_rounds(rule, rounds, value):
    assert tables.by_rounds(rule, rounds) == value


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(ScenarioError, match="is not of the form"):
        tables.by_rounds("rounds ** 2", 3)


def test_names_that_differ_have_folders_that_differ():
    assert tables.slug("FedAvg+") != tables.slug("FedAvg")
    assert tables.slug("mu1 = 0, mu2 = 10") == "mu1_=_0_mu2_=_10"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_cell_of_a_table_can_be_played(name):
    table = table_files.load(name)
    known = {}
    for cell in tables.cells(table):
        scenario = cell.row.scenario or cell.column.scenario or table.scenario
        key = repr((scenario, tables.keys(table, cell), cell.row.entry))
        if key not in known:
            run = cell_runs.run_of(table, cell, 0, None, Path("runs"))
            known[key] = cell_runs.scenario_of(table, run)
            assert [entry.name for entry in known[key].algorithm] == [cell.row.entry]
    if table.by_rounds:
        tables.keys(table, next(tables.cells(table)), 8)


@pytest.mark.parametrize("name", ALL)
def test_the_rounds_of_a_table_are_those_of_its_scenario(name):
    table = table_files.load(name)
    if table.by_rounds:
        run = cell_runs.run_of(table, next(tables.cells(table)), 0, None, Path("runs"))
        whole = cell_runs.scenario_of(table, run)
        assert tables.by_rounds(table.by_rounds["horizon_s"], table.rounds) == whole.horizon_s


def test_what_a_search_finds_becomes_the_scenarios_algorithms(tmp_path, capsys):
    values = {
        "training.learning_rate": 0.123456,
        "training.batch_size": 5,
        "algorithm.kd_pdfl.mu1": 9.0,
        "algorithm.kd_pdfl_falls.step": "elementwise",
        "algorithm.kd_pdfl_falls.mu1": 0.56,
    }
    (tmp_path / "best.json").write_text(json.dumps({"kd_pdfl_falls": {"values": values}}))
    assert command.main(["tuned", "kd_pdfl_iot", str(tmp_path)]) == 0
    found = tomllib.loads(capsys.readouterr().out)["algorithm"]
    before = tomllib.loads(SEARCHED.read_text())["algorithm"]
    changed = {"step": "elementwise", "mu1": 0.56}
    changed["training"] = {"learning_rate": 0.1235, "batch_size": 5}
    assert found == [e | changed if e.get("name") == "kd_pdfl_falls" else e for e in before]


def test_the_ablation_lets_the_rate_fall_to_where_it_was():
    [entry] = [
        entry
        for entry in tomllib.loads(SEARCHED.read_text())["algorithm"]
        if entry.get("name") == "kd_pdfl_falls"
    ]
    readings = table_files.load("kd_pdfl_iot").readings
    [reading] = [r for r in readings if r.name == "the rate does not fall"]
    assert list(reading.set.values()) == [entry["training"]["learning_rate"]]
