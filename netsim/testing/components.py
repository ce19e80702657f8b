"""Checks that a component of any family must pass."""

import importlib
import importlib.util
import inspect

from netsim.recording.scratch import ScratchFolder
from netsim.scenario import load, to_toml
from netsim.testing.algorithms import FINGERPRINTS
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import played, require


def keeps_the_contract(case: ComponentCase) -> None:
    """It is a frozen table that says what it is, named as its file."""
    component = case.component
    label = f"class {component.__name__}"
    require(component.model_config.get("frozen"), f"{label}: must be frozen, as its base class is")
    require(component.__doc__, f"{label}: has no docstring: say what it is, with units and source")
    module = inspect.getmodule(component)
    require(inspect.getdoc(module), f"{module}: has no docstring: its first line is what is listed")
    made = case.made(case.scenario())
    require(isinstance(made, component), f"a scenario makes {type(made).__name__} of it")
    require(made == case.made(case.scenario()), "two of the same keys are not equal")
    hash(made)


def keeps_what_its_family_promises(case: ComponentCase) -> None:
    """Run the check of its family in `netsim.testing.families`, if there is one."""
    name = f"netsim.testing.families.{case.package.removeprefix('netsim.').replace('.', '_')}"
    if importlib.util.find_spec(name) is not None:
        made = case.made(case.scenario())
        importlib.import_module(name).check(made, case)


def plays_the_same_twice(case: ComponentCase) -> None:
    """A whole run with it keeps the invariants, and repeats itself."""
    scenario = case.scenario()
    found = played(scenario, folder=case.folder, check=True)
    again = played(scenario, folder=case.folder)
    for name in FINGERPRINTS:
        require(
            again[name] == found[name],
            f"played twice, {name} is another one: a component has no state, and draws from the "
            "streams that it is given alone",
        )


def is_written_and_read_again(case: ComponentCase) -> None:
    """The `scenario.toml` of a run gives the same component."""
    scenario = case.scenario()
    with ScratchFolder("testing") as place:
        path = place / "scenario.toml"
        path.write_text(to_toml(scenario), encoding="utf-8")
        again = load(str(path), kinds=case.kinds)
    require(case.made(again) == case.made(scenario), "its keys are not those that were written")
