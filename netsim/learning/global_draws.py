"""Draws from the global random numbers of torch, NumPy and Python, which no seed of a run sets.

Two runs of one scenario would differ. What draws is refused where the draw can be told to be a
job's, and warned of otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from netsim.learning.functions import place_of
from netsim.learning.jobs import Job
from netsim.units import to_s

REMEDY = (
    "which no seed sets, so two runs would differ; give it draws of node.uniform, or in a loss "
    "those of @netsim.api.loss(uniforms=...)"
)


def torch_state() -> bytes:
    """The state of torch's global generator on the CPU."""
    return torch.default_generator.get_state().numpy().tobytes()


def drawing_job(jobs: Sequence[Job[Any]], run: Callable[[Job[Any]], object]) -> str | None:
    """Which of some jobs draws from torch's global generator, once one has.

    Parameters
    ----------
    jobs : sequence of Job
        Those that have run meanwhile.
    run : callable
        Runs one of them again.

    Returns
    -------
    str or None
        An error message; None if none of them does.
    """
    for job in jobs:
        function = getattr(job.work, "function", None)
        if function is None:
            continue
        before = torch_state()
        run(job)
        if torch_state() != before:
            return (
                f"node {job.node} at {to_s(job.time_ns):g} s: {job.work.describe()}: "
                f"{place_of(function)} draws from torch's global random numbers, {REMEDY}"
            )
    return None


class GlobalGenerators:
    """Watches the three global generators between looks."""

    def __init__(self) -> None:
        self._states = _states()

    def that_drew(self) -> list[str]:
        """Which of them something has drawn from since the last look."""
        before, self._states = self._states, _states()
        return [name for name, state in self._states.items() if state != before[name]]


def _states() -> dict[str, object]:
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what is watched
    return {
        "torch": torch_state(),
        "NumPy": (legacy["state"]["pos"], legacy["state"]["key"].tobytes(), legacy["has_gauss"]),
        "Python": random.getstate(),
    }
