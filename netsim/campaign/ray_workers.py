"""Runs as tasks of a Ray cluster, an existing one or one that is started here.

A task plays into a folder of its own node and returns the files, so nodes and this machine need
share no file system. They need the same netsim installed and, of data sets read from files, the
same paths; components of the user's own are sent along.
"""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from netsim.backends.native import cores
from netsim.campaign import sweep_folder
from netsim.campaign.grid import Job, Outcome
from netsim.campaign.play_job import Ask, Evaluation, play_job
from netsim.campaign.pool import Lost, Progress, Report, Started
from netsim.engine import ray_cluster
from netsim.recording import folder_lock
from netsim.recording.scratch import ScratchFolder
from netsim.traces.files import DATA_VARIABLE, data_folder

LOOK_EVERY_S = 0.5
"""Longest wait for a task: notices are fetched and signals noticed in between."""

LAST_WRITTEN = ("checksums.json", "status.json", "summary.json")
"""Without these an algorithm's folder is unfinished, so they are written when all else is."""


class RayWorkers:
    """A Ray cluster; see `pool.Workers`.

    Parameters
    ----------
    slots : int or None
        Runs at a time, which wait in Ray where there is no room; None: as many as there is room
        for now.
    ask : callable
        Whether a run that reports shall go on.
    address : str or None
        Of the cluster, as `ray.init` takes it; None: the one of $RAY_ADDRESS, else one on this
        machine that ends with the sweep.
    cpus, gpus : float
        What a run takes of a node; fractions are allowed.

    Raises
    ------
    ScenarioError
        If there is no Ray or no such cluster.
    """

    def __init__(
        self, slots: int | None, ask: Ask, address: str | None, cpus: float, gpus: float
    ) -> None:
        self._ray = ray_cluster.connected(address)
        self._ask = ask
        self.slots = slots or ray_cluster.room(cpus, gpus)
        self._tasks: dict[Any, Job] = {}
        self._pruned: set[Path] = set()
        self._cpus = cpus
        remote = self._ray.remote
        self._play = remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(play_on_node)
        self._notices = remote(num_cpus=0, max_restarts=-1)(Notices).remote()

    def start(self, job: Job) -> None:
        """Hand a run to the cluster."""
        data = data_folder()
        task = self._play.remote(
            job,
            sweep_folder.missing(job.folder, job.names),
            [ray_cluster.python_files(folder) for folder in job.components],
            None if data is None else str(data.absolute()),
            self._cpus,
            self._notices,
        )
        self._tasks[task] = job

    def reports(self) -> Iterator[Report]:
        """Yield new reports, waiting at most 0.5 s."""
        ray = self._ray
        waited = list(self._tasks)
        ended, _ = ray.wait(waited, num_returns=len(waited), timeout=0)
        if not ended:
            ended, _ = ray.wait(waited, timeout=LOOK_EVERY_S)
        yield from self._noticed()
        for task in ended:
            job = self._tasks.pop(task)
            try:
                outcome, files = ray.get(task)
            except ray.exceptions.TaskCancelledError:
                yield Outcome(job, pruned=True)
            except ray.exceptions.RayTaskError as error:  # not of the run, which has an outcome
                yield Outcome(job, f"{job.title}: {error.cause or error}")
            except ray.exceptions.RayError as error:
                yield Lost(job, _reason(error))
            else:
                yield _brought_back(job, outcome, files)

    def _noticed(self) -> Iterator[Report]:
        """Yield the reports of runs about themselves."""
        try:
            notices = self._ray.get(self._notices.take.remote(), timeout=10)
        except self._ray.exceptions.RayError:
            return  # the node that kept them is gone, and Ray starts another one
        tasks = {job.folder: task for task, job in self._tasks.items()}
        for job, said in notices:
            if job.folder not in tasks:
                continue
            if not isinstance(said, Evaluation):
                yield said
            elif job.folder not in self._pruned and not self._ask(job, said):
                self._pruned.add(job.folder)
                self._ray.cancel(tasks[job.folder])

    def stop(self) -> Iterator[Report]:
        """Make all runs end; what ended on its own before that is among the reports."""
        ended, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for task in set(self._tasks) - set(ended):
            self._ray.cancel(task, force=True)
            del self._tasks[task]
        if self._tasks:
            yield from self.reports()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        ray_cluster.leave()


def _reason(error: Exception) -> str:
    """Describe the end of a task's process, in a line."""
    first = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"its worker was lost ({type(error).__name__}: {first})"


def _brought_back(job: Job, outcome: Outcome, files: dict[str, bytes]) -> Outcome:
    """Write a run's files into its folder, beside what was put aside there."""
    if files:
        job.folder.mkdir(parents=True, exist_ok=True)
        with sweep_folder.locked(job.folder):
            names = sorted({Path(name).parts[0] for name in files})
            sweep_folder.put_aside(job.folder, names)
            in_order = sorted(files, key=lambda n: (Path(n).name in LAST_WRITTEN, n))
            ray_cluster.write_files(job.folder, {name: files[name] for name in in_order})
    return replace(outcome, job=job)


class Notices:
    """Keeps what runs say of themselves until the sweep fetches it; an actor of Ray's."""

    def __init__(self) -> None:
        self._kept: list[tuple[Job, Report | Evaluation]] = []

    def put(self, job: Job, said: Report | Evaluation) -> None:
        """Keep what a run of the sweep says."""
        self._kept.append((job, said))

    def take(self) -> list[tuple[Job, Report | Evaluation]]:
        """All that was kept, which is then forgotten."""
        taken, self._kept = self._kept, []
        return taken


def play_on_node(
    job: Job,
    missing: tuple[str, ...],
    sources: list[dict[str, bytes]],
    data: str | None,
    cpus: float,
    notices: Any,
) -> tuple[Outcome, dict[str, bytes]]:
    """Play a run into a folder of this node.

    Parameters
    ----------
    missing : tuple of str
        The algorithms to play.
    sources : list of (dict of str to bytes)
        The files of each folder of the user's own components, by name.
    data : str or None
        The folder of data sets that the sweep's process was told by its environment.
    cpus : float
        What the task has of this node.
    notices : actor handle
        Of `Notices`.

    Returns
    -------
    outcome : Outcome
    files : dict of str to bytes
        What was written, by name below the run's folder.
    """

    def tell(_: Job, virtual_s: float, horizon_s: float) -> None:
        notices.put.remote(job, Progress(job, virtual_s, horizon_s))

    def ask(_: Job, evaluation: Evaluation) -> bool:
        notices.put.remote(job, evaluation)
        return True  # the sweep cancels a task that is to end

    notices.put.remote(job, Started(job, os.getpid(), socket.gethostname()))
    if data is not None:
        os.environ[DATA_VARIABLE] = data
    cores.share(max(1, round(cores.available() / max(cpus, 1.0))))
    with ScratchFolder("task") as scratch:
        folder = scratch / "run"
        components = tuple(scratch / f"components-{i}" for i in range(len(sources)))
        for own, files_of_it in zip(components, sources, strict=True):
            own.mkdir()
            ray_cluster.write_files(own, files_of_it)
        here = replace(job, folder=folder, names=missing, components=components)
        outcome = play_job(here, tell, ask)
        problem = outcome.problem.replace(str(folder), str(job.folder))
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not folder_lock.is_lock(path)
        }
    return replace(outcome, job=job, problem=problem), files
