"""Algorithm modules, found by file name: the shipped package and a folder of the user's own.

A user's folder becomes a private package, so that its files may import helpers beside them
(`from ._common import ...`; names with a leading underscore are not algorithms).
"""

import hashlib
import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.errors import ScenarioError
from netsim.protocols.declaration import ANY_TASK, declaration_of
from netsim.registry import Table
from netsim.scenario.shipped import CHECKOUT_NAME, INSTALLED_NAME, algorithms_package

RESERVED_PARAMS = ("kind", "name", "training", "stages")
"""Keys of an [algorithm] table that are not Params; `validation_model` says what they are."""

OLD_CONSTANTS = {
    "SCHEDULES": "schedules",
    "KNOWS_SERVERS": "knows_servers",
    "NEEDS_VALUES": "needs_values",
}
"""Constants of a module that `@netsim.api.algorithm` has replaced, and its keywords."""

PREFIX = "netsim_algorithms_"
"""What the private packages of users' folders are called."""

_AUTHORS = (f"{CHECKOUT_NAME}.", f"{INSTALLED_NAME}.", PREFIX)
"""How the full names of algorithm modules begin."""


def algorithms(folder: Path | None = None) -> dict[str, ModuleType]:
    """The algorithm modules by name, in alphabetical order.

    Parameters
    ----------
    folder : Path or None
        A folder of further algorithm files (`--algorithms DIR`).

    Returns
    -------
    dict of str to module

    Raises
    ------
    ScenarioError
        If the folder or one of its files can't be used; lists every such problem.
    """
    shipped = algorithms_package()
    found = {
        name: importlib.import_module(f"{shipped.__name__}.{name}") for name in _names(shipped)
    }
    problems = [p for name, module in found.items() for p in _contract_problems(name, module)]
    if folder is not None:
        package = _package(folder)
        for name in _names(package):
            where = f"{folder / name}.py"
            if name in found:
                problems.append(f"{where}: netsim ships an algorithm of that name; rename the file")
                continue
            try:
                module = importlib.import_module(f"{package.__name__}.{name}")
            except Exception as error:  # whatever a user's file raises, the remedy is in the file
                at = f" ({line})" if (line := author_line(error)) else ""
                problems.append(f"{where}: cannot be imported: {type(error).__name__}: {error}{at}")
                continue
            problems += _contract_problems(where, module)
            found[name] = module
    if problems:
        raise ScenarioError("\n".join(problems))
    for module in found.values():
        _own_params(module)
    return dict(sorted(found.items()))


def schedules(module: ModuleType) -> tuple[str, ...] | None:
    """The schedules an algorithm runs under; None: all of them."""
    return declaration_of(module.processes).schedules


def tasks(module: ModuleType) -> tuple[str, ...] | None:
    """The tasks that an algorithm says it learns; None: it does not say."""
    return declaration_of(module.processes).tasks


def learns(module: ModuleType, task: type[Any]) -> bool:
    """Whether an algorithm learns a task, as far as it says so.

    One that learns classifications learns every task whose samples have classes.
    """
    known = tasks(module)
    if known is None or ANY_TASK in known:
        return True
    kind = task.model_fields["kind"].default
    return kind in known or ("classification" in known and task.has_classes)


def needs_values(module: ModuleType) -> bool:
    """Whether the algorithm's course depends on computed values (so not with --timing-only)."""
    return declaration_of(module.processes).needs_values


def knows_servers(module: ModuleType) -> bool:
    """Whether nodes of role `server` take part; if not, the others play without them."""
    return declaration_of(module.processes).knows_servers


def mixes_to_one(module: ModuleType) -> bool:
    """Whether the weights of each row that the algorithm logs sum to one."""
    return declaration_of(module.processes).mixes_to_one


def author_line(error: BaseException | None) -> str:
    """`at FILE:LINE in FUNCTION: SOURCE`, the last line of an algorithm that led to an error.

    An algorithm's author can do more with it than with the library line where it ended. Empty
    where no algorithm is to blame.
    """
    found = ""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            module = str(trace.tb_frame.f_globals.get("__name__", ""))
            if module.startswith(_AUTHORS):
                frame = traceback.extract_tb(trace, limit=1)[0]
                found = f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
            trace = trace.tb_next
        error = error.__cause__
    return found


def first_line(thing: object) -> str:
    """The first line of a thing's own docstring, or nothing."""
    text = vars(thing).get("__doc__") or ""
    return str(text).strip().partition("\n")[0].strip()


def _names(package: ModuleType) -> Iterable[str]:
    return sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
    )


def _package(folder: Path) -> ModuleType:
    if not folder.is_dir():
        raise ScenarioError(f"--algorithms {folder}: is not a folder")
    digest = hashlib.blake2b(str(folder.resolve()).encode(), digest_size=4).hexdigest()
    name = f"{PREFIX}{digest}"
    if name not in sys.modules:
        package = ModuleType(name, f"The algorithms of {folder}.")
        package.__path__ = [str(folder.resolve())]
        sys.modules[name] = package
    importlib.invalidate_caches()
    return sys.modules[name]


def _own_params(module: ModuleType) -> None:
    """Give a module whose Params come from elsewhere a class of its own: a run finds it by that."""
    params = module.Params
    if params.__module__ != module.__name__:
        own = {"__module__": module.__name__, "__doc__": params.__doc__}
        module.Params = type(params)("Params", (params,), own)  # type: ignore[attr-defined]


def _contract_problems(where: str, module: ModuleType) -> list[str]:
    params = getattr(module, "Params", None)
    problems = []
    if not (inspect.isclass(params) and issubclass(params, Table)):
        problems.append(f"{where}: has no class Params(netsim.api.Params)")
    else:
        clash = [key for key in RESERVED_PARAMS if key in params.model_fields]
        if clash:
            problems.append(f"{where}: Params.{clash[0]} is taken by the scenario; rename it")
    if not callable(getattr(module, "processes", None)):
        problems.append(f"{where}: has no function processes(node, params)")
    return problems + _old_declarations(where, module)


def _old_declarations(where: str, module: ModuleType) -> list[str]:
    """What a module states in a way that nobody reads: it would play by the defaults."""
    problems = []
    for name, keyword in OLD_CONSTANTS.items():
        if name in vars(module):
            written = f"{keyword}={vars(module)[name]!r}"
            problems.append(
                f"{where}: {name} is not read: write @netsim.api.algorithm({written}) above "
                "processes"
            )
    for name, value in vars(module).items():
        if inspect.isfunction(value) and "uniforms" in vars(value):
            problems.append(
                f"{where}: {name}.uniforms is not read: write "
                f"@netsim.api.loss(uniforms={vars(value)['uniforms']!r}) above it"
            )
    return problems
