"""Memory: a process that plays many runs keeps nothing of those that have ended."""

import gc
import os
from pathlib import Path

import pytest

import netsim
from netsim.learning.architecture import Architecture
from netsim.learning.shards import Shards
from netsim.world.builder import World

pytestmark = [
    pytest.mark.usefixtures("thawed"),
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc"),
]

SMALL = {
    "horizon_s": 1.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [32]},
    "metrics": {"every_s": 1.0},
    "algorithm": [{"kind": "fedavg", "local_steps": 1}],
}
WARM, RUNS, MOST_MIB = 40, 200, 16.0


def resident_mib() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def kept(kinds: tuple[type, ...]) -> set[int]:
    gc.collect()
    return {id(one) for one in gc.get_objects() if type(one) in kinds}


def play(number: int, folder: Path, backend: str = "auto") -> None:
    hidden = [32 + number % 3]  # models of several forms
    scenario = netsim.Scenario(
        **{**SMALL, "model": {"kind": "mlp", "hidden": hidden}, "seed": number},
        run={"backend": backend},
    )
    netsim.run(scenario, out=folder / str(number))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "stacked", "sequential"])
def test_nothing_of_a_world_outlives_its_run(tmp_path, backend):
    kinds = (World, Shards, Architecture)
    before = kept(kinds)
    play(0, tmp_path, backend)
    assert kept(kinds) <= before


@pytest.mark.slow
def test_200_runs_in_one_process_do_not_grow(tmp_path):
    for number in range(WARM):
        play(number, tmp_path)
    before = resident_mib()
    for number in range(WARM, RUNS):
        play(number, tmp_path)
    assert resident_mib() - before < MOST_MIB
