"""Draws from the global random numbers of torch, NumPy and Python, which no seed of a run sets.

Two runs of one scenario would differ. What draws is refused where the draw can be told to be a
job's, and warned of otherwise. Random layers draw from torch's generator, too, but from seeds: a
minibatch's masks follow from its name, however jobs are grouped.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch

from netsim.learning.functions import place_of
from netsim.learning.jobs import BatchKey, Job
from netsim.rng import Streams
from netsim.units import to_s

REMEDY = (
    "which no seed sets, so two runs would differ; give it draws of node.uniform, or in a loss "
    "those of @netsim.api.loss(uniforms=...)"
)


TRIES = 3
"""Number of reruns of a job that seems to draw: another thread may have drawn meanwhile."""

OBSERVED_CALLS = 10
"""First calls of an observer at which it is found out whether it draws."""

T = TypeVar("T")

ALONE = threading.RLock()
"""Held while torch's global generator is seeded for a while, and while tensor work is watched for
draws from it: runs of several threads share that generator."""


def torch_state() -> bytes:
    """The state of torch's global generator on the CPU."""
    return torch.default_generator.get_state().numpy().tobytes()


def set_torch_state(state: bytes) -> None:
    """Give torch's global generator on the CPU a state that it has had."""
    values = np.frombuffer(state, dtype=np.uint8).copy()
    torch.default_generator.set_state(torch.from_numpy(values))


def drawing_job(jobs: Sequence[Job[Any]], run: Callable[[Job[Any]], object]) -> str | None:
    """Name the job that draws from torch's global generator; None if none does.

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
        if uses_global_generator(job, run):
            return (
                f"node {job.node} at {to_s(job.time_ns):g} s: {job.work.describe()}: "
                f"{place_of(function)} draws from torch's global random numbers, {REMEDY}"
            )
    return None


def uses_global_generator(job: Job[Any], run: Callable[[Job[Any]], object]) -> bool:
    """Return whether torch's global generator has another state whenever a job has run again."""
    return all(_moves_generator(job, run) for _ in range(TRIES))


def _moves_generator(job: Job[Any], run: Callable[[Job[Any]], object]) -> bool:
    before = torch_state()
    run(job)
    return torch_state() != before


class GlobalGenerators:
    """Watches the three global generators between looks."""

    def __init__(self) -> None:
        self._drew: dict[str, None] = {}
        with ALONE:
            self._states = _states()

    def that_drew(self) -> list[str]:
        """Return the generators that something has drawn from since the last look."""
        drew, self._drew = self._drew, {}
        return list(drew | dict.fromkeys(self._changed()))

    def _changed(self) -> list[str]:
        with ALONE:
            before, self._states = self._states, _states()
        return [name for name, state in self._states.items() if state != before[name]]

    def leave_out(self, call: Callable[[T], object], told: T) -> tuple[Any, bool]:
        """Call an agent or an observer; no result depends on what it draws.

        Returns
        -------
        (Any, bool)
            What it gives, and whether it has drawn.
        """
        self._drew |= dict.fromkeys(self._changed())
        try:
            found = call(told)
        finally:
            drew = self._changed()
        return found, bool(drew)

    def observer(self, call: Callable[[T], object]) -> Callable[[T], object]:
        """Give an observer whose draws are left out.

        A look takes 0.1 ms, so one that has not drawn at its first calls is looked at no more.
        """
        calls, has_drawn = 0, False

        def observed(told: T) -> None:
            nonlocal calls, has_drawn
            calls += 1
            if has_drawn or calls <= OBSERVED_CALLS:
                has_drawn |= self.leave_out(call, told)[1]
            else:
                call(told)

        return observed


def _states() -> dict[str, object]:
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what is watched
    return {
        "torch": torch_state(),
        "NumPy": (legacy["state"]["pos"], legacy["state"]["key"].tobytes(), legacy["has_gauss"]),
        "Python": random.getstate(),
    }


def mask_seed(streams: Streams, key: BatchKey) -> int:
    """Seed of the masks that belong to one minibatch."""
    return streams.key(f"mask/{key.stream}", key.shard, key.counter) & 0x7FFFFFFFFFFFFFFF


def generator(device: torch.device, seed: int) -> torch.Generator:
    """A generator that gives the numbers that a layer draws within `seeded(device, seed)`."""
    return torch.Generator(device).manual_seed(seed)


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's global generators for a while; their earlier state comes back afterwards.

    Only those of the processor and of `device`: `torch.manual_seed` writes the call stack down for
    each kind of device that is not in use, 100 us a call.
    """
    is_cuda = device.type == "cuda"
    with ALONE, torch.random.fork_rng(devices=[device] if is_cuda else []):
        torch.default_generator.manual_seed(seed)
        if is_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def all_seeded(seed: int) -> Iterator[int]:
    """Seed the global generators of Python, NumPy and torch for a while, and give the seed.

    Their earlier states come back afterwards.
    """
    with KeptGenerators(seed).in_force():
        yield seed


class KeptGenerators:
    """States of the three global generators that go on from one use to the next.

    Parameters
    ----------
    seed : int
        What they begin from.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: tuple[Any, Any, Any] | None = None

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let the global generators have these states; their earlier ones come back afterwards."""
        with ALONE:
            before, thread = _all_states(), threading.get_ident()
            if self._states is None:
                _seed_all(self._seed)
            else:
                _set_all_states(self._states)
            outermost = thread not in _FOREIGN
            _FOREIGN.add(thread)
            try:
                yield
            finally:
                if outermost:
                    _FOREIGN.remove(thread)
                self._states = _all_states()
                _set_all_states(before)


_FOREIGN = set[int]()
"""Threads in which code of others runs with generators of its own."""


def foreign_code_runs() -> bool:
    """Return whether code that brings its own learning runs in this thread, or it waits for such.

    That is the case between `KeptGenerators.in_force` (`node.seeded`) and its end.
    """
    return threading.get_ident() in _FOREIGN


def _all_states() -> tuple[Any, Any, Any]:
    """The states of the global generators of Python, NumPy and torch."""
    return random.getstate(), np.random.get_state(), torch.default_generator.get_state()  # noqa: NPY002


def _seed_all(seed: int) -> None:
    """Seed the three global generators, which is quicker than to make others of that seed."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002
    torch.default_generator.manual_seed(seed)


def _set_all_states(states: tuple[Any, Any, Any]) -> None:
    python, numpy, of_torch = states
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.default_generator.set_state(of_torch)
