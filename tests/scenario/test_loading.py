"""Scenarios from a file, its base and --set together."""

import shutil
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.scenario import file as scenario_file
from netsim.scenario import from_dict, load, to_toml
from netsim.scenario.draft import parse_assignment, split_values


@pytest.fixture
def get(algorithms):
    return lambda path, *sets: load(path, sets, algorithms)


def test_defaults_fill_what_the_file_leaves_out(get, write):
    s = get(write())
    assert s.name == "s"
    assert s.seed == 0
    assert s.topology.kind == "complete"
    assert s.link is not None
    assert s.radio is None
    assert s.data.partition.kind == "iid"
    assert s.data.validation == 0.0
    assert s.compute.kind == "fixed"
    assert [m.kind for m in s.model] == ["mlp"]
    assert s.evaluate_every_s == 5.0
    [entry] = s.algorithm
    assert (entry.kind, entry.name, entry.params.mu1) == ("plain", "plain", 0.1)


def test_a_radio_leaves_no_ideal_link_beside_it(get, write, base):
    s = get(write(base + "[radio.fading]\nkind = 'none'\n"))
    assert s.link is None
    assert s.radio.fading.kind == "none"


def test_several_algorithms_keep_their_order_and_labels(get, write, base):
    text = base.replace('[algorithm]\nkind = "plain"', "") + (
        "[[algorithm]]\nkind = 'plain'\nname = 'strong'\nmu1 = 2\n[[algorithm]]\nkind = 'plain'\n"
    )
    s = get(write(text))
    assert [(e.name, e.params.mu1) for e in s.algorithm] == [("strong", 2.0), ("plain", 0.1)]


def test_an_algorithm_may_name_its_own_stages(get, write, base):
    text = base.replace('[algorithm]\nkind = "plain"', "[metrics]\nstages = ['trained']\n") + (
        "[[algorithm]]\nkind = 'plain'\nname = 'other'\nstages = ['mixed']\n"
        "[[algorithm]]\nkind = 'plain'\n"
    )
    s = get(write(text))
    assert [s.stages_of(e) for e in s.algorithm] == [("mixed",), ("trained",)]
    again = get(write(to_toml(s), "again.toml"))
    assert [again.stages_of(e) for e in again.algorithm] == [("mixed",), ("trained",)]


def test_extends_merges_tables_key_by_key_and_replaces_arrays(get, write, base):
    write(base + "mu1 = 0.5\nwidths = [1, 2, 3]\n", "base.toml")
    s = get(write("extends = 'base.toml'\nhorizon_s = 7\n[algorithm]\nwidths = [9]\n"))
    assert s.horizon_s == 7.0
    assert s.nodes.count == 5
    assert s.algorithm[0].params.mu1 == 0.5
    assert s.algorithm[0].params.widths == (9,)


def test_extends_changes_an_entry_of_a_list_by_its_name(get, write, base):
    entries = "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'other'\n"
    write(base.replace('[algorithm]\nkind = "plain"', entries), "base.toml")
    s = get(write("extends = 'base.toml'\n[algorithm.other]\nmu1 = 0.25\n"))
    assert [(e.name, e.params.mu1) for e in s.algorithm] == [("plain", 0.1), ("other", 0.25)]
    with pytest.raises(ScenarioError, match="othr is not an entry of algorithm, which has plain"):
        get(write("extends = 'base.toml'\n[algorithm.othr]\nmu1 = 0.25\n"))


def test_a_base_may_extend_another(get, write, base):
    """Tables merge key by key from the last base to the file; a nearer file wins."""
    groups = "count = 5\ngroups = [{name = 'a', count = 2}, {name = 'b', count = 3}]\n"
    sweep = "[sweep]\nseeds = [0, 1]\n[sweep.over]\n'training.batch_size' = [1, 2]\n"
    write(base.replace("count = 5\n", groups) + "mu1 = 0.5\nwidths = [1]\n" + sweep, "c.toml")
    own = "name = 'b'\nhorizon_s = 7\nseed = 1\n[algorithm]\nmu1 = 0.75\n"
    write("extends = 'c'\n" + own, "b.toml")
    over = "[sweep.over]\n'training.momentum' = [0.0, 0.5]\n"
    s = get(write("extends = 'b.toml'\nseed = 2\n" + over, "a.toml"))
    assert (s.name, s.horizon_s, s.seed, len(s.nodes.groups)) == ("a", 7.0, 2, 2)
    assert (s.algorithm[0].params.mu1, s.algorithm[0].params.widths) == (0.75, (1,))
    assert s.sweep.seeds == (0, 1)
    assert set(s.sweep.over) == {"training.batch_size", "training.momentum"}


def test_bases_of_bases_give_what_one_base_gives(get, write, base):
    entries = "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'other'\n"
    write(base.replace('[algorithm]\nkind = "plain"', entries), "c.toml")
    write("extends = 'c.toml'\n[algorithm.other]\nmu1 = 0.25\n", "b.toml")
    s = get(write("extends = 'b.toml'\n[algorithm.plain]\nmu1 = 0.75\n"))
    assert [(e.name, e.params.mu1) for e in s.algorithm] == [("plain", 0.75), ("other", 0.25)]


def test_what_a_scenario_plays_of_a_paper_is_not_handed_on(get, write, base):
    paper = "[paper]\nname = 'DPFL'\nplays = ['Table 1']\n"
    s = get(write(base + paper, "base.toml"))
    assert (s.paper.name, s.paper.plays) == ("DPFL", ("Table 1",))
    assert get(write(to_toml(s), "again.toml")).paper == s.paper
    assert get(write("extends = 'base.toml'\n")).paper is None


def test_another_kind_replaces_the_whole_table(get, write, base):
    text = base.replace('"star"', '"star"\nslots_per_exchange = 4')
    write(text, "base.toml")
    s = get(write("extends = 'base'\n[exchange]\nschedule = 'rounds'\n"))
    assert s.exchange.schedule == "rounds"


def test_another_data_set_keeps_the_partition(get, write, base):
    text = base.replace('"digits"', '"digits"\ntest_fraction = 0.2\nvalidation = 0.25')
    write(text + "[data.partition]\nkind = 'dirichlet'\nalpha = 0.5\n", "base.toml")
    s = get(write("extends = 'base'\n[data]\nkind = 'mnist'\n"))
    assert (s.data.kind, s.data.validation, s.data.partition.alpha) == ("mnist", 0.25, 0.5)


def test_the_file_names_the_scenario_not_its_base(get, write, base):
    write("name = 'other'\n" + base, "base.toml")
    assert get(write("extends = 'base.toml'\n", "mine.toml")).name == "mine"


def test_a_shipped_scenario_is_found_by_name_and_as_a_base(get, write, base, tmp_path, monkeypatch):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "tiny.toml").write_text(base)
    (shipped / "_world.toml").write_text(base)
    monkeypatch.setattr(scenario_file, "scenarios_folder", lambda: shipped)
    assert list(scenario_file.shipped()) == ["tiny"]
    assert get("tiny").name == "tiny"
    assert get(write("extends = '_world'\nseed = 3\n")).seed == 3


@pytest.mark.parametrize(
    ("assignment", "path", "expected"),
    [
        ("seed=4", "seed", 4),
        ("training.optimizer=adam", "training.optimizer", "adam"),
        ("algorithm.mu1=0.7", "algorithm.0.params.mu1", 0.7),
        ("algorithm.plain.mu1=0.7", "algorithm.0.params.mu1", 0.7),
        ("algorithm.0.mu1=0.7", "algorithm.0.params.mu1", 0.7),
        ("model.hidden=[8, 8]", "model.0.hidden", (8, 8)),
        ("radio.fading.kind=none", "radio.fading.kind", "none"),
        ("radio.rate.rate_bps=1e6", "radio.rate.rate_bps", 1e6),
        ("data.partition.train_samples=9", "data.partition.train_samples", 9),
        ("compute.step_s=0.5", "compute.step_s", 0.5),
        ("link.arq={}", "link.arq.kind", "none"),
        ("metrics.weights=false", "metrics.weights", False),
        ('data.partition={kind = "iid"}', "data.partition.kind", "iid"),
    ],
)
def test_set_changes_one_key(get, write, assignment, path, expected):
    found = get(write(), assignment)
    for key in path.split("."):
        found = found[int(key)] if key.isdigit() else getattr(found, key)
    assert found == expected


def test_set_addresses_list_entries_by_name(get, write, base):
    text = base.replace('[algorithm]\nkind = "plain"', "") + (
        "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'b'\n"
    )
    s = get(write(text), "algorithm.b.mu1=3", "algorithm.0.steps=9")
    assert [(e.params.mu1, e.params.steps) for e in s.algorithm] == [(0.1, 9), (3.0, 3)]


def test_a_kind_without_a_name_is_the_label_of_its_entry_alone(get, write, base):
    text = base.replace('[algorithm]\nkind = "plain"', "") + (
        "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'other'\n"
    )
    s = get(write(text), "algorithm.plain.mu1=2", "algorithm.other.mu1=3", "algorithm.1.steps=7")
    assert [(e.name, e.params.mu1) for e in s.algorithm] == [("plain", 2.0), ("other", 3.0)]
    assert s.algorithm[1].params.steps == 7


def test_the_order_of_set_does_not_matter_for_a_new_kind(get, write):
    sets = ("exchange.rate_hz=0.5", "exchange.schedule=poisson")
    assert get(write(), *sets) == get(write(), *reversed(sets))
    assert get(write(), *sets).exchange.rate_hz == 0.5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=1.5", 1.5),
        ("a=true", True),
        ("a=star", "star"),
        ("a=cuda:0", "cuda:0"),
        ("a='x y'", "x y"),
        ("a=[1, 2]", [1, 2]),
        ("a=b=c", "b=c"),
        ("a=", ""),
    ],
)
def test_an_assigned_value_is_toml_or_a_word(text, value):
    assert parse_assignment(text) == ("a", value)


def test_an_assigned_value_cannot_smuggle_in_further_keys():
    assert parse_assignment("a=1\nb = 2") == ("a", "1\nb = 2")


def test_values_split_at_commas_outside_brackets():
    assert split_values("1,2.5,x,[3, 4],'a,b'") == [1, 2.5, "x", [3, 4], "a,b"]


def test_the_resolved_scenario_runs_again_as_it_is(get, write, base, algorithms):
    text = base + (
        "[radio]\nmean_snr_db = 12\nreachable = 3.5\n[radio.arq]\nkind = 'hole'\n"
        "[nodes.x]\n".replace("[nodes.x]\n", "")
        + "[[nodes.groups]]\nname = 'slow'\ncount = 2\nspeed = 0.5\n"
        "[sweep]\nseeds = [0, 1]\ntrials = 2\n"
        "[sweep.over]\nhorizon_s = [1]\n'nodes.count' = [4, 5]\n"
        "[sweep.draw]\n'algorithm.mu1' = {low = 0.1, high = 1.0, log = true}\n"
        "algorithm.steps = [1, 2]\n"
    )
    first = get(write(text))
    again = get(write(to_toml(first), "again.toml"))
    assert again == first
    assert again.model_dump() == first.model_dump()


def test_the_resolved_scenario_of_one_algorithm_holds_only_that(get, write, base):
    text = base.replace('[algorithm]\nkind = "plain"', "") + (
        "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'b'\n"
        "[[model]]\nkind = 'mlp'\n"
    ).replace("[[model]]\nkind = 'mlp'\n", "")
    both = get(write(text))
    alone = get(write(to_toml(both, both.algorithm[1]), "alone.toml"))
    assert alone.algorithm == (both.algorithm[1],)
    assert alone.name == both.name


def test_the_data_path_is_relative_to_the_file_that_says_it(get, write, base, tmp_path):
    write(base.replace('"digits"', '"digits"\npath = "sets"'), "base.toml")
    other = tmp_path / "deeper"
    other.mkdir()
    (other / "s.toml").write_text("extends = '../base.toml'\n")
    assert Path(get(str(other / "s.toml")).data.path).resolve() == tmp_path / "sets"


def test_tables_given_as_a_dict_are_checked_alike(algorithms):
    tables = {
        "horizon_s": 10,
        "nodes": {"count": 2},
        "exchange": {"schedule": "rounds"},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "picky"},
    }
    assert from_dict(tables, algorithms_folder=algorithms).name == "scenario"
    with pytest.raises(ScenarioError, match=r"scenario: \[nodes\] count = 0: must be at least 1"):
        from_dict({**tables, "nodes": {"count": 0}}, algorithms_folder=algorithms)


def test_user_algorithms_may_import_helpers_beside_them(write, base, own_algorithms):
    (own_algorithms / "_helper.py").write_text("DEFAULT = 0.25\n")
    text = (own_algorithms / "plain.py").read_text()
    text = "from ._helper import DEFAULT\n" + text.replace("= 0.1", "= DEFAULT")
    (own_algorithms / "third.py").write_text(text)
    scenario = load(write(base.replace("plain", "third")), (), own_algorithms)
    assert scenario.algorithm[0].params.mu1 == 0.25
    shutil.rmtree(own_algorithms)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", ["small_baselines_server", "async_baselines", "paper_pfedgraph"])
def test_the_resolved_scenario_of_every_method_loads_again(name, tmp_path):
    """It states every key, those with which a method's other variants alone begin anything too."""
    scenario = load(name)
    for entry in scenario.algorithm:
        path = tmp_path / f"{entry.name}.toml"
        path.write_text(to_toml(scenario, entry))
        assert load(str(path)).algorithm[0].params == entry.params
