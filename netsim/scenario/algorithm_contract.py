"""Requirements that make a module an algorithm, and errors about those that it misses."""

import inspect
from types import ModuleType

from netsim.registry import Table

RESERVED_PARAMS = ("kind", "name", "training", "stages", "set")
"""Keys of an [algorithm] table that are not Params; `validation_model` says what they are."""

OLD_CONSTANTS = {
    "SCHEDULES": "schedules",
    "KNOWS_SERVERS": "knows_servers",
    "NEEDS_VALUES": "needs_values",
}
"""Constants of a module that `@netsim.api.algorithm` has replaced, and its keywords."""


def is_algorithm(module: ModuleType) -> bool:
    """Return whether a module means to be an algorithm."""
    return hasattr(module, "Params") or hasattr(module, "processes")


def contract_problems(where: str, module: ModuleType) -> list[str]:
    """List the faults of an algorithm's module, one a line.

    Parameters
    ----------
    where : str
        Begins each line.
    module : module
    """
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


def with_own_params(module: ModuleType) -> ModuleType:
    """Give a module whose Params come from elsewhere a class of its own: a run finds it by that."""
    params = module.Params
    if params.__module__ != module.__name__:
        own = {"__module__": module.__name__, "__doc__": params.__doc__}
        module.Params = type(params)("Params", (params,), own)  # type: ignore[attr-defined]
    return module


def _old_declarations(where: str, module: ModuleType) -> list[str]:
    """List a module's declarations of a form that is not read; it would play by the defaults."""
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
