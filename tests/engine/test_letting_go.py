"""Values go as soon as nobody needs them: Python looks for cyclic garbage seldom during a run.

A cycle through an event, a closure or a traceback would keep models until then, gigabytes of them.
"""

import gc

import pytest

from netsim import world
from netsim.engine.simulation import Simulation
from netsim.learning.refs import Cell, Ref
from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

MODULES = kinds_of()
LEARNING = [name for name in MODULES if declaration_of(MODULES[name]).learns]
SCHEDULES = ("rounds", "poisson", "periodic")


@pytest.fixture
def kept():
    """Play a case; the values of its run that only the collector of garbage would free."""

    def play(case, schedule):
        scenario = case.scenario(schedule, run={"device": "cpu"})
        simulation = Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
        gc.collect()
        gc.disable()
        try:
            simulation.to_horizon()
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            found = [type(one).__name__ for one in gc.garbage if isinstance(one, Cell | Ref)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        simulation.learning.close()
        return found

    return play


def schedules_of(number, case):
    """Two of the schedules that a method knows, in turn, so that all meet many methods."""
    known = [schedule for schedule in SCHEDULES if schedule in case.schedules]
    return [known[(number + k) % len(known)] for k in range(min(2, len(known)))]


CASES = [
    (name, schedule)
    for number, name in enumerate(LEARNING)
    for schedule in schedules_of(number, AlgorithmCase(MODULES, name))
]


@pytest.mark.thinned(96)
@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_no_value_waits_for_the_collector_of_garbage(kept, name, schedule):
    case = AlgorithmCase(MODULES, name)
    kept(case, schedule)  # what is read and compiled once keeps frames
    assert kept(case, schedule) == []
