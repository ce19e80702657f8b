"""What README shows works as shown."""

import re
import tomllib
from pathlib import Path

import pytest

from netsim import engine, world
from netsim.scenario import from_dict, load

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
@pytest.mark.parametrize(
    "schedule", [{"schedule": "rounds"}, {"schedule": "poisson", "rate_hz": 0.2}]
)
def test_the_algorithm_added_by_one_file_gossips(
    schedule: dict[str, object], scenario_file: Path, tmp_path: Path
):
    folder = tmp_path / "own"
    folder.mkdir()
    (source,) = (block for block in blocks("python") if "def processes" in block)
    (folder / "gossip.py").write_text(source, encoding="utf-8")
    tables = tomllib.loads(scenario_file.read_text(encoding="utf-8"))
    tables |= {"horizon_s": 60.0, "algorithm": {"kind": "gossip"}, "exchange": schedule}
    scenario = from_dict(tables, algorithms_folder=folder)
    built = world.build(scenario)
    summary = engine.play(built, scenario.algorithm[0])
    assert summary["messages"]["delivered"] > 0
    assert summary["accuracy"]["mean"] > 0.5


def test_the_two_set_up_commands_are_there_word_for_word():
    assert "    pip install . && netsim run quickstart\n" in README
    assert "    pip install -e '.[test]' && pytest\n" in README
