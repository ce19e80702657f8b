"""Verbs that a process of the user's does not wait for: statements that let no time pass."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

_WITHOUT_WAITING = ("send", "broadcast")
"""Verbs with an event that may be left aside: what they do happens all the same."""
_SELF = ("self", "cls")


def problems(where: str, given: ModuleType | type[Any]) -> list[str]:
    """List the statements whose event nobody waits for, one a line.

    An event that is kept in a variable may be waited for later, and is not looked at.

    Parameters
    ----------
    where : str
        Begins each line.
    given : module or class
        An algorithm, or a helper of one; empty list where its source can't be read.
    """
    try:
        lines, first = inspect.getsourcelines(given)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return []
    offset = max(first, 1) - 1
    module = given if isinstance(given, ModuleType) else sys.modules.get(given.__module__, given)
    return [
        f"{where}: line {call.lineno + offset}: nothing waits for {_shortened(call)}, so no time "
        f"passes: write {word} {_shortened(call)}, or keep what it gives in a variable"
        for call, word in _statements(tree, vars(module))
    ]


def _statements(tree: ast.AST, names: Mapping[str, Any]) -> Iterator[tuple[ast.Call, str]]:
    """Yield calls that are statements and wait for nothing, and the words that would.

    Parameters
    ----------
    tree : AST
    names : mapping
        What the names of its module stand for.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    own = {one.name for one in functions if any(map(_is_yield, _inside(one)))}
    nodes = {"node", *(_first_argument(one) for one in functions if one.name == "processes")}
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            continue
        of = _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        name = _last_name(call.func)
        is_own = name in own and (isinstance(call.func, ast.Name) or of in _SELF)
        if is_own or inspect.isgeneratorfunction(_resolve(call.func, names)):
            yield call, "yield from"
        elif of in nodes and name in _verbs():
            yield call, "yield"


def _first_argument(function: ast.FunctionDef) -> str:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return next((name for name in names if name not in _SELF), "node")


def _resolve(written: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what a name, or an attribute of a module or class, stands for; None: unknown."""
    if isinstance(written, ast.Name):
        return names.get(written.id)
    if isinstance(written, ast.Attribute):
        owner = _resolve(written.value, names)
        found = vars(owner).get(written.attr) if isinstance(owner, ModuleType | type) else None
        return getattr(found, "__func__", found)  # of a static method
    return None


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what is in a function, but not in one inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _is_yield(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _last_name(node: ast.AST) -> str:
    """Name of a variable or an attribute: `node` of `node` and of `self.node`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _shortened(call: ast.Call) -> str:
    text = ast.unparse(call)
    return text if len(text) <= 60 else f"{ast.unparse(call.func)}(...)"


@cache
def _verbs() -> frozenset[str]:
    """Verbs of a node that give an event."""
    from netsim.node.node import Node  # here: it brings torch, which methods import themselves

    return frozenset(
        name
        for name, verb in vars(Node).items()
        if inspect.isfunction(verb)
        and verb.__annotations__.get("return") == "simpy.Event"
        and name not in _WITHOUT_WAITING
    )
