"""Code for a node of a Ray cluster: a task that plays one run, and a place for notices."""

import os
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from netsim.backends.native import cores
from netsim.campaign.grid import Job
from netsim.campaign.workers.play_job import Evaluation, play_job
from netsim.campaign.workers.wire import outcome_fields, read_job
from netsim.engine import runner
from netsim.recording import folder_lock


class Notices:
    """Store of the reports of runs until the sweep fetches them; an actor of Ray's."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, str, dict[str, Any]]] = []

    def put(self, key: str, kind: str, said: dict[str, Any]) -> None:
        """Keep a notice.

        Parameters
        ----------
        key : str
            Of the run: its folder in the sweep.
        kind : str
            `started`, `progress` or `evaluated`.
        said : dict
            The report's fields.
        """
        self._kept.append((key, kind, said))

    def take(self) -> list[tuple[str, str, dict[str, Any]]]:
        """All notices, which are then forgotten."""
        taken, self._kept = self._kept, []
        return taken


def play_on_node(
    text: str,
    missing: tuple[str, ...],
    sources: list[dict[str, bytes]],
    data: str | None,
    cpus: float,
    notices: Any,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Play a run into a folder of this node.

    Parameters
    ----------
    text : str
        The job, see `wire`.
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
    fields : dict
        Of the outcome, see `wire.outcome_fields`.
    files : dict of str to bytes
        What was written, by name below the run's folder.
    """
    job = read_job(text)
    key = str(job.folder)

    def tell(_: Job, virtual_s: float, horizon_s: float) -> None:
        notices.put.remote(key, "progress", {"virtual_s": virtual_s, "horizon_s": horizon_s})

    def ask(_: Job, evaluation: Evaluation) -> bool:
        said = {"virtual_s": evaluation.virtual_s, "means": dict(evaluation.means)}
        notices.put.remote(key, "evaluated", said)
        return True  # the sweep cancels a task that is to end

    notices.put.remote(key, "started", {"pid": os.getpid(), "host": socket.gethostname()})
    if data is not None:
        os.environ[runner.DATA_VARIABLE] = data
    cores.share(max(1, round(cores.available() / max(cpus, 1.0))))
    with tempfile.TemporaryDirectory(prefix="netsim-") as scratch:
        folder = Path(scratch, "run")
        components = tuple(Path(scratch, f"components-{i}") for i in range(len(sources)))
        for own, files_of_it in zip(components, sources, strict=True):
            own.mkdir()
            for name, source in files_of_it.items():
                path = own / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(source)
        here = replace(job, folder=folder, names=missing, components=components)
        outcome = play_job(here, tell, ask)
        fields = outcome_fields(outcome)
        fields["problem"] = fields["problem"].replace(str(folder), key)
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not folder_lock.is_lock(path)
        }
    return fields, files
