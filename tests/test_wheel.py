"""The distribution works as installed: built, installed apart, run from an empty folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("netsim_dfl-*.whl")
    return built


def test_the_wheel_holds_both_packages_and_the_scenarios(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"netsim/_scenarios/{p.name}" for p in (ROOT / "scenarios").glob("*.toml")}
    assert shipped <= names
    assert {"netsim/console/app.py", "algorithms/kd_pdfl.py", "algorithms/_star.py"} <= names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


@pytest.mark.slow
def test_netsim_runs_from_an_empty_folder_without_the_checkout(wheel: Path, tmp_path: Path):
    # Unpacking is what installing a pure wheel does; the dependencies are those of this Python.
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "netsim", "run", "quickstart"]
    command += ["--set", "horizon_s=60", "--out", "here"]
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("kd_pdfl", "fedavg", "local"):
        assert name in done.stdout
        assert (empty / "here" / name / "summary.json").is_file()
    where = [sys.executable, "-c", "import netsim, algorithms; print(netsim.__file__)"]
    found = subprocess.run(where, cwd=empty, env=environment, capture_output=True, text=True)
    assert found.stdout.startswith(str(site))
