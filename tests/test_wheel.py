"""The distribution works as installed, and a checkout works beside packages of the same names."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SIBLING = '"""What files of this folder share."""\n\nSHARE = 0.5\n'
OWN = '''"""Moves towards the mean of what arrives, over links that lose messages."""

from netsim.api import AbsenceParams, Inbox, Model, Node, Process, algorithm

from ._shared import SHARE


class Params(AbsenceParams):
    """What an absent peer means."""


@algorithm(knows_servers=False)
def processes(node: Node, params: Params) -> list[Process]:
    inbox = Inbox(node, Model, params)
    return [on_wakeup(node, inbox), *inbox.listeners()]


def on_wakeup(node: Node, inbox: Inbox) -> Process:
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1)).theta
        models = yield from inbox.exchange(Model(theta))
        for other in models.values():
            theta = node.mix([theta, other.theta], [1 - SHARE, SHARE])
        node.publish(theta, "mixed")
'''
STRANGER = 'raise RuntimeError("a package of somebody else was imported")\n'


def build(target: str, source: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = out.glob("netsim_dfl-*.whl" if target == "wheel" else "netsim_dfl-*.tar.gz")
    return built


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Unpacking is what installing a pure wheel does; the dependencies are those of this Python.
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def python(*arguments: str, cwd: Path, path: list[Path]) -> str:
    """What a Python says that runs in a folder and has these on its path before all else."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stranger(folder: Path) -> Path:
    """A folder that holds somebody else's package called `algorithms`."""
    package = folder / "algorithms"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STRANGER)
    return folder


def test_the_wheel_installs_one_package_with_all_that_ships(wheel: Path):
    names = set(contents(wheel))
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"netsim"}
    shipped = {f"netsim/_scenarios/{p.name}" for p in (ROOT / "scenarios").glob("*.toml")}
    shipped |= {f"netsim/algorithms/{p.name}" for p in (ROOT / "algorithms").glob("*.py")}
    assert shipped <= names
    assert {"netsim/console/app.py", "netsim/py.typed", "netsim/backends/routes.toml"} <= names


def test_the_wheel_built_from_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path):
    archive = build("sdist", ROOT, tmp_path)
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert contents(build("wheel", source, tmp_path / "wheel")) == contents(wheel)


@pytest.mark.slow
def test_the_quickstart_runs_from_an_empty_folder_without_the_checkout(site: Path, here: Path):
    command = ("-m", "netsim", "run", "quickstart", "--set", "horizon_s=60", "--out", "here")
    said = python(*command, cwd=here, path=[site])
    for name in ("kd_pdfl", "fedavg", "local"):
        assert name in said
        assert (here / "here" / name / "summary.json").is_file()


def test_the_installed_algorithms_are_modules_of_netsim(site: Path, here: Path):
    program = """
import netsim.algorithms.kd_pdfl as kd_pdfl
from netsim.scenario import algorithm_files
modules = algorithm_files.algorithms()
assert modules["kd_pdfl"] is kd_pdfl
assert {m.__name__.rpartition(".")[0] for m in modules.values()} == {"netsim.algorithms"}
print(kd_pdfl.__file__)
"""
    assert python("-c", program, cwd=here, path=[site]).startswith(str(site))


@pytest.mark.parametrize("installed", [True, False])
def test_a_folder_of_ones_own_imports_the_api_and_its_siblings(
    installed: bool, site: Path, here: Path
):
    own = here / "algorithms"  # the most natural name, in the folder where one works
    own.mkdir()
    (own / "_shared.py").write_text(SIBLING)
    (own / "halfway.py").write_text(OWN)
    command = ("-m", "netsim", "run", "quickstart", "--algorithms", "algorithms", "--out", "out")
    changes = ("--set", "algorithm=[{kind='halfway'}]", "--set", "horizon_s=20")
    python(*command, *changes, cwd=here, path=[site if installed else ROOT])
    assert list((here / "out").rglob("summary.json"))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("where", ["working folder", "path"])
def test_somebody_elses_package_called_algorithms_is_not_taken(
    installed: bool, where: str, site: Path, here: Path, tmp_path: Path
):
    before = [stranger(tmp_path / "theirs")] if where == "path" else []
    if where == "working folder":
        stranger(here)
    netsim_at = site if installed else ROOT
    command = ("-m", "netsim", "list", "algorithms")
    assert "kd_pdfl" in python(*command, cwd=here, path=[*before, netsim_at])


def test_somebody_elses_package_that_is_loaded_stays_what_it_is(here: Path):
    stranger(here)
    (here / "algorithms" / "__init__.py").write_text("theirs = True\n")
    program = """
import sys
import algorithms
from netsim.scenario import algorithm_files
modules = algorithm_files.algorithms()
assert sys.modules["algorithms"] is algorithms and algorithms.theirs
assert modules["fedavg"].__name__ == "netsim.algorithms.fedavg"
import netsim.algorithms.fedavg
assert netsim.algorithms.fedavg is modules["fedavg"]
"""
    python("-c", program, cwd=here, path=[ROOT])


@pytest.mark.parametrize("first", ["import algorithms.kd_pdfl", "pass"])
def test_a_checkout_has_each_algorithm_once_whoever_imports_it_first(first: str, here: Path):
    program = f"""
import sys
{first}
from netsim.scenario import algorithm_files
modules = algorithm_files.algorithms()
import algorithms.kd_pdfl
assert modules["kd_pdfl"] is algorithms.kd_pdfl
files = [m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
mine = [f for f in files if f.startswith({str(ROOT / "algorithms")!r})]
assert len(mine) == len(set(mine)) > 10
"""
    python("-c", program, cwd=here, path=[ROOT])
