"""Common mistakes in the code of algorithms, and what to write instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Generator, Iterator, Mapping
from types import ModuleType
from typing import Any

import simpy

from netsim.learning.refs import NUMBERS_OF_A_REF, Ref
from netsim.registry import Table, did_you_mean

FORGOTTEN_YIELD = (
    "; did you forget yield? A verb that takes time gives an event, and yield gives its value: "
    "trained = yield node.train(...), or (yield node.train(...)).theta"
)
FORGOTTEN_YIELD_FROM = (
    "; did you forget yield from? What is a process of its own is run by it: "
    "models = yield from inbox.exchange(...)"
)


def probable_mistake(error: BaseException) -> str:
    """Suggest the probable mistake behind an error that Python raised in an algorithm.

    Returns
    -------
    str
        To stand behind the error's own text; empty where nothing is known.
    """
    if isinstance(error, AttributeError):
        return _of_attribute(error.obj, str(error.name))
    if isinstance(error, TypeError):
        return _of_types(str(error))
    return ""


def _of_attribute(thing: Any, name: str) -> str:
    """Text for an attribute that a thing does not have."""
    if isinstance(thing, simpy.Event):
        return FORGOTTEN_YIELD
    if isinstance(thing, Generator):
        return FORGOTTEN_YIELD_FROM
    if isinstance(thing, Ref):
        return did_you_mean(name, _public_names(thing)) or f"; {NUMBERS_OF_A_REF}"
    if isinstance(thing, Table):
        known = list(type(thing).model_fields)
        return did_you_mean(name, [*known, *_own_methods(thing)]) or f"; it has {', '.join(known)}"
    module = thing.__name__ if isinstance(thing, ModuleType) else type(thing).__module__
    return did_you_mean(name, _public_names(thing)) if module.startswith("netsim.") else ""


def _of_types(text: str) -> str:
    """Text for an operation that a thing does not know: `'_Due' object is not iterable`."""
    named = set(re.findall(r"'(\w+)'|non-iterable (\w+) object", text))
    classes = {name for pair in named for name in pair if name}
    if classes & {kind.__name__ for kind in _kinds_of_events(simpy.Event)}:
        return FORGOTTEN_YIELD
    if "generator" in classes:
        return FORGOTTEN_YIELD_FROM
    return f"; {NUMBERS_OF_A_REF}" if Ref.__name__ in classes else ""


def _kinds_of_events(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds_of_events(below)


def _public_names(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def _own_methods(params: Table) -> list[str]:
    """Return the names that an algorithm's Params define beside their fields."""
    return [name for kind in type(params).__mro__ if kind is not Table for name in vars(kind)]


def yield_error_text(thing: object) -> str:
    """Error text: a process yields an object that is no event."""
    text = (
        f"yield of {thing!r}, which is no event; only verbs that take time are waited for with "
        "yield"
    )
    if isinstance(thing, Generator):
        text += ", and a process of its own is run by yield from"
    return text


def no_processes(returned: object) -> str | None:
    """Error text: the result of `processes` is no list of processes; None if it is one."""
    if isinstance(returned, Generator):
        name = returned.gi_code.co_name if inspect.isgenerator(returned) else ""
        if name == "processes":
            return (
                "processes is a process itself, for there is a yield in it; move its body to a "
                "function of its own and return a list: return [on_round(node, params)]"
            )
        return f"processes returned the process {name} alone; return a list: return [{name}(...)]"
    if returned is None:
        return "processes returned nothing; it returns a list: return [on_round(node, params)]"
    if isinstance(returned, str | Mapping) or not hasattr(returned, "__iter__"):
        return f"processes returned {returned!r}; it returns a list of processes"
    return None


def no_process(found: object, number: int) -> str:
    """Error text: an element of `processes()` is not a generator.

    Parameters
    ----------
    found : object
    number : int
        Its number, from 1.
    """
    if inspect.isfunction(found):
        return (
            f"process {number} of those returned is the function {found.__name__} itself; call "
            f"it: {found.__name__}(node)"
        )
    return (
        f"process {number} of those returned is {found!r}, no generator: a process is a "
        "function with `yield`, and every verb that takes time is waited for with yield; did you "
        "forget yield?"
    )
