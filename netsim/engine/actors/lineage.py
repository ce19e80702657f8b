"""The origins of the values of actors, by which lost ones can be computed again.

Jobs are pure functions, so a value that is lost with its actor follows from the job that made it
and from what that job read. Jobs are kept from one snapshot of all values to the next.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from weakref import finalize

import torch

from netsim.engine.actors.actor import Value, Values
from netsim.engine.actors.packing import NOWHERE, PackedJob
from netsim.errors import one_line

FIRST_S = 60.0
"""Wall time between two snapshots, at least."""

SHARE_SPENT = 0.02
"""Of the wall time since the last snapshot, what the next one may take."""


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
        self._saved: dict[int, tuple[Path, int]] = {}
        self._folder: Path | None = None
        self._count = 0
        self._due_s = time.monotonic() + FIRST_S

    def add(self, jobs: Sequence[PackedJob]) -> None:
        """Keep jobs, in the order in which they are sent."""
        for job in jobs:
            for output in job.outputs:
                if output.value != NOWHERE:
                    self._made_by[output.value] = len(self._jobs)
            self._jobs.append(job)

    def is_due(self) -> bool:
        """Return whether a snapshot is due."""
        return bool(self._jobs) and time.monotonic() >= self._due_s

    def saved(self, numbers: Iterable[int]) -> Iterator[tuple[int, Value]]:
        """Yield values of the last snapshot, of these those that it has, file by file."""
        by_file: dict[Path, dict[int, int]] = {}
        for number in numbers:
            if number in self._saved:
                path, layout = self._saved[number]
                by_file.setdefault(path, {})[number] = layout
        for path, wanted in by_file.items():
            tensors = torch.load(path, weights_only=True)
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

        Parameters
        ----------
        parts : iterable of dict of int to Value
            All values that somebody holds, in parts that fit in memory.
        alive : callable
            (number) -> whether somebody holds a value that was given.
        """
        began_s = time.monotonic()
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="netsim-snapshot-"))
            finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        saved: dict[int, tuple[Path, int]] = {}
        made: list[Path] = []
        try:
            for values in parts:
                path = self._folder / f"{self._count}.pt"
                self._count += 1
                made.append(path)
                torch.save({number: value.tensor for number, value in values.items()}, path)
                saved |= {number: (path, value.layout) for number, value in values.items()}
        except BaseException as error:
            _removed(made)
            self._due_s = time.monotonic() + FIRST_S
            if not isinstance(error, OSError | RuntimeError):
                raise
            warnings.warn(  # the last one and the jobs since then are still there
                f"no snapshot of what actors have: {one_line(error)}; a loss costs more",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        _removed({path for path, _ in self._saved.values()})
        self._saved = saved
        self._jobs, self._made_by = [], {}
        self.given = {number: value for number, value in self.given.items() if alive(number)}
        took_s = time.monotonic() - began_s
        self._due_s = time.monotonic() + max(FIRST_S, took_s / SHARE_SPENT)

    def close(self) -> None:
        """Remove what was written down."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _removed(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
