"""Commands that play nothing do not wait for PyTorch, and say what they would say with it."""

import atexit
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netsim import __main__, garbage
from netsim.campaign import live_worker, local_workers
from netsim.console import stand_ins
from netsim.console.commands import list as listing
from netsim.registry import shipped_family, tag_of
from netsim.scenario import component_files

ROOT = str(Path(__file__).parents[2])
SLOW = ("matplotlib", "networkx", "pandas", "pyarrow", "scipy", "scipy.stats", "sklearn", "torch")

COMMAND = """
import atexit, json, sys

def loaded():
    real = [name for name, module in sys.modules.items() if getattr(module, "__file__", None)]
    print(json.dumps(real), file=sys.stderr)

atexit.register(loaded)
sys.argv[0] = "netsim"
from netsim.console.app import main
main()
"""

ALL = """
from netsim.console import stand_ins
from netsim.console.commands import list as listing, validate as validating
from netsim.scenario import shipped
stand_ins.this_process_is_the_commands()
assert stand_ins.in_their_place()
for name in shipped.scenarios(shipped.scenarios_folder()):
    print(validating._description(name, [], validating._named_kinds(name, [])))
for name, group in listing.with_keys().items():
    print(name, *group(), sep="\\n")
"""


def run(code, *arguments, **variables):
    """A command in a process of its own."""
    env = {**os.environ, "PYTHONPATH": ROOT, "COLUMNS": "200", **variables}
    env.pop(stand_ins.WITHOUT, None)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.thinned(30)
@pytest.mark.parametrize(
    "command",
    [
        ("--version",),
        ("--help",),
        ("list",),
        ("list", "algorithms"),
        ("list", "algorithms", "--keys"),
        ("list", "models", "--keys"),
        ("list", "channels", "--keys"),
        ("list", "scenarios"),
        ("list", "nonsense"),
        ("validate", "quickstart", "--no-world"),
        (
            "validate",
            "whatif_mobility",
            "whatif_latency",
            "--no-world",
            "--set",
            "training.batch_size=5",
        ),
    ],
    ids=" ".join,
)
def test_what_only_playing_needs_is_not_loaded(command, netsim):
    found = run(COMMAND, *command)
    *said, loaded = found.stderr.splitlines()
    assert not set(SLOW) & set(json.loads(loaded))
    here = netsim(*command, algorithms=False)
    assert found.returncode == here.exit_code
    if command != ("--help",):  # which names the program
        assert found.stdout == here.stdout
    assert said == here.stderr.splitlines()


@pytest.mark.slow
def test_all_that_ships_is_read_with_stand_ins():
    found = run(ALL)
    assert found.returncode == 0, found.stderr
    told = found.stdout.splitlines()
    assert sum(line.startswith("ok ") for line in told) > 50
    for name, group in listing.with_keys().items():  # here with the libraries themselves
        start = told.index(name) + 1
        choices = list(map(str, group()))
        assert told[start : start + len(choices)] == choices


@pytest.mark.slow
def test_what_is_wrong_is_told_as_always(netsim, here):
    (here / "s.toml").write_text((here / "s.toml").read_text().replace('"alone"', '"dpsgd"'))
    wrong = ("validate", "quickstart", "s.toml", "--no-world", "--set", "nodes.count=-1")
    found, always = run(COMMAND, *wrong), netsim(*wrong, algorithms=False)
    assert found.returncode == always.exit_code == 2
    assert found.stderr.splitlines()[:-1] == always.stderr.splitlines()
    assert "torch" in json.loads(found.stderr.splitlines()[-1]), "began again"


@pytest.mark.slow
def test_own_components_are_read_for_what_they_are(netsim, here):
    found = run(COMMAND, "validate", "s.toml", "--no-world", "--components", "algorithms")
    assert found.returncode == 0, found.stderr
    assert "torch" in json.loads(found.stderr.splitlines()[-1])
    assert "alone" in netsim("list", "algorithms").stdout


class SeenError(Exception):
    """Raised in place of the first thing that a process of netsim's does."""


@pytest.mark.parametrize(
    "begin", [__main__.main, live_worker.main, lambda: exec(local_workers.PROGRAM, {})]
)
def test_processes_of_netsim_say_that_they_are_its_own_before_all_else(begin, monkeypatch):
    def seen():
        raise SeenError

    monkeypatch.setattr(garbage, "set_for_own_process", seen)
    monkeypatch.setattr(sys, "argv", ["-c", ROOT])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SeenError):
        begin()


def test_a_process_of_netsims_searches_for_garbage_seldom_and_not_at_its_end(monkeypatch):
    at_the_end, before = [], gc.get_threshold()
    monkeypatch.setattr(atexit, "register", at_the_end.append)
    try:
        garbage.set_for_own_process()
        assert gc.get_threshold() == garbage.SELDOM
    finally:
        gc.set_threshold(*before)
    assert at_the_end == [gc.freeze]


def test_names_read_from_files_are_those_of_the_classes():
    names = listing.names_alone()
    for name, package in listing.families().items():
        members = shipped_family(package, tag_of(package))
        abouts = [listing.docstring_line(sys.modules[c.__module__]) for c in members.values()]
        assert [(c.name, c.about) for c in names[name]()] == list(
            zip(members, abouts, strict=True)
        ), name
    modules = component_files.shipped().algorithms
    abouts = [listing.docstring_line(module) for module in modules.values()]
    assert [(c.name, c.about) for c in names["algorithms"]()] == list(
        zip(modules, abouts, strict=True)
    )


def test_every_family_is_listed():
    import importlib
    import inspect
    import pkgutil

    import netsim as package
    from netsim.registry import Component

    found = set()
    for info in pkgutil.walk_packages(package.__path__, "netsim."):
        if info.ispkg:
            for value in vars(importlib.import_module(info.name)).values():
                own = inspect.isclass(value) and value.__module__ == info.name
                found |= {info.name} if own and issubclass(value, Component) else set()
    assert set(listing.families().values()) == found


TORCH = stand_ins._StandIn("torch")


class Net(TORCH.nn.Module):  # type: ignore[misc] - as a model's file would
    @TORCH.no_grad()
    def forward(self, x: TORCH.Tensor | None) -> "TORCH.Tensor":
        return TORCH.relu(x)


@pytest.mark.parametrize(
    "use",
    [
        lambda: TORCH.zeros(3),
        lambda: isinstance(1, TORCH.Tensor),
        lambda: issubclass(int, TORCH.Tensor),
        lambda: bool(TORCH),
        lambda: TORCH.pi < 3,
        lambda: TORCH.pi == 3,
        lambda: 3 in TORCH.sizes,
        lambda: list(TORCH.sizes),
        lambda: len(TORCH.sizes),
        lambda: float(TORCH.pi),
        lambda: f"{TORCH.pi}",
        Net,
    ],
)
def test_a_stand_in_that_is_used_is_noticed(use):
    with pytest.raises(stand_ins.StandInUsedError):
        use()


def test_stand_ins_come_only_into_a_process_that_is_the_commands_own(monkeypatch):
    before = list(sys.meta_path)
    assert not stand_ins.in_their_place()
    monkeypatch.setattr(stand_ins, "_own_process", True)
    assert not stand_ins.in_their_place(), "torch is there"
    assert sys.meta_path == before
