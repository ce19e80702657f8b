"""Every mistake is named with file, table, key, value, and what to do about it."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.scenario import load


@pytest.fixture
def errors(write, algorithms):
    """The lines of the error that a text (and assignments) lead to, without the file's name."""

    def lines_of(text: str, *sets: str) -> list[str]:
        path = write(text)
        with pytest.raises(ScenarioError) as caught:
            load(path, sets, algorithms)
        return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]

    return lines_of


def told(found: list[str], *expected: str) -> bool:
    """Return whether lines are the expected ones, each perhaps with the key's kind, in brackets."""
    return len(found) == len(expected) and all(
        line == wanted or (line.startswith(f"{wanted} (") and line.endswith(")"))
        for line, wanted in zip(found, expected, strict=True)
    )


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("[radio]\nttl_s = -1", "[radio] ttl_s = -1: must be greater than 0 (longest time from sending to arrival [s])"),
        ("[training]\nmomentum = '1'", '[training] momentum = "1": must be a number; write momentum = 1 (part of the last step\'s direction that SGD keeps for the next one)'),
        ("[radio.fading]\nkind = 'rician'\nk_factor_db = 90", "[radio.fading] k_factor_db = 90: must be at most 60 (K, power of the dominant path over that of all others [dB])"),
        ("[radio.fading]\nkind = 'ns3_fad'", "[radio.fading] path: is required (the `.fad` file; `.gz` is unpacked)"),
        ("[metrics]\nstages = ['a', 3]", '[metrics] stages.1 = 3: must be a text in "quotes" (published models to measure, by the names that algorithms give them)'),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_what_its_key_is(errors, base, added, expected):
    assert errors(base + added) == [expected]


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("[trainning]\nlearning_rate = 1", '[trainning]: is not a key that netsim knows; did you mean "training"?'),
        ("[training]\nlerning_rate = 1", '[training] lerning_rate = 1: is not a key of this table; did you mean "learning_rate"?'),
        ("[training]\nseed = 1", "[training] seed = 1: is not a key of this table; it belongs at the top of the file, before the first [table]: seed"),
        ("[radio]\n[training]\nbandwidth_hz = 1", "[training] bandwidth_hz = 1: is not a key of this table; it belongs in [radio]"),
        ("[training]\nlearning_rate = '0.1'", '[training] learning_rate = "0.1": must be a number; write learning_rate = 0.1'),
        ("[training]\nlearning_rate = true", "[training] learning_rate = true: must be a number"),
        ("[training]\nbatch_size = 2.5", "[training] batch_size = 2.5: must be a whole number"),
        ("[training]\nbatch_size = -1", "[training] batch_size = -1: must be at least 1"),
        ("[training]\nlearning_rate = -0.1", "[training] learning_rate = -0.1: must be greater than 0"),
        ("[training]\nlearning_rate = nan", "[training] learning_rate = nan: must be a finite number"),
        ("[training]\nlearning_rate = inf", "[training] learning_rate = inf: must be a finite number"),
        ("[metrics]\nevery_s = 1e-12", "[metrics] every_s = 1e-12: must be at least 1e-9: the clock counts nanoseconds"),
        ("[mobility]\nkind = 'gauss_markov'\nstep_s = 1e-10", "[mobility] step_s = 1e-10: must be at least 1e-9: the clock counts nanoseconds"),
        ("[training]\nmomentum = 1.0", "[training] momentum = 1.0: must be less than 1"),
        ("[training]\noptimizer = 'adamw'", '[training] optimizer = "adamw": must be "sgd" or "adam"; did you mean "adam"?'),
        ("[training]\ncommon_initial = 1", "[training] common_initial = 1: must be true or false"),
        ("[metrics]\nevery_ms = 500", "[metrics] every_ms = 500: is not a key of this table; the unit of this quantity is s: write every_s = 0.5"),
        ("[metrics]\nevery = 5", "[metrics] every = 5: is not a key of this table; its unit is part of the key: write every_s"),
        ("[metrics]\nevery_s = '2 min'", '[metrics] every_s = "2 min": must be a number; write every_s = 120 (the unit is part of the key: s)'),
        ("[metrics]\nevery_s = '2 apples'", '[metrics] every_s = "2 apples": must be a number; the unit is part of the key (s)'),
        ("[metrics]\nstages = 'mixed'", '[metrics] stages = "mixed": must be a list'),
        ("[radio]\ncarrier_ghz = 2.4", "[radio] carrier_ghz = 2.4: is not a key of this table; the unit of this quantity is hz: write carrier_hz = 2400000000"),
        ("[radio.fading]\nkind = 'raleigh'", '[radio.fading] kind = "raleigh": must be one of frequency_selective, nakagami, none, ns3_fad, rayleigh, rician, or of your own (--components DIR; netsim new begins one); did you mean "rayleigh"?'),
        ("[radio.fading]\nkind = 'rayleigh'\ncoherence_s = 0", "[radio.fading] coherence_s = 0: must be greater than 0"),
        ("[radio]\n[link]\n", '[link]: stands beside [radio], and no node has role "server", which it would be for; leave one out'),
        ("[topology]\nkind = 'random_regular'\ndegree = 'x'", '[topology] degree = "x": must be a whole number'),
        ("[run]\ndevice = 'gpu'", '[run] device = "gpu": must be "auto", "cpu", "cuda" or "cuda:N"'),
        ("[sweep]\ntrials = 3", "[sweep]: trials (how many) and draw (of what) go together"),
        ("[sweep]\nover.seed = []", "[sweep.over] seed = []: must have at least 1 entry, not 0"),
        ("[sweep]\ntrials = 1\ndraw.seed = {low = 3, high = 2}", "[sweep.draw.seed]: low = 3.0 must be below high = 2.0"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_the_words_of_the_file(errors, base, added, expected):
    assert told(errors(base + added), expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("count = 5", "count = 0", "[nodes] count = 0: must be at least 1"),
        ("count = 5", "", "[nodes] count: is required"),
        ("count = 5", "count = 200000", "[nodes] count = 200000: must be at most 100000"),
        ("[nodes]\ncount = 5", "nodes = 5", "nodes = 5: must be a table"),
        ("horizon_s = 100.0", "", "horizon_s: is required"),
        ("horizon_s = 100.0", "horizon_s = 0", "horizon_s = 0: must be greater than 0"),
        ("horizon_s = 100.0", "horizon_s = 1\nseed = -1", "seed = -1: must be at least 0"),
        ("count = 5", "count = 5\nplacement = 'given'", '[nodes]: placement = "given" needs one [x, y] a node in positions_m: 5 nodes, 0 positions'),
        ("count = 5", "count = 1\npositions_m = [[1, 2, 3]]", "[nodes] positions_m.0 = [1, 2, 3]: must have at most 2 entries, not 3"),
        ("count = 5", "count = 1\npositions_m = [[1]]", "[nodes] positions_m.0 = [1]: has too few entries, 1"),
        ('[model]\nkind = "mlp"', '[mobility]\nkind = "waypoints"\nwaypoints_m = [[1, 2], [3, 4, 5]]\n[model]\nkind = "mlp"', "[mobility] waypoints_m.0 = [1, 2]: has too few entries, 2"),
        ("count = 5", "count = 5\ngroups = [{name = 'a', count = 6}]", "[nodes]: the groups have 6 nodes, but count = 5"),
        ("count = 5", "count = 5\ngroups = [{name = 'a', count = 0}]", "[nodes.groups.a] count = 0: must be at least 1"),
        ('kind = "plain"', 'kind = "plane"', '[algorithm] kind = "plane": must be one of KNOWN, or of your own (--components DIR; netsim new begins one); did you mean "plain"?'),
        ('kind = "plain"', "mu1 = 1", "[algorithm] kind: is required: one of KNOWN"),
        ('kind = "plain"', 'kind = "plain"\nmu_1 = 1', '[algorithm] mu_1 = 1: is not a key of this table; did you mean "mu1"?'),
        ('kind = "plain"', 'kind = "plain"\nmu1 = 0', "[algorithm] mu1 = 0: must be greater than 0"),
        ('kind = "plain"', 'kind = "plain"\nname = "../x"', '[algorithm] name = "../x": may hold letters of ASCII, digits, and . _ - = after the first (it names a folder)'),
        ('[algorithm]\nkind = "plain"', "", "algorithm: is required"),
        ('[algorithm]\nkind = "plain"', "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'", '[algorithm] name = "plain": two algorithms have this name; give one another with the key name'),
        ('[algorithm]\nkind = "plain"', "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'b'\nmu1 = 'x'", '[algorithm.b] mu1 = "x": must be a number'),
        ('kind = "plain"', 'kind = "picky"', '[exchange] schedule = "star": algorithm "picky" does not run under this schedule; it runs under rounds'),
        ('[model]\nkind = "mlp"', "model = []\n", "model = []: must have at least 1 entry, not 0"),
        ('kind = "mlp"', "kind = 'mlp'\nhiden = [3]", '[model] hiden = [3]: is not a key of this table; did you mean "hidden"?'),
        ('schedule = "star"', 'kind = "star"', "[exchange] schedule: is required: one of periodic, poisson, rounds, star"),
    ],
)  # fmt: skip
def test_a_changed_line_is_told_in_the_words_of_the_file(errors, base, old, new, expected):
    text = base.replace(old, new)
    if old.startswith(("[model]", "[nodes]")) and not new.startswith("["):
        text = new + "\n" + base.replace(old, "")
    from netsim.scenario.kinds import kinds_of

    known = ", ".join(sorted([*kinds_of(), "picky", "plain"]))
    assert told(errors(text), expected.replace("KNOWN", known))


def test_all_mistakes_are_told_at_once(errors, base):
    text = "horizon = 5\n" + base.replace("count = 5", "count = 0").replace("plain", "picky")
    text += "[radio]\nbandwith_hz = 1\n[link]\nloss = 2\n[training]\nlearning_rate = -1\n"
    found = errors(text, "metrics.every_s=nan")
    assert len(found) == 8
    for part in ("horizon", "count", "bandwith_hz", "loss", "learning_rate", "[link]", "picky"):
        assert any(part in line for line in found), part


def test_a_mistake_names_the_layer_that_made_it(write, base, algorithms):
    base_path = write(base + "[training]\nlearning_rate = -1\n", "base.toml")
    path = write("extends = 'base.toml'\n[training]\nmomentum = 2\n")
    with pytest.raises(ScenarioError) as caught:
        load(path, ["training.beta1=3", "nodes.count=0"], algorithms)
    assert told(
        sorted(str(caught.value).splitlines()),
        *sorted(
            [
                f"{base_path}: [training] learning_rate = -1: must be greater than 0",
                f"{path}: [training] momentum = 2: must be less than 1",
                "--set training.beta1=3: [training] beta1 = 3: must be less than 1",
                "--set nodes.count=0: [nodes] count = 0: must be at least 1",
            ]
        ),
    )


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.lerning_rate=1", '--set training.lerning_rate=1: [training] lerning_rate = 1: is not a key of this table; did you mean "learning_rate"?'),
        ("trainin.momentum=0", '--set trainin.momentum=0: [trainin]: is not a key that netsim knows; did you mean "training"?'),
        ("seed.x=1", "--set seed.x=1: seed is a value, not a table; it has no key x"),
        ("seed={}", "--set seed={}: [seed]: must be a whole number"),
        ("algorithm={kind='plain', mu=1}", "--set algorithm={kind='plain', mu=1}: [algorithm] mu = 1: is not a key of this table; did you mean \"mu1\"?"),
        ("seed", "--set seed: is not of the form key.path=value"),
        ("=3", "--set =3: is not of the form key.path=value"),
        ("a..b=3", "--set a..b=3: 'a..b' is not a key path such as radio.gap_db"),
        ("algorithm.other.mu1=3", "--set algorithm.other.mu1=3: [algorithm.other]: is not a key of this table; it has kind, mu1, name, set, stages, steps, training, widths"),
    ],
)  # fmt: skip
def test_a_wrong_assignment_is_named(errors, base, assignment, expected):
    text = base.replace("horizon_s = 100.0", "horizon_s = 100.0\nseed = 1")
    assert told(errors(text, assignment), expected)


@pytest.mark.parametrize(
    ("entries", "assignment", "expected"),
    [
        (("a", "b"), "algorithm.plain.mu1=1", "plain is the name or kind of several entries of algorithm; say which: algorithm.a or algorithm.b"),
        (("a", None, None), "algorithm.plain.mu1=1", "plain is the name or kind of several entries of algorithm; say which: algorithm.1 or algorithm.2"),
        (("a", "b"), "algorithm={}", "algorithm is a list; give a list of tables"),
        (("a", "b"), "algorithm.mu1=1", "mu1 is not an entry of algorithm, which has a, b; say which, as in algorithm.a"),
    ],
)  # fmt: skip
def test_an_assignment_to_no_or_several_entries_names_the_remedy(
    errors, base, entries, assignment, expected
):
    text = base.replace('[algorithm]\nkind = "plain"', "")
    for name in entries:
        text += "[[algorithm]]\nkind = 'plain'\n" + (f"name = '{name}'\n" if name else "")
    assert errors(text, assignment) == [f"--set {assignment}: {expected}"]


def test_an_unknown_list_entry_is_named_with_those_there_are(errors, base):
    text = base.replace('[algorithm]\nkind = "plain"', "") + (
        "[[algorithm]]\nkind = 'plain'\n[[algorithm]]\nkind = 'plain'\nname = 'proxy'\n"
    )
    [line] = errors(text, "algorithm.prox.mu1=1")
    assert line == (
        "--set algorithm.prox.mu1=1: prox is not an entry of algorithm, which has plain, proxy; "
        'did you mean "proxy"?'
    )


def test_extends_in_a_loop_is_refused(write, base, algorithms):
    write("extends = 'b.toml'\n" + base, "a.toml")
    path = write("extends = 'a.toml'\n" + base, "b.toml")
    with pytest.raises(ScenarioError, match=r"extends forms a loop: b.toml -> a.toml -> b.toml"):
        load(path, (), algorithms)


def test_extending_oneself_is_a_loop(write, base, algorithms):
    path = write("extends = 's.toml'\n" + base)
    with pytest.raises(ScenarioError, match=r"extends forms a loop: s.toml -> s.toml"):
        load(path, (), algorithms)


def test_a_loop_among_bases_names_the_whole_chain(write, base, algorithms):
    write("extends = 'c.toml'\n" + base, "b.toml")
    write("extends = 'b.toml'\n" + base, "c.toml")
    path = write("extends = 'b.toml'\n", "a.toml")
    with pytest.raises(ScenarioError, match=r"loop: a.toml -> b.toml -> c.toml -> b.toml"):
        load(path, (), algorithms)


def test_an_error_names_the_base_that_states_the_key(write, base, algorithms):
    write(base + "[training]\nmomentum = 2\n", "c.toml")
    write("extends = 'c.toml'\n[training]\nbeta1 = 3\n", "b.toml")
    path = write("extends = 'b.toml'\nseed = -1\n", "a.toml")
    with pytest.raises(ScenarioError) as error:
        load(path, (), algorithms)
    said = {Path(line.partition(": ")[0]).name: line for line in str(error.value).splitlines()}
    assert [key in said[file] for file, key in FILES_OF_KEYS] == [True] * 3


FILES_OF_KEYS = (("a.toml", "seed"), ("b.toml", "beta1"), ("c.toml", "momentum"))


def test_a_base_of_a_base_that_is_missing(write, base, algorithms):
    write("extends = 'nowhere.toml'\n", "b.toml")
    path = write("extends = 'b.toml'\n" + base, "a.toml")
    with pytest.raises(ScenarioError, match=r"b.toml: extends = \"nowhere.toml\": no such file"):
        load(path, (), algorithms)


def test_a_missing_base_is_named_with_the_nearest_file(write, algorithms):
    write("", "shared.toml")
    path = write("extends = 'sharde.toml'\n")
    with pytest.raises(ScenarioError, match=r'no such file .*; did you mean "shared.toml"'):
        load(path, (), algorithms)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is a binary file; a scenario is a text file in TOML"),
        (b"abc\x00def", "is a binary file; a scenario is a text file in TOML"),
        (b"{\"json\": 1}", "is not valid TOML: "),
        (b"a = 1\na = 2\n", "is not valid TOML: Cannot overwrite a value (at line 2, column 6)"),
        (b"x = " + b"[" * 5000, "is not valid TOML: "),
        (b"#" * (5 << 20), "is larger than 4 MiB; a scenario is a short TOML file"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_scenario_is_refused(tmp_path, algorithms, content, expected):
    path = tmp_path / "s.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load(str(path), (), algorithms)
    assert str(caught.value).startswith(f"{path}: {expected}")


def test_a_missing_file_is_named_with_the_nearest(write, tmp_path, algorithms):
    write()
    with pytest.raises(ScenarioError, match=r'no such file.*did you mean ".*s\.toml"'):
        load(str(tmp_path / "t.toml"), (), algorithms)


def test_a_folder_is_no_scenario_but_may_hold_one(write, tmp_path, algorithms):
    write(name="scenario.toml")
    with pytest.raises(ScenarioError, match=r'is a folder.*did you mean ".*scenario\.toml"'):
        load(str(tmp_path), (), algorithms)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("local", "def processes(node, params): ...", "has no class Params(netsim.api.Params)"),
        ("broken", "def f(:\n", "cannot be imported: SyntaxError"),
        ("raises", "x = 1\ny = x / 0\n", "cannot be imported: ZeroDivisionError: division by zero (at "),
        ("nothing", "from netsim.registry import Table\nclass Params(Table):\n    pass\n", "has no function processes(node, params)"),
        ("clash", "from netsim.registry import Table\nclass Params(Table):\n    name: str = 'x'\ndef processes(n, p): ...\n", "Params.name is taken by the scenario; rename it"),
        ("staged", "from netsim.registry import Table\nclass Params(Table):\n    stages: int = 2\ndef processes(n, p): ...\n", "Params.stages is taken by the scenario; rename it"),
    ],
)  # fmt: skip
def test_a_faulty_algorithm_file_is_named(write, own_algorithms, name, text, expected):
    (own_algorithms / f"{name}_x.py").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(write(), (), own_algorithms)
    assert str(caught.value).startswith(f"{own_algorithms / name}_x.py: {expected}")


def test_an_algorithm_folder_that_is_not_there_is_named(write, tmp_path):
    with pytest.raises(ScenarioError, match=r"--components .*nowhere: is not a folder"):
        load(write(), (), tmp_path / "nowhere")


def test_a_folder_without_components_is_named_where_a_kind_is_missing(write, base, tmp_path):
    folder = tmp_path / "own"
    (folder / "below").mkdir(parents=True)
    (folder / "test_it.py").write_text("")
    load(write(base.replace('"plain"', '"local"')), (), folder)
    with pytest.raises(ScenarioError) as caught:
        load(write(), (), folder)
    assert f"--components {folder}: no component lies in it" in str(caught.value)
    (folder / "below" / "mine.py").write_text("")
    with pytest.raises(ScenarioError, match=r"; there are some in .*own/below"):
        load(write(), (), folder)


def test_a_key_of_several_tables_is_said_to_belong_into_each_of_them(errors, base):
    found = errors(base + "[radio]\n[link]\n[training]\nttl_s = 1")
    assert found[0].endswith("it belongs in [radio] or in [link]")


def test_a_kind_belongs_into_no_other_table(errors, base):
    """Nearly every table has one."""
    (found,) = errors(base + '[link]\nkind = "fixed"')
    assert "is not a key of this table; it has acknowledged, " in found
