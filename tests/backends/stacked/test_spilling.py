"""Models in files: the same numbers, and memory that is bounded."""

import errno
import os
from pathlib import Path

import pytest
import torch

from netsim import world
from netsim.backends import spilling
from netsim.backends.dispatch import Routes
from netsim.backends.parameter_store import ParameterStore
from netsim.engine.simulation import Simulation
from netsim.errors import ComputeError, ScenarioError
from netsim.learning.refs import Cell
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

CPU = torch.device("cpu")
MODULES = kinds_of()
ROW_BYTES = 4 << 18


@pytest.fixture
def played():
    def play(name, **run):
        case = AlgorithmCase(MODULES, name)
        scenario = case.scenario(case.schedules[-1], run={"device": "cpu", **run})
        simulation = Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
        simulation.to_horizon()
        found = simulation.finish(None)
        return found["event_log_sha256"], found["parameters_sha256"], found

    return play


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("dpsgd", "auto"),
        ("fedavg", "stacked"),
        pytest.param("mapl", "auto", marks=pytest.mark.slow),
        pytest.param("l2c", "auto", marks=pytest.mark.slow),
        pytest.param("kd_pdfl", "stacked", marks=pytest.mark.slow),
    ],
)
def test_models_in_files_are_those_in_memory(played, monkeypatch, disk, name, backend):
    monkeypatch.setattr(spilling, "CHECKED_BYTES", 1)  # pages go after each use
    monkeypatch.setattr(spilling, "RESERVED_BYTES", 1)
    *alone, _ = played(name, backend=backend)
    *spilled, found = played(name, backend=backend, spill_dir=str(disk), spill_above_gb=1e-6)
    assert spilled == alone
    assert found["engine"]["spilled_bytes"] > 0
    assert not list(disk.iterdir())


def stored(spill, count):
    store = ParameterStore(CPU, torch.float32, count, spill)
    cells = [Cell(None, (ROW_BYTES // 4,)) for _ in range(count)]
    for number, cell in enumerate(cells):
        cell.fill(torch.full(cell.shape, float(number)))
        store.adopt(cell)
    return store, cells


@pytest.mark.slow
@pytest.mark.skipif(not spilling._STATUS.exists(), reason="needs /proc")
def test_rows_beyond_the_limit_are_not_in_memory_and_come_back(monkeypatch, disk):
    monkeypatch.setattr(spilling, "CHECKED_BYTES", ROW_BYTES)
    before = spilling._status_bytes("RssFile")
    spill = spilling.Spill(disk, before + 16 * ROW_BYTES)
    _, cells = stored(spill, 128)
    assert spill.drops >= 128 // 16 - 1
    assert spilling._status_bytes("RssFile") < before + 20 * ROW_BYTES
    assert spill.used_bytes >= 128 * ROW_BYTES
    assert [float(cell.materialise()[-1]) for cell in cells] == list(map(float, range(128)))


def test_a_full_disk_is_told_before_a_page_is_written(monkeypatch, disk):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ComputeError, match=r"spill_dir .* No space left .* larger disk"):
        stored(spilling.Spill(disk, 1), 1)


def test_a_folder_that_is_not_there_or_a_backend_without_rows_is_refused(played, disk):
    with pytest.raises(ScenarioError, match=r"spill_dir = .*name a folder"):
        played("dpsgd", spill_dir=str(disk / "none"))
    with pytest.raises(ScenarioError, match=r"spill_dir: .* keeps all models in memory"):
        played("dpsgd", spill_dir=str(disk), backend="sequential")
    with pytest.raises(ScenarioError, match="a path from the root on"):
        played("dpsgd", spill_dir="here")


def test_models_that_run_one_by_one_lie_in_files_too(played, monkeypatch, disk):
    """As on a machine whose kernel differs from PyTorch for a model."""
    monkeypatch.setattr(Routes, "all_sequential", True)
    monkeypatch.setattr(Routes, "backend_name", lambda *_: "sequential")
    monkeypatch.setattr(Routes, "native_variants", lambda _: {})
    *alone, _ = played("dpsgd")
    *spilled, found = played("dpsgd", spill_dir=str(disk))
    assert spilled == alone
    assert found["engine"]["spilled_bytes"] > 0


@pytest.mark.parametrize("system", ["tmpfs", "ramfs"])
def test_a_folder_that_is_in_memory_itself_is_refused(played, monkeypatch, tmp_path, system):
    device = tmp_path.stat().st_dev
    line = f"30 1 {os.major(device)}:{os.minor(device)} / /t rw shared:2 - {system} t rw"
    (tmp_path / "mounts").write_text(f"29 1 0:7 / / rw - ext4 /dev/vda rw\n{line}\n")
    monkeypatch.setattr(spilling, "_MOUNTS", tmp_path / "mounts")
    with pytest.raises(ScenarioError, match=rf"spill_dir = .*in memory \({system}\).*of a disk"):
        played("dpsgd", spill_dir=str(tmp_path))


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no folder that is in memory")
def test_the_folder_of_shared_memory_is_known():
    assert spilling.file_system(Path("/dev/shm")) in ("tmpfs", "ramfs")
