"""Algorithm modules: those there are, and what each declares."""

from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.node.decisions import Decides
from netsim.protocols.declaration import ANY_TASK, declaration_of
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


def tasks(module: ModuleType) -> tuple[str, ...] | None:
    """The tasks that an algorithm says it learns; None: it does not say."""
    return declaration_of(module.processes).tasks


def learns(module: ModuleType, task: type[Any]) -> bool:
    """Return whether an algorithm learns a task, as far as it says so.

    One that learns classifications learns every task whose samples have classes.
    """
    known = tasks(module)
    if known is None or ANY_TASK in known:
        return True
    kind = task.model_fields["kind"].default
    return kind in known or ("classification" in known and task.has_classes)


def needs_server(module: ModuleType) -> bool:
    """Return whether one node of role `server` has to be there."""
    return declaration_of(module.processes).needs_server


def allocates(module: ModuleType) -> bool:
    """Return whether the algorithm divides the band of cells."""
    return declaration_of(module.processes).allocates


def needs_values(module: ModuleType) -> bool:
    """Return whether the algorithm's course depends on values (so not with --timing-only)."""
    return declaration_of(module.processes).needs_values


def needs_validation(module: ModuleType, params: Any) -> bool:
    """Return whether every learning node must have validation samples, with these Params."""
    return declaration_of(module.processes).validates(params)


def needed_parts(module: ModuleType, params: Any) -> tuple[str, ...]:
    """Parts that each model has to have, with these Params."""
    return declaration_of(module.processes).parts(params)


def common_parts(module: ModuleType, params: Any) -> tuple[str, ...]:
    """Parts that have to have the same shapes in the models of all nodes, with these Params."""
    return declaration_of(module.processes).common(params)


def knows_servers(module: ModuleType) -> bool:
    """Return whether nodes of role `server` take part; if not, the others play without them."""
    return declaration_of(module.processes).knows_servers


def learns_itself(module: ModuleType) -> bool:
    """Return whether the algorithm brings its own learning, so that it needs no data or model."""
    return not declaration_of(module.processes).learns


def wakes(module: ModuleType) -> bool:
    """Return whether its nodes wait for wake-ups, so that the scenario needs a schedule."""
    return declaration_of(module.processes).wakes


def leaves_decisions(module: ModuleType) -> bool:
    """Return whether the algorithm leaves decisions to an agent."""
    return declaration_of(module.processes).decides is not None


def decisions(module: ModuleType, params: Any, roles: tuple[str, ...]) -> Decides | None:
    """Return the decisions that the algorithm leaves to an agent.

    Parameters
    ----------
    module : module
    params : Params
    roles : tuple of str
        Of the nodes.
    """
    declared = declaration_of(module.processes).decides
    return None if declared is None else declared(params, roles)


def mixes_to_one(module: ModuleType) -> bool:
    """Return whether the weights of each row that the algorithm logs sum to one."""
    return declaration_of(module.processes).mixes_to_one


def first_line(thing: object) -> str:
    """The first line of a thing's own docstring, or nothing."""
    text = vars(thing).get("__doc__") or ""
    return str(text).strip().partition("\n")[0].strip()
