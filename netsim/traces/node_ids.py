"""Mapping of the ids in a file to nodes of a scenario."""

import re
from collections.abc import Sequence

from netsim.traces.files import Text, parse_number, quote
from netsim.traces.remarks import note_ids, note_remark

_WHOLE = re.compile(r"[0-9]{1,18}(\.0*)?")


def node_numbers(
    text: Text, names: Sequence[str], table: str, nodes: int, at: int = 0
) -> dict[str, int]:
    """The node of each name in a file.

    Names that are all whole numbers are node numbers. Words become nodes 0, 1, ... in order of
    appearance, which is noted for `nodes.parquet`.

    Parameters
    ----------
    text : Text
    names : sequence of str
        Each once, in order of appearance.
    table : str
        Of the scenario, for the note.
    nodes : int
        How many the scenario has.

    Raises
    ------
    DataError
        If they are numbers and words, all beyond the last node, or counted from 1.
    """
    if "" in names:
        raise text.error("a node has no name; every row needs one")
    words = [
        name for name in names if parse_number(name) is None and _WHOLE.fullmatch(name) is None
    ]
    if len(words) == len(names):
        note_ids(table, names[:nodes])
        if len(names) > nodes:
            left_aside(text, "nodes", names[nodes:])
        return {name: node for node, name in enumerate(names)}
    if words:
        one = next(name for name in names if name not in words)
        raise text.error(
            f"some nodes are numbers ({quote(one)}) and some words ({quote(words[0])}); put a "
            "letter before all of them, or number them from 0"
        )
    wild = next((name for name in names if _WHOLE.fullmatch(name) is None), None)
    if wild is not None:
        raise text.error(
            f"node {quote(wild)} is no whole number of at least 0; number them from 0, or name "
            "them by words"
        )
    found = {name: int(name.partition(".")[0]) for name in names}
    if len(set(found.values())) < len(found):
        raise text.error("two of its node numbers are the same but for how they are written")
    require_known(text, list(found.values()), nodes)
    return found


def require_known(text: Text, numbers: Sequence[int], nodes: int) -> None:
    """Raise DataError unless node numbers of a file are some of the scenario's; others are noted.

    Parameters
    ----------
    text : Text
    numbers : sequence of int
    nodes : int
        How many the scenario has.
    """
    there = sorted(set(numbers))
    if there[0] >= nodes:
        raise text.error(
            f"its nodes are {there[0]} to {there[-1]}, and the scenario's 0 to {nodes - 1}; number "
            "them from 0, or name them by words"
        )
    if there[0] == 1 and nodes in there and there[-1] == len(there) == nodes:
        raise text.error(
            f"its nodes are 1 to {nodes}, and the scenario's 0 to {nodes - 1}; number them from 0"
        )
    beyond = [str(number) for number in there if number >= nodes]
    if beyond:
        left_aside(text, "nodes", beyond)


def note_absent(where: str, absent: Sequence[int], nodes: int, instead: str) -> None:
    """Note nodes of which a file says nothing.

    Parameters
    ----------
    where : str
        The file.
    absent : sequence of int
    nodes : int
        How many it is read for.
    instead : str
        What these do: words after "they".
    """
    if absent:
        first = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
        note_remark(
            f"{where}: says of {len(absent):,} of {nodes:,} nodes ({first}) nothing; they {instead}"
        )


def left_aside(text: Text, what: str, names: Sequence[str]) -> None:
    """Note that something of a file is not played.

    Parameters
    ----------
    text : Text
    what : str
        In the plural.
    names : sequence of str
        Of what; some of them are told.
    """
    shown = ", ".join(quote(name) for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    note_remark(f"{text.where}: left aside are the {what} {shown}{more}")
