"""The distribution works as installed, and a checkout works beside packages of the same names."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from netsim.backends.native import build as native_build

ROOT = Path(__file__).resolve().parents[1]
NATIVE = "netsim/backends/native"
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


COMPILER = """import sys
from pathlib import Path

to = Path(sys.argv[sys.argv.index("-o") + 1])
parts = [Path(a) for a in sys.argv if a.endswith(".o") and Path(a) != to]
to.write_text(repr(sys.argv) + "".join(part.read_text() for part in parts))
"""


def build(target: str, source: Path, out: Path, **variables: str) -> Path:
    """A distribution; without the native kernel unless the environment variables say so."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    environment = {**os.environ, "NETSIM_NATIVE": "0", **variables}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (out / "said.txt").write_text(done.stdout + done.stderr)
    (built,) = out.glob("netsim_dfl-*.whl" if target == "wheel" else "netsim_dfl-*.tar.gz")
    return built


def unpacked(archive: Path, folder: Path) -> Path:
    """A source distribution's folder."""
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


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
    """Return the output of a Python that runs in a folder and has these first on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    environment.pop("NETSIM_NATIVE_LIBRARY", None)  # the installed package's own is meant
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


@pytest.mark.slow
def test_the_wheel_installs_one_package_with_all_that_ships(wheel: Path):
    names = set(contents(wheel))
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"netsim"}
    shipped = {f"netsim/_scenarios/{p.name}" for p in (ROOT / "scenarios").glob("*.toml")}
    shipped |= {f"netsim/algorithms/{p.name}" for p in (ROOT / "algorithms").glob("*.py")}
    assert shipped <= names
    assert {"netsim/console/app.py", "netsim/py.typed", "netsim/backends/routes.toml"} <= names


@pytest.mark.slow
def test_the_metadata_are_of_a_version_that_publishing_tools_take(wheel: Path, sdist: Path):
    of = contents(wheel)
    (installed,) = (of[name] for name in of if name.endswith(".dist-info/METADATA"))
    packed = unpacked(sdist, sdist.parent / "info") / "PKG-INFO"
    for said in (installed, packed.read_bytes()):
        assert said.startswith(b"Metadata-Version: 2.4\n")


@pytest.mark.slow
def test_the_wheel_built_from_the_source_distribution_is_the_same(
    wheel: Path, source: Path, tmp_path: Path
):
    assert not list(source.rglob("_kernel.*"))
    assert contents(build("wheel", source, tmp_path / "wheel")) == contents(wheel)


IN_NO_DISTRIBUTION = {".ci/run", ".gitignore", ".pre-commit-config.yaml"}


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout: what git tracks is unknown")
def test_the_source_distribution_is_the_checkout(sdist: Path):
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    names = {name for name in tracked.stdout.decode().splitlines() if (ROOT / name).exists()}
    with tarfile.open(sdist) as files:
        there = {name.partition("/")[2] for name in files.getnames()}
    assert names - IN_NO_DISTRIBUTION <= there
    assert there - names <= {"PKG-INFO", ".gitignore"}


@pytest.mark.slow
def test_without_the_kernel_the_wheel_is_pure_and_has_its_sources(wheel: Path):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "without its native kernel: NETSIM_NATIVE=0" in (wheel.parent / "said.txt").read_text()
    names = set(contents(wheel))
    assert {f"{NATIVE}/src/kernel.cpp", f"{NATIVE}/build.py"} <= names
    assert not any("_kernel" in name for name in names)


@pytest.fixture
def source(sdist: Path, tmp_path: Path) -> Path:
    """A source distribution, unpacked: what is compiled stays in this folder."""
    return unpacked(sdist, tmp_path)


@pytest.mark.slow
def test_the_wheel_has_the_kernel_compiled_once(source: Path, tmp_path: Path):
    (tmp_path / "compiler.py").write_text(COMPILER)
    works = {"NETSIM_NATIVE": "1", "CXX": f"{sys.executable} {tmp_path / 'compiler.py'}"}
    fails = {"NETSIM_NATIVE": "1", "CXX": "no-such-compiler"}
    first = build("wheel", source, tmp_path / "first", **works)
    assert not first.name.endswith("-any.whl")
    (library,) = [name for name in contents(first) if "_kernel." in name]
    assert library.startswith(f"{NATIVE}/_kernel.")
    (about,) = [text for name, text in contents(first).items() if name.endswith("/WHEEL")]
    assert b"Root-Is-Purelib: false" in about
    assert contents(build("wheel", source, tmp_path / "again", **fails)) == contents(first)

    (source / NATIVE / "src/simd.h").write_text("other sources")
    pure = build("wheel", source, tmp_path / "pure", **fails)
    assert pure.name.endswith("-py3-none-any.whl")
    assert not any("_kernel." in name for name in contents(pure))
    said = (tmp_path / "pure/said.txt").read_text()
    assert "without its native kernel: no-such-compiler" in said


@pytest.mark.slow
@pytest.mark.skipif(not native_build.is_built(), reason="the kernel is not built in the checkout")
def test_the_kernel_of_a_wheel_is_tried_by_the_tool_of_the_release(tmp_path: Path):
    whole = build("wheel", ROOT, tmp_path, NETSIM_NATIVE="1")
    smoke = [sys.executable, str(ROOT / "tools/smoke.py"), "--kernel"]
    tried = subprocess.run([*smoke, str(whole)], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr
    assert "images are moved as they should" in tried.stdout
    other = tmp_path / "other" / whole.name
    other.parent.mkdir()
    with zipfile.ZipFile(other, "w") as archive:
        for name, data in contents(whole).items():
            archive.writestr(name, data + b"//" if name.endswith("src/simd.h") else data)
    refused = subprocess.run([*smoke, str(other)], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "one of other sources" in refused.stderr


@pytest.mark.slow
def test_a_wheel_for_another_platform_has_its_library(source: Path, tmp_path: Path):
    (tmp_path / "compiler.py").write_text(COMPILER)
    compiler = f"{sys.executable} {tmp_path / 'compiler.py'}"
    wheel = build(
        "wheel",
        source,
        tmp_path / "wheel",
        NETSIM_NATIVE="1",
        NETSIM_WHEEL="win_amd64:x86_64-windows-gnu",
        CXX=compiler,
    )
    assert wheel.name.endswith("-py3-none-win_amd64.whl")
    assert b"x86_64-windows-gnu" in contents(wheel)[f"{NATIVE}/_kernel.dll"]
    assert not list(source.rglob("_kernel.*"))


@pytest.mark.slow
def test_the_quickstart_runs_from_an_empty_folder_without_the_checkout(site: Path, here: Path):
    command = ("-m", "netsim", "run", "quickstart", "--set", "horizon_s=20", "--out", "here")
    said = python(*command, cwd=here, path=[site])
    for name in ("kd_pdfl", "fedavg", "local"):
        assert name in said
        assert (here / "here" / name / "summary.json").is_file()
        environment = json.loads((here / "here" / name / "environment.json").read_text())
        assert environment["native_kernel"].startswith(f"none: there is no {site}")


@pytest.mark.slow
def test_the_installed_algorithms_are_modules_of_netsim(site: Path, here: Path):
    program = """
import netsim.algorithms.kd_pdfl as kd_pdfl
from netsim.scenario.kinds import kinds_of
modules = kinds_of()
assert modules["kd_pdfl"] is kd_pdfl
assert {m.__name__.rpartition(".")[0] for m in modules.values()} == {"netsim.algorithms"}
print(kd_pdfl.__file__)
"""
    assert python("-c", program, cwd=here, path=[site]).startswith(str(site))


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_a_folder_of_ones_own_imports_the_api_and_its_siblings(
    installed: bool, site: Path, here: Path
):
    own = here / "algorithms"  # the most natural name, in the folder where one works
    own.mkdir()
    (own / "_shared.py").write_text(SIBLING)
    (own / "halfway.py").write_text(OWN)
    command = ("-m", "netsim", "run", "quickstart", "--algorithms", "algorithms", "--out", "out")
    changes = ("--set", "algorithm=[{kind='halfway'}]", "--set", "horizon_s=5", "--no-figures")
    python(*command, *changes, cwd=here, path=[site if installed else ROOT])
    assert list((here / "out").rglob("summary.json"))


@pytest.mark.slow
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


@pytest.mark.slow
def test_somebody_elses_package_that_is_loaded_stays_what_it_is(here: Path):
    stranger(here)
    (here / "algorithms" / "__init__.py").write_text("theirs = True\n")
    program = """
import sys
import algorithms
from netsim.scenario.kinds import kinds_of
modules = kinds_of()
assert sys.modules["algorithms"] is algorithms and algorithms.theirs
assert modules["fedavg"].__name__ == "netsim.algorithms.fedavg"
import netsim.algorithms.fedavg
assert netsim.algorithms.fedavg is modules["fedavg"]
"""
    python("-c", program, cwd=here, path=[ROOT])


@pytest.mark.slow
@pytest.mark.parametrize("first", ["import algorithms.kd_pdfl", "pass"])
def test_a_checkout_has_each_algorithm_once_whoever_imports_it_first(first: str, here: Path):
    program = f"""
import sys
{first}
from netsim.scenario.kinds import kinds_of
modules = kinds_of()
import algorithms.kd_pdfl
assert modules["kd_pdfl"] is algorithms.kd_pdfl
files = [m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
mine = [f for f in files if f.startswith({str(ROOT / "algorithms")!r})]
assert len(mine) == len(set(mine)) > 10
"""
    python("-c", program, cwd=here, path=[ROOT])
