"""Memory: a process that plays many runs keeps nothing of those that have ended."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest
from torch import nn

import netsim
from netsim.engine import process_settings
from netsim.learning.architecture import Architecture
from netsim.learning.shards import Shards
from netsim.python_api.own_data import OwnData
from netsim.python_api.own_models import OwnModel
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


def kinds_of_objects():
    gc.collect()
    return [kind for of in (OwnData, OwnModel) for kind in of.__subclasses__()]


def test_arrays_and_models_go_with_the_scenario_that_has_them():
    """Caches of classes hold the last scenario's at most: each class has arrays or a model.

    A scenario with an error is described by a schema, which is of these classes, too.
    """
    before = len(kinds_of_objects())
    for seed in range(4):
        draws = np.random.default_rng(seed)
        own = netsim.Scenario(
            **SMALL | {"model": nn.Sequential(nn.Linear(3, 2)), "seed": seed},
        ).replace(data=(draws.normal(size=(20, 3)), np.arange(20) % 2))
        with pytest.raises(netsim.ScenarioError, match="did you mean"):
            own.replace(training__learning_rat=0.1)
        assert len(kinds_of_objects()) > before
    del own
    assert len(kinds_of_objects()) <= before + 2


def test_a_class_of_tables_is_made_once_as_long_as_a_scenario_has_it():
    own = netsim.Scenario(**SMALL | {"model": nn.Sequential(nn.Linear(64, 10))})
    again = own.replace(seed=1)
    assert type(again.tables) is type(own.tables)


def test_garbage_that_a_run_has_frozen_is_found_in_the_end(monkeypatch):
    """Garbage of the end of a run would be frozen by the next one, and never looked at."""

    class Circle:
        pass

    monkeypatch.setattr(process_settings, "SEARCH_ALL_EVERY", 3)
    circles = []
    for _ in range(7):
        circle = Circle()
        circle.itself = circle
        circles.append(weakref.ref(circle))
        with process_settings.of_runs(tf32=False):
            pass
        del circle
    assert sum(circle() is not None for circle in circles) <= 3
