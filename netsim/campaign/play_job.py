"""One run of a sweep, wherever it is played."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netsim.campaign import resume as resuming
from netsim.campaign import sweep_folder
from netsim.campaign.grid import Job, Outcome
from netsim.engine import runner
from netsim.engine.playing import failure_text
from netsim.errors import AlteredError, FolderBusyError, NetsimError, ScenarioError
from netsim.recording import status
from netsim.scenario import AlgorithmEntry, check
from netsim.scenario.kinds import Kinds, kinds_of

if TYPE_CHECKING:
    from netsim.engine.progress import Progress

TOLD_EVERY_S = 5.0
"""Wall time between two words on how far a run has come."""


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of a run at one moment: means over nodes, by metric."""

    virtual_s: float
    means: Mapping[str, float]


Tell = Callable[[Job, float, float], None]
"""Told how far a run has come: virtual time and horizon, both in s."""

Ask = Callable[[Job, Evaluation], bool]
"""Asked at every evaluation whether a run shall go on."""


class PrunedError(NetsimError):
    """A search has ended this run early."""


def play_job(job: Job, tell: Tell, ask: Ask) -> Outcome:
    """Play what is not done of a run; its errors become part of the outcome.

    A run that was killed or interrupted goes on from its last checkpoint. Where it has none, what
    there is of it is put aside.

    Parameters
    ----------
    tell, ask : callable
        `ask` is asked only if the job says that it reports.
    """
    missing = sweep_folder.missing(job.folder, job.names)
    if not missing:
        return Outcome(job)
    locked = ExitStack()

    def make_folder() -> Path:
        job.folder.mkdir(parents=True, exist_ok=True)
        locked.enter_context(sweep_folder.locked(job.folder))
        sweep_folder.put_aside(job.folder, missing)
        return job.folder

    watch = _Watch(job, tell, ask)
    try:
        modules = kinds_of(job.components)
        if _has_gone_on(job, missing, modules, watch):
            return Outcome(job)
        scenario = check(job.draft, modules)
        left = tuple(entry for entry in scenario.algorithm if entry.name in missing)
        runner.play(
            scenario.model_copy(update={"algorithm": left}),
            make_folder,
            job.draft.path,
            job.timing_only,
            watch,
            sub_folders=True,
            components=job.components,
        )
    except PrunedError as error:
        _say_pruned(job, str(error))
        return Outcome(job, pruned=True)
    except Exception as error:  # one run's crash is that run's outcome; the others go on
        bad_input = isinstance(error, ScenarioError) and not isinstance(error, FolderBusyError)
        return Outcome(job, f"{job.title}: {failure_text(error)}", bad_input)
    finally:
        locked.close()
    return Outcome(job)


def _has_gone_on(job: Job, missing: Sequence[str], modules: Kinds, watch: runner.Watch) -> bool:
    """Go on with a run that was killed or interrupted; False if it has to begin anew.

    `missing`: its algorithms that are not done.
    """
    states = {sweep_folder.state(job.folder / name) for name in missing}
    if job.timing_only or not states & {"running", "interrupted"} or "failed" in states:
        return False
    with sweep_folder.locked(job.folder):
        try:
            run = resuming.read_unfinished(job.folder, modules)
            resuming.play(run, modules, lambda _: None, watch)
        except (ScenarioError, AlteredError):  # nothing was written
            return False
    return not sweep_folder.missing(job.folder, job.names)


def _say_pruned(job: Job, why: str) -> None:
    """Write that a run was ended on purpose, over the state `failed` that an error leaves."""
    for name in job.names:
        if sweep_folder.state(job.folder / name) == "failed":
            status.write(job.folder / name, {"state": "pruned", "reason": why})


class _Watch:
    """Passes on how far a run has come and what it measures."""

    def __init__(self, job: Job, tell: Tell, ask: Ask) -> None:
        self._job, self._tell, self._ask = job, tell, ask
        self._told_s = time.monotonic()
        self._asked_s = 0.0  # the models that a run begins with tell nothing

    def __call__(self, entry: AlgorithmEntry, progress: "Progress") -> None:
        now_s = time.monotonic()
        if now_s >= self._told_s + TOLD_EVERY_S:
            self._tell(self._job, progress.virtual_s, progress.horizon_s)
            self._told_s = now_s
        at_s = progress.evaluated_s
        if not self._job.reports or not self._asked_s < at_s < progress.horizon_s:
            return
        self._asked_s = at_s
        if not self._ask(self._job, Evaluation(at_s, progress.means)):
            raise PrunedError(f"{entry.name}: ended at {at_s:g} s: worse than the trials before")
