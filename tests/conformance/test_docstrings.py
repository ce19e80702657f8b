"""Functions of three arguments or more describe them: shapes, units, meaning."""

import importlib
import inspect
import pkgutil

import netsim

LEAST = 3
SKIPPED = {"netsim.__main__", "netsim.console.app"}
"""Modules without functions to call: the docstrings of commands are their help texts."""

MODULES = [
    info.name
    for info in pkgutil.walk_packages(netsim.__path__, "netsim.")
    if info.name not in SKIPPED
    and not info.name.startswith("netsim.algorithms")
    and not info.name.endswith("._kernel")  # a compiled library, no module
]


def arguments(function) -> int:
    return sum(name not in ("self", "cls") for name in inspect.signature(function).parameters)


def explains(function) -> bool:
    """Return whether a docstring has the section, or names the verb of `Node` that has it."""
    text = inspect.getdoc(function) or ""
    return "Parameters\n---" in text or text.startswith("See `Node.")


def functions(module):
    """(name, function, the same function of base classes) of what a module defines in public."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") != module.__name__ or name.startswith("_"):
            continue
        if inspect.isfunction(value):
            yield name, value, []
        elif inspect.isclass(value):
            for method, inner in vars(value).items():
                function = getattr(inner, "__func__", inner)
                if inspect.isfunction(function) and not method.startswith("_"):
                    bases = [getattr(base, method, None) for base in value.__mro__[1:]]
                    yield f"{name}.{method}", function, [b for b in bases if b is not None]


def test_a_function_of_three_arguments_says_what_they_are():
    silent = [
        f"{name}: {label}"
        for name in MODULES
        for label, function, bases in functions(importlib.import_module(name))
        if arguments(function) >= LEAST and not any(explains(each) for each in [function, *bases])
    ]
    assert silent == []
