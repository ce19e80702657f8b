"""Nodes whose models became nan, infinite or huge: by their own training, or by a message.

Whether a trained model is sound is computed on the device and read many calls later, so that a run
need not wait for a GPU after every call. Where a model comes from is recorded with every job, and
forgotten once a training has ended with a sound model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from netsim.learning.jobs import Job, Work
from netsim.learning.origins import Origin
from netsim.learning.refs import Cell, Ref
from netsim.units import to_ns, to_s

READ_EVERY = 64
"""Calls of `Divergences.note` between two reads from the device."""

LARGEST_SUM = 1e9
"""A model whose parameters sum to more, in absolute value, has diverged.

Too long steps often end in finite numbers: units that are off for every sample have no gradient.
"""


class _Entry(NamedTuple):
    node: int
    time_ns: int
    work: Work
    made: Origin | None
    began: Origin | None


class _Caught(NamedTuple):
    time_ns: int
    sender: int


def parameters_of(job: Job[Any]) -> Tensor:
    """The parameters of the model that a training started from, (P,)."""
    theta = job.inputs[0]
    assert theta.architecture is not None
    return theta.tensor()[: theta.architecture.num_parameters]


class Divergences:
    """The first time that each node's model was not sound, and by whom that came about.

    A node broke if its own training began with a sound model and ended with another; it caught it
    if it took over what another node had sent.

    Attributes
    ----------
    passed_on : callable or None
        Gets what `note` is told, where another process judges it.
    """

    def __init__(self) -> None:
        self.passed_on: Callable[[Sequence[Job[Any]], Tensor, Tensor | None], object] | None = None
        self._unread: list[tuple[list[_Entry], Tensor, Tensor]] = []
        self._broke: dict[int, tuple[int, str]] = {}  # by node: virtual time [ns] and job
        self._caught: dict[int, _Caught] = {}

    def note(self, jobs: Sequence[Job[Any]], after: Tensor, before: Tensor | None = None) -> None:
        """Compare models before and after training.

        Parameters
        ----------
        jobs : sequence of Job
            The n training jobs; the first input of each is the model that it started from.
        after : torch.Tensor
            (n,) sum of each trained model's parameters: nan or infinite if one of them is.
        before : torch.Tensor or None
            The same of the models that training started from. None: computed here, and only if
            one of `after` is not sound.
        """
        if self.passed_on is not None:
            self.passed_on(jobs, after, before)
            return
        sound = after.abs() <= LARGEST_SUM  # false of nan
        if before is None:
            if bool(sound.all()):
                for job in jobs:
                    if job.origin is not None:
                        job.origin.note_soundness(True)
                return
            before = torch.stack([parameters_of(job).sum() for job in jobs])
        entries = [
            _Entry(j.node, j.time_ns, j.work, j.origin, j.inputs[0].cell.origin) for j in jobs
        ]
        self._unread.append((entries, sound, before.abs() <= LARGEST_SUM))
        if len(self._unread) >= READ_EVERY or after.device.type == "cpu":
            self._read()

    def note_bad_outputs(self, node: int, time_ns: int, refs: Sequence[Ref]) -> None:
        """Note a node whose model gives outputs that are not finite.

        Parameters
        ----------
        node : int
        time_ns : int
            When it was measured.
        refs : sequence of Ref
            The model, and the values that it predicts with.
        """
        self._read()
        if node in self._broke or node in self._caught:
            return
        origins = [ref.cell.origin for ref in refs]
        spoilt = [one for one in origins if one is not None and self._is_spoilt(one, {})]
        for origin in spoilt:
            self._trace(node, time_ns, origin)
        if node not in self._broke and node not in self._caught:
            self._note_broken(node, time_ns, "evaluation: the model's outputs are not finite")

    def diverged_entries(self) -> list[dict[str, Any]]:
        """Summary entries of nodes whose own training diverged: `node`, time `t_s`, `job`."""
        self._read()
        return [
            {"node": node, "t_s": to_s(time_ns), "job": job}
            for node, (time_ns, job) in sorted(self._broke.items())
            if node not in self._caught or time_ns <= self._caught[node].time_ns
        ]

    def caught_entries(self) -> list[dict[str, Any]]:
        """Summary entries of nodes that received a diverged model: `node`, time `t_s`, `sender`.

        The time is that at which the node asked for the first job that read what it had received.
        """
        broke = {one["node"] for one in self.diverged_entries()}
        return [
            {"node": node, "t_s": to_s(time_ns), "sender": sender}
            for node, (time_ns, sender) in sorted(self._caught.items())
            if node not in broke
        ]

    def restore(
        self, found: Sequence[Mapping[str, Any]], caught: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Restore the entries of a run that this one continues."""
        self._read()
        self._broke = {one["node"]: (to_ns(one["t_s"]), one["job"]) for one in found}
        self._caught = {one["node"]: _Caught(to_ns(one["t_s"]), one["sender"]) for one in caught}

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for entries, after, before in unread:
            both = list(zip(entries, after.tolist(), before.tolist(), strict=True))
            for entry, is_sound, was_sound in both:
                if entry.made is not None:
                    entry.made.note_soundness(is_sound)
                if was_sound and not is_sound:
                    self._explain_training(entry)
            for entry, _, was_sound in both:
                known = entry.node in self._broke or entry.node in self._caught
                if not was_sound and not known and entry.began is not None:
                    self._trace(entry.node, entry.time_ns, entry.began)

    def _explain_training(self, entry: _Entry) -> None:
        """Tell why a training that began with a sound model ended with another.

        What it read beside the model may be why: an anchor, a prototype, an output of others.
        """
        beside = () if entry.made is None else entry.made.sources
        known = entry.node in self._broke or entry.node in self._caught
        if not known and any(self._is_spoilt(one, {}) for one in beside):
            assert entry.made is not None
            self._trace(entry.node, entry.time_ns, entry.made)
        else:
            self._note_broken(entry.node, entry.time_ns, entry.work.describe())

    def _note_broken(self, node: int, time_ns: int, job: str) -> None:
        known = self._broke.get(node)
        if known is None or time_ns < known[0]:
            self._broke[node] = time_ns, job

    def _trace(self, node: int, time_ns: int, origin: Origin) -> None:
        """Find out from whom a node has a value that is not sound, and from whom that one has it.

        Parameters
        ----------
        node : int
        time_ns : int
            When it read the value.
        origin : Origin
            Of the value.
        """
        while True:
            if origin.node != node:
                known = self._caught.get(node)
                if known is None or time_ns < known.time_ns:
                    self._caught[node] = _Caught(time_ns, origin.node)
                node = origin.node
            if node in self._broke or (
                node in self._caught and self._caught[node].time_ns <= origin.time_ns
            ):
                return
            memo: dict[Origin, bool] = {}
            spoilt = [one for one in origin.sources if self._is_spoilt(one, memo)]
            if not spoilt:  # received, and gone since: nobody can look at it any more
                spoilt = [s for s in origin.sources if s.node != node and s.is_sound is None]
            if not spoilt:
                self._note_broken(node, origin.time_ns, origin.work.describe())
                return
            time_ns = origin.time_ns
            origin = min(spoilt, key=self._unsound_since)

    def _unsound_since(self, origin: Origin) -> int:
        """Time at which a value's node was first unsound, else that at which it was asked for."""
        times = [origin.time_ns]
        if origin.node in self._broke:
            times.append(self._broke[origin.node][0])
        if origin.node in self._caught:
            times.append(self._caught[origin.node].time_ns)
        return min(times)

    def _is_spoilt(self, origin: Origin, memo: dict[Origin, bool]) -> bool:
        """Return whether a value is not sound.

        Training has found it, or its numbers or its sources say so.
        """
        if origin.is_sound is not None:
            return not origin.is_sound
        if origin not in memo:
            memo[origin] = False
            cells = [cell for cell in (one() for one in origin.cells) if cell is not None]
            held = [cell for cell in cells if cell.is_computed and cell.recipe is None]
            memo[origin] = (
                not all(_is_sound(cell) for cell in held)
                if held
                else any(self._is_spoilt(source, memo) for source in origin.sources)
                or (origin.node in self._broke and self._broke[origin.node][0] < origin.time_ns)
            )
        return memo[origin]


def _is_sound(cell: Cell) -> bool:
    values = cell.materialise()
    if cell.architecture is None:
        return bool(values.isfinite().all())
    parameters, buffers = values.tensor_split([cell.architecture.num_parameters])
    # A buffer may be infinite by intent, as a mask of attention is.
    return float(parameters.sum().abs()) <= LARGEST_SUM and not bool(buffers.isnan().any())
