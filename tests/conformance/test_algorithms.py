"""Every algorithm in `algorithms/`, found by file name, keeps the contract and plays."""

import ast
import importlib
import sys
from pathlib import Path

import pytest

import algorithms as shipped
from netsim.api import Params
from netsim.protocols.declaration import declaration_of
from netsim.registry import family
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase, algorithms
from netsim.testing.small_world import SCHEDULES

FOLDER = Path(shipped.__file__).parent
MODULES = kinds_of()
OUTSIDE = {"torch", "numpy", "scipy", "networkx"}
LAZY_VERBS = {"compute", "train", "publish"}
LEARNING = [name for name in MODULES if declaration_of(MODULES[name]).learns]
"""The methods that netsim's own verbs train; the others have tests of their own."""

CASES = {name: AlgorithmCase(MODULES, name) for name in MODULES}
PLAYS = [
    (name, schedule, where)
    for number, name in enumerate(LEARNING)
    for k, schedule in enumerate(CASES[name].schedules)
    for where in CASES[name].worlds
    if where == "lossy" or k == number % len(CASES[name].schedules)
]
"""Every schedule of a method over lossy links; of its other worlds each under one, in turn."""


def imported(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # files beside it, wherever the folder lies
                assert node.level == 1, "algorithms import netsim.api and the files beside them"
                continue
            inside = node.module == "netsim"
            yield from [f"netsim.{a.name}" for a in node.names] if inside else [node.module]


def test_all_schedules_are_known_here():
    assert set(SCHEDULES) == set(family("netsim.schedules", "schedule"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_an_algorithm_imports_the_api_and_mathematics_only(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    for name in imported(tree):
        root = name.partition(".")[0]
        assert name == "netsim.api" or root in OUTSIDE or root in sys.stdlib_module_names, (
            f"{path.name} imports {name}"
        )
        assert root != "random", "the only randomness is node.uniform and node.permutation"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_what_is_computed_later_is_no_lambda(path):
    for call in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr in LAZY_VERBS:
            given = [*call.args, *(k.value for k in call.keywords)]
            assert not any(isinstance(g, ast.Lambda) for g in given), f"line {call.lineno}"


@pytest.mark.parametrize("name", MODULES)
def test_params_and_messages_are_frozen_and_schedules_exist(name):
    assert issubclass(MODULES[name].Params, Params)
    algorithms.keeps_the_contract(CASES[name])


@pytest.mark.thinned(32)
@pytest.mark.parametrize(("name", "schedule", "where"), PLAYS)
def test_an_algorithm_plays_thirty_seconds_under_each_of_its_schedules(name, schedule, where):
    algorithms.plays(CASES[name], schedule, where)


@pytest.mark.thinned(32)
@pytest.mark.parametrize(
    ("name", "schedule"), [(n, s) for n in LEARNING for s in CASES[n].schedules]
)
def test_an_algorithm_survives_churn(name, schedule):
    algorithms.survives_churn(CASES[name], schedule)


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", [n for n in LEARNING if not CASES[n].needs_values])
def test_an_algorithm_takes_the_same_course_without_learning(name):
    algorithms.plays_without_learning(CASES[name])


@pytest.mark.thinned(64)
@pytest.mark.parametrize("name", LEARNING)
def test_an_algorithm_learns_alike_on_two_backends(name):
    algorithms.learns_alike_on_two_backends(CASES[name])


@pytest.mark.thinned(64)
@pytest.mark.parametrize("name", LEARNING)
def test_an_algorithm_goes_on_after_an_interrupt(name):
    algorithms.goes_on_after_an_interrupt(CASES[name])


def test_an_algorithm_may_borrow_its_params(play_source):
    played = play_source("def processes(node, params):\n    saw(node, 'x')\n    return []\n")
    assert len(played.seen) == 5
    module = importlib.import_module(type(played.run.entry.params).__module__)
    assert module.Params is not Params
