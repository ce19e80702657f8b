"""A small scenario, two small algorithms, and a way to write variants of them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

BASE = """\
# A base for tests.
horizon_s = 100.0
[nodes]
count = 5
[exchange]
schedule = "star"
[data]
kind = "digits"
[model]
kind = "mlp"
[algorithm]
kind = "plain"
"""

PLAIN = '''"""Plain: runs anywhere."""
from netsim.registry import Count, Positive, Table

class Params(Table):
    mu1: Positive = 0.1
    steps: Count = 3
    widths: tuple[int, ...] = (4, 5)

def processes(node, params):
    return []
'''

PICKY = (
    PLAIN.replace("Plain: runs anywhere.", "Picky: rounds only.")
    .replace("from netsim", "from netsim.api import algorithm\nfrom netsim")
    .replace("def processes", '@algorithm(schedules=("rounds",))\ndef processes')
)


@pytest.fixture(scope="session")
def algorithms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("algorithms")
    (folder / "plain.py").write_text(PLAIN)
    (folder / "picky.py").write_text(PICKY)
    (folder / "_helper.py").write_text("raise RuntimeError('not an algorithm')\n")
    return folder


@pytest.fixture
def own_algorithms(algorithms: Path, tmp_path: Path) -> Path:
    """A copy of the folder, for tests that change it."""
    return shutil.copytree(algorithms, tmp_path / "algorithms")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a scenario file, BASE unless another text is given, and return its path."""

    def write_file(text: str = BASE, name: str = "s.toml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write_file


@pytest.fixture
def base() -> str:
    return BASE
