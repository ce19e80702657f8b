"""Versions of the machine and its software that decide the numbers of a run."""

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.backends.native import library
from netsim.registry import Component, Table
from netsim.scenario import Scenario
from netsim.traces.input_files import InputFile

PACKAGES = ("torch", "numpy", "scipy", "simpy", "pyarrow")


def versions() -> dict[str, Any]:
    """Versions of netsim, Python and libraries, as `environment.json` holds them."""
    return {
        "netsim": _version("netsim-dfl"),
        "netsim_sources_sha256": sources_sha256(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": platform.machine(),
        "native_kernel": library.described(),
    }


@cache
def sources_sha256() -> str:
    """The SHA-256 of netsim's own modules: a version number says little of a checkout."""
    [top] = importlib.util.find_spec("netsim").submodule_search_locations or [""]  # type: ignore[union-attr]
    folder, digest = Path(top), hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def algorithm_files(module: ModuleType) -> tuple[InputFile, ...]:
    """The file of an algorithm or component, and the helpers beside it that have been imported."""
    package = module.__name__.rpartition(".")[0] + "."
    helpers = [
        other
        for name, other in sorted(
            item for item in sys.modules.items() if item[0].startswith(f"{package}_")
        )
        if other is not module
    ]
    files = [getattr(found, "__file__", None) for found in (module, *helpers)]
    return tuple(InputFile.of(Path(file)) for file in files if file)


def component_files(scenario: Scenario) -> tuple[InputFile, ...]:
    """The files of the user's own components that a scenario names, and helpers beside them."""
    modules = {
        base.__module__
        for component in components_in(scenario)
        for base in type(component).__mro__
        if issubclass(base, Component) and not base.__module__.startswith("netsim.")
    }
    found = [algorithm_files(sys.modules[name]) for name in sorted(modules)]
    return tuple(dict.fromkeys(file for files in found for file in files))


def components_in(value: Any) -> Iterator[Component]:
    """The components in a table of a scenario, those inside others included."""
    if isinstance(value, Component):
        yield value
    if isinstance(value, Table):
        for key in type(value).model_fields:
            yield from components_in(getattr(value, key))
    elif isinstance(value, tuple):
        for entry in value:
            yield from components_in(entry)


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
