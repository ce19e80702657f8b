"""Nodes whose models became nan, infinite or huge in training: which node, when, in which job.

Whether a model is sound is computed on the device and read many calls later, so that a run need
not wait for a GPU after every call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from netsim.learning.jobs import Job, Work
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


def _parameters(job: Job[Any]) -> Tensor:
    """The parameters of the model that a training started from, (P,)."""
    theta = job.inputs[0]
    assert theta.architecture is not None
    return theta.tensor()[: theta.architecture.num_parameters]


class Divergences:
    """The first training of each node that began with a sound model and ended with another."""

    def __init__(self) -> None:
        self._unread: list[tuple[list[_Entry], Tensor]] = []
        self._first: dict[int, tuple[int, str]] = {}  # by node: virtual time [ns] and job

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
        sound = after.abs() <= LARGEST_SUM  # false of nan
        if before is None:
            if bool(sound.all()):
                return
            before = torch.stack([_parameters(job).sum() for job in jobs])
        left = ~sound & (before.abs() <= LARGEST_SUM)
        self._unread.append(([_Entry(j.node, j.time_ns, j.work) for j in jobs], left))
        if len(self._unread) >= READ_EVERY:
            self._read()

    def found(self) -> list[dict[str, Any]]:
        """What the summary holds of each such node: `node`, virtual time `t_s`, `job`."""
        self._read()
        return [
            {"node": node, "t_s": to_s(time_ns), "job": job}
            for node, (time_ns, job) in sorted(self._first.items())
        ]

    def restore(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Take over what `found` gave in a run that this one goes on with."""
        self._read()
        self._first = {one["node"]: (to_ns(one["t_s"]), one["job"]) for one in found}

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for entries, left in unread:
            for entry, has_left in zip(entries, left.tolist(), strict=True):
                known = self._first.get(entry.node)
                if has_left and (known is None or entry.time_ns < known[0]):
                    self._first[entry.node] = entry.time_ns, entry.work.describe()
