"""Algorithm modules: those there are, and what each declares."""

from pathlib import Path
from types import ModuleType

from netsim.protocols.declaration import declaration_of
from netsim.scenario.kinds import Kinds, kinds_of


def algorithms(folder: Path | None = None) -> Kinds:
    """The algorithm modules by name, in alphabetical order; with the components of a folder.

    Raises
    ------
    ScenarioError
        If the folder or one of its files can't be used; lists every such problem.
    """
    return kinds_of(() if folder is None else (folder,))


def schedules(module: ModuleType) -> tuple[str, ...] | None:
    """The schedules an algorithm runs under; None: all of them."""
    return declaration_of(module.processes).schedules


def needs_values(module: ModuleType) -> bool:
    """Whether the algorithm's course depends on computed values (so not with --timing-only)."""
    return declaration_of(module.processes).needs_values


def knows_servers(module: ModuleType) -> bool:
    """Whether nodes of role `server` take part; if not, the others play without them."""
    return declaration_of(module.processes).knows_servers


def mixes_to_one(module: ModuleType) -> bool:
    """Whether the weights of each row that the algorithm logs sum to one."""
    return declaration_of(module.processes).mixes_to_one


def first_line(thing: object) -> str:
    """The first line of a thing's own docstring, or nothing."""
    text = vars(thing).get("__doc__") or ""
    return str(text).strip().partition("\n")[0].strip()
