"""Every algorithm in `algorithms/`, found by file name, keeps the contract and plays."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

import algorithms
from netsim import engine, world
from netsim.api import Message, Params
from netsim.registry import family
from netsim.scenario import algorithm_files, from_dict

from .conftest import tables

FOLDER = Path(algorithms.__file__).parent
MODULES = algorithm_files.algorithms()
SCHEDULES = {
    "star": {"schedule": "star", "slots_per_exchange": 5},
    "rounds": {"schedule": "rounds", "interval_s": 2.0},
    "poisson": {"schedule": "poisson", "rate_hz": 0.2, "slot_s": 1.0},
    "periodic": {"schedule": "periodic", "period_s": 5.0, "slot_s": 1.0},
}
OUTSIDE = {"torch", "numpy", "scipy", "networkx"}
LAZY_VERBS = {"compute", "train", "publish"}
WORLDS = {
    "clean": {"link": {"latency_s": 0.05}},
    "lossy": {"link": {"latency_s": 0.05, "loss": 0.3}},
    "server": {"nodes": {"count": 5, "groups": [{"name": "hub", "count": 1, "role": "server"}]}},
}
CHURN = {"kind": "exponential", "mean_on_s": 6.0, "mean_off_s": 3.0}
PLAYS = [
    (name, schedule, where)
    for name, module in MODULES.items()
    for schedule in algorithm_files.schedules(module) or SCHEDULES
    for where in WORLDS
    if where != "server"
    or "node.servers" in Path(str(module.__file__)).read_text()
    or not algorithm_files.knows_servers(module)
]


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
    module = MODULES[name]
    assert issubclass(module.Params, Params)
    assert module.Params.model_config["frozen"]
    assert module.Params.model_config["extra"] == "forbid"
    known = set(family("netsim.schedules", "schedule"))
    assert set(algorithm_files.schedules(module) or ()) <= known
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Message) and value is not Message:
            assert value.__dataclass_params__.frozen


def shortest(params):
    """Params that are required, and as few local steps as there may be."""
    counts = {key for key, field in params.items() if isinstance(field.default, int)}
    few = {key: 1 for key in counts if re.search("steps|epochs", key)}
    required = {key: field.annotation for key, field in params.items() if field.is_required()}
    return {key: 1 if kind is int else 1.0 for key, kind in required.items()} | few


@pytest.mark.thinned(8)
@pytest.mark.parametrize(("name", "schedule", "where"), PLAYS)
def test_an_algorithm_plays_thirty_seconds_under_each_of_its_schedules(name, schedule, where):
    changed = tables(
        name,
        SCHEDULES[schedule],
        horizon_s=30.0,
        compute={"kind": "fixed", "step_s": 0.5},
        params=shortest(MODULES[name].Params.model_fields),
        metrics={"every_s": 15.0, "common_test_samples": 5},
        **WORLDS[where],
    )
    scenario = from_dict(changed)
    summary = engine.play(world.build(scenario), scenario.algorithm[0])
    assert summary["local_steps"] > 0
    assert 0 < summary["accuracy"]["nodes"] <= 5  # under star not everybody has woken yet
    assert summary["parameters_sha256"]
    if where != "lossy":  # once is enough to see that a run repeats itself
        return
    again = engine.play(world.build(scenario), scenario.algorithm[0])
    assert again["event_log_sha256"] == summary["event_log_sha256"]
    assert again["parameters_sha256"] == summary["parameters_sha256"]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        (n, s)
        for n, module in MODULES.items()
        for s in algorithm_files.schedules(module) or SCHEDULES
    ],
)
def test_an_algorithm_survives_churn(name, schedule):
    module = MODULES[name]
    changed = tables(
        name,
        SCHEDULES[schedule],
        horizon_s=60.0,
        churn=CHURN,
        link={"latency_s": 0.3},
        compute={"kind": "fixed", "step_s": 0.5},
        params=shortest(module.Params.model_fields),
        metrics={"every_s": 60.0, "common_test_samples": 5},
    )
    scenario = from_dict(changed)
    values = algorithm_files.needs_values(module)
    summary = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=not values)
    assert summary["local_steps"] > 0
    assert summary["power"]["switch_offs"] > 10
    if summary["messages"]["sent"]:
        assert summary["wakes"]["skipped"] > 0
        assert any(by.get("off") for by in summary["outcomes"].values())


def test_an_algorithm_may_borrow_its_params(play_source):
    played = play_source("def processes(node, params):\n    saw(node, 'x')\n    return []\n")
    assert len(played.seen) == 5
    module = importlib.import_module(type(played.run.entry.params).__module__)
    assert module.Params is not Params
