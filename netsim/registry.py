"""Components: frozen tables of a scenario, found by file name.

A family is a package (`netsim.channels.fading`); every public module in it holds one `Component`
subclass whose `kind` is the module's name. Adding one is adding a file, here or in a folder of the
user's own, whose components `use_components` adds to the shipped ones while it is entered.
"""

import difflib
import importlib
import inspect
import math
import operator
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, reduce
from itertools import islice
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field


def _require_lasting(seconds: float) -> float:
    if seconds < 1e-9:
        raise ValueError("must be at least 1e-9: the clock counts nanoseconds")
    return seconds


def _require_computable(value: float) -> float:
    if value and not 1e-30 <= abs(value) <= 1e30:
        raise ValueError("its size must be from 1e-30 to 1e30: beyond, formulas overflow")
    return value


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_require_computable)]
Duration = Annotated[Positive, AfterValidator(_require_lasting)]
"""Seconds after which something happens: time would stand still if they were no tick."""
NonNegative = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(_require_computable)
]
Span = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""Seconds that sending takes beside the bits: preambles, gaps, delays."""
BitRate = Annotated[float, Field(ge=1e-9, le=1e15, allow_inf_nan=False)]
"""Bits a second: of any other rate a packet takes no time, or for ever."""
Bits = Annotated[int, Field(ge=1, le=10**12)]
HeaderBytes = Annotated[int, Field(ge=0, le=10**9)]
Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_require_computable)]
Decibels = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
"""A level or a ratio in dB or dBm; beyond, its linear value has no number."""
Loss = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
"""A loss or a spread in dB."""
Height = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
"""Metres above the ground."""
Joules = Annotated[float, Field(ge=1e-6, le=1e30, allow_inf_nan=False)]
"""Of a battery: less is drawn within a tick of the clock."""
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MOST = 2**63 - 1
"""Whole numbers become those of 64 bits."""
Count = Annotated[int, Field(ge=1, le=MOST)]
Index = Annotated[int, Field(ge=0, le=MOST)]


@dataclass(frozen=True)
class Recurs:
    """Annotation of a key that says how often something happens again; too often is refused.

    Attributes
    ----------
    what : str
        What happens, in the plural.
    per_node : bool
        Whether it happens to each node.
    rate : bool
        Whether the key is a rate [1/s]; else it is a period [s].
    most : float
        How many times it may happen within the horizon: a million events take seconds.
    """

    what: str
    per_node: bool = False
    rate: bool = False
    most: float = 1e9


@dataclass(frozen=True)
class Plausible:
    """Annotation of a number that is possible beyond some limit, and there most often a slip.

    Whoever plays it is told (`netsim.scenario.plausibility`): in `netsim validate`, `netsim run`
    and the page of a run.

    Attributes
    ----------
    least, most : float
        The limits, in the key's unit.
    why : str
        What is beyond them, in a few words.
    in_run : bool
        Whether it is a time [s], or a rate [1/s], that is as long as the run at most.
    """

    least: float = -math.inf
    most: float = math.inf
    why: str = ""
    in_run: bool = False


@dataclass(frozen=True)
class OffClock:
    """Annotation of a key in seconds that enters formulas alone, so that it may be below 1 ns.

    Any other key whose name ends in `_s` is zero or at least a tick of the clock, 1e-9.
    """


@dataclass(frozen=True)
class Needs:
    """Annotation of an algorithm's key that takes more of the data where it is set.

    Attributes
    ----------
    what : "images" or "classes"
        Images (C, H, W) of one class each, or samples of one class each.
    """

    what: Literal["images", "classes"]


@dataclass(frozen=True)
class OnDisk:
    """Annotation of a key that names something on disk; `netsim.scenario` resolves such keys.

    Attributes
    ----------
    what : "file" or "folder"
    """

    what: Literal["file", "folder"]


FilePath = Annotated[str, OnDisk("file")]
"""A file: beside the scenario file that names it, else below the data folder, else as it stands."""
FolderPath = Annotated[str, OnDisk("folder")]
"""A folder, relative to the scenario file that names it."""


class Renamed(AliasChoices):
    """Names of a key, for `Field(validation_alias=...)`: today's, and those of earlier versions.

    All are read; a scenario that states a former one is remarked on
    (`netsim.scenario.former_names`).

    Parameters
    ----------
    name : str
        Today's, which is that of the field.
    *former : str
    since : str
        The version that gave the key its name, such as "0.2.0".
    """

    def __init__(self, name: str, *former: str, since: str) -> None:
        super().__init__(name, *former)
        self.name, self.former, self.since = name, former, since

    @property
    def until(self) -> str:
        """The version that reads today's name alone: two minor versions later."""
        major, minor, _ = self.since.split(".")
        return f"{major}.{int(minor) + 2}.0"


class Table(BaseModel):
    """A table of a scenario file: frozen, and unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,  # most tables are only read as parts of a scenario's
    )

    @classmethod
    def laid_below(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keys that a table as written has by one of its others, such as a preset's name."""
        return {}

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Build at once what a user's file defines, so that its error names the line there."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] not in ("netsim", "algorithms"):
            cls.model_rebuild(raise_errors=False)

    def changed(self, keys: Iterable[str]) -> list[str]:
        """Select the keys that do not have their default, in alphabetical order.

        A validator refuses by it what has no meaning; a key with its default, as the resolved
        scenario of a run states it, is none of these.
        """
        known = type(self).model_fields
        return sorted(
            key
            for key in keys
            if getattr(self, key) != known[key].get_default(call_default_factory=True)
        )

    def unread_keys(self) -> Mapping[str, str]:
        """Keys that nothing reads, as the others of this table are, and why.

        Those that do not have their default are remarked on before the run and on its page.
        """
        return {}


T = TypeVar("T")


def once_a_class(of: Callable[..., T]) -> Callable[..., T]:
    """Remember what a function of a class gives, as long as there is the class.

    `of`: takes the class first; what it gives holds none of the class.
    """
    given: WeakKeyDictionary[type, dict[Any, T]] = WeakKeyDictionary()

    def known(table: type, *rest: Any) -> T:
        own = given.setdefault(table, {})
        if rest not in own:
            own[rest] = of(table, *rest)
        return own[rest]

    return known


def renamed_keys(table: type[BaseModel]) -> Iterator[Renamed]:
    """The keys of a table that have had other names."""
    for info in table.model_fields.values():
        if isinstance(info.validation_alias, Renamed):
            yield info.validation_alias


class Component(Table):
    """A table that is chosen by its tag; a subclass states `kind: Literal["its_file_name"]`."""


def kind_of(component: Component) -> str:
    """A component's name in a scenario; of one made in Python that states none, its class's."""
    return str(getattr(component, "kind", type(component).__name__))


def public_modules(package: str) -> dict[str, ModuleType]:
    """The public modules of a package by name, in alphabetical order."""
    root = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(root.__path__))
    return {name: importlib.import_module(f"{package}.{name}") for name in names if name[0] != "_"}


TAGS = ("kind", "schedule")
"""The keys that choose a component; a family has one of them."""

Added = Mapping[str, Mapping[str, type[Component]]]
"""Components beside the shipped ones: by the package of their family, then by name."""

_added: ContextVar[Added] = ContextVar("added", default=MappingProxyType({}))


@contextmanager
def use_components(added: Added) -> Iterator[None]:
    """Let `family` find components beside the shipped ones, in this thread, until it is left."""
    token = _added.set(added)
    try:
        yield
    finally:
        _added.reset(token)


def family(package: str, tag: str = "kind") -> dict[str, type[Component]]:
    """The components of a package by name, in alphabetical order; those in force are among them."""
    shipped = shipped_family(package, tag)
    added = _added.get().get(package)
    return dict(sorted({**shipped, **added}.items())) if added else shipped


@cache
def shipped_family(package: str, tag: str = "kind") -> dict[str, type[Component]]:
    """The components that lie in a package, by name, in alphabetical order."""
    found: dict[str, type[Component]] = {}
    for name, module in public_modules(package).items():
        for value in vars(module).values():
            if (
                inspect.isclass(value)
                and issubclass(value, Component)
                and value.__module__ == module.__name__
                and tag in value.model_fields
            ):
                found[name] = value
    return found


def tag_of(package: str) -> str:
    """The key that chooses from a family: `kind`, or what its components state instead."""
    return next((tag for tag in TAGS if shipped_family(package, tag)), "kind")


def family_of(component: type[Component]) -> str | None:
    """The package of the family that a component belongs to: where its base class stands."""
    for base in component.__mro__:
        module = sys.modules.get(base.__module__)
        in_package = base.__module__.startswith("netsim.") and hasattr(module, "__path__")
        if in_package and issubclass(base, Component):
            return base.__module__
    return None


@dataclass(frozen=True)
class Choice:
    """Annotation of a key that takes one component of a family.

    Attributes
    ----------
    package : str
        Of the family.
    tag : str
        The key that says which.
    in_table : callable or None
        (name, component) -> the table that a scenario has of it, where that has more keys.
    """

    package: str
    tag: str = "kind"
    in_table: Callable[[str, type[Component]], type[Table]] | None = None

    def table(self, name: str, component: type[Component]) -> type[Table]:
        """Return the table of a component in scenarios."""
        return component if self.in_table is None else self.in_table(name, component)


def choice(
    package: str,
    tag: str = "kind",
    in_table: Callable[[str, type[Component]], type[Table]] | None = None,
) -> Any:
    """The type "one component of this family", for a field of a scenario table.

    Parameters
    ----------
    package, tag, in_table
        See `Choice`.

    Returns
    -------
    type
        Annotated with its `Choice`, by which `netsim.scenario` adds components of the user's own.
    """
    chosen = Choice(package, tag, in_table)
    shipped = shipped_family(package, tag).items()
    return one_of(tuple(chosen.table(*named) for named in shipped), chosen)


def one_of(members: tuple[type[Table], ...], chosen: Choice) -> Any:
    """The type "one of these tables, as its tag says"."""
    if len(members) == 1:
        return Annotated[members[0], chosen]
    told_apart = Field(discriminator=chosen.tag)
    return Annotated[union(members), told_apart, chosen]


def union(members: Iterable[Any]) -> Any:
    """The type "one of these", which is not kept as `typing.Union` keeps its last 128 members."""
    return reduce(operator.or_, members)


_LONGEST_WORD, _MOST_WORDS = 200, 10_000
"""Comparing takes time with the product of both."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing when no known word is close."""
    if len(word) > _LONGEST_WORD:
        return ""
    close = difflib.get_close_matches(word, list(islice(known, _MOST_WORDS)), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


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


def modules_of(value: Any) -> set[str]:
    """Name the modules in which the components in a table of a scenario and their bases stand."""
    return {
        base.__module__
        for component in components_in(value)
        for base in type(component).__mro__
        if issubclass(base, Component)
    }
