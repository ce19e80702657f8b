"""The origins of the values of actors, by which lost ones can be computed again.

Jobs are pure functions, so a value that is lost with its actor follows from the job that made it
and from what that job read. Jobs are kept from one snapshot of all values to the next.
"""

from __future__ import annotations

import io
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

import torch

from netsim.engine.actors.actor import Value, Values
from netsim.engine.actors.packing import NOWHERE, PackedJob
from netsim.errors import one_line

FIRST_S = 60.0
"""Wall time between two snapshots, at least."""

SHARE_SPENT = 0.02
"""Of the wall time since the last snapshot, what the next one may take."""


BYTES_PER_S = 1e8
"""Assumed speed of a snapshot, before one has shown it."""


class _Place(NamedTuple):
    """Place of a value in a snapshot: the part of the file that it is in, and its layout."""

    start: int
    size: int
    layout: int


class Lineage:
    """The jobs since the last snapshot, and the values of that snapshot.

    Attributes
    ----------
    given : dict of int to Value
        Values that no job has computed, for as long as a job that is kept may read them.
    """

    def __init__(self) -> None:
        self.given: Values = {}
        self._jobs: list[PackedJob] = []
        self._made_by: dict[int, int] = {}
        self._saved: dict[int, _Place] = {}
        self._file: IO[bytes] | None = None  # without a name: nothing stays of one that is killed
        self._took_s = 0.0
        self._last_s = time.monotonic()

    def add(self, jobs: Sequence[PackedJob]) -> None:
        """Keep jobs, in the order in which they are sent."""
        for job in jobs:
            for output in job.outputs:
                if output.value != NOWHERE:
                    self._made_by[output.value] = len(self._jobs)
            self._jobs.append(job)

    def is_due(self, size_bytes: int) -> bool:
        """Return whether a snapshot of so many bytes is due."""
        cost_s = self._took_s or size_bytes / BYTES_PER_S
        due_s = self._last_s + max(FIRST_S, cost_s / SHARE_SPENT)
        return bool(self._jobs) and time.monotonic() >= due_s

    def saved(self, numbers: Iterable[int]) -> Iterator[tuple[int, Value]]:
        """Yield values of the last snapshot, of these those that it has, part by part."""
        by_part: dict[tuple[int, int], dict[int, int]] = {}
        for number in numbers:
            if number in self._saved:
                start, size, layout = self._saved[number]
                by_part.setdefault((start, size), {})[number] = layout
        for (start, size), wanted in by_part.items():
            assert self._file is not None
            self._file.seek(start)
            tensors = torch.load(io.BytesIO(self._file.read(size)), weights_only=True)
            yield from ((n, Value(tensors[n], layout)) for n, layout in wanted.items())

    def needed(
        self, wanted: Iterable[int], jobs: Iterable[PackedJob], is_there: Callable[[int], bool]
    ) -> tuple[list[PackedJob], set[int]]:
        """Jobs that have to run again, in an order in which they can, and what they read of a past.

        Parameters
        ----------
        wanted : iterable of int
            Values that are lost and needed.
        jobs : iterable of PackedJob
            Jobs that have to run in any case.
        is_there : callable
            (number) -> whether an actor has a value.

        Returns
        -------
        jobs : list of PackedJob
        saved : set of int
            Values of the snapshot among what is needed.
        """
        numbers = {id(job): i for i, job in enumerate(self._jobs)}
        due = [numbers[id(job)] for job in jobs]
        values, again, saved = list(wanted), set[int](), set[int]()
        while due or values:
            if values:
                value = values.pop()
                if value in self.given or is_there(value):
                    continue
                if value in self._saved:
                    saved.add(value)
                else:
                    due.append(self._made_by[value])
                continue
            job = due.pop()
            if job not in again:
                again.add(job)
                values += [one.value for one in self._jobs[job].inputs]
        return [self._jobs[i] for i in sorted(again)], saved

    def snapshot(self, parts: Iterable[Values], alive: Callable[[int], bool]) -> None:
        """Write down values, after which the jobs until now are forgotten.

        `parts`: all values that somebody holds, in parts that fit in memory. `alive`: (number) ->
        whether somebody holds a value that was given.
        """
        began_s = time.monotonic()
        saved: dict[int, _Place] = {}
        file: IO[bytes] | None = None
        try:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - kept until the next snapshot
            for values in parts:
                buffer, start = io.BytesIO(), file.tell()
                torch.save({number: value.tensor for number, value in values.items()}, buffer)
                size = file.write(buffer.getbuffer())
                saved |= {n: _Place(start, size, value.layout) for n, value in values.items()}
            file.flush()
        except BaseException as error:
            if file is not None:
                _closed(file)
            self._last_s = time.monotonic()
            if not isinstance(error, OSError | RuntimeError):
                raise
            warnings.warn(  # the last one and the jobs since then are still there
                f"no snapshot of what actors have: {one_line(error)}; a loss costs more",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        self.close()
        self._file, self._saved = file, saved
        self._jobs, self._made_by = [], {}
        self.given = {number: value for number, value in self.given.items() if alive(number)}
        self._last_s = time.monotonic()
        self._took_s = self._last_s - began_s

    def close(self) -> None:
        """Remove what was written down."""
        if self._file is not None:
            _closed(self._file)
            self._file = None


def _closed(file: IO[bytes]) -> None:
    with suppress(OSError):  # a full disk: what is not written yet can't be
        file.close()
