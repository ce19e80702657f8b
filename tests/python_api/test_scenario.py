"""Scenarios from Python: the same checks as a file's, and nothing changes one."""

import copy
import pickle
import tomllib

import pytest
from torch import nn

import netsim
from netsim import scenario as scenarios


def test_overrides_are_those_of_the_command_line():
    loaded = netsim.load("quickstart", horizon_s=60.0, radio__reachable=2, algorithm="local")
    again = scenarios.load(
        "quickstart", ["horizon_s=60.0", "radio.reachable=2", 'algorithm=[{kind="local"}]']
    )
    assert loaded.tables == again


def test_tables_give_what_a_file_gives(small, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(small.to_toml(), encoding="utf-8")
    assert netsim.load(path).tables == small.tables
    assert tomllib.loads(small.to_toml())["nodes"]["count"] == 5


def test_a_scenario_never_changes(small):
    before = small.to_toml()
    with pytest.raises(AttributeError, match=r"scenario\.replace\(horizon_s=\.\.\.\)"):
        small.horizon_s = 3.0
    other = small.replace(horizon_s=3.0, topology="complete")
    assert (other.horizon_s, other.topology.kind) == (3.0, "complete")
    assert small.to_toml() == before
    assert copy.deepcopy(small) is small


def test_scenarios_that_play_the_same_are_equal(small, tmp_path):
    """Whatever is stated of it, and however; objects are compared by what they are, not by name."""
    (tmp_path / "s.toml").write_text(small.to_toml())
    again = netsim.load(tmp_path / "s.toml")
    assert again.stated != small.stated
    assert again == small
    assert len({again, small, copy.copy(small), pickle.loads(pickle.dumps(small))}) == 1
    assert small.replace(horizon_s=int(small.horizon_s)) == small
    assert small.replace(seed=small.seed + 1) != small
    assert small != small.to_toml()
    first, second = (small.replace(model=lambda: nn.Linear(64, 10)) for _ in range(2))
    assert first == first.replace()
    assert first != second


def test_replace_goes_down_into_tables_and_keeps_the_rest():
    quick = netsim.load("quickstart")
    assert quick.replace(radio__reachable=2).radio.calibrate == "power"
    assert quick.replace(radio={"reachable": 2}).radio.calibrate == "power"
    assert quick.replace(**{"radio.reachable": 2}).radio.reachable == 2.0
    still = quick.replace(radio__fading={"kind": "none"})
    assert still.radio.fading.kind == "none"
    assert still.radio.rate.kind == "shannon_gap"
    assert quick.replace(algorithm__kd_pdfl__mu1=3.0).algorithm[0].params.mu1 == 3.0


def test_none_takes_away_what_was_stated():
    quick = netsim.load("quickstart")
    assert quick.replace(radio=None).radio is None
    assert quick.replace(training__batch_size=None).training.batch_size == 10


def test_errors_name_the_change_the_key_the_value_and_a_remedy(small):
    with pytest.raises(netsim.ScenarioError) as found:
        small.replace(horizon_s=-1, training__learning_rat=0.1, topology="rign")
    assert str(found.value).splitlines() == [
        "horizon_s=-1: horizon_s = -1: must be greater than 0 (virtual time at which the run ends "
        "[s])",
        'topology="rign": [topology] kind = "rign": must be one of '
        + str(found.value).splitlines()[1].partition("must be one of ")[2],
        "training__learning_rat=0.1: [training] learning_rat = 0.1: is not a key of this table; "
        'did you mean "learning_rate"?',
    ]
    assert 'did you mean "ring"?' in str(found.value)


def test_errors_of_stated_tables_begin_with_scenario():
    with pytest.raises(netsim.ScenarioError) as found:
        netsim.Scenario(nodes={"count": 0})
    lines = str(found.value).splitlines()
    for begin in ("[nodes] count = 0: must be at least 1 (", "horizon_s: is required ("):
        assert any(line.startswith(f"Scenario: {begin}") for line in lines)


def test_a_wrong_file_or_table_is_told_with_what_was_meant(small):
    with pytest.raises(netsim.ScenarioError, match='did you mean "quickstart"'):
        netsim.load("quikstart")
    with pytest.raises(AttributeError, match='did you mean "nodes"'):
        _ = small.node
    with pytest.raises(TypeError, match="is no scenario"):
        netsim.run({"nodes": 5})


def test_repr_says_what_would_be_played(small):
    assert repr(small).startswith("<Scenario small: 5 nodes · ring · wired links · rounds · digits")
    assert "horizon_s" in dir(small)


def test_what_is_stated_has_no_defaults_and_is_a_copy(small):
    changed = small.replace(link__loss=0.5)
    assert changed.stated["link"] == {**small.stated["link"], "loss": 0.5}
    assert "training" not in changed.stated
    changed.stated["link"]["loss"] = 9.0
    assert changed.stated["link"]["loss"] == 0.5
    assert netsim.Scenario(**changed.stated).to_toml() == changed.to_toml()


def test_points_of_a_sweep_are_scenarios(small):
    assert list(small.points()) == ["base"]
    over = {"training.learning_rate": [0.1, 0.2], "link.loss": [0.0, 0.5]}
    points = small.replace(sweep={"over": over, "seeds": [1, 2]}).points()
    assert list(points) == [f"learning_rate={r},loss={p}" for r in (0.1, 0.2) for p in ("0", "0.5")]
    last = points["learning_rate=0.2,loss=0.5"]
    assert (last.training.learning_rate, last.link.loss, last.sweep) == (0.2, 0.5, None)


def test_shipped_scenarios_have_a_sentence_each():
    found = netsim.scenarios()
    assert {"quickstart", "whatif_loss"} <= set(found)
    assert all(text.endswith((".", "?")) for text in found.values())
