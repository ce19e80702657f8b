"""`import netsim` takes no time, and finds all that it promises."""

import ast
import subprocess
import sys
from pathlib import Path

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


def test_type_checkers_know_every_public_name():
    stub = ast.parse(Path(netsim.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    known = {
        alias.asname or alias.name
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    known |= {t.id for s in stub.body if isinstance(s, ast.Assign) for t in s.targets}
    assert set(netsim.__all__) <= known
    assert set(netsim._MODULES) <= known
