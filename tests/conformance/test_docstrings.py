"""First lines of docstrings, and the arguments that docstrings describe."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import netsim

from .statements import statements

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("algorithms", "benchmarks", "examples", "netsim", "papers", "tests", "tools")
CLAUSE = re.compile(
    r"\W*((by|in|for|from|with|at|on|of|since|until|up to|to|under|after|before|as) )?"
    r"(what|how|whether|when|where|who|whom|whose|which)\b",
    re.IGNORECASE,
)
"""Beginning of a first line that is neither an imperative nor a noun phrase."""

LEAST = 3
SKIPPED = {"netsim.__main__", "netsim.console.app"}
COMMANDS = "netsim.console.commands."
"""Modules without functions to call: the docstrings of commands are their help texts."""

MODULES = [
    info.name
    for info in pkgutil.walk_packages(netsim.__path__, "netsim.")
    if info.name not in SKIPPED
    and not info.name.startswith("netsim.algorithms")
    and not info.name.endswith("._kernel")  # a compiled library, no module
]


def imported(name: str):
    """A module; an empty one in place of one that needs a library that is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("netsim"):
            raise
        return ModuleType(name)


def arguments(function) -> int:
    return sum(name not in ("self", "cls") for name in inspect.signature(function).parameters)


def explains(function) -> bool:
    """Return whether a docstring has the section, or names the verb of `Node` that has it."""
    text = inspect.getdoc(function) or ""
    return "Parameters\n---" in text or text.startswith("See `Node.")


def functions(module):
    """(name, function, the same function of base classes) of what a module defines in public."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") != module.__name__ or name.startswith("_"):
            continue
        if inspect.isfunction(value):
            yield name, value, []
        elif inspect.isclass(value):
            for method, inner in list(vars(value).items()):
                function = getattr(inner, "__func__", inner)
                if inspect.isfunction(function) and not method.startswith("_"):
                    bases = [getattr(base, method, None) for base in value.__mro__[1:]]
                    yield f"{name}.{method}", function, [b for b in bases if b is not None]


def test_a_function_of_three_arguments_says_what_they_are():
    silent = [
        f"{name}: {label}"
        for name in MODULES
        for label, function, bases in functions(imported(name))
        if not (name.startswith(COMMANDS) and label == "command")  # whose docstring is its help
        and arguments(function) >= LEAST
        and not any(explains(each) for each in [function, *bases])
    ]
    assert silent == []


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring of a file, those of constants included."""
    for statement in statements(ast.parse(path.read_text(encoding="utf-8")).body):
        value = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield statement.lineno, value.value


def test_no_docstring_begins_with_a_clause():
    """An imperative ("Sample ...") or a noun phrase says at once what a thing does or is."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = [
        (path, *each) for path in [*paths, ROOT / "hatch_build.py"] for each in docstrings(path)
    ]
    assert len(found) > 8_000
    clauses = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip().splitlines()[0]}"
        for path, line, text in found
        if text.strip() and CLAUSE.match(text.strip())
    ]
    assert clauses == []


def test_clauses_are_known_from_noun_phrases():
    clauses = (
        "What a flight has.",
        "How many",
        "`Whether` it is",
        "By how much",
        "Whom to send to",
    )
    phrases = (
        "Whatever comes.",
        "Share of a flight.",
        "Return whether it is.",
        "Howl.",
        "To whoms",
    )
    assert all(CLAUSE.match(text) for text in clauses)
    assert not any(CLAUSE.match(text) for text in phrases)
