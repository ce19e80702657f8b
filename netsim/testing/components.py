"""What a component must pass, of whatever family it is."""

import importlib
import importlib.util
import inspect
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsim.registry import Choice, Component, family, in_force, tag_of
from netsim.scenario import Scenario, from_dict, load, to_toml
from netsim.scenario.draft import KeyPath
from netsim.scenario.file_paths import ANY, marked_keys
from netsim.scenario.kinds import Kinds
from netsim.testing.algorithms import FINGERPRINTS
from netsim.testing.small_world import DISC, SCHEDULES, played, require, tables


@dataclass(frozen=True)
class ComponentCase:
    """A component to test.

    Attributes
    ----------
    kinds : Kinds
        All that a scenario can name.
    package : str
        Of its family.
    kind : str
        Its name.
    keys : mapping
        Keys of its table that differ from their defaults, or have none.
    folder : Path or None
        The data folder.
    """

    kinds: Kinds
    package: str
    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def component(self) -> type[Component]:
        """Its class."""
        with in_force(self.kinds.components):
            return family(self.package, tag_of(self.package))[self.kind]

    @property
    def path(self) -> KeyPath:
        """The first key of a scenario that takes one of its family."""
        return next(
            path
            for path, mark in marked_keys(Scenario, Choice)
            if mark.package == self.package and ANY not in path
        )

    def scenario(self) -> Scenario:
        """A small scenario that names it."""
        whole = tables("dpsgd", SCHEDULES["poisson"]) | DISC
        if self.path == ("data",):  # of a set of any size every node gets its part
            whole["data"] = {"partition": {"kind": "iid"}}
        if self.path[0] == "link":
            del whole["radio"]
        inner: dict[str, Any] = whole
        for key in self.path[:-1]:
            inner[str(key)] = dict(inner.get(str(key)) or {})
            inner = inner[str(key)]
        last = str(self.path[-1])
        shared = {"partition"} if self.path == ("data",) else set()
        kept = {key: value for key, value in (inner.get(last) or {}).items() if key in shared}
        inner[last] = {tag_of(self.package): self.kind, **kept, **self.keys}
        return from_dict(whole, f"test of {self.kind}", kinds=self.kinds)

    def made(self, scenario: Scenario) -> Any:
        """The component as a scenario has it."""
        value: Any = scenario
        for key in self.path:
            value = getattr(value, str(key))
        return value[0] if isinstance(value, tuple) else value


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
    """What `netsim.testing.families` has for its family, if it has anything."""
    name = f"netsim.testing.families.{case.package.removeprefix('netsim.').replace('.', '_')}"
    if importlib.util.find_spec(name) is not None:
        made = case.made(case.scenario())
        check = importlib.import_module(name).check
        check(made, case.folder) if case.path == ("data",) else check(made)


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
    with tempfile.TemporaryDirectory(prefix="netsim-testing-") as place:
        path = Path(place) / "scenario.toml"
        path.write_text(to_toml(scenario), encoding="utf-8")
        again = load(str(path), kinds=case.kinds)
    require(case.made(again) == case.made(scenario), "its keys are not those that were written")
