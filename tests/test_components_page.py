"""Examples of docs/components.md work as shown."""

import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim import engine, testing, world
from netsim.console.app import app
from netsim.console.commands import new as starting
from netsim.scenario.component_files import GROUP

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "components.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def source(words: str) -> str:
    """The one block of Python with some words in it."""
    (found,) = [block for block in blocks("python") if words in block]
    return found


def executed(text: str, folder: Path) -> dict[str, object]:
    names: dict[str, object] = {"__file__": str(folder / "test_even.py"), "__name__": "page"}
    exec(compile(text, "docs/components.md", "exec"), names)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "even.py").write_text(source("class Even"), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_component_passes_its_test_of_three_lines(folder: Path):
    text = source('    testing.check("even.py"')
    assert len([line for line in text.splitlines() if line]) == 3
    executed(text, folder)["test_even"]()


def test_its_checks_are_found_one_by_one(folder: Path):
    marked = executed(source("ids=str"), folder)["test_even"]
    (mark,) = marked.pytestmark
    assert [str(check) for check in mark.args[1]] == ["contract", "family", "run", "scenario file"]
    assert all(isinstance(check, testing.Check) for check in mark.args[1])


def test_a_class_of_a_program_is_a_kind(folder: Path):
    scenario = executed(source(".plus(Mine)"), folder)["scenario"]
    assert scenario.radio.fading.kind == "mine"
    assert engine.play(world.build(scenario), scenario.algorithm[0])["local_steps"] > 0


@pytest.mark.slow
def test_the_commands_at_the_beginning_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line) for line in PAGE.splitlines() if line.startswith("    netsim ")]
    made, played = (command[1:] for command in commands[:2])
    assert CliRunner().invoke(app, made).exit_code == 0
    short = ["--set", "horizon_s=5", "-q", "--no-figures"]
    result = CliRunner().invoke(app, [*played, *short])
    assert result.exit_code == 0, result.output
    testing.check("mine/two_ray.py")


def test_every_sort_is_named():
    pattern = r"^The first word is one of (.*?)\.\n"
    (listed,) = re.findall(pattern, PAGE, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"`(\w+)`", listed) == sorted(
        starting.sorts(), key=lambda sort: listed.index(f"`{sort}`")
    )


def test_every_base_class_and_its_table_are_those_of_the_page():
    rows = re.findall(
        r"^\| [\w ]+ \| `(netsim[\w.]+)`.*?\| `\[+([\w.]+)\]+`", PAGE, flags=re.MULTILINE
    )
    found = {}
    for name, table in rows:
        package, _, base = name.rpartition(".")
        assert hasattr(importlib.import_module(package), base)
        found[package] = table
    packages = {starting._package(sort) for sort in starting.sorts()} - {None}
    assert {p: starting._table(p) for p in packages} == {
        p: table for p, table in found.items() if p != "netsim.api"
    }


def test_the_entry_point_is_of_the_group_that_is_read():
    (text,) = blocks("toml")
    assert list(tomllib.loads(text)["project"]["entry-points"]) == [GROUP]
