"""Scenarios as a run folder keeps them: what is read back is what was played."""

import itertools
import tomllib

import hypothesis
import pytest
from hypothesis import strategies as st

import netsim
from netsim.scenario import file

PLAIN = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=8),
)
KEYS = st.text(min_size=1, max_size=6)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@hypothesis.given(st.dictionaries(KEYS, VALUES, max_size=5), st.dictionaries(KEYS, VALUES))
@hypothesis.settings(max_examples=150, deadline=None)
def test_the_keys_of_a_sweep_keep_their_order(over, draw):
    tables = {"seed": 3, "sweep": {"over": over, "draw": draw, "seeds": [0, 1]}, "radio": {"x": 1}}
    found = tomllib.loads(file.write(tables))
    assert found == tables
    assert list(found["sweep"]["over"]) == list(over)
    assert list(found["sweep"]["draw"]) == list(draw)


VARIED = {
    "data": [
        {
            "kind": "digits",
            "partition": {"kind": "class_mix", "alpha": alpha, "train_min": 15, "test_samples": 20},
            "validation": 0.2,
        }
        for alpha in (1.0, 5.0)
    ],
    "training.learning_rate": [0.1, 0.2],
    "topology": [{"kind": "ring"}, {"kind": "random_regular", "degree": 3}],
}
"""Long tables, plain values and short tables, which a TOML writer puts into another order."""

SMALL = {
    "horizon_s": 5.0,
    "seed": 4,
    "nodes": {"count": 6},
    "exchange": {"schedule": "periodic", "period_s": 2.0},
    "link": {},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": [{"kind": "dpsgd"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("keys", list(itertools.permutations(VARIED, 2)), ids=" ".join)
def test_a_sweep_over_tables_and_numbers_is_found_again(keys, tmp_path):
    """Its folders are called by the keys in their order."""
    table = {"over": {key: VARIED[key] for key in keys}, "seeds": [0], "jobs": 1}
    (tmp_path / "s.toml").write_text(file.write(SMALL | {"sweep": table}), encoding="utf-8")
    scenario = netsim.load(tmp_path / "s.toml")
    assert [point.partition("=")[0] for point in scenario.points()] == [keys[0].split(".")[-1]] * 4
    netsim.sweep(scenario, out=tmp_path / "swept")
    found = netsim.open(tmp_path / "swept")
    assert list(found.by_seed["point"]) == list(scenario.points())
