"""docs/algorithm.md, played from its first block to its last; what it says of the results holds."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import netsim
from netsim.console.app import app

PAGE = (Path(__file__).resolve().parents[1] / "docs/algorithm.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)
QUIET = ("-q", "--no-figures", "--no-report")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files of the page."""
    made = tmp_path_factory.mktemp("tutorial")
    for _, title, text in BLOCK.findall(PAGE):
        if title:
            (made / title).parent.mkdir(exist_ok=True)
            (made / title).write_text(text, encoding="utf-8")
    return made


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def call(line: str, *more: str) -> None:
    """A command of the page, as it stands."""
    program, *words = shlex.split(line)
    assert program == "netsim"
    result = CliRunner().invoke(app, [*words, *more])
    assert result.exit_code == 0, result.output


def commands() -> list[str]:
    blocks = [text.replace("\\\n", " ") for word, _, text in BLOCK.findall(PAGE) if word == "bash"]
    return [line for text in blocks for line in text.splitlines()]


def summary(folder: Path, algorithm: str) -> dict:
    return json.loads((folder / algorithm / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_gossip_runs_by_the_pages_command_on_its_scenario(here: Path):
    call(commands()[0], *QUIET)
    gossip, alone = (summary(here / "runs/mine", name) for name in ("gossip", "local"))
    assert gossip["accuracy"]["mean"] < alone["accuracy"]["mean"]
    assert gossip["accuracy_all_classes"]["mean"] > alone["accuracy_all_classes"]["mean"] + 0.2
    assert gossip["messages"]["delivered"] < gossip["messages"]["sent"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["schedule='rounds'", "schedule='star'"])
def test_the_same_file_runs_under_other_schedules(schedule: str, here: Path):
    short = ("--set", "horizon_s=100", "--set", f"exchange={{{schedule}}}", "--out", schedule)
    call(commands()[0], *short, *QUIET)
    assert summary(here / schedule, "gossip")["messages"]["delivered"] > 0


@pytest.mark.slow
def test_the_method_passes_its_test(here: Path):
    (path,) = here.glob("methods/test_*.py")
    names: dict = {"__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    names["test_trusting"]()


@pytest.mark.slow
def test_it_ends_with_a_figure_and_what_is_said_of_it(here: Path, capsys):
    call(commands()[1], "-q", "--jobs", "1")
    exec(compile((here / "figure.py").read_text(encoding="utf-8"), "figure.py", "exec"), {})
    assert (here / "trusting.svg").stat().st_size > 10_000
    swept = netsim.open(here / "runs/trust")
    over_gossip = swept["trusting"].compare(swept["gossip"]).by_algorithm
    over_local = swept["trusting"].compare(swept["local"]).by_algorithm
    assert (over_gossip["diff_low"] > 0.0).all()
    assert (over_local["diff"] < 0).all()
    mean = swept.summary.groupby("algorithm", observed=True)["accuracy_all_classes"].mean()
    assert mean["local"] < mean["trusting"] < mean["gossip"]


def test_every_block_is_a_file_or_a_command():
    for word, title, text in BLOCK.findall(PAGE):
        assert title or word == "bash", text
    assert len(commands()) == 2
