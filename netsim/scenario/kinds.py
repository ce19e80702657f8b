"""Components that scenarios can name: shipped, a user's own, and those of installed packages."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from netsim.errors import ScenarioError
from netsim.registry import (
    TAGS,
    Added,
    Choice,
    Component,
    OnDisk,
    family_of,
    shipped_family,
    tag_of,
)
from netsim.scenario import component_files
from netsim.scenario.component_files import Found, component_problem
from netsim.scenario.draft import KeyPath
from netsim.scenario.extension import extended
from netsim.scenario.file_paths import ANY, marked_keys, path_keys
from netsim.scenario.tables import Scenario

Named = tuple[tuple[str, type[Component]], ...]
State = tuple[tuple[tuple[str, ModuleType], ...], tuple[tuple[str, Named], ...]]


class Kinds(Mapping[str, ModuleType]):
    """The algorithms that there are, by name; and the components beside the shipped ones.

    What installed packages hold (entry points of the group `netsim.components`) is read when a
    scenario names a kind that is not known otherwise, and then once.

    Parameters
    ----------
    algorithms : mapping of str to module
    components : mapping of str to (mapping of str to type of Component)
        By the package of their family, by name.
    empty : sequence of str
        Words on folders that hold no component, for a scenario that misses one.
    """

    def __init__(
        self,
        algorithms: Mapping[str, ModuleType],
        components: Added | None = None,
        empty: Sequence[str] = (),
    ):
        self._found = Found(dict(algorithms), empty=list(empty))
        for package, members in (components or {}).items():
            self._found.components[package] = dict(members)
        self._installed = False

    def __getitem__(self, name: str) -> ModuleType:
        return self._found.algorithms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found.algorithms))

    def __len__(self) -> int:
        return len(self._found.algorithms)

    @property
    def components(self) -> Added:
        """Components beside the shipped ones: by the package of their family, by name."""
        return self._found.components

    @property
    def empty(self) -> Sequence[str]:
        """See the class."""
        return self._found.empty

    def state(self) -> State:
        """All of it as a value that can be a key: equal for equal kinds."""
        added = (
            (package, tuple((name, members[name]) for name in sorted(members)))
            for package, members in sorted(self.components.items())
        )
        return tuple(sorted(self._found.algorithms.items())), tuple(added)

    def tables(self) -> type[Scenario]:
        """The tables of a scenario, whose choices have all these kinds; `[algorithm]` apart."""
        return _tables(self.state()[1])

    def plus(self, *components: type[Component], **algorithms: ModuleType) -> "Kinds":
        """These and more, for a caller that has classes and modules rather than files.

        Parameters
        ----------
        *components : type of Component
            Each states its name as the default of its `kind` (of a schedule: `schedule`).
        **algorithms : module
            By the name that a scenario calls them.

        Raises
        ------
        ScenarioError
            If one can't be a component, or there is one of its name.
        """
        added = {package: dict(members) for package, members in self.components.items()}
        problems = []
        for component in components:
            package = family_of(component)
            tag = "kind" if package is None else tag_of(package)
            name = str(getattr(component.model_fields.get(tag), "default", component.__name__))
            problem = component_problem(component, name)
            if problem is None and package is not None:
                if name in shipped_family(package, tag) or name in added.get(package, {}):
                    problem = f'there is a "{name}" in {package}; give it another {tag}'
                added.setdefault(package, {})[name] = component
            problems += [problem] if problem else []
        problems += [
            f"there is an algorithm {name}; name it otherwise" for name in self.keys() & algorithms
        ]
        if problems:
            raise ScenarioError("\n".join(problems))
        more = Kinds({**self, **algorithms}, added, self.empty)
        more._installed = self._installed
        return more

    def read_installed(self) -> bool:
        """Add what installed packages hold; whether there was anything new.

        Raises
        ------
        ScenarioError
            If one of them can't be used.
        """
        if self._installed:
            return False
        self._installed = True
        packages = Found(dict(component_files.shipped().algorithms))
        component_files.add_installed(packages, self._found)
        packages.raise_problems()
        before = self.state()
        for name, module in packages.algorithms.items():
            self._found.algorithms.setdefault(name, module)
        for package, members in packages.components.items():
            own = self._found.components.setdefault(package, {})
            for name, component in members.items():
                own.setdefault(name, component)
        return self.state() != before

    def look_for(self, tables: Any) -> bool:
        """Read installed packages if tables name a kind that no family has; whether that helped."""
        if self._installed or _named(tables) <= self._names():
            return False
        return self.read_installed()

    def _names(self) -> set[str]:
        own = (name for members in self.components.values() for name in members)
        return {*self, *own, *_shipped_names()}


_objects: ContextVar[tuple[tuple[type[Component], ...], Mapping[str, ModuleType]]] = ContextVar(
    "objects", default=((), {})
)


@contextmanager
def objects_in_force(
    components: Iterable[type[Component]], algorithms: Mapping[str, ModuleType]
) -> Iterator[None]:
    """Let `kinds_of` find classes and modules that lie in no folder, in this thread, until left."""
    token = _objects.set((tuple(components), algorithms))
    try:
        yield
    finally:
        _objects.reset(token)


def kinds_of(folders: Iterable[Path] = ()) -> Kinds:
    """Return the kinds that scenarios can name, with those of these folders of the user's own.

    Parameters
    ----------
    folders : iterable of Path
        As `--components DIR` gives them.

    Raises
    ------
    ScenarioError
        If a folder or one of its files can't be used; lists every such problem.
    """
    found = component_files.shipped()
    for folder in folders:
        component_files.add_folder(found, folder)
    found.raise_problems()
    components, algorithms = _objects.get()
    kinds = Kinds(found.algorithms, found.components, found.empty)
    return kinds.plus(*components, **algorithms)


def as_kinds(modules: Mapping[str, ModuleType]) -> Kinds:
    """Algorithm modules by name as `Kinds`, which they may be already."""
    return modules if isinstance(modules, Kinds) else Kinds(modules)


_with_objects: WeakValueDictionary[Any, type[Scenario]] = WeakValueDictionary()
"""Tables with kinds that are objects, which hold arrays and models: as long as a scenario does."""


def _tables(added: tuple[tuple[str, Named], ...]) -> type[Scenario]:
    """The tables of a scenario with more kinds; the last eight with kinds of files are kept."""
    if not any(map(_is_object, (kind for _, members in added for _, kind in members))):
        return _extended(added)
    found = _with_objects.get(added)
    if found is None:
        found = _with_objects[added] = _extended.__wrapped__(added)
    return found


def _is_object(component: type[Component]) -> bool:
    """Return whether a class is none that a module has under its name."""
    module = sys.modules.get(component.__module__)
    return getattr(module, component.__name__, None) is not component


@lru_cache(maxsize=8)
def _extended(added: tuple[tuple[str, Named], ...]) -> type[Scenario]:
    return extended(Scenario, {package: dict(members) for package, members in added})


def keys_on_disk(modules: Mapping[str, ModuleType]) -> dict[KeyPath, OnDisk]:
    """The key paths of everything on disk that a scenario with these kinds may name.

    Of `[algorithm]` they are those of the Params of all algorithms together.
    """
    kinds = as_kinds(modules)
    found = path_keys(kinds.tables())
    for module in kinds.values():
        for key, mark in path_keys(module.Params).items():
            for table in (("algorithm",), ("algorithm", ANY)):  # one, or one of several
                found[(*table, *key)] = mark
    return found


@cache
def _shipped_names() -> frozenset[str]:
    """The names of all shipped components."""
    chosen = [mark for _, mark in marked_keys(Scenario, Choice)]
    return frozenset(name for mark in chosen for name in shipped_family(mark.package, mark.tag))


def _named(tables: Any) -> set[str]:
    """All texts that may name a kind: values of the tags, and of swept tags their lists."""
    if isinstance(tables, list):
        return set().union(*map(_named, tables)) if tables else set()
    found: set[str] = set()
    for key, value in tables.items() if isinstance(tables, dict) else ():
        if key.rpartition(".")[2] in TAGS:
            found |= {
                text
                for text in (value if isinstance(value, list) else [value])
                if isinstance(text, str)
            }
        found |= _named(value)
    return found
