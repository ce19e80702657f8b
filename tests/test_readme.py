"""What README shows works as shown."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim import engine, world
from netsim.console.app import app
from netsim.scenario import load

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    (text,) = blocks("toml")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_scenario_plays(scenario_file: Path):
    scenario = load(str(scenario_file), ["horizon_s=60"])
    assert [entry.name for entry in scenario.algorithm] == ["kd_pdfl", "fedavg"]
    built = world.build(scenario)
    for entry in scenario.algorithm:
        assert engine.play(built, entry)["messages"]["delivered"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["schedule='rounds'", "schedule='poisson',rate_hz=0.2", None])
def test_the_algorithm_added_by_one_file_gossips(
    schedule: str | None, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
):
    """By README's own command, on its own scenario, with its own schedule and two others."""
    here = scenario_file.parent
    monkeypatch.chdir(here)
    (here / "folder_of_gossip").mkdir()
    (source,) = (block for block in blocks("python") if "def processes" in block)
    (here / "folder_of_gossip/gossip.py").write_text(source, encoding="utf-8")
    (command,) = re.findall(r"^    netsim (run mine.*gossip.*)$", README, flags=re.MULTILINE)
    more = shlex.split("--set horizon_s=60 --out out -q --no-figures")
    other = [] if schedule is None else ["--set", f"exchange={{{schedule}}}"]
    result = CliRunner().invoke(app, [*shlex.split(command), *more, *other])
    assert result.exit_code == 0, result.output
    summary = json.loads((here / "out/summary.json").read_text(encoding="utf-8"))
    assert summary["messages"]["delivered"] > 0
    assert summary["accuracy"]["mean"] > 0.5


@pytest.mark.slow
def test_results_are_read_from_python_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    play = "run quickstart --set horizon_s=60 --set metrics.every_s=30 -q --no-figures"
    assert CliRunner().invoke(app, shlex.split(play)).exit_code == 0
    (block,) = (block for block in blocks("python") if "netsim.open" in block)
    names: dict[str, object] = {}
    exec(block, names)
    assert {"kd_pdfl", "fedavg", "local"} <= set(names["accuracy"]["algorithm"])


def test_the_two_set_up_commands_are_there_word_for_word():
    assert "    pip install . && netsim run quickstart\n" in README
    assert "    pip install -e '.[test]' && pytest\n" in README
