"""Python objects in the tables of a scenario: each becomes a kind, and its name stands for it.

So a scenario with objects is checked, played and written down as any other. Where they may stand:

- `algorithm`: a module, or a class with `Params` and a static `processes(node, params)`;
- `model`: an `nn.Module` class, a function that makes a module, or a module;
- `data`: arrays `(x, y)`, a torch `Dataset`, or two of these, `(train, test)`;
- `topology`: a networkx graph;
- any `kind`: a class derived from the base class of its family (`netsim.channels.fading.Fading`).
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import create_model

from netsim.errors import ScenarioError
from netsim.python_api.arguments import require_ordered
from netsim.registry import TAGS, Component, family_of, shipped_family, tag_of
from netsim.scenario import forgotten_yields
from netsim.scenario.algorithm_contract import contract_problems, with_own_params
from netsim.scenario.draft import LISTS, KeyPath
from netsim.scenario.labels import shown

PREFIX = "netsim_objects_"
"""Prefix of the modules that stand for algorithm classes."""

BY_NAME = ("algorithm", "data", "model", "topology")
"""Tables for which a text stands that is a kind's name, and objects of other sorts."""


@dataclass(frozen=True)
class Objects:
    """Kinds of a scenario that were given as Python objects."""

    components: Mapping[tuple[str, str], type[Component]] = field(default_factory=dict)
    """By the package of their family and their name."""
    algorithms: Mapping[str, ModuleType] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.components or self.algorithms)

    def or_those_of(self, later: "Objects") -> "Objects":
        """Merge with later kinds, which replace those of the same name."""
        return Objects(
            {**self.components, **later.components}, {**self.algorithms, **later.algorithms}
        )


class Naming:
    """Replacement of objects by names, with a record of both.

    Attributes
    ----------
    found : Objects
        Those that were named so far.
    """

    def __init__(self) -> None:
        self._components: dict[tuple[str, str], type[Component]] = {}
        self._algorithms: dict[str, ModuleType] = {}
        self._named: dict[
            int, tuple[Any, str]
        ] = {}  # keeps an object, so that its id stays its own

    @property
    def found(self) -> Objects:
        return Objects(dict(self._components), dict(self._algorithms))

    def plain(self, value: Any, path: KeyPath) -> Any:
        """A value of a key as a scenario file could state it: a copy, of plain values.

        An object that can't be what stands at the key is refused.
        """
        if isinstance(value, Component):
            value = {tag_of_class(type(value)): type(value), **value.model_dump(exclude={*TAGS})}
        elif inspect.isclass(value) and issubclass(value, Component):
            value = {tag_of_class(value): value}
        elif _is_entry(path) and not _is_table(value, path):
            return {"kind": value if isinstance(value, str) else self._name(value, path)}
        if isinstance(value, Mapping):
            return {
                key: self._name(inner, path)
                if key in TAGS and not isinstance(inner, str | None)
                else self.plain(inner, (*path, *str(key).split(".")))
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.plain(inner, (*path, i)) for i, inner in enumerate(value)]
        if callable(as_list := getattr(value, "tolist", None)):  # of NumPy, PyTorch, pandas
            return as_list()
        require_ordered(value, ".".join(map(str, path)))
        return str(value) if isinstance(value, Path) else value

    def swept(self, over: Mapping[str, Any], ranges: bool = False) -> dict[str, Any]:
        """Lists of values by key path, as `[sweep]` has them; one value for a list is refused.

        `ranges`: a table may stand for a list, such as `{"low": 0.1, "high": 1.0}`.
        """
        if not isinstance(over, Mapping):
            raise ScenarioError(
                f"netsim.sweep: {shown(over)}: is no table of keys and their values; write "
                '{"key.path": [1, 2]}'
            )
        found: dict[str, Any] = {}
        for key, values in over.items():
            dotted = dotted_key(key)
            if ranges and isinstance(values, Mapping):
                found[dotted] = self.plain(values, ())
                continue
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise ScenarioError(
                    f"netsim.sweep: {dotted} = {values!r}: is one value; put those to play into a "
                    f"list: [{values!r}]"
                )
            require_ordered(values, f"netsim.sweep: {dotted}")
            path = tuple(dotted.split("."))
            found[dotted] = [self.plain(value, path) for value in values]
        return found

    def _name(self, thing: Any, path: KeyPath) -> str:
        """The name that stands for an object at a key; what is given twice has one name."""
        if id(thing) not in self._named:
            self._named[id(thing)] = thing, self._added(thing, path)
        return self._named[id(thing)][1]

    def _added(self, thing: Any, path: KeyPath) -> str:
        table = path[0] if _is_entry(path) else ""
        if inspect.isclass(thing) and issubclass(thing, Component):
            component = _with_kind(thing)
        elif table == "algorithm":
            return self._add_algorithm(thing)
        elif table in BY_NAME:
            component = _made(thing, str(table), self._free(_called(thing, str(table))))
        else:
            where = ".".join(map(str, path))
            raise ScenarioError(
                f"[{where}] kind = {thing!r}: is no kind; give a name, or a class derived from the "
                "base class of its family"
            )
        package = family_of(component)
        if package is None:
            raise ScenarioError(
                f"class {thing.__name__}: belongs to no family; derive it from the base class of "
                "one, such as netsim.channels.fading.Fading"
            )
        name = str(component.model_fields[tag_of(package)].default)
        if shipped_family(package, tag_of(package)).get(name) is not component:
            self._components[package, name] = component
        return name

    def _free(self, name: str) -> str:
        """The name, with a number behind it where another object has it already."""
        taken = {known for _, known in self._components} | set(self._algorithms)
        number = 2
        free = name
        while free in taken:
            free, number = f"{name}-{number}", number + 1
        return free

    def _add_algorithm(self, thing: Any) -> str:
        name = self._free(_called(thing, "algorithm"))
        self._algorithms[name] = algorithm_module(thing, name)
        return name


def dotted_key(key: str) -> str:
    """The key path of a keyword argument: `radio.reachable` of `radio__reachable`."""
    return key.replace("__", ".")


def tag_of_class(component: type[Component]) -> str:
    """The key that names a component's kind."""
    package = family_of(component)
    return "kind" if package is None else tag_of(package)


def algorithm_module(thing: Any, name: str) -> ModuleType:
    """The module of an algorithm, or a new one for a class, with `Params` and `processes`."""
    if not isinstance(thing, ModuleType) and not inspect.isclass(thing):
        raise ScenarioError(
            f"[algorithm] kind = {thing!r}: is no algorithm; give a name, a module, or a class "
            "with Params and a static processes(node, params)"
        )
    module = _module_of(thing, name) if inspect.isclass(thing) else thing
    where = f"algorithm {name}"
    problems = contract_problems(where, module) or forgotten_yields.problems(where, thing)
    if problems:
        raise ScenarioError("\n".join(problems))
    return with_own_params(module)


def _module_of(thing: type, name: str) -> ModuleType:
    """The module that stands for an algorithm class, by which a run finds it; made once."""
    full_name = f"{PREFIX}{id(thing):x}.{name}"
    known = sys.modules.get(full_name)
    if known is not None:
        return known
    module = ModuleType(full_name, thing.__doc__)
    for key in ("Params", "processes"):
        if hasattr(thing, key):
            setattr(module, key, getattr(thing, key))
    module.__dict__["given_as"] = thing  # keeps the class, so that its id stays its own
    sys.modules[full_name] = module
    return module


def _is_entry(path: KeyPath) -> bool:
    """Return whether a key is a table of `BY_NAME`, or an entry of a list of them."""
    return bool(path) and path[0] in BY_NAME and all(isinstance(key, int) for key in path[1:])


def _is_table(value: Any, path: KeyPath) -> bool:
    """Return whether a value has the form of a table in a file: a table, a list, or nothing."""
    is_list = isinstance(value, list | tuple) and path in LISTS
    return value is None or isinstance(value, Mapping) or is_list


def _called(thing: Any, table: str) -> str:
    """Return the name of an object in files and tables."""
    name = getattr(thing, "__name__", "")
    if isinstance(thing, ModuleType):
        return name.rpartition(".")[2]
    if not name and table != "topology" and not isinstance(thing, list | tuple):
        name = type(thing).__name__
    fallback = {"data": "arrays", "topology": "graph"}.get(table, table)
    return name if name.isidentifier() else fallback


def _made(thing: Any, table: str, name: str) -> type[Component]:
    """A kind of model, data set or topology that is an object."""
    from netsim.python_api.own_data import data_kind  # here: torch, only for those who bring some
    from netsim.python_api.own_graph import graph_kind
    from netsim.python_api.own_models import model_kind

    makers: dict[str, Callable[[Any, str], type[Component]]] = {
        "model": model_kind,
        "data": data_kind,
        "topology": graph_kind,
    }
    return makers[table](thing, name)


def _with_kind(component: type[Component]) -> type[Component]:
    """A component class that states its kind; one that does not is called as its class."""
    tag = tag_of_class(component)
    if tag in inspect.get_annotations(component):  # a kind that is inherited is that of another
        return component
    name = component.__name__
    kind: Any = {tag: (Literal[name], name)}
    return create_model(
        name, __base__=component, __module__=component.__module__, __doc__=component.__doc__, **kind
    )
