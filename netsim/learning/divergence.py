"""Nodes whose training left the finite numbers: who, when, in which job.

Whether a model is finite is asked on the device and read much later, so that a GPU is not waited
for after every call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from netsim.learning.jobs import Job, Work, describe
from netsim.units import to_s

READ_EVERY = 64
"""Calls after which the answers are read in any case."""


class _Entry(NamedTuple):
    node: int
    time_ns: int
    work: Work


def _parameters(job: Job) -> Tensor:
    """Of the model that a training started from."""
    theta = job.inputs[0]
    assert theta.architecture is not None
    return theta.tensor()[: theta.architecture.num_parameters]


class Divergences:
    """The first training of each node that began with finite numbers and ended with others."""

    def __init__(self) -> None:
        self._unread: list[tuple[list[_Entry], Tensor]] = []
        self._first: dict[int, _Entry] = {}

    def note(self, jobs: Sequence[Job], after: Tensor, before: Tensor | None = None) -> None:
        """Compare models before and after training.

        Parameters
        ----------
        jobs : sequence of Job
            n of them, their inputs still there.
        after, before : torch.Tensor
            (n,) sums of the parameters: nan or infinite if any of them is. On a CPU those before
            are looked at only where it matters.
        """
        if before is None:
            if math.isfinite(after.sum()):
                return
            before = torch.stack([_parameters(job).sum() for job in jobs])
        left = ~torch.isfinite(after) & torch.isfinite(before)
        self._unread.append(([_Entry(j.node, j.time_ns, j.work) for j in jobs], left))
        if len(self._unread) >= READ_EVERY:
            self._read()

    def found(self) -> list[dict[str, Any]]:
        """By node: `node`, virtual time `t_s` and `job`, as the summary holds them."""
        self._read()
        return [
            {"node": node, "t_s": to_s(entry.time_ns), "job": describe(entry.work)}
            for node, entry in sorted(self._first.items())
        ]

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for entries, left in unread:
            for entry, has_left in zip(entries, left.tolist(), strict=True):
                known = self._first.get(entry.node)
                if has_left and (known is None or entry.time_ns < known.time_ns):
                    self._first[entry.node] = entry
