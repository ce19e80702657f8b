"""Sums of Refs times numbers: what `0.5 * a + b` asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.learning.jobs import Work
from netsim.learning.refs import Cell, Ref, RefJobs

Told = Callable[[Ref, Sequence[Ref], Sequence[float]], None]
"""(sum, refs, weights)"""


class Jobs(RefJobs, Protocol):
    """Records jobs, as `netsim.learning.scheduler` does."""

    def submit(
        self, work: Work, node: int, inputs: tuple[Ref, ...], outputs: Sequence[Cell]
    ) -> None:
        """Record one job.

        Parameters
        ----------
        work : Work
        node : int
        inputs : tuple of Ref
        outputs : sequence of Cell
        """


class RefSums:
    """Recorder of the jobs of such sums, which are those of `node.mix`.

    Parameters
    ----------
    jobs : Jobs
        Where they are recorded.
    work : callable or None
        (weights) -> the work of a weighted sum; None: there is no arithmetic.

    Attributes
    ----------
    told : callable or None
        Called with (sum, refs, weights) of every sum.
    """

    def __init__(self, jobs: Jobs, work: Callable[[tuple[float, ...]], Work] | None) -> None:
        self._jobs, self._work = jobs, work
        self._scaled: WeakKeyDictionary[Cell, tuple[Ref, float]] = WeakKeyDictionary()
        self.told: Told | None = None

    def weighted_total(self, terms: Sequence[tuple[Ref, float]]) -> Ref:
        """The sum of Refs times numbers, as `node.mix` gives it; lazy.

        A term that is itself a Ref times a number counts as that Ref with another weight, so that
        `0.5 * a + 0.5 * b` is one sum of two rows.

        Raises
        ------
        ProtocolError
            If Refs are of several nodes, or their shapes differ.
        """
        assert self._work is not None, "runs give it"
        refs, weights = zip(*[self._term(ref, weight) for ref, weight in terms], strict=True)
        owner, shape = refs[0].owner, refs[0].shape
        for ref in refs:
            ref.require_owner(owner)
            if ref.shape != shape:
                raise ProtocolError(f"shapes differ: {shape} and {ref.shape}{calling_line()}")
        models = [ref.architecture for ref in refs if ref.architecture is not None]
        cell = Cell(self._jobs, shape, models[0] if models else None)
        self._jobs.submit(self._work(weights), owner, refs, (cell,))
        if len(refs) == 1:
            self._scaled[cell] = refs[0], weights[0]
        found = Ref(owner, cell)
        if self.told is not None:
            self.told(found, refs, weights)
        return found

    def _term(self, ref: Ref, weight: float) -> tuple[Ref, float]:
        """Split a term into a Ref and its factor; a Ref alone has factor 1."""
        known = self._scaled.get(ref.cell) if ref.ranges is None else None
        if known is None or known[0].owner != ref.owner:  # another node's, which sent it
            return ref, weight
        return known[0], weight * known[1]
