"""Playing one algorithm on a world: torch and Python set up for it, its state kept on disk."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from netsim.engine.failures import failure_text
from netsim.engine.simulation import Simulation, Watcher
from netsim.recording import checksums, folder_lock
from netsim.results import status
from netsim.scenario.tables import AlgorithmEntry
from netsim.units import to_s
from netsim.world.builder import World

COLLECTED_EVERY = (20_000, 20, 100)
"""The thresholds of Python's garbage collector during a run, for its three generations."""


def play(
    world: World,
    entry: AlgorithmEntry,
    folder: Path | None = None,
    timing_only: bool = False,
    on_progress: Watcher | None = None,
) -> dict[str, Any]:
    """Play one algorithm on a world.

    Parameters
    ----------
    world : World
    entry : AlgorithmEntry
        Names the algorithm and holds its Params.
    folder : Path or None
        The run folder; None keeps nothing but the summary.
    timing_only : bool
        Without tensor work: what is asked is in seconds, bits and losses.
    on_progress : callable
        Told now and then.

    Returns
    -------
    dict
        The summary.

    Raises
    ------
    NetsimError
        If the run fails; what was written stays readable.
    """
    # Threads of PyTorch's own change bits, and where neighbours load the cores they only spin.
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = world.scenario.run.tf32
    torch.backends.cudnn.allow_tf32 = world.scenario.run.tf32
    with _owned(folder), _collecting_seldom():
        return _played(Simulation(world, entry, folder, timing_only, on_progress), folder)


@contextmanager
def _owned(folder: Path | None) -> Iterator[None]:
    """The run folder, created if need be, belongs to this process meanwhile."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with folder_lock.held(folder):
        yield


def _played(run: Simulation, folder: Path | None) -> dict[str, Any]:
    """The summary of a run, which goes to its folder with all else."""
    try:
        if folder is not None:
            run.write_inputs(folder)
            status.write(folder, {"state": "running"})
        run.to_horizon()
        found = run.finish(folder)
        if folder is not None:
            status.write(folder, {"state": "done", "virtual_s": to_s(run.clock.now)})
            checksums.write(folder)
        return found
    except BaseException as error:
        if folder is not None:
            _leave(run, folder, error)
        raise


def _leave(run: Simulation, folder: Path, error: BaseException) -> None:
    """Write what waits of a run that has ended before its time, and what ended it."""
    written, virtual_s = run.recorder.salvage(), to_s(run.clock.now)
    interrupted = isinstance(error, KeyboardInterrupt)
    told = status.write_at_any_cost(
        folder,
        {
            "state": "interrupted" if interrupted else "failed",
            "error": "" if interrupted else failure_text(error),
            "virtual_s": virtual_s,
            "rows_written": written,
        },
    )
    if not interrupted:
        rows = ", ".join(f"{rows} rows of {table}" for table, rows in written.items()) or "no rows"
        error.add_note(f"it had come to {virtual_s:g} s of virtual time and written {rows}")
        if not told and folder.exists():
            error.add_note(f"{folder / 'status.json'} could not be written and does not say so")


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Let Python look for cyclic garbage seldom.

    Nearly all garbage of a run is freed by reference counts. What exists before the run outlives it
    and need not be searched; what is left of the run is freed at its end, before another one needs
    as much memory.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTED_EVERY)
    try:
        yield
    finally:
        gc.collect()
        gc.set_threshold(*thresholds)
        gc.unfreeze()
