"""Bad input: exit code 2, every problem named on standard error, nothing written."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import os

import pytest
import torch
from typer.testing import CliRunner

from netsim.console.app import app


@pytest.fixture
def refused(netsim, written):
    """The lines on standard error of a command that is refused."""

    def lines(*arguments: str) -> list[str]:
        result = netsim(*arguments)
        assert result.exit_code == 2, result.output
        assert written() == set()
        assert result.stdout == ""
        return result.stderr.splitlines()

    return lines


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.lerning_rate=1", '[training] lerning_rate = 1: is not a key of this table; did you mean "learning_rate"?'),
        ("horizon_ms=5000", "horizon_ms = 5000: is not a key that netsim knows; the unit of this quantity is s: write horizon_s = 5"),
        ("horizon_s=long", 'horizon_s = "long": must be a number'),
        ("horizon_s=-1", "horizon_s = -1: must be greater than 0"),
        ("horizon_s=1e-12", "horizon_s = 1e-12: must be at least 1e-9: the clock counts nanoseconds"),
        ("exchange={schedule='star', slot_s=1e-12}", "[exchange] slot_s = 1e-12: must be at least 1e-9: the clock counts nanoseconds"),
        ("horizon_s=nan", "horizon_s = nan: must be a finite number"),
        ("nodes.count=0", "[nodes] count = 0: must be at least 1"),
        ("algorithm.kind=alon", 'did you mean "alone"?'),
        ("algorithm.kind=picky", '[exchange] schedule = "poisson": algorithm "picky" does not run under this schedule; it runs under rounds'),
        ("algorithm.local_step=1", '[algorithm] local_step = 1: is not a key of this table; did you mean "local_steps"?'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["run", "validate", "sweep"])
def test_a_wrong_key_or_value(refused, command, assignment, expected):
    more = ["--seeds", "0:2"] if command == "sweep" else []
    [line] = refused(command, "s.toml", "--set", assignment, *more)
    assert expected in line


@pytest.mark.parametrize("command", ["run", "validate"])
def test_all_problems_of_all_kinds_at_once(refused, here, command):
    (here / "s.toml").write_text((here / "s.toml").read_text() + "[radio]\n[link]\nloss = 2\n")
    out = ["--out", "s.toml", "--seed", "1"] if command == "run" else []
    *lines, count = refused(command, "s.toml", "--set", "nodes.count=0", *out)
    assert len(lines) == 3 + bool(out)
    assert count == f"{len(lines)} problems; nothing was written"


@pytest.mark.parametrize("command", ["run", "validate"])
def test_more_samples_than_the_data_has(refused, command):
    [line] = refused(command, "s.toml", "--set", "data.partition.train_samples=1000")
    assert line.startswith('s.toml: [data.partition] kind = "iid": 4 nodes with 1000 train samples')
    assert "need 4000 rows, the data has 1258" in line


def test_a_sweep_over_too_many_samples(refused):
    lines = refused(
        "sweep", "s.toml", "--over", "data.partition.train_samples=1000,2000", "--jobs", "1", "-q"
    )
    assert "need 4000 rows" in lines[0]
    assert "need 8000 rows" in lines[1]


def test_data_files_that_are_not_there(refused, here):
    (here / "empty").mkdir()
    text = (here / "s.toml").read_text().replace('"digits"', '"mnist"\npath = "empty"')
    (here / "s.toml").write_text(text)
    (here / "empty").rmdir()
    lines = refused("run", "s.toml")
    assert "mnist" in lines[0]
    assert str(here / "empty") in "\n".join(lines)


def test_an_extends_loop(netsim, here, written):
    (here / "a.toml").write_text("extends = 's.toml'\n")
    (here / "s.toml").write_text("extends = 'a.toml'\n")
    result = netsim("run", "s.toml")
    assert result.exit_code == 2
    assert result.stderr == "s.toml: extends forms a loop: s.toml -> a.toml -> s.toml\n"
    assert written() == {"a.toml"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"horizon_s: 4\n", "s.toml: is not valid TOML: Expected '=' after a key"),
        (b"\x7fELF\x00\x01\xff", "s.toml: is a binary file; a scenario is a text file in TOML"),
    ],
)
def test_a_file_that_is_no_scenario(refused, here, content, expected):
    (here / "s.toml").write_bytes(content)
    [line] = refused("run", "s.toml")
    assert line.startswith(expected)


def test_a_missing_file(refused):
    [line] = refused("run", "t.toml")
    assert line.startswith("t.toml: no such file")
    assert line.endswith('did you mean "s.toml"?')


def test_an_output_folder_that_is_not_empty(refused, here):
    [line] = refused("run", "s.toml", "--out", "algorithms")
    assert line.startswith("--out algorithms: is not empty")


def test_an_output_folder_that_is_a_file(refused):
    assert refused("run", "s.toml", "--out", "s.toml") == ["--out s.toml: is not a folder"]


def test_an_output_folder_beneath_a_file(refused):
    [line] = refused("run", "s.toml", "--out", "s.toml/deeper")
    assert line == "--out s.toml/deeper: cannot be created: s.toml is not a folder"


def test_an_output_folder_without_permission(refused, monkeypatch):
    real = os.access  # stood in for, because root may write anywhere
    monkeypatch.setattr(
        os, "access", lambda path, *a, **k: str(path) != "." and real(path, *a, **k)
    )
    [line] = refused("run", "s.toml", "--out", "results")
    assert line == "--out results: cannot be written: no permission in ."


def test_an_output_folder_that_cannot_be_made_after_all(refused, monkeypatch):
    from pathlib import Path

    def mkdir(self, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    [line] = refused("run", "s.toml", "-q", "--out", "results")
    assert line == "--out results: cannot be created: Read-only file system"


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        (0, "cuda", "this machine has no CUDA device that torch can use"),
        (1, "cuda:1", "this machine has 1 CUDA device, the last is cuda:0"),
        (2, "cuda:7", "this machine has 2 CUDA devices, the last is cuda:1"),
    ],
)
def test_a_cuda_device_that_is_not_there(refused, monkeypatch, there, wanted, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    [line] = refused("run", "s.toml", "--device", wanted)
    assert line.startswith(f's.toml: [run] device = "{wanted}": {expected}')


def test_timing_only_with_an_algorithm_that_needs_values(refused):
    sets = ("--set", "algorithm.kind=picky", "--set", "exchange.schedule=rounds")
    [line] = refused("run", "s.toml", "--timing-only", *sets)
    assert "cannot run with --timing-only" in line


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--seeds", "5"), None),
        (("--seeds", "0:x"), "--seeds 0:x: is neither a range such as 0:5 nor a list such as 0,3,7"),
        (("--seeds", "3:3"), "--seeds 3:3: is neither a range such as 0:5 nor a list such as 0,3,7"),
        (("--over", "seed"), "--over seed: is not of the form key.path=value,value"),
        (("--draw", "seed=1"), "--draw seed=1: is not of the form key.path=low:high[:log] or =a,b,c"),
        ((), "s.toml: has no [sweep] table; say what to vary: --over key.path=1,2 --seeds 0:5"),
        (("--trials", "2"), "command line: [sweep]: trials (how many) and draw (of what) go together"),
        (("--over", "nodes.cont=1,2"), '--over nodes.cont=1: [nodes] cont = 1: is not a key of this table; did you mean "count"?'),
        (("--over", "nodes.count=3,0"), "--over nodes.count=0: [nodes] count = 0: must be at least 1"),
        (("--over", "radio.fading={kind=\"rayleigh\",coherence_s=-1}"), '--over radio.fading={kind = "rayleigh", coherence_s = -1}: [radio.fading] coherence_s = -1: must be greater than 0'),
        (("--over", "seed=1,2"), 'command line: [sweep]: "seed" is not varied like other keys; list seeds, as in --seeds 0:5 or seeds = [0, 1]'),
        (("--trials", "2", "--draw", "seed=1,2"), 'command line: [sweep]: "seed" is not varied like other keys; list seeds, as in --seeds 0:5 or seeds = [0, 1]'),
        (("--over", "sweep.jobs=1,2"), 'command line: [sweep]: "sweep.jobs" is the sweep\'s own, which cannot vary itself'),
        (("--over", "horizon_s=1,2.5,1"), "command line: [sweep]: over horizon_s has 1 twice"),
        (("--over", "horizon_s=1", "--over", "horizon_s=2"), "--over horizon_s=2: horizon_s is there already; list all its values at once"),
        (("--trials", "1", "--draw", "horizon_s=1:2", "--draw", "horizon_s=2:3"), "--draw horizon_s=2:3: horizon_s is there already; say all of it at once"),
        (("--seeds", "0:2", "--set", "seed=3"), "--set seed=3: seed = 3: changes nothing beside the seeds of [sweep]: 0, 1; change those, as in netsim sweep s.toml --seeds 3"),
        (("--seeds", "0:2", "--show", "enery_j"), '--show enery_j: "enery_j" is not a number that runs are compared by; did you mean "energy_j"?'),
        (("--seeds", "0:2", "--show", "time_to_target"), "command line: [sweep]: show has time_to_target_s: needs target, an accuracy such as 0.8"),
        (("--seeds", "0:2", "--show", "lead"), "command line: [sweep]: show has lead: needs against, an algorithm's name"),
        (("--seeds", "0:2", "--against", "nobody"), 'command line: [sweep] against = "nobody": is no algorithm of this scenario; it has '),
        (("--seeds", "0:2", "--show", "accuracy", "--timing-only"), 's.toml: [sweep] show = "accuracy": takes learning, so --timing-only does not tell'),
        (("--trials", "1", "--draw", "training.learning_rate=0.1:1", "--set", "data.validation=0"), 's.toml: [sweep] select = "accuracy_validation": needs samples set aside; set [data] validation, such as 0.2'),
    ],
)  # fmt: skip
def test_a_sweep_that_makes_no_sense(refused, arguments, expected):
    if expected is not None:
        assert any(line.startswith(expected) for line in refused("sweep", "s.toml", *arguments))


def test_a_seed_beside_a_sweeps_own_seeds(refused, here):
    (here / "s.toml").write_text((here / "s.toml").read_text() + "[sweep]\nseeds = [5, 6]\n")
    [line] = refused("run", "s.toml", "--seed", "3")
    assert line.startswith("--set seed=3: seed = 3: changes nothing beside the seeds of [sweep]: 5")


@pytest.mark.parametrize("said", ["tx_power_dbm = 3.0", "sleep = {kind = 'duty_cycle'}"])
def test_a_groups_radio_without_a_radio(refused, here, said):
    group = f"[[nodes.groups]]\nname = 'a'\ncount = 1\n{said}\n[link]\n"
    (here / "s.toml").write_text((here / "s.toml").read_text() + group)
    [line] = refused("run", "s.toml")
    assert line.endswith(f"{said.split()[0]} is read only with a [radio]; leave it out")


def test_a_sweep_among_runs_to_compare(netsim, here):
    (here / "swept").mkdir()
    (here / "swept" / "scenario.toml").write_text("[sweep]\n")
    result = netsim("compare", "swept", "runs/x", algorithms=False)
    assert result.exit_code == 2
    assert result.stderr == "swept: is the folder of a sweep; compare it by itself\n"


@pytest.mark.parametrize("option", ["--csv", "--latex"])
@pytest.mark.parametrize("there", ["s.toml", "algorithms"])
def test_a_table_never_takes_the_place_of_a_file(netsim, here, option, there):
    before = (here / "s.toml").read_text()
    result = netsim("compare", "runs/x", option, there, algorithms=False)
    assert result.exit_code == 2
    assert result.stderr == f"{option} {there}: is there already; name another file\n"
    assert (here / "s.toml").read_text() == before


def test_two_tables_never_go_into_one_file(netsim, here):
    result = netsim("compare", "runs/x", "--csv", "t", "--latex", "./t", algorithms=False)
    assert result.exit_code == 2
    assert result.stderr == "--latex t: is the file of --csv, too; name another file\n"
    assert not (here / "t").exists()


def test_a_value_of_the_files_own_sweep_is_named_by_the_file(refused, here):
    text = (here / "s.toml").read_text() + '[sweep.over]\n"nodes.count" = [3, 0]\n'
    (here / "s.toml").write_text(text)
    [line] = refused("run", "s.toml")
    assert line == (
        "s.toml: [sweep] nodes.count = 0: [nodes] count = 0: must be at least 1 "
        "(number of nodes, servers included)"
    )


def test_a_sweep_into_a_folder_that_is_not_empty(refused):
    [line] = refused("sweep", "s.toml", "--seeds", "0:2", "--out", "algorithms")
    assert line.startswith("--out algorithms: is not empty")


def test_a_word_that_lists_nothing(refused):
    [line] = refused("list", "chanels")
    assert line.endswith('did you mean "channels"?')


@pytest.mark.parametrize(
    ("kind", "change", "where"),
    [
        ("l2c", "data.validation=0.0", "[data] validation = 0.0: must be above 0 for"),
        ("deprl", "model.hidden=[]", 's.toml: [model]: [algorithm] kind = "deprl" needs the part'),
    ],
)
def test_the_second_of_two_methods_is_refused_before_the_first_is_played(
    refused, here, kind, change, where
):
    text = (here / "s.toml").read_text().partition("[algorithm]")[0]
    two = f'[[algorithm]]\nkind = "dpsgd"\n[[algorithm]]\nkind = "{kind}"\n'
    (here / "s.toml").write_text(text + two)
    for command in ("validate", "run"):
        [line] = refused(command, "s.toml", "--set", change)
        assert where in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "mine.toml", "--out", "", "--force-new"),
        ("run", "mine.toml", "--out=", "--force-new"),
        ("sweep", "mine.toml", "--out", ""),
        ("report", ""),
        ("resume", ""),
        ("validate", "mine.toml", "--components", ""),
    ],
)
def test_a_variable_of_the_shell_that_is_not_set_names_no_folder(arguments, tmp_path, monkeypatch):
    """As a path it would be the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("horizon_s = 1.0\n")
    told = CliRunner().invoke(app, list(arguments))
    assert told.exit_code == 2
    assert "is empty" in told.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]
