"""Observations of the toys, for the tests."""

from typing import Any, NamedTuple

from netsim.api import Node


class Sight(NamedTuple):
    """Something that one node saw."""

    t_s: float
    node: int
    what: str
    value: Any


SEEN: list[Sight] = []


def saw(node: Node, what: str, value: Any = None) -> None:
    """Note it down."""
    SEEN.append(Sight(node.now_s, node.id, what, value))
