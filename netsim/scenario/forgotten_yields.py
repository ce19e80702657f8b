"""Verbs that a process of the user's does not wait for: statements that let no time pass."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

_WITHOUT_WAITING = ("send", "broadcast")
"""Verbs with an event that may be left aside: what they do happens all the same."""


def problems(where: str, given: ModuleType | type[Any]) -> list[str]:
    """List the statements whose event nobody waits for, one a line.

    An event that is kept in a variable may be waited for later, and is not looked at.

    Parameters
    ----------
    where : str
        Begins each line.
    given : module or class
        An algorithm; empty list where its source can't be read.
    """
    try:
        lines, first = inspect.getsourcelines(given)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return []
    offset = max(first, 1) - 1
    return [
        f"{where}: line {call.lineno + offset}: nothing waits for {_shortened(call)}, so no time "
        f"passes: write {word} {_shortened(call)}, or keep what it gives in a variable"
        for call, word in _statements(tree)
    ]


def _statements(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Yield calls that are statements and wait for nothing, and the words that would."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    own = {one.name for one in functions if any(map(_is_yield, _inside(one)))}
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name) and call.func.id in own:
            yield call, "yield from"
        is_of_node = isinstance(call.func, ast.Attribute) and _last_name(call.func.value) == "node"
        if is_of_node and _last_name(call.func) in _verbs():
            yield call, "yield"


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
