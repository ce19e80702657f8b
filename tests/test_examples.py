"""Files of examples/ run as their README says; its methods compute the same as the shipped ones."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from netsim import engine, testing, world
from netsim.console.app import app
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
ELSEWHERE = EXAMPLES / "flower"
"""Needs flwr; `tests/test_flower_page.py` plays it."""
COMMANDS = re.findall(r"^    (.+)$", README, flags=re.MULTILINE)
ROWS = re.findall(r"^\| `(\S+)` \|.*\| (\d*) \|$", README, flags=re.MULTILINE)

WORLD = {
    "horizon_s": 179.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "rounds", "interval_s": 60.0},
    "model": {"kind": "mlp", "hidden": [8]},
    "training": {"learning_rate": 0.2, "batch_size": 10, "dtype": "float64"},
    "metrics": {"every_s": 179.0, "weights": False},
    "data": {
        "kind": "digits",
        "partition": {
            "kind": "class_mix",
            "alpha": 0.3,
            "train_min": 25,
            "train_max": 40,
            "test_samples": 10,
        },
    },
}
PFEDME = {"local_steps": 3, "inner_steps": 2, "inner_learning_rate": 0.2, "beta": 0.7}
ALIKE = {
    "apfl": ({"alpha": 0.3, "adaptive": False, "local_steps": 3}, {}),
    "apfl that learns alpha": ({"alpha": 0.3, "alpha_learning_rate": 0.9, "local_steps": 3}, {}),
    "fedrep": ({"head_steps": 2, "base_steps": 3}, {"head_steps": 2, "local_steps": 3}),
    "pfedme": (
        PFEDME | {"lam": 5.0, "eta": 0.1},
        PFEDME | {"strength": 5.0, "outer_learning_rate": 0.1},
    ),
    "pfedsim": ({"general_rounds": 1, "local_steps": 3}, {}),
}
"""Settings in which a method of examples/methods and the shipped one read the paper alike."""


def played(algorithm):
    """Play one algorithm in a small world; the `Simulation`, its values computed."""
    kinds = kinds_of([EXAMPLES / "methods"])
    scenario = from_dict({**WORLD, "algorithm": [algorithm]}, kinds=kinds)
    torch.set_num_threads(1)  # what `engine.play` does; two threads for small rows are slower
    simulation = engine.Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    simulation.to_horizon()
    simulation.learning.scheduler.flush()
    simulation.finish(None)
    return simulation


def published(simulation):
    """The models that nodes published last, by node and stage."""
    return {
        (node, stage): publication.ref.tensor()
        for node, part in enumerate(simulation.parts)
        for stage, publication in part.publishing.published.items()
    }


# Not bit for bit: an own file may take the same sums by other ways than the shipped one (mixtures
# by `compute`, one sum of Refs for two of `mix`, cosines by PyTorch), which are rounded elsewhere.
@pytest.mark.thinned(6)
@pytest.mark.parametrize("case", ALIKE)
def test_an_own_method_computes_what_the_shipped_one_does(case):
    own, shipped = ALIKE[case]
    kind = case.split()[0]
    mine = published(played({"kind": f"own_{kind}", **own}))
    theirs = published(played({"kind": kind, "weights": "equal", **(shipped or own)}))
    assert mine.keys() == theirs.keys()
    assert len(mine) >= WORLD["nodes"]["count"]
    assert max(float((mine[key] - theirs[key]).abs().max()) for key in mine) < 1e-12
    models = list(mine.values())
    assert not all(models[0].equal(model) for model in models[1:])  # each has one of its own


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_plays(command, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "netsim"
    more = ("--out", str(tmp_path / "out"), "--quiet", "--no-figures")
    result = CliRunner().invoke(app, [*arguments, *more])
    assert result.exit_code == 0, result.output
    found = {p.parent.name: json.loads(p.read_text()) for p in tmp_path.glob("out/*/summary.json")}
    assert len(found) >= 2
    for name, summary in found.items():
        assert summary["local_steps"] > 0
        if name != "local":
            messages = summary["messages"]
            assert messages["delivered"] > 0
            assert (messages["delivered"] < messages["sent"]) == ("radio" in scenario_of(arguments))


def scenario_of(arguments):
    """The text of the scenario that a command plays."""
    return (ROOT / arguments[1]).read_text(encoding="utf-8")


def test_every_scenario_has_its_command():
    played_by_commands = {ROOT / shlex.split(command)[2] for command in COMMANDS}
    assert played_by_commands == {p for p in EXAMPLES.rglob("*.toml") if ELSEWHERE not in p.parents}


def test_the_readme_has_every_file_with_its_lines():
    files = {p for end in ("*.py", "*.toml", "*.ipynb") for p in EXAMPLES.rglob(end)}
    files = {p for p in files if ".ipynb_checkpoints" not in p.parts and ELSEWHERE not in p.parents}
    assert {name for name, _ in ROWS} == {p.relative_to(EXAMPLES).as_posix() for p in files}
    lines = {
        name: str(len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()))
        for name, _ in ROWS
        if not name.endswith(".ipynb")
    }
    assert {name: count for name, count in ROWS if count} == lines


def test_methods_import_the_api_and_torch_alone():
    for file in (EXAMPLES / "methods").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        modules = set(re.findall(r"^(?:from|import) (\S+)", text, flags=re.MULTILINE))
        assert modules <= {"netsim", "netsim.api", "torch", "torch.nn.functional"}
        assert "from netsim import" not in text or "from netsim import api\n" in text


TEXT = {
    "data": {"kind": "text", "length": 8, "partition": {"kind": "iid"}},
    "task": {"kind": "next_token"},
}
COMPONENTS = {
    "quantile.py": {"data": {"kind": "diabetes", "partition": {"kind": "iid"}}},
    "causal_cnn.py": TEXT,
}


@pytest.mark.slow
@pytest.mark.parametrize("file", COMPONENTS)
def test_a_task_and_a_model_pass_what_components_must_pass(file):
    testing.check(file, beside=str(EXAMPLES / "tasks" / file), tables=COMPONENTS[file])


CHECKS = [
    pytest.param(check, id=f"{file.stem}: {check}", marks=pytest.mark.slow)
    for file in sorted((EXAMPLES / "methods").glob("own_*.py"))
    for check in testing.checks(file.name, beside=str(file))
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_method_passes_what_algorithms_must_pass(check):
    check()
