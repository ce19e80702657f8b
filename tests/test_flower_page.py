"""docs/flower.md works as shown, and so do the scenarios of examples/flower."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.recording import summary

pytest.importorskip("flwr")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "flower.md").read_text(encoding="utf-8")
APP = ROOT / "examples" / "flower" / "digits_app"


def blocks(language: str) -> list[tuple[str, str]]:
    return re.findall(
        rf'^```{language}(?: title="(.*?)")?\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL
    )


@pytest.mark.slow
def test_the_commands_of_the_page_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, text in blocks("toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = [line for _, text in blocks("sh") for line in text.splitlines()]
    played = [shlex.split(line)[1:] for line in commands if line.startswith("netsim ")]
    assert len(played) == 4
    for arguments in played:
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0, found.output
    ideal = summary.load(tmp_path / "runs" / "ideal")["flower_evaluate_accuracy"]["mean"]
    patient, timeout = (
        summary.load(tmp_path / "runs" / "slow" / name)["flower_evaluate_accuracy"]["mean"]
        for name in ("patient", "timeout")
    )
    assert patient == pytest.approx(ideal)
    assert timeout < patient


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ideal", "slow", "radio"])
def test_scenarios_of_the_example_play(name: str, tmp_path: Path):
    path = ROOT / "examples" / "flower" / f"{name}.toml"
    arguments = ["run", str(path), "--components", str(APP), "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, [*arguments, "--set", "horizon_s=20", "--check"])
    assert found.exit_code == 0, found.output
