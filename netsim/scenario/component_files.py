"""Files of components: those of a folder of the user's own, and of installed packages.

A folder becomes a private package, so that its files may import helpers beside them
(`from ._common import ...`; names with a leading underscore are helpers, `test_*.py` are tests).
A file holds an algorithm (`Params` and `processes`) or a component (a class whose `kind` is the
file's name), or one of each family. Installed packages name a package of such files by an entry
point of the group `netsim.components`. No key of a scenario can name either.
"""

import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from netsim.errors import ProtocolError, ScenarioError
from netsim.protocols.flower import apps
from netsim.protocols.source_imports import SourceFinder
from netsim.registry import Component, family_of, shipped_family, tag_of, use_components
from netsim.scenario import forgotten_yields
from netsim.scenario.algorithm_contract import contract_problems, is_algorithm, with_own_params
from netsim.scenario.shipped import CHECKOUT_NAME, INSTALLED_NAME, algorithms_package

PREFIX = "netsim_components_"
"""Prefix of the private packages of users' folders."""

GROUP = "netsim.components"
"""The group of entry points by which an installed package names its own."""

_TESTS = ("test_", "conftest")
NOT_COMPONENTS = ("_", *_TESTS)
"""Prefixes of modules that hold neither algorithms nor components."""

sys.meta_path.insert(0, SourceFinder(lambda name: name.startswith(PREFIX)))

_authors: set[str] = {CHECKOUT_NAME, INSTALLED_NAME}
"""Packages of algorithms and components: what is wrong in them their authors can mend."""


@dataclass
class Found:
    """Components found so far, and their faults.

    Attributes
    ----------
    algorithms : dict of str to module
    components : dict of str to (dict of str to type of Component)
        Beside the shipped ones: by the package of their family, by name.
    problems, empty : list of str
        One a line; and words on folders without any, for a scenario that misses one.
    """

    algorithms: dict[str, ModuleType] = field(default_factory=dict)
    components: dict[str, dict[str, type[Component]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def raise_problems(self) -> None:
        """Raise ScenarioError with all that is wrong."""
        if self.problems:
            raise ScenarioError("\n".join(self.problems))


def shipped(only: Container[str] | None = None) -> Found:
    """The algorithms that ship with netsim; its components are found by their families.

    Parameters
    ----------
    only : container of str or None
        The names of those that are wanted.
    """
    found = Found()
    for name in shipped_names():
        if only is None or name in only:
            found.algorithms[name], problems = _shipped_algorithm(name)
            found.problems += problems
    return found


@cache
def _shipped_algorithm(name: str) -> tuple[ModuleType, list[str]]:
    """The module of an algorithm that ships with netsim, and its faults."""
    module = importlib.import_module(f"{algorithms_package().__name__}.{name}")
    return module, contract_problems(name, module)


def shipped_names() -> list[str]:
    """The names of the algorithms that ship with netsim."""
    return _names(algorithms_package())


def add_folder(found: Found, folder: Path) -> None:
    """Add what the files of a folder hold.

    Raises
    ------
    ScenarioError
        If it is no folder.
    """
    if not folder.is_dir():
        raise ScenarioError(f"--components {folder}: is not a folder")
    if apps.is_app(folder):  # a Flower app, imported where a run plays it
        apps.add_folder(folder)
        return
    name = package_of(folder)
    if name not in sys.modules:
        package = ModuleType(name, f"The components of {folder}.")
        package.__path__ = [str(folder.resolve())]
        sys.modules[name] = package
    importlib.invalidate_caches()
    if not _names(sys.modules[name]):
        below = ", ".join(sorted({str(path.parent) for path in folder.glob("*/*.py")}))
        words = f"--components {folder}: no component lies in it, a Python file NAME.py for each"
        found.empty.append(f"{words}; there are some in {below}" if below else words)
    _add_package(found, sys.modules[name], str(folder))


def package_of(folder: Path) -> str:
    """The name of the private package that a folder becomes: another one once its files change."""
    place = folder.resolve()
    digest = hashlib.blake2b(os.fsencode(place), digest_size=8)
    for path in _python_files(place):
        digest.update(os.fsencode(path.relative_to(place)) + b"\0")
        with suppress(OSError):  # its import says so
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{PREFIX}{digest.hexdigest()}"


def _python_files(place: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Files that a package in a folder may consist of; folders in it without any hold none.

    `above`: the folders that it lies in, which a link may lead back to.
    """
    found, here = sorted(place.glob("*.py")), place.resolve()
    if here in above:
        return
    yield from (path for path in found if not path.name.startswith(_TESTS))
    for inner in sorted(place.iterdir()) if found else ():
        if inner.name.isidentifier() and inner.is_dir():
            yield from _python_files(inner, (*above, here))


def folders() -> dict[str, Path]:
    """The users' folders that this process has read, by private package."""
    return {
        name: Path(module.__path__[0])
        for name, module in list(sys.modules.items())
        if name.startswith(PREFIX) and "." not in name
    }


def add_installed(found: Found, taken: Found) -> None:
    """Add what installed packages hold, but for what folders have taken the place of.

    Parameters
    ----------
    found : Found
        What of the packages has been found.
    taken : Found
        What folders named on the command line hold: they come before packages.
    """
    from importlib.metadata import entry_points  # here: only where a kind is not known

    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        where = f"entry point {point.name} of {GROUP}"
        try:
            package = point.load()
        except Exception as error:  # whatever a package raises when it is imported
            found.problems.append(f"{where}: {_not_imported(error)}")
            continue
        if not hasattr(package, "__path__"):
            found.problems.append(
                f'{where}: "{point.value}" is no package; name the package whose modules are '
                "components"
            )
            continue
        _add_package(found, package, where, taken)


def _add_package(found: Found, package: ModuleType, place: str, taken: Found | None = None) -> None:
    """Add what the modules of a package hold.

    Parameters
    ----------
    found : Found
    package : module
    place : str
        Where its files lie, for errors.
    taken : Found, optional
        What is left out.
    """
    _authors.add(package.__name__)
    tried_again: list[tuple[str, str]] = []
    with use_components(found.components):
        for name in _names(package):
            named = (name, f"{place}/{name}.py" if taken is None else f"{place}: {name}.py")
            try:
                _add_module(found, package, named, taken)
            except ProtocolError:  # it may declare a schedule that a later file holds
                tried_again.append(named)
        for named in tried_again:
            try:
                _add_module(found, package, named, taken)
            except ProtocolError as error:
                found.problems.append(f"{named[1]}: {_not_imported(error)}")
    for name, helper in list(sys.modules.items()):
        if name.startswith(f"{package.__name__}._"):
            where = f"{place}{'/' if taken is None else ': '}{Path(str(helper.__file__)).name}"
            found.problems += forgotten_yields.problems(where, helper)


def _add_module(
    found: Found, package: ModuleType, named: tuple[str, str], taken: Found | None
) -> None:
    """Add what one module holds.

    Parameters
    ----------
    found : Found
    package : module
    named : (str, str)
        The module's name in it, and what errors begin with.
    taken : Found or None
        What is left out.

    Raises
    ------
    ProtocolError
        If it declares what is not known, which may be in a file that has not been added yet.
    """
    name, where = named
    try:
        module = importlib.import_module(f"{package.__name__}.{name}")
    except ProtocolError:
        raise
    except Exception as error:  # whatever a user's file raises, the remedy is in the file
        found.problems.append(f"{where}: {_not_imported(error)}")
        return
    held = list(_components(module))
    for component in held:
        _add_component(found, component, named, taken)
    if is_algorithm(module) or not held:
        _add_algorithm(found, module, named, taken, bool(held))


def _components(module: ModuleType) -> Iterator[type[Component]]:
    """The components that a module defines; bases without a kind are none."""
    for value in list(vars(module).values()):
        if (
            inspect.isclass(value)
            and issubclass(value, Component)
            and value.__module__ == module.__name__
            and not value.__name__.startswith("_")
        ):
            yield value


def _add_component(
    found: Found, component: type[Component], named: tuple[str, str], taken: Found | None
) -> None:
    """Add one component.

    Parameters
    ----------
    found : Found
    component : type of Component
    named : (str, str)
        Its module's name, and what errors begin with.
    taken : Found or None
        What is left out.
    """
    name, where = named
    problem = component_problem(component, name)
    package = family_of(component)
    if problem is not None or package is None:
        found.problems.append(f"{where}: {problem}")
        return
    if name in shipped_family(package, tag_of(package)):
        found.problems.append(
            f'{where}: netsim ships a component "{name}" of that family ({package}); rename the '
            "file and its kind"
        )
    elif name in found.components.get(package, {}):
        other = inspect.getfile(found.components[package][name])
        found.problems.append(f"{where}: {other} holds one of that name, too; rename one of them")
    elif taken is None or name not in taken.components.get(package, {}):
        found.components.setdefault(package, {})[name] = component


def component_problem(component: type[Component], name: str) -> str | None:
    """Why a class can't be the component of that name; None: it can.

    Parameters
    ----------
    component : type of Component
    name : str
        That of its file.
    """
    package = family_of(component)
    label = f"class {component.__name__}"
    if package is None:
        return (
            f"{label}: belongs to no family; derive it from the base class of one, such as "
            "netsim.channels.fading.Fading (docs/components.md lists them)"
        )
    tag = tag_of(package)
    stated = component.model_fields.get(tag)
    if stated is None or stated.default != name:
        return f'{label}: write {tag}: Literal["{name}"] = "{name}": it is named as its file'
    lacking = sorted(getattr(component, "__abstractmethods__", ()))
    if lacking:
        return f"{label}: has no {', '.join(lacking)}, which {package} asks of each"
    return None


def _add_algorithm(
    found: Found,
    module: ModuleType,
    named: tuple[str, str],
    taken: Found | None,
    holds_components: bool,
) -> None:
    """Add an algorithm.

    Parameters
    ----------
    found : Found
    module : module
    named : (str, str)
        Its name, and what errors begin with.
    taken : Found or None
        What is left out.
    holds_components : bool
        Whether the module has something else that it can be for.
    """
    name, where = named
    if taken is not None and name in taken.algorithms:
        return
    if name in found.algorithms:
        other = found.algorithms[name]
        ours = other.__name__.startswith((f"{CHECKOUT_NAME}.", f"{INSTALLED_NAME}."))
        found.problems.append(
            f"{where}: netsim ships an algorithm of that name; rename the file"
            if ours
            else f"{where}: {other.__file__} is an algorithm of that name, too; rename one of them"
        )
        return
    problems = contract_problems(where, module) or forgotten_yields.problems(where, module)
    if len(problems) > 1 and not is_algorithm(module) and not holds_components:
        problems.append(
            f"{where}: is no algorithm, and no class in it has a kind; helpers have names that "
            "begin with an underscore"
        )
    found.problems += problems
    if not problems:
        found.algorithms[name] = with_own_params(module)


def _names(package: ModuleType) -> list[str]:
    return sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith(NOT_COMPONENTS)
    )


def _not_imported(error: Exception) -> str:
    at = f" ({line})" if (line := author_line(error)) else ""
    return f"cannot be imported: {type(error).__name__}: {error}{at}"


def author_line(error: BaseException | None) -> str:
    """`at FILE:LINE in FUNCTION: SOURCE`, the last line of an author's file that led to an error.

    The author of an algorithm or component can do more with it than with the library line where it
    ended. Empty where none is to blame.
    """
    authors = tuple(f"{name}." for name in _authors)
    found = ""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            module = str(trace.tb_frame.f_globals.get("__name__", ""))
            if module.startswith(authors):
                frame = traceback.extract_tb(trace, limit=1)[0]
                found = f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
            trace = trace.tb_next
        error = error.__cause__
    return found
