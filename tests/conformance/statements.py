"""The statements of a module, without their expressions: a fifth of what `ast.walk` visits."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those inside them, in order."""
    for statement in body:
        yield statement
        handled = (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
        yield from statements(
            chain(
                getattr(statement, "body", ()),
                *(one.body for one in handled),
                getattr(statement, "orelse", ()),
                getattr(statement, "finalbody", ()),
            )
        )
