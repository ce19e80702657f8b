"""Reads of a node's private parts in a method of the user's own, past the verbs of `netsim.api`."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from netsim.scenario.shipped import CHECKOUT_NAME, INSTALLED_NAME
from netsim.scenario.source_files import source_files


def first_private_read(module: ModuleType) -> str | None:
    """The first line of a method's files that reads `node._something`, in words.

    Parameters
    ----------
    module : module
        Of the algorithm.

    Returns
    -------
    str or None
        `FILE:LINE reads node._something`; None: no line does, or it is a method of netsim's.
    """
    files = source_files(module)
    if files and module.__name__.startswith((f"{CHECKOUT_NAME}.", f"{INSTALLED_NAME}.")):
        return None
    for path in files:
        for line, text in _reads(path):
            return f"{path.name}:{line} reads {text}"
    return None


def _reads(path: Path) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for one in ast.walk(tree):
        if not isinstance(one, ast.Attribute):
            continue
        of = one.value
        owner = getattr(of, "id", getattr(of, "attr", ""))
        if owner == "node" and one.attr.startswith("_") and not one.attr.startswith("__"):
            yield one.lineno, ast.unparse(one)
