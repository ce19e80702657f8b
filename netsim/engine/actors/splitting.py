"""Splitting what actors do and send, so that a bounded number of rows is under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from netsim.engine.actors.packing import NOWHERE, Input, PackedJob
from netsim.learning.columns import Columns, union

J = TypeVar("J")

Reads = dict[int, Columns | None]
"""Columns that are read of values, by their numbers; None for all."""


def merged(inputs: Iterable[Input | tuple[int, Columns | None]]) -> Reads:
    """Return what is read of each value in all."""
    found: Reads = {}
    for value, columns in inputs:
        found[value] = union(found.get(value, ()), columns)
    return found


def waves(
    parts: Mapping[int, Sequence[J]],
    read_by: Callable[[J], Iterable[Input]],
    foreign_bytes: Callable[[int, Reads], int],
    at_once_bytes: int,
) -> Iterator[dict[int, Sequence[J]]]:
    """Split a level where more rows would go to an actor than may at a time.

    Parameters
    ----------
    parts : mapping of int to sequence
        Jobs by actor.
    read_by : callable
        (job) -> what it reads.
    foreign_bytes : callable
        (actor, what is read) -> the bytes of it that other actors have.
    at_once_bytes : int
        See `ray_pool.RayPool`.

    Yields
    ------
    dict of int to sequence
        Some of the jobs, by actor.
    """

    def cut(actor: int, jobs: Sequence[J]) -> Iterator[Sequence[J]]:
        some, read = list[J](), Reads()
        for job in jobs:
            more = merged([*read.items(), *read_by(job)])
            if some and foreign_bytes(actor, more) > at_once_bytes:
                yield some
                some, more = [], merged(read_by(job))
            some.append(job)
            read = more
        if some:
            yield some

    done = {actor: list(cut(actor, jobs)) for actor, jobs in parts.items()}
    for number in range(max(map(len, done.values()), default=0)):
        yield {actor: some[number] for actor, some in done.items() if number < len(some)}


def in_parts(
    reads: Reads, size_of: Callable[[int, Columns | None], int], at_once_bytes: int
) -> Iterator[Reads]:
    """Split what is read into parts of about so many bytes.

    Parameters
    ----------
    size_of : callable
        (number, columns) -> bytes.
    """
    some, size = Reads(), 0
    for number, columns in reads.items():
        more = size_of(number, columns)
        if some and size + more > at_once_bytes:
            yield some
            some, size = {}, 0
        some[number] = columns
        size += more
    if some:
        yield some


def levels_of(jobs: Sequence[PackedJob]) -> list[list[PackedJob]]:
    """Jobs by level: each is above all of them that it reads from.

    `jobs`: in an order in which none stands before one that it reads from.
    """
    found: list[list[PackedJob]] = []
    level_of: dict[int, int] = {}
    for packed in jobs:
        level = max((level_of.get(one.value, -1) for one in packed.inputs), default=-1) + 1
        if level == len(found):
            found.append([])
        found[level].append(packed)
        level_of |= {o.value: level for o in packed.outputs if o.value != NOWHERE}
    return found


def read_last(
    levels: Sequence[Sequence[PackedJob]], numbers: Collection[int]
) -> dict[int, list[int]]:
    """Some values by the last level that makes or reads them."""
    at: dict[int, int] = {}
    for level, jobs in enumerate(levels):
        for job in jobs:
            touched = [*(i.value for i in job.inputs), *(o.value for o in job.outputs)]
            at |= {number: level for number in touched if number in numbers}
    found: dict[int, list[int]] = defaultdict(list)
    for number, level in at.items():
        found[level].append(number)
    return found
