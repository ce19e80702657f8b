"""`set` in `[[algorithm]]`: the same draws in another world; `ideal_network`."""

import tomllib

import pytest

from netsim import engine, world
from netsim.errors import ScenarioError
from netsim.scenario import from_dict, load, to_toml

TABLES = {
    "horizon_s": 100.0,
    "nodes": {"count": 5, "groups": [{"name": "weak", "count": 2, "tx_power_dbm": 3.0}]},
    "radio": {"bandwidth_hz": 1e6},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
}
IDEAL = {"ideal_network": True}


def beside(*sets, kind="dpsgd", **more):
    entries = [{"kind": kind, "name": f"n{i}", "set": keys} for i, keys in enumerate(sets)]
    return from_dict({**TABLES, **more, "algorithm": entries})


def test_each_algorithm_plays_what_its_set_says_and_the_others_what_all_have():
    scenario = beside({}, {"radio.bandwidth_hz": 2e6}, {"radio": {"bandwidth_hz": 2e6}}, IDEAL)
    plain, wide, written_otherwise, ideal = map(scenario.of, scenario.algorithm)
    assert plain is scenario
    assert (plain.radio.bandwidth_hz, wide.radio.bandwidth_hz) == (1e6, 2e6)
    assert wide is written_otherwise  # one world for both
    assert [entry.name for entry in wide.algorithm] == ["n1", "n2"]
    assert not any(entry.set for entry in wide.algorithm)
    assert (ideal.radio, ideal.link.loss, ideal.seed) == (None, 0.0, scenario.seed)


def test_the_world_of_all_does_not_play_an_algorithm_that_has_its_own():
    scenario = beside(IDEAL, nodes={"count": 2}, horizon_s=2.0)
    [entry] = scenario.algorithm
    with pytest.raises(ScenarioError, match=r"n0: its set makes a world of its own"):
        engine.play(world.build(scenario), entry)
    own = scenario.of(entry)
    assert engine.play(world.build(own), own.algorithm[0])["messages"]["lost"] == 0


def test_a_file_is_written_and_read_again(tmp_path):
    scenario = beside({}, {"radio": {"arq": {"kind": "hole", "max_attempts": 2}}}, IDEAL)
    path = tmp_path / "again.toml"
    path.write_text(to_toml(scenario))
    again = load(str(path))
    assert again == scenario
    assert again.of(again.algorithm[1]).radio.arq.max_attempts == 2
    path.write_text(to_toml(scenario.of(scenario.algorithm[2])))
    assert load(str(path)) == scenario.of(scenario.algorithm[2])
    plain = tomllib.loads(to_toml(beside({})))
    assert "set" not in plain["algorithm"]
    assert "ideal_network" not in plain


def test_an_algorithm_may_run_under_the_schedule_of_its_own_world_alone():
    with pytest.raises(ScenarioError, match="does not run under this schedule"):
        beside({"exchange.schedule": "rounds"}, kind="kd_pdfl")
    rounds = {"exchange": {"schedule": "rounds"}}
    entries = [{"kind": "kd_pdfl", "set": {"exchange": TABLES["exchange"]}}]
    with pytest.raises(ScenarioError, match="does not run under this schedule"):
        from_dict({**TABLES, **rounds, "algorithm": [{"kind": "kd_pdfl"}]})
    scenario = from_dict({**TABLES, **rounds, "algorithm": entries})
    assert scenario.of(scenario.algorithm[0]).exchange.schedule == "poisson"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"seed": 3}, "[algorithm] n0: set = { seed = 3 }: all algorithms of a scenario have"),
        ({"sweep.seeds": [1]}, "all algorithms of a scenario have the same sweep"),
        ({"radio.bandwith_hz": 3}, "[radio] bandwith_hz = 3: is not a key of this table; did you"),
        ({"ideal_network": 3}, "[algorithm] n0: set: ideal_network = 3: must be true or false"),
        ({"horizon_s.x": 3}, "[algorithm] n0: set: horizon_s is a value, not a table"),
    ],
)
def test_a_set_that_makes_no_scenario_is_refused_with_where_it_stands(keys, told):
    with pytest.raises(ScenarioError) as found:
        beside(keys, {"radio.gapdb": 1})
    first, second = str(found.value).splitlines()
    assert told in first
    assert "n1: set: [radio] gapdb = 1" in second


def test_an_ideal_network_takes_the_place_of_all_links_which_are_still_checked():
    entry = {"algorithm": {"kind": "dpsgd"}}
    ideal = from_dict({**TABLES, **IDEAL, **entry})
    assert (ideal.radio, ideal.link) == (
        None,
        from_dict({**TABLES, "radio": None, "nodes": {"count": 5}, **entry}).link,
    )
    wired = from_dict(
        {**TABLES, **entry, "radio": None, "nodes": {"count": 5}, **IDEAL, "link": {"loss": 0.5}}
    )
    assert wired.link.loss == 0.0
    with pytest.raises(ScenarioError, match="bandwidth_hz = -1"):
        from_dict({**TABLES, **IDEAL, **entry, "radio": {"bandwidth_hz": -1}})


def test_names_of_files_are_relative_to_the_scenario_that_states_them(tmp_path):
    (tmp_path / "graph.csv").write_text("0,1\n1,2\n2,3\n3,4\n")
    rows = [f"{key} = {value}" for key, value in {"horizon_s": 9.0, "nodes.count": 5}.items()]
    rows += ['exchange.schedule = "poisson"', "exchange.rate_hz = 1.0", 'data.kind = "digits"']
    rows += ['model.kind = "mlp"', "[[algorithm]]", 'kind = "dpsgd"']
    rows += ['set = { topology = { kind = "file", path = "graph.csv" } }']
    (tmp_path / "s.toml").write_text("\n".join(rows))
    scenario = load(str(tmp_path / "s.toml"))
    assert str(scenario.of(scenario.algorithm[0]).topology.path) == str(tmp_path / "graph.csv")
