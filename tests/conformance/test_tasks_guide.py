"""Examples of docs/tasks.md work as shown."""

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from netsim import engine, world
from netsim.engine.simulation import Simulation
from netsim.learning.tasks import Task
from netsim.scenario import from_dict

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def scenario_with(kind: str) -> dict:
    return next(t for t in map(tomllib.loads, blocks("toml")) if t["task"]["kind"] == kind)


def source_of(what: str) -> str:
    return next(block for block in blocks("python") if what in block)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["regression", "next_token"])
def test_scenarios_play(kind):
    scenario = from_dict(scenario_with(kind))
    summary = engine.play(world.build(scenario), scenario.algorithm[0])
    assert summary["task"]["kind"] == kind
    assert summary[summary["task"]["metric"]]["mean"] > 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("task", ["regression", "next_token"])
def test_a_loss_of_ones_own_that_learns_every_task(task, tmp_path):
    (tmp_path / "near.py").write_text(source_of("def near("))
    tables = scenario_with(task) | {"horizon_s": 2.0, "algorithm": {"kind": "near"}}
    scenario = from_dict(tables, algorithms_folder=tmp_path)
    summary = engine.play(world.build(scenario), scenario.algorithm[0])
    assert summary[summary["task"]["metric"]]["mean"] > 0


@pytest.mark.slow
def test_adapters_alone_are_trained_and_sent(tmp_path):
    (tmp_path / "adapters.py").write_text(source_of("class Adapters("))
    optimizer = {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.1}
    tables = scenario_with("next_token") | {"training": optimizer, "horizon_s": 2.0}
    scenario = from_dict(tables | {"algorithm": {"kind": "adapters"}}, algorithms_folder=tmp_path)
    built = world.build(scenario)
    run = Simulation(built, scenario.algorithm[0], None, False, None)
    run.to_horizon()
    summary = run.finish(None)
    ((first, last),) = built.architectures[0].columns("features.adapters")
    size = last - first
    assert size == 2 * (16 * 2 + 2 * 16)
    assert summary["messages"]["bits_offered"] == summary["messages"]["sent"] * 32 * size
    for parts, start in zip(run.parts, built.initial, strict=True):
        row = parts.publishing.last_published().ref.tensor()
        assert torch.equal(row[:first], start[:first])
        assert torch.equal(row[last:], start[last:])
        assert not torch.equal(row[first:last], start[first:last])


def task_of(source: str, name: str) -> Task:
    module = ModuleType(f"guide_{name}")
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), module.__dict__)
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Task)
        and value.__module__ == module.__name__
    )()


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("Huber", {}),
        ("F1", {"data": {"kind": "digits"}, "task": {"kind": "classification"}}),
        ("Autoencoding", {}),
    ],
)
def test_tasks_of_ones_own_play_alike_by_every_backend(name, changed):
    task, found = task_of(source_of(f"class {name}("), name), []
    for backend in ("sequential", "auto"):
        run = {"run": {"device": "cpu", "backend": backend}, "horizon_s": 2.0}
        scenario = from_dict(scenario_with("regression") | changed | run)
        scenario = scenario.model_copy(update={"task": task})
        found.append(engine.play(world.build(scenario), scenario.algorithm[0]))
    assert found[0]["task"]["metric"] == task.main
    means = [summary[task.main]["mean"] for summary in found]
    assert means[0] == pytest.approx(means[1], rel=1e-4)
