"""Several keys stated at once: none is lost to another one without a word."""

import itertools

import pytest

import netsim
from netsim.errors import ScenarioError
from netsim.scenario.draft import Draft

BASE = {
    "radio": {"fading": {"kind": "rayleigh", "hold": "exchange"}, "arq": {"max_attempts": 3}},
    "algorithm": [{"kind": "kd_pdfl", "name": "kd"}, {"kind": "dpsgd"}],
}

TOGETHER = [
    ("radio.fading.kind", "rician"),
    ("radio.fading.k_db", 3.0),
    ("radio.arq", {"kind": "hole"}),
    ("radio.arq.max_attempts", 7),
    ("algorithm.kd.mu1", 0.5),
]

OPPOSED = [
    [("radio.fading", {"kind": "rician", "k_db": 1.0}), ("radio.fading.kind", "none")],
    [("algorithm.kd.mu1", 1.0), ("algorithm.0.mu1", 2.0)],
    [("radio.fading", "none"), ("radio.fading.k_db", 2.0)],
]


def drawn(stated):
    draft = Draft("s.toml", BASE).copy()
    draft.assign_all((key, value, f"--set {key}") for key, value in stated)
    return draft.raw


@pytest.mark.parametrize("order", list(itertools.permutations(TOGETHER))[::7])
def test_the_order_of_keys_does_not_matter(order):
    found = drawn(order)
    assert found["radio"] == {
        "fading": {"kind": "rician", "k_db": 3.0},
        "arq": {"max_attempts": 7, "kind": "hole"},
    }
    assert found["algorithm"][0]["mu1"] == 0.5


@pytest.mark.parametrize("pair", OPPOSED, ids=lambda pair: " ".join(key for key, _ in pair))
def test_values_of_which_one_undoes_the_other_are_refused(pair):
    for order in (pair, pair[::-1]):
        with pytest.raises(ScenarioError) as told:
            drawn(order)
        assert str(told.value).startswith("--set ")
    assert "state one of both" in str(told.value) or "is a value" in str(told.value)


def test_of_one_key_the_last_value_counts():
    assert drawn([("horizon_s", 1.0), ("horizon_s", 2.0)])["horizon_s"] == 2.0


@pytest.mark.parametrize("degree", [2, None])
def test_a_key_is_laid_over_the_table_that_it_is_in(degree):
    table = {"kind": "random_regular", **({"degree": degree} if degree else {})}
    pair = {"topology": table, "topology.degree": 4}
    for stated in (pair, dict(reversed(pair.items()))):
        assert netsim.load("quickstart", **stated).topology.degree == 4
        assert drawn(stated.items())["topology"] == {"kind": "random_regular", "degree": 4}


@pytest.mark.parametrize("place", ["sweep.over", "sweep.draw", "changes", "algorithm"])
def test_a_key_path_with_and_without_quotes_is_one_key(place):
    """TOML reads `link.loss` and `"link.loss"` as two keys; for a scenario they are one."""
    values = {"link": {"loss": [0.1]}, "link.loss": [0.2]}
    stated = {
        "sweep.over": {"sweep": {"over": values}},
        "sweep.draw": {"sweep": {"draw": values, "trials": 2}},
        "changes": {"changes": [{"at_s": 1.0, "set": values}]},
        "algorithm": {"algorithm": [{"kind": "local", "set": values}]},
    }[place]
    with pytest.raises(ScenarioError, match=r"link.loss is stated twice"):
        netsim.load("quickstart", **stated)


@pytest.mark.parametrize("above", [{"link": {"loss": [0.2]}}, {"link.loss": [0.2]}])
@pytest.mark.parametrize("below", [{"link": {"loss": [0.1]}}, {"link.loss": [0.1]}])
def test_a_layer_changes_a_key_path_however_both_are_quoted(below, above):
    draft = Draft("base.toml", {"sweep": {"over": {"nodes.count": [3]} | below}})
    draft.lay_over({"sweep": {"over": above}}, "s.toml")
    assert draft.raw["sweep"]["over"] == {"nodes.count": [3], "link.loss": [0.2]}
    draft.assign("sweep.over.link.loss", [0.3], "--set")
    assert draft.raw["sweep"]["over"] == {"nodes.count": [3], "link.loss": [0.3]}
