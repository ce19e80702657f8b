"""Scenarios in Python: read from a file or stated as tables, checked at once, never changed."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from netsim.campaign import grid
from netsim.campaign.sweep_points import points_of
from netsim.errors import ScenarioError
from netsim.python_api.arguments import as_path, require_ordered
from netsim.python_api.objects import Naming, Objects, dotted_key
from netsim.registry import did_you_mean
from netsim.scenario import Scenario as Tables
from netsim.scenario import check, draft_of, shipped, to_toml
from netsim.scenario.component_files import package_of
from netsim.scenario.draft import Draft
from netsim.scenario.file import without_none
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.kinds import Kinds, keys_on_disk, kinds_of, objects_in_force
from netsim.scenario.labels import shown
from netsim.terminal.progress import headline
from netsim.traces.bounded_toml import require_plain

STATED = "Scenario"
"""Name in errors of a scenario that no file states."""

Folders = str | Path | Iterable[str | Path]


class Scenario:
    """A scenario: what a file of it would state, validated; it never changes.

    Parameters
    ----------
    components : path or iterable of paths
        Folders of components of the user's own.
    **tables
        The tables and keys of a scenario file, as `nodes={"count": 20}` or `nodes__count=20`.
        Objects may stand where a file names a kind: an `nn.Module` class or a function that makes a
        model, arrays or a torch `Dataset`, a networkx graph, an algorithm's module or class, a
        component class.

    Raises
    ------
    ScenarioError
        With every problem found, one a line: key, value and remedy.

    Examples
    --------
    >>> scenario = Scenario(
    ...     horizon_s=60.0,
    ...     nodes={"count": 5},
    ...     exchange={"schedule": "rounds", "interval_s": 10.0},
    ...     data="digits",
    ...     model="mlp",
    ...     algorithm="fedavg",
    ... )
    >>> scenario.nodes.count
    5
    """

    __slots__ = ("_draft", "_folders", "_objects", "_packages", "_tables")

    def __init__(self, *, components: Folders = (), **tables: Any) -> None:
        draft = Draft(STATED, {"name": "scenario"})
        made = _changed(draft, Objects(), _paths(components), tables, names_changes=False)
        for name in Scenario.__slots__:
            object.__setattr__(self, name, getattr(made, name))

    @classmethod
    def _of(cls, draft: Draft, objects: Objects, folders: tuple[Path, ...]) -> "Scenario":
        """The scenario of a draft that names objects, and components of folders."""
        made = object.__new__(cls)
        for name, value in (("_draft", draft), ("_folders", folders), ("_objects", objects)):
            object.__setattr__(made, name, value)
        made._check()
        return made

    def _check(self) -> None:
        """Read the tables with the components of its folders as they are now."""
        packages = tuple(map(package_of, self._folders))
        with _known(self._objects, self._folders) as kinds:
            checked = check(self._draft, kinds)
        object.__setattr__(self, "_packages", packages)
        object.__setattr__(self, "_tables", checked)

    def replace(self, **changes: Any) -> "Scenario":
        """A new scenario with other values of some keys.

        Parameters
        ----------
        **changes
            As `Scenario` takes them; `radio__reachable=2` changes one key of a table and keeps the
            others, as does `radio={"reachable": 2}`. Another `kind` replaces its table. None takes
            a key or table away, as if the file had not stated it.

        Raises
        ------
        ScenarioError
            With every problem found, one a line: the change, key, value and remedy.
        """
        return _changed(self._draft, self._objects, self._folders, changes)

    @property
    def tables(self) -> Tables:
        """All tables with every default filled in, as `netsim.world.build` takes them.

        Where files of its components have changed since, they are read anew.
        """
        if self._packages != tuple(map(package_of, self._folders)):
            self._check()
        tables: Tables = self._tables
        return tables

    @property
    def stated(self) -> dict[str, Any]:
        """The tables and keys that a file, its base and changes state, without any default."""
        tables: dict[str, Any] = self._draft.copy().raw
        return tables

    def points(self) -> dict[str, "Scenario"]:
        """The points of its sweep by label, each a scenario without `[sweep]`; else itself alone.

        A label is the name of the point's folder; of a search these are the points of its grid.
        """
        sweep = self.tables.sweep
        if sweep is None:
            return {"base": self}
        return {
            point.label: Scenario._of(
                grid.at_point(self._draft, point), self._objects, self._folders
            )
            for point in points_of(sweep.over)
        }

    def to_toml(self) -> str:
        """The text of the scenario as a file, every value resolved, with objects by their names."""
        return to_toml(self.tables)

    def __getattr__(self, name: str) -> Any:
        if name in Tables.model_fields:
            return getattr(self.tables, name)
        raise AttributeError(
            f"a scenario has no table {name}" + did_you_mean(name, Tables.model_fields)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"a scenario never changes; scenario.replace({name}=...) gives another one"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"a scenario never changes; scenario.replace({name}=None) gives another one"
        )

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *Tables.model_fields})

    def __eq__(self, other: object) -> bool:
        """Return whether all keys, stated or not, are equal, and objects the same."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return (
            self.to_toml() == other.to_toml()
            and self._objects == other._objects
            and self._folders == other._folders
        )

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __copy__(self) -> "Scenario":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Scenario._of, parts(self)

    def __deepcopy__(self, memo: Any) -> "Scenario":
        return self

    def __repr__(self) -> str:
        names = ", ".join(entry.name for entry in self.tables.algorithm)
        return f"<Scenario {self.tables.name}: {headline(self.tables)} · {names}>"


def load(scenario: str | Path, /, *, components: Folders = (), **overrides: Any) -> Scenario:
    """Read a scenario file, or a shipped scenario by its name, and change some of its keys.

    Parameters
    ----------
    scenario : str or Path
        A file, or a name such as `quickstart` (`netsim list scenarios` lists them).
    components : path or iterable of paths
        Folders of components of the user's own.
    **overrides
        As `Scenario.replace` takes them.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        With every problem found, one a line: file or override, key, value and remedy.

    Examples
    --------
    >>> load("quickstart", horizon_s=100.0, radio__reachable=2).radio.reachable
    2.0
    """
    folders = _paths(components)
    draft = draft_of(str(as_path(scenario, "scenario")), (), kinds_of(folders))
    return _changed(draft, Objects(), folders, overrides)


def scenarios() -> dict[str, str]:
    """The shipped scenarios by name, each with a sentence on what it shows."""
    found = shipped.scenarios(shipped.scenarios_folder())
    return {name: shipped.first_sentence(path) for name, path in found.items()}


def as_scenario(scenario: Scenario | str | Path, algorithms: Iterable[Any] | None) -> Scenario:
    """A scenario, read from a file if necessary, with other algorithms if any are given."""
    if isinstance(scenario, str | Path):
        scenario = load(scenario)
    if not isinstance(scenario, Scenario):
        raise TypeError(
            f"{scenario!r} is no scenario; give one that netsim.load or netsim.Scenario made, a "
            "file, or a shipped scenario's name"
        )
    if algorithms is None:
        return scenario
    if isinstance(algorithms, str | Mapping) or not isinstance(algorithms, Iterable):
        raise ScenarioError(
            f"algorithms = {algorithms!r}: must be a list, also of one algorithm: [{algorithms!r}]"
        )
    require_ordered(algorithms, "algorithms")
    return scenario.replace(algorithm=list(algorithms))


def kinds_for(scenario: Scenario) -> AbstractContextManager[Kinds]:
    """Open the kinds that a scenario can name, with its objects, as a context manager."""
    return _known(scenario._objects, scenario._folders)


def parts(scenario: Scenario) -> tuple[Draft, Objects, tuple[Path, ...]]:
    """A scenario before validation, its objects, and the folders of its components."""
    return scenario._draft, scenario._objects, scenario._folders


@contextmanager
def _known(objects: Objects, folders: tuple[Path, ...]) -> Iterator[Kinds]:
    with objects_in_force(tuple(objects.components.values()), objects.algorithms):
        yield kinds_of(folders)


def _paths(components: Folders) -> tuple[Path, ...]:
    if isinstance(components, str | Path):
        components = (components,)
    return tuple(as_path(folder, "components") for folder in components)


def _changed(
    draft: Draft,
    objects: Objects,
    folders: tuple[Path, ...],
    changes: Mapping[str, Any],
    names_changes: bool = True,
) -> Scenario:
    """A scenario with changes by key path (parts joined by `__` or dots) laid over a draft.

    `names_changes`: errors about a key name the change beside it.
    """
    own, naming = draft.copy(), Naming()
    problems: list[str] = []
    stated: list[tuple[str, str, Any]] = []
    for key, value in changes.items():
        path, label = dotted_key(key), f"{key}={shown(value)}" if names_changes else draft.path
        try:
            plain = naming.plain(value, tuple(path.split(".")))
            require_plain({path: plain}, label)
            stated.append((path, label, plain))
        except ScenarioError as error:
            problems += [f"{label}: {line}" for line in str(error).splitlines()]
    objects = objects.or_those_of(naming.found)
    with _known(objects, folders) as kinds:
        named = keys_on_disk(kinds)
    assigned: list[tuple[str, Any, str]] = []
    for path, label, value in stated:
        if isinstance(own.raw.get(path), list) and isinstance(value, dict) and "kind" in value:
            value = [value]  # one entry in place of all
        try:
            found = with_absolute_paths(value, Path(), named, tuple(path.split(".")))
            assigned.append((path, found, label))
        except ScenarioError as error:
            problems.append(str(error))
    try:
        own.assign_all(assigned)
    except ScenarioError as error:
        problems.append(str(error))
    if problems:
        raise ScenarioError("\n".join(problems))
    own.raw = without_none(own.raw)
    return Scenario._of(own, objects, folders)
