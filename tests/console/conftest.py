"""An empty folder to run in, a small scenario, two small algorithms, and the command line."""

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from netsim.console.app import app

BASE = """\
# Four nodes that train alone.
horizon_s = 4.0
[nodes]
count = 4
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
validation = 0.2
[model]
kind = "mlp"
[algorithm]
kind = "alone"
"""

ALONE = '''"""Alone: trains at every wake-up."""
import os, signal
import time

from netsim.api import Count, Params as Base

class Params(Base):
    local_steps: Count = 1
    trouble: str = ""

def processes(node, params):
    return [on_wakeup(node, params)]

def on_wakeup(node, params):
    theta = node.initial()
    while True:
        yield node.wakeup()
        if params.trouble == "error":
            raise ValueError("on purpose")
        if params.trouble == "interrupt":
            signal.raise_signal(signal.SIGINT)
        if params.trouble == "long" and not os.path.exists("hurry"):
            time.sleep(0.02)
        trained = yield node.train(theta, steps=params.local_steps)
        theta = trained.theta
        node.publish(theta, "trained")
'''

PICKY = (
    ALONE.replace("Alone: trains", "Picky: trains")
    .replace("import Count", "import algorithm, Count")
    .replace("def processes", '@algorithm(schedules=("rounds",), needs_values=True)\ndef processes')
)


@pytest.fixture(scope="session")
def algorithms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("algorithms")
    (folder / "alone.py").write_text(ALONE)
    (folder / "picky.py").write_text(PICKY)
    return folder


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C means what it does in a terminal; what starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def here(tmp_path: Path, algorithms: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `s.toml` and `algorithms/` in it and nothing else."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "algorithms").symlink_to(algorithms)
    (folder / "s.toml").write_text(BASE)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("NETSIM_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return folder


@pytest.fixture(scope="session")
def once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Path, Callable[[], None]], None]:
    """Make a folder by a function the first time, and by a copy later on."""
    made: dict[str, Path] = {}

    def give(name: str, folder: Path, make: Callable[[], None]) -> None:
        if name in made:
            shutil.copytree(made[name], folder)
        else:
            make()
            made[name] = tmp_path_factory.mktemp("once") / "folder"
            shutil.copytree(folder, made[name])

    return give


@pytest.fixture
def netsim(here: Path) -> Callable[..., Result]:
    def call(*arguments: str, algorithms: bool = True) -> Result:
        own = ["--algorithms", "algorithms"] if algorithms else []
        return CliRunner().invoke(app, [*arguments, *own])

    return call


@pytest.fixture
def written(here: Path) -> Callable[[], set[str]]:
    """Return the files written into the working folder since the test began."""

    def everything() -> set[str]:
        return {str(p.relative_to(here)) for p in here.rglob("*") if "__pycache__" not in p.parts}

    before = everything()
    return lambda: everything() - before
