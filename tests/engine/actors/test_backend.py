"""A run whose learning actors compute is the run without them, to the last bit."""

import gc
import random
from pathlib import Path

import numpy as np
import pytest
import torch

import algorithms
from netsim import world
from netsim.engine.actors import lineage, opening
from netsim.engine.actors.actor import ShardActor
from netsim.engine.actors.backend import Actors
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.learning.refs import Cell
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase
from netsim.world import memory

from .inline import InlinePool

ALGORITHMS = Path(algorithms.__file__).parent
MODULES = kinds_of()
LEARNING = [name for name in MODULES if declaration_of(MODULES[name]).learns]


ALONE = {}
"""Outcomes of runs of shipped methods without actors, by method; several tests read one."""


def alone(played, case, schedule):
    """The outcome of such a run, played once."""
    if case.kind not in ALONE:
        ALONE[case.kind] = played(case, schedule)[0]
    return ALONE[case.kind]


@pytest.fixture
def played(monkeypatch):
    """Play a case; hashes of its log and of its models, and the pool of its actors."""

    def play(
        case, schedule, engine="local", actors=2, kills=lambda _: None, spill_dir="", **changed
    ):
        pools = []

        def made(kits, count, cpus, gpus):
            pools.append(InlinePool(kits(count), kills))
            return pools[-1]

        monkeypatch.setattr(opening, "start_pool", made)
        run = {"device": "cpu", "engine": engine, "actors": actors, "spill_dir": spill_dir}
        scenario = case.scenario(schedule, run=run, **changed)
        simulation = Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
        simulation.to_horizon()
        found = simulation.finish(None)
        simulation.learning.close()
        kept = (found["event_log_sha256"], found["parameters_sha256"], found["diverged"])
        return kept, found, pools[0] if pools else None

    return play


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", LEARNING[::8])
def test_actors_change_no_bit(played, name):
    """All methods are played below, where actors die after some calls."""
    case = AlgorithmCase(MODULES, name)
    schedule = case.schedules[-1]
    shared, _, pool = played(case, schedule, "ray", actors=3)
    assert shared == alone(played, case, schedule)
    assert pool.size > 1
    assert pool.calls > 2


@pytest.mark.parametrize("name", ["mapl", "fedrep", "deprl", "dfedpgp"])
def test_of_a_model_whose_part_is_read_the_part_moves(played, name):
    case = AlgorithmCase(MODULES, name)
    shared, _, pool = played(case, "rounds", "ray", actors=3)
    assert shared == played(case, "rounds")[0]
    assert pool.moved_bytes > 0
    assert pool.whole_models == 0


@pytest.mark.thinned(64)
@pytest.mark.parametrize("name", LEARNING)
def test_actors_that_die_are_replaced_and_change_no_bit(played, name):
    case = AlgorithmCase(MODULES, name)
    schedule = case.schedules[-1]
    draws = random.Random(name)
    dead = [*draws.sample(range(2, 8), 2), *draws.sample(range(8, 60), 3)]
    kills = {call: draws.randrange(3) for call in dead}
    shared, found, pool = played(case, schedule, "ray", actors=3, kills=kills.get)
    assert shared == alone(played, case, schedule)
    assert pool.killed, pool.calls
    assert found["engine"].get("actors_replaced", 0) <= pool.killed


@pytest.mark.slow
def test_folders_that_a_run_does_not_name_stay_at_home(played, tmp_path):
    """A process of long standing has read others, whose names may clash."""
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "lone.py").write_text((ALGORITHMS / "local.py").read_text())
    for folder in (tmp_path / "one", tmp_path / "two"):
        kinds = kinds_of((folder,))
    case = AlgorithmCase(kinds, "lone")
    alone, _, _ = played(case, "rounds")
    shared, _, pool = played(case, "rounds", "ray")
    assert shared == alone
    assert [len(kit.sources) for kit in pool.kits] == [1, 1]


@pytest.mark.thinned(18)
@pytest.mark.parametrize("name", ["dpsgd", "mapl", "fedavg"])
@pytest.mark.parametrize("seed", range(3))
def test_losses_in_a_row_come_back_from_a_snapshot(played, monkeypatch, name, seed):
    """Each level has a snapshot before it, and a second actor dies while one is brought back."""
    monkeypatch.setattr(lineage, "FIRST_S", 0.0)
    monkeypatch.setattr(lineage, "SHARE_SPENT", 1e9)
    case = AlgorithmCase(MODULES, name)
    alone, _, _ = played(case, "rounds")
    draws = random.Random(seed)
    firsts = draws.sample(range(10, 45), 2)
    soon = [call + draws.randint(1, 6) for call in firsts]
    kills = {call: draws.randrange(3) for call in (*firsts, *soon)}
    shared, _, pool = played(case, "rounds", "ray", actors=3, kills=kills.get)
    assert shared == alone
    assert pool.killed >= 2, pool.calls


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", LEARNING)
def test_rows_that_come_in_parts_change_no_bit(played, monkeypatch, name):
    """As of models that are too large to be under way together, also while actors die."""
    monkeypatch.setattr(InlinePool, "at_once_bytes", 1)
    case = AlgorithmCase(MODULES, name)
    schedule = case.schedules[-1]
    draws = random.Random(name)
    kills = {call: draws.randrange(3) for call in draws.sample(range(8, 90), 2)}
    shared, found, pool = played(case, schedule, "ray", actors=3, kills=kills.get)
    assert shared == alone(played, case, schedule)
    assert pool.largest_move <= 1
    assert pool.size - len(found["engine"]["actors"]) <= pool.killed


@pytest.mark.slow
def test_models_in_files_and_an_actor_without_memory(played, monkeypatch, disk):
    case = AlgorithmCase(MODULES, "dpsgd")
    alone, _, _ = played(case, "rounds")
    shared, found, _ = played(case, "rounds", "ray", spill_dir=str(disk))
    assert shared == alone
    each = [one["spilled_bytes"] for one in found["engine"]["actors"]]
    assert min(each) > 0
    assert found["engine"]["spilled_bytes"] == sum(each)
    assert any(str(disk) in told for told in found["warnings"])
    assert not list(disk.iterdir())
    monkeypatch.setattr(memory, "ROWS_PER_NODE", 1e12)  # of which the event loop has none
    with pytest.raises(AssertionError, match=r"models of its nodes .* set \[run\] spill_dir"):
        played(case, "rounds", "ray")


DRAWS = """\"\"\"Draws: adds NumPy's own draws to a model.\"\"\"
import numpy as np
from netsim.api import Params as Base, algorithm


class Params(Base):
    pass


@algorithm(schedules=("rounds",))
def processes(node, params):
    return [on_wakeup(node)]


def drawn(theta):
    return theta + float(np.random.rand())


def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = node.compute(drawn, theta, like=theta)
        node.publish(theta, "drawn")
"""


@pytest.mark.slow
def test_draws_that_no_seed_sets_are_told_of_wherever_they_are(played, tmp_path):
    (tmp_path / "draws.py").write_text(DRAWS)
    case = AlgorithmCase(kinds_of((tmp_path,)), "draws")
    told = [played(case, "rounds", engine)[1]["warnings"] for engine in ("local", "ray")]
    assert all(any("NumPy's global random" in line for line in lines) for lines in told), told


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(LEARNING)))
def test_methods_that_bring_their_own_learning_are_refused(name):
    case = AlgorithmCase(MODULES, name)
    with pytest.raises(ScenarioError, match=rf'\[run\] engine = "ray": algorithm "{name}" brings'):
        case.scenario(case.schedules[-1], run={"engine": "ray"})


def test_a_machine_with_other_versions_is_refused(played, monkeypatch):
    case = AlgorithmCase(MODULES, "dpsgd")
    kits = []

    def made(self, kit):
        kits.append(kit)
        init(self, kit._replace(made_with=kit.made_with | {"torch": "1.0"}))

    init = ShardActor.__init__
    monkeypatch.setattr(ShardActor, "__init__", made)
    with pytest.raises(AssertionError, match=r"torch \(.* here, 1\.0 there\).*install the same"):
        played(case, "rounds", "ray")
    assert kits


def test_values_that_were_given_are_let_go_of():
    """Their cells may die between any two levels, and at any moment of one."""
    backend = Actors(NoPool(), "none", [0], NoShards(), [])
    for _ in range(3):
        cells = [Cell(None, (4,), None, torch.ones(4)) for _ in range(5)]
        numbers = [backend._number(cell) for cell in cells]
        assert set(numbers) <= set(backend._given_at)
        backend._forget()
        del cells
        gc.collect()
        backend._forget()
        assert not backend._given_at


class NoPool:
    size = 1


class NoShards:
    def samples_of(self, nodes):
        return np.zeros(0, dtype=np.bool_)
