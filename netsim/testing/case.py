"""A component under test, and the scenario that it is played in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsim.registry import Component, family, tag_of, use_components
from netsim.scenario import Scenario, from_dict
from netsim.scenario.draft import KeyPath
from netsim.scenario.file_paths import STATED, first_key
from netsim.scenario.kinds import Kinds
from netsim.testing.small_world import DISC, SCHEDULES, tables


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
    tables : mapping
        Other tables of the scenario that it is played in, such as another `[data]`.
    """

    kinds: Kinds
    package: str
    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def component(self) -> type[Component]:
        """Its class."""
        with use_components(self.kinds.components):
            return family(self.package, tag_of(self.package))[self.kind]

    @property
    def path(self) -> KeyPath:
        """The first key of a scenario that takes one of its family, or a list of them."""
        return first_key(self.package)

    def scenario(self) -> Scenario:
        """A small scenario that names it."""
        whole = tables("dpsgd", SCHEDULES["poisson"]) | DISC | dict(self.tables)
        if self.path == ("data",):  # of a set of any size every node gets its part
            whole["data"] = {"partition": {"kind": "iid"}}
        if self.path == ("energy", "harvest"):  # empty within the run
            step = {"kind": "per_step", "joules": 0.05}
            whole["energy"] = {"battery_j": 1.0, "compute": step, **whole.get("energy", {})}
        if self.path[0] == "link":
            del whole["radio"]
        inner: dict[str, Any] = whole
        for key in self.path[:-1]:
            inner[str(key)] = dict(inner.get(str(key)) or {})
            inner = inner[str(key)]
        last = str(self.path[-1])
        shared = {"partition"} if self.path == ("data",) else set()
        kept = {key: value for key, value in (inner.get(last) or {}).items() if key in shared}
        required = STATED.get(self.package, {})
        entry = {tag_of(self.package): self.kind, **required, **kept, **self.keys}
        inner[last] = [entry] if self.package in STATED else entry
        return from_dict(whole, f"test-{self.kind}", kinds=self.kinds)

    def made(self, scenario: Scenario) -> Any:
        """The component as a scenario has it."""
        value: Any = scenario
        for key in self.path:
            value = getattr(value, str(key))
        return value[0] if isinstance(value, tuple) else value
