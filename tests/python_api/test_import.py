"""`import netsim` takes no time, and finds all that it promises."""

import subprocess
import sys

import netsim

LIGHT = """
import sys
import netsim
heavy = {"torch", "numpy", "pandas", "pydantic", "scipy", "sklearn", "matplotlib", "simpy", "rich"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert "netsim.errors" not in sys.modules
"""


def test_importing_netsim_imports_nothing_else():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


def test_modules_stay_modules():
    from netsim import engine, scenario, world

    assert scenario.load
    assert scenario.from_dict
    assert world.build
    assert engine.play
    assert netsim.scenario is scenario
    assert netsim.Scenario is not scenario.Scenario


def test_every_public_name_is_there():
    for name in netsim.__all__:
        assert getattr(netsim, name) is not None
        assert name in dir(netsim)
