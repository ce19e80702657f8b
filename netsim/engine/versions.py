"""What of this machine and its software decides the numbers of a run."""

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.backends.native import library
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
    """The file of an algorithm, and the helpers beside it that have been imported."""
    package = module.__name__.rpartition(".")[0] + "."
    helpers = [
        other
        for name, other in sorted(sys.modules.items())
        if name.startswith(f"{package}_") and other is not module
    ]
    files = [getattr(found, "__file__", None) for found in (module, *helpers)]
    return tuple(InputFile.of(Path(file)) for file in files if file)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
