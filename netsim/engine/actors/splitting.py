"""Splitting what actors do and send, so that a bounded number of rows is under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from netsim.engine.actors.packing import NOWHERE, PackedJob

J = TypeVar("J")


def waves(
    parts: Mapping[int, Sequence[J]],
    read_by: Callable[[J], Iterable[int]],
    foreign_bytes: Callable[[int, Iterable[int]], int],
    at_once_bytes: int,
) -> Iterator[dict[int, Sequence[J]]]:
    """Split a level where more rows would go to an actor than may at a time.

    Parameters
    ----------
    parts : mapping of int to sequence
        Jobs by actor.
    read_by : callable
        (job) -> the numbers of values that it reads.
    foreign_bytes : callable
        (actor, numbers) -> the bytes of these values that other actors have.
    at_once_bytes : int
        See `ray_pool.RayPool`.

    Yields
    ------
    dict of int to sequence
        Some of the jobs, by actor.
    """

    def cut(actor: int, jobs: Sequence[J]) -> Iterator[Sequence[J]]:
        some, read = list[J](), set[int]()
        for job in jobs:
            more = read.union(read_by(job))
            if some and foreign_bytes(actor, more) > at_once_bytes:
                yield some
                some, more = [], set(read_by(job))
            some.append(job)
            read = more
        if some:
            yield some

    done = {actor: list(cut(actor, jobs)) for actor, jobs in parts.items()}
    for number in range(max(map(len, done.values()), default=0)):
        yield {actor: some[number] for actor, some in done.items() if number < len(some)}


def in_parts(
    numbers: Iterable[int], sizes: Mapping[int, int], at_once_bytes: int
) -> Iterator[list[int]]:
    """Values in parts of about so many bytes.

    Parameters
    ----------
    numbers : iterable of int
    sizes : mapping of int to int
        Of values in bytes; one that is not there has none.
    at_once_bytes : int
    """
    some, size = list[int](), 0
    for number in numbers:
        more = sizes.get(number, 0)
        if some and size + more > at_once_bytes:
            yield some
            some, size = [], 0
        some.append(number)
        size += more
    if some:
        yield some


def read_by(job: PackedJob) -> Iterable[int]:
    """The numbers of the values that a job reads."""
    return (one.value for one in job.inputs)


def levels_of(jobs: Sequence[PackedJob]) -> list[list[PackedJob]]:
    """Jobs by level: each is above all of them that it reads from.

    Parameters
    ----------
    jobs : sequence of PackedJob
        None before one that it reads from.
    """
    found: list[list[PackedJob]] = []
    level_of: dict[int, int] = {}
    for packed in jobs:
        level = max((level_of.get(number, -1) for number in read_by(packed)), default=-1) + 1
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
            touched = [*read_by(job), *(one.value for one in job.outputs)]
            at |= {number: level for number in touched if number in numbers}
    found: dict[int, list[int]] = defaultdict(list)
    for number, level in at.items():
        found[level].append(number)
    return found
