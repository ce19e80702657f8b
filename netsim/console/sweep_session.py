"""A sweep that is being played."""

from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from netsim.backends.native import cores
from netsim.campaign import grid as sweeps
from netsim.campaign import ray_workers, search, sweep_folder
from netsim.campaign.local_workers import LocalWorkers
from netsim.campaign.play_job import Ask
from netsim.campaign.pool import Grid, InProcess, Source, Workers, play_all, stop_requests
from netsim.campaign.sweep_folder import part_name
from netsim.console import terminal
from netsim.console.progress import announce
from netsim.console.sweep_end import conclude
from netsim.console.sweep_progress import NAMED, SweepProgress, listed
from netsim.console.sweep_tables import has_results
from netsim.engine import runner
from netsim.errors import ScenarioError
from netsim.scenario import Scenario
from netsim.scenario.draft import Draft


@dataclass(frozen=True)
class Where:
    """Place in which a sweep is played.

    Attributes
    ----------
    engine : {"local", "ray"}
    ray_address : str or None
        Of the cluster; None: of $RAY_ADDRESS, else one on this machine.
    ray_cpus, ray_gpus : float
        What a run takes of a node.
    only : (int, int) or None
        The part to play: which, of how many.
    force_new : bool
        Whether what its folder holds moves aside.
    report : bool
        Whether a page of what happened is written at its end.
    watch : bool
        Whether it is written anew every few seconds meanwhile, too.
    """

    engine: str = "local"
    ray_address: str | None = None
    ray_cpus: float = 1.0
    ray_gpus: float = 0.0
    only: sweep_folder.Part | None = None
    force_new: bool = False
    report: bool = True
    watch: bool = False


class Session:
    """A sweep that is played: its workers, what became of its runs, its tables."""

    def __init__(
        self, draft: Draft, scenario: Scenario, top: Path, new: bool, quiet: bool, where: Where
    ) -> None:
        assert scenario.sweep is not None
        self._draft, self._scenario, self._sweep = draft, scenario, scenario.sweep
        self._top, self._new, self._quiet, self._where = top, new, quiet, where
        self._jobs: list[sweeps.Job] = []
        self._mine: list[sweeps.Job] = []
        self._told: SweepProgress | None = None

    def play(self, jobs: list[sweeps.Job]) -> None:
        """Play what is missing of the runs that are this process' own."""
        self._jobs = jobs
        part, parts = self._where.only or (1, 1)
        self._mine = jobs[part - 1 :: parts]
        if self._sweep.trials:
            found = search.Search(self._draft, self._scenario, jobs, self._top)
            total = found.total * len(sweeps.seeds(self._sweep, self._scenario.seed))
            done = found.runs_before
            self._run(found, found.goes_on, total, done, total - done)
            return
        due = [job for job in self._mine if sweep_folder.missing(job.folder, job.names)]
        total = len(self._mine)
        self._run(Grid(due), lambda *_: True, total, total - len(due), len(due))

    def _run(self, source: Source, ask: Ask, total: int, done: int, due: int) -> None:
        """Play the runs of a source.

        Parameters
        ----------
        source : Source
        ask : callable
            Whether a run that reports shall go on.
        total, done, due : int
            Runs in all, those done before, those to play: at most.
        """
        console = None if self._quiet else terminal.err()
        jobs = self._sweep.jobs or (None if self._where.engine == "ray" else cores.available())
        if console is not None:
            announce(console, self._scenario)
            before = f", of which {done} are done" if done or not self._new else ""
            at_a_time = "" if jobs is None or not due else f", {min(jobs, due)} at a time"
            console.print(f"{total} runs{before}{at_a_time}, into {self._top}")
        name = "status" if self._where.only is None else f"status-{part_name(self._where.only)}"
        self._told = SweepProgress(console, self._top / f"{name}.json", total, done)
        if not due:
            return
        with stop_requests(in_process=jobs == 1 and self._where.engine == "local") as check_stop:
            play_all(source, self._workers(jobs, due, ask), self._told, check_stop)

    def _workers(self, jobs: int | None, due: int, ask: Ask) -> Workers:
        where = self._where
        if where.engine == "ray":
            slots = jobs or (None if self._sweep.trials else due)
            return ray_workers.RayWorkers(
                slots, ask, where.ray_address, where.ray_cpus, where.ray_gpus
            )
        assert jobs is not None
        return InProcess(ask) if jobs == 1 else LocalWorkers(min(jobs, due), ask)

    @property
    def failed(self) -> list[sweeps.Outcome]:
        """Runs that failed in this process."""
        return [o for o in self._outcomes if o.problem]

    @property
    def _outcomes(self) -> list[sweeps.Outcome]:
        return [] if self._told is None else self._told.outcomes

    def _undone(self) -> list[sweeps.Job]:
        return [j for j in self._mine if sweep_folder.missing(j.folder, j.names)]

    def sum_up(self, state: str) -> None:
        """Write and print the tables; of a part only if it was the last one.

        Parameters
        ----------
        state : str
            For `status.json`.
        """
        told = self._told
        if told is None:
            return
        # A run may be done and its worker end before it says so.
        done = None if self._sweep.trials else len(self._mine) - len(self._undone())
        last = told.digest(state, done)  # the state is said when all else is there
        if not self._quiet and told.tried_again:
            console = terminal.err()
            console.print(Text("played more than once, as a process was lost:", style="yellow"))
            for line in listed(told.tried_again, NAMED):
                console.print(Text(f"  {line}"))
        left: list[sweeps.Job] = []
        if self._where.only is None:
            if has_results(self._scenario, self._top):
                conclude(self._scenario, self._top, self._quiet, last, self._where.report)
        else:
            left = [j for j in self._jobs if sweep_folder.missing(j.folder, j.names)]
            if not left:
                with sweep_folder.locked(self._top):
                    conclude(self._scenario, self._top, self._quiet, last, self._where.report)
        told.write(state, done=done)
        if left and not self._quiet:
            terminal.out().print(
                f"{len(self._jobs) - len(left)} of {len(self._jobs)} runs of the whole sweep are "
                f"done; netsim compare {self._top} shows them"
            )

    def raise_failures(self) -> None:
        """Raise what failed, if anything did.

        Raises
        ------
        ScenarioError
            If every run was bad input and nothing was written; the folder is removed.
        RunFailedError
        """
        failed = self.failed
        if not failed:
            return
        texts = list(dict.fromkeys(outcome.problem for outcome in failed))
        if all(outcome.bad_input for outcome in failed) and len(failed) == len(self._outcomes):
            if self._new and self._where.only is None:
                sweep_folder.withdraw(self._top)
            raise ScenarioError("\n".join(texts))
        runs = len(self._outcomes) if self._sweep.trials else len(self._mine)
        if len(failed) == runs:
            raise runner.RunFailedError("\n".join(texts))
        raise runner.RunFailedError(
            f"{len(failed)} of {runs} runs; the others are in {self._top}\n"
            + "\n".join(outcome.problem for outcome in failed)
        )

    def with_what_is_missing(self, stop: KeyboardInterrupt) -> KeyboardInterrupt:
        """Say what an interrupted sweep has, which runs failed, which have not ended, how to go on.

        Parameters
        ----------
        stop : KeyboardInterrupt

        Returns
        -------
        KeyboardInterrupt
            The same, with notes.
        """
        failed = {o.job.folder for o in self.failed}
        missing = [j.where for j in self._undone() if j.folder not in failed]
        ended, top = len(self._mine) - len(missing), self._top
        if self._sweep.trials:
            ended, missing = len(self._outcomes), []
            stop.__notes__ = [f"{ended} runs had ended; their results are in {top}"]
        else:
            stop.__notes__ = [
                f"{ended} of {len(self._mine)} runs had ended; their results are in {top}"
            ]
        stop.__notes__ += [outcome.problem for outcome in self.failed]
        stop.__notes__ += [
            line if line.startswith("and ") else f"not ended: {line}"
            for line in listed(missing, NAMED)
        ]
        stop.__notes__.append(f"to go on: the same command with --out {top}")
        return stop
