"""The points of a grid are what they are called, and no two share a folder."""

import itertools
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

import netsim
from netsim.campaign import grid
from netsim.campaign.sweep_points import points_of
from netsim.errors import ScenarioError
from netsim.python_api.scenario import parts
from netsim.scenario import check
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of
from netsim.scenario.labels import csv_cell, shown
from netsim.scenario.sweep import Sweep

WORDS = st.lists(
    st.text("aAb./ -01", min_size=1, max_size=5) | st.floats(1.0, 1.00001),
    min_size=1,
    max_size=8,
    unique_by=repr,
)


@pytest.mark.slow
@hypothesis.given(WORDS, st.integers(0, 130))
@hypothesis.settings(max_examples=200, deadline=None)
def test_no_two_points_share_a_folder_whatever_case_its_file_system_tells_apart(values, length):
    key = "a." + "k" * length
    labels = [point.label.casefold() for point in points_of({key: tuple(values)})]
    assert len(set(labels)) == len(values)


def test_a_number_at_the_end_of_a_value_is_no_other_points():
    """Two files of one name get a number, which a third has of its own."""
    over = {"x.path": ("/a/x/run", "/b/x/run", "/c/x/run-0")}
    labels = [point.label for point in points_of(over)]
    assert len(set(labels)) == 3


KEYS = {"radio.fading.k_db": (1.0, 2.0), "radio.fading.kind": ("rician",), "nodes.count": (3,)}


@pytest.mark.parametrize("keys", list(itertools.permutations(KEYS)), ids=" ".join)
def test_a_point_has_all_its_values_in_whatever_order_they_vary(keys):
    draft = Draft("s.toml", {"radio": {"fading": {"kind": "rayleigh"}}})
    found = [
        grid.at_point(draft, point).raw for point in points_of({key: KEYS[key] for key in keys})
    ]
    assert [raw["radio"]["fading"] for raw in found] == [
        {"kind": "rician", "k_db": k} for k in (1.0, 2.0)
    ]
    assert all(raw["nodes"] == {"count": 3} for raw in found)


def test_points_of_which_one_key_undoes_another_are_refused():
    """The grid of a table and of a key in it, which every table has: four labels, two scenarios."""
    tables = [{"kind": "random_regular", "degree": k} for k in (2, 3)]
    over = {"topology.degree": [4, 5], "topology": tables}
    raw = {
        "name": "s",
        "horizon_s": 5.0,
        "nodes": {"count": 6},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "local"},
        "sweep": {"over": over},
    }
    draft = Draft("s.toml", raw)
    scenario = check(draft, kinds_of(()))
    with pytest.raises(ScenarioError, match="are the same scenario"):
        grid.plan(draft, scenario, Path(), ())
    over["topology"] = [{"kind": "random_regular"}, {"kind": "ring"}]
    with pytest.raises(ScenarioError, match="degree"):  # which a ring does not have
        grid.plan(draft, scenario, Path(), ())


def test_points_in_python_are_those_that_a_sweep_plays():
    over = {"topology.degree": [2, 4], "topology.kind": ["random_regular"]}
    scenario = netsim.load("quickstart", nodes__count=6, sweep={"over": over, "seeds": [0]})
    assert [s.topology.degree for s in scenario.points().values()] == [2, 4]


def tables_alike(n):
    """Tables that differ in their last number alone, far behind what an error would show."""
    return [
        {"kind": "class_mix", "alpha": 1.0, "train_min": 15, "train_max": 300, "test_samples": k}
        for k in range(n)
    ]


@pytest.mark.parametrize("values", [tables_alike(3), [[0.125] * 40 + [k] for k in range(3)]])
def test_cells_tell_all_points_apart(values):
    assert len(set(map(shown, values))) == 1  # as an error shortens them
    assert len(set(map(csv_cell, values))) == 3


def test_one_number_in_two_spellings_is_no_two_points():
    with pytest.raises(ValueError, match=r"has 1.0 twice|has 1 twice"):
        Sweep(over={"link.loss": (1, 0.5, 1.0)})
    assert len(points_of({"a": (1, True, "1", 2**60, 2**60 + 1)})) == 5


@pytest.mark.parametrize(
    ("key", "values", "played"),
    [
        ("algorithm.fedavg.kind", ["fedavg", "dpsgd"], "local, dpsgd"),
        ("algorithm.fedavg.name", ["often", "seldom"], "local, often"),
        ("algorithm", [[{"kind": "local"}], [{"kind": "fedavg"}]], "local"),
    ],
)
@pytest.mark.parametrize("is_drawn", [False, True])
def test_points_whose_algorithms_have_other_names_are_refused(key, values, played, is_drawn):
    """Such an algorithm would not be played at all, as runs are known by the scenario's names."""
    table = {"draw": {key: values}, "trials": 2} if is_drawn else {"over": {key: values}}
    scenario = netsim.load(
        "quickstart",
        algorithm=["local", {"kind": "fedavg", "pace": "rounds"}],
        data__validation=0.2,
        sweep=table,
    )
    draft, _, _ = parts(scenario)
    with pytest.raises(ScenarioError, match=f"would play {played} in place of local, fedavg"):
        grid.plan(draft, scenario.tables, Path(), ())


def test_the_kind_of_an_algorithm_varies_under_a_name_of_its_own():
    kinds = [{"kind": kind, "name": "method"} for kind in ("fedavg", "dpsgd")]
    scenario = netsim.load("quickstart", algorithm=kinds[0], exchange__schedule="rounds")
    swept = scenario.replace(sweep={"over": {"algorithm.method": kinds}})
    jobs = grid.plan(parts(swept)[0], swept.tables, Path(), ())
    assert [check(job.draft, kinds_of(())).algorithm[0].kind for job in jobs] == ["fedavg", "dpsgd"]
