"""Files of a module and of those of its package that it imports: the source of a method."""

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from weakref import WeakKeyDictionary

from netsim.traces.input_files import InputFile

_OF_NETSIM = "netsim."

_imported: WeakKeyDictionary[ModuleType, tuple[InputFile, ...]] = WeakKeyDictionary()


def files_as_imported(module: ModuleType) -> tuple[InputFile, ...]:
    """The files of `source_files` as they were when a scenario with the module was first read.

    Who edits an algorithm while a run goes on changes what will be played, not what is.
    """
    if module not in _imported:
        _imported[module] = tuple(map(InputFile.of, source_files(module)))
    return _imported[module]


def source_files(module: ModuleType) -> list[Path]:
    """The file of an algorithm or component, then those of the same folder that it imports.

    Imports are read from the text, so that those inside functions count, too, and whatever these
    files import in turn. A module that is named only at run time (`importlib`) is not found.

    Parameters
    ----------
    module : module

    Returns
    -------
    list of Path
        Empty for a module without a file, as one made of objects.
    """
    file = getattr(module, "__file__", None)
    if not file:
        return []
    own = Path(file)
    package = module.__name__.rpartition(".")[0]
    if not package.startswith(_OF_NETSIM):  # an installed package reaches all of its own
        package = package.partition(".")[0]
    found, waiting = dict[Path, None](), [(module.__name__, own)]
    folder = _folder_of(package, own)
    while waiting:
        name, path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        within = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for wanted in _imports(path.read_bytes(), within):
            waiting += _files_of(wanted, package, folder)
    return [own, *sorted(path for path in found if path != own)]


def _folder_of(package: str, own: Path) -> Path:
    places = list(getattr(sys.modules.get(package), "__path__", ()))
    return Path(places[0]) if places else own.parent


@lru_cache(maxsize=256)
def _imports(source: bytes, package: str) -> tuple[str, ...]:
    """Full names that a file's text imports: of modules, and of what it takes from them."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


def _files_of(wanted: str, package: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the modules of a package on the way to a name, and one loaded from its folder."""
    if package and f"{wanted}.".startswith(f"{package}."):
        parts = wanted.split(".")
        for end in range(package.count(".") + 1, len(parts) + 1):
            inner = folder.joinpath(*parts[package.count(".") + 1 : end])
            name = ".".join(parts[:end])
            for path in (inner / "__init__.py", inner.parent / f"{inner.name}.py"):
                if path.is_relative_to(folder) and path.is_file():
                    yield name, path
        return
    loaded = getattr(sys.modules.get(wanted), "__file__", None)
    if isinstance(loaded, str) and folder.is_dir() and Path(loaded).is_relative_to(folder):
        yield wanted, Path(loaded)
