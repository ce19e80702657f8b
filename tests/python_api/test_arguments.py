"""Arguments that can't be are refused by name and value before anything is written."""

import numpy as np
import pytest
import torch

import netsim
from netsim import ScenarioError

SMALL = {
    "name": "small",
    "horizon_s": 2.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": "digits",
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "dpsgd"},
}
NO_PATHS = (3, 2.5, b"name", ["a"], "", "a\0b", "n" * 300)


@pytest.fixture(scope="module")
def small():
    return netsim.Scenario(**SMALL)


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """Play in an empty folder, which stays empty."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [*NO_PATHS, None])
@pytest.mark.parametrize("call", [netsim.open, netsim.resume, netsim.load])
def test_what_is_no_path_is_named(call, given):
    with pytest.raises(ScenarioError, match=r"^(folder|scenario) = "):
        call(given)


@pytest.mark.parametrize("given", NO_PATHS)
@pytest.mark.parametrize("call", [netsim.run, netsim.sweep])
def test_no_results_go_to_what_is_no_path(small, call, given):
    with pytest.raises(ScenarioError, match=r"^out = "):
        call(small, out=given, **({"seeds": [0]} if call is netsim.sweep else {}))


@pytest.mark.parametrize("given", ["no", "False", 0, 1, None, []])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((netsim.run, name) for name in ("timing_only", "check", "resume", "progress")),
        *((netsim.sweep, name) for name in ("timing_only", "progress")),
    ],
)
def test_a_switch_is_true_or_false(small, call, name, given):
    with pytest.raises(ScenarioError, match=rf"{name} = .*: must be True or False"):
        call(small, **{name: given})


@pytest.mark.parametrize("name", ["on_message", "on_wakeup", "on_evaluation", "agent"])
def test_what_can_not_be_called_is_refused_before_the_run_would_call_it(small, name):
    with pytest.raises(ScenarioError, match=rf"^netsim.run: {name} = 3: must be callable"):
        netsim.run(small, **{name: 3})


def test_an_agent_whom_nobody_asks_is_refused(small):
    with pytest.raises(ScenarioError, match="no algorithm leaves decisions to an agent"):
        netsim.run(small, agent=lambda decision: 0)


def test_a_set_is_refused_where_order_matters(small):
    """Of texts Python gives another order in each process: of methods, points, layers."""
    with pytest.raises(ScenarioError, match=r"algorithms = .*: is a set, which has no order"):
        netsim.run(small, algorithms={"dpsgd", "local"})
    with pytest.raises(ScenarioError, match=r"model\.hidden = .*: is a set"):
        small.replace(model__hidden={3, 4})
    with pytest.raises(ScenarioError, match=r"training\.learning_rate = .*: is a set"):
        netsim.sweep(small, over={"training__learning_rate": {0.1, 0.2}})


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), np.array(3), torch.tensor(3)])
def test_numbers_of_libraries_are_numbers(small, seed):
    assert small.replace(seed=seed).seed == 3
    assert small.replace(model__hidden=np.array([seed, 4])).stated["model"]["hidden"] == [3, 4]
