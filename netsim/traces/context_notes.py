"""Notes that readers take, for whoever calls them inside a `with` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Notes = TypeVar("Notes")


@contextmanager
def collecting(variable: ContextVar[Notes | None], notes: Notes) -> Iterator[Notes]:
    """Let a variable hold notes inside the block, and what it held before after it.

    Parameters
    ----------
    variable : ContextVar
        Where readers look for notes; None: nobody wants to know.
    notes : object
        To be filled.
    """
    token = variable.set(notes)
    try:
        yield notes
    finally:
        variable.reset(token)
