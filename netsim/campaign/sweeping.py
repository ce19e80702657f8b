"""A sweep that is being played: what is missing of it, told run by run, summed up at its end.

Each run has a line on the terminal, and `status.json` in the sweep's folder has all of them.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.text import Text

from netsim.backends.native import cores
from netsim.campaign import (
    final_views,
    folder_rotation,
    grid,
    live,
    ray_workers,
    search,
    sweep_folder,
)
from netsim.campaign.grid import Job, Outcome
from netsim.campaign.local_workers import LocalWorkers
from netsim.campaign.play_job import Ask
from netsim.campaign.pool import (
    Grid,
    InProcess,
    Source,
    SweepProgress,
    Workers,
    play_all,
    stop_requests,
)
from netsim.campaign.sweep_results import NAMED, has_results, limit_lines
from netsim.engine import output_folder, ray_cluster, runner
from netsim.errors import ScenarioError
from netsim.scenario import Scenario, Sweep, check, draft_of
from netsim.scenario.draft import Draft
from netsim.scenario.kinds import kinds_of
from netsim.terminal import consoles
from netsim.terminal.progress import announce


@dataclass(frozen=True)
class Where:
    """Place in which a sweep is played."""

    engine: str = "local"  # "local" or "ray"
    # of the cluster; None: of $RAY_ADDRESS, else one on this machine
    ray_address: str | None = None
    # what a run takes of a node
    ray_cpus: float = 1.0
    ray_gpus: float = 0.0
    only: sweep_folder.Part | None = None  # the part to play: which, of how many
    force_new: bool = False  # whether what its folder holds moves aside
    report: bool = True  # whether a page of what happened is written at its end
    watch: bool = False  # whether it is written anew every few seconds meanwhile, too


def go_on(
    folder: Path, components: tuple[Path, ...], quiet: bool, report: bool, watch: bool
) -> None:
    """Go on with a sweep by its folder, as `netsim sweep` does that says the same again.

    Parameters
    ----------
    components : tuple of Path
        Folders of components of the user's own.
    quiet : bool
        Neither progress nor tables.
    report, watch : bool
        As of `Where`.

    Raises
    ------
    ScenarioError, RunFailedError
        As `play`.
    """
    modules = kinds_of(components)
    draft = draft_of(str(folder / sweep_folder.DEFINITION), (), modules)
    timing_only = sweep_folder.said_there(folder).get("timing_only") is True
    where = Where(report=report, watch=watch)
    play(draft, check(draft, modules), folder, components, timing_only, quiet, where)


def new_folder(out: Path | None, force_new: bool = False) -> Path | None:
    """The folder, if it has to be a new one: none that moves aside.

    Raises
    ------
    ScenarioError
        If it should move aside and can't.
    """
    if not force_new:
        return out
    if out is None:
        raise ScenarioError("--force-new: needs --out DIR, the folder that is to be a new one")
    return None if folder_rotation.must_move(out) else out


def make_room(out: Path | None, quiet: bool) -> None:
    """Move aside what a folder holds, and say so unless nothing is to be printed."""
    aside = None if out is None else folder_rotation.move(out)
    if aside is not None and not quiet:
        consoles.err().print(f"moved what {out} held to {aside}")


def claimed_anew(out: Path | None, name: str, quiet: bool) -> Path:
    """Claim the folder of a run, what it holds moved aside, also what came since it was moved.

    Parameters
    ----------
    name : str
        Of the scenario.
    quiet : bool
        Whether to say nothing of what is moved.

    Raises
    ------
    ScenarioError
        As `output_folder.claim`; what another process writes there stays.
    """
    for _ in range(_MOVES):
        make_room(out, quiet)
        with suppress(ScenarioError):  # another run has come, and perhaps gone, in between
            return output_folder.claim(out, name)
    make_room(out, quiet)
    return output_folder.claim(out, name)


_MOVES = 5
"""So often a folder is moved aside that other runs fill again before it is claimed."""


def play(
    draft: Draft,
    scenario: Scenario,
    out: Path | None,
    components: tuple[Path, ...],
    timing_only: bool,
    quiet: bool,
    where: Where | None = None,
) -> Path:
    """Play what is missing of a sweep; whatever ends it, what has been played is summed up.

    Parameters
    ----------
    draft : Draft
        The scenario before validation: each run changes it and checks it again.
    scenario : Scenario
        With a sweep.
    out : Path or None
        Folder of the results; None: the first free of runs/NAME, runs/NAME-2, ...
    components : tuple of Path
        Folders of components of the user's own.
    timing_only : bool
        Without tensor work.
    quiet : bool
        Neither progress nor tables.

    Returns
    -------
    Path
        The sweep's folder.

    Raises
    ------
    ScenarioError
        If there is anything wrong with the input; nothing was written.
    RunFailedError
        If a run failed; the others' results are there.
    """
    where = where or Where()
    assert scenario.sweep is not None
    planned = grid.plan(draft, scenario, Path(), components, timing_only)  # before any folder
    _require(scenario.sweep, out, where)
    if scenario.run.engine == "ray":
        raise ScenarioError(
            f'{draft.path}: [run] engine = "ray": a sweep plays whole runs beside each other, and '
            "each would take all cores for its actors; leave it out, and let netsim sweep --engine "
            "ray spread the runs"
        )
    modules = kinds_of(components)
    said = sweep_folder.arguments(scenario, modules, timing_only)
    if where.force_new:
        make_room(out, quiet)

    with (
        sweep_folder.open_sweep(out, scenario, said, where.only) as (top, new),
        live.live_page(where.watch, (), components, consoles.err().warn) as page,
    ):
        jobs = [replace(job, folder=top / job.folder) for job in planned]
        played = Session(draft, scenario, jobs, top, new, quiet, where)
        with played.failures_said():
            _play(played, page)
        return top


def _play(played: "Session", page: live.LivePage | None) -> None:
    """Play what is missing and sum it up, whatever ends it."""
    try:
        if page is not None:
            page.begin(played.top)
        try:
            played.play()
        finally:
            if page is not None:
                page.stop()  # what sums it up writes the last one
    except ScenarioError:
        played.withdraw()
        raise
    except runner.RunFailedError:
        played.sum_up("failed")
        raise
    except KeyboardInterrupt as stop:
        with suppress(KeyboardInterrupt):  # a second one leaves the tables out
            played.sum_up("interrupted")
        raise played.with_what_is_missing(stop) from None
    try:
        played.sum_up("failed" if played.failed else "done")
    except KeyboardInterrupt as stop:
        raise played.with_what_is_missing(stop) from None
    played.raise_failures()


def _require(sweep: Sweep, out: Path | None, where: Where) -> None:
    """Refuse what can't be played that way, before any folder."""
    if where.watch:
        live.require_page(where.report)
    if where.watch and where.only is not None:
        raise ScenarioError(
            "--watch: with --only, several processes would write one page; netsim report writes "
            "that of what is there"
        )
    if where.only is not None and out is None:
        raise ScenarioError("--only: needs --out DIR, the folder that all parts share")
    if where.only is not None and where.force_new:
        raise ScenarioError("--only: goes on in the folder of all parts; leave out --force-new")
    if where.only is not None and sweep.trials:
        raise ScenarioError(
            "--only: a search can't be played in parts, as each trial depends on those before it; "
            "use --jobs or --engine ray"
        )
    if sweep.trials:
        search.imported()
    if where.engine == "ray":
        ray_cluster.imported()


def at_a_time(scenario: Scenario, learns: bool = True) -> int:
    """Return how many runs to play at a time: one a core, or one where they would share a GPU."""
    shares_gpu = learns and scenario.run.device != "cpu" and torch.cuda.is_available()
    return 1 if shares_gpu else cores.available()


class Session:
    """A sweep that is played: its workers, what became of its runs, its tables.

    Attributes
    ----------
    top : Path
        Its folder.
    """

    def __init__(
        self,
        draft: Draft,
        scenario: Scenario,
        jobs: list[Job],
        top: Path,
        new: bool,
        quiet: bool,
        where: Where,
    ) -> None:
        assert scenario.sweep is not None
        self._draft, self._scenario, self._sweep = draft, scenario, scenario.sweep
        self.top, self._new, self._quiet, self._where = top, new, quiet, where
        part, parts = where.only or (1, 1)
        self._jobs, self._mine = jobs, jobs[part - 1 :: parts]
        self._told: SweepProgress | None = None

    def play(self) -> None:
        """Play what is missing of the runs that are this process' own."""
        if self._sweep.trials:
            found = search.Search(self._draft, self._scenario, self._jobs, self.top)
            total = found.total * len(grid.seeds(self._sweep, self._scenario.seed))
            done = found.runs_before
            self._run(found, found.goes_on, total, done, total - done)
            return
        due = [job for job in self._mine if sweep_folder.missing(job.folder, job.names)]
        total = len(self._mine)
        self._run(Grid(due), lambda *_: True, total, total - len(due), len(due))

    def _run(self, source: Source, ask: Ask, total: int, done: int, due: int) -> None:
        """Play the runs of a source.

        `ask`: whether a run that reports shall go on. `total`, `done`, `due`: runs in all, those
        done before, those to play: at most.
        """
        console = None if self._quiet else consoles.err()
        by_ray = self._where.engine == "ray"
        jobs = self._sweep.jobs or (
            None if by_ray else at_a_time(self._scenario, not self._is_timing_only)
        )
        if console is not None:
            announce(console, self._scenario)
            are = "is" if done == 1 else "are"
            before = f", of which {done} {are} done" if done or not self._new else ""
            so_many = "" if jobs is None or not due else f", {min(jobs, due)} at a time"
            runs = "run" if total == 1 else "runs"
            console.print(f"{total} {runs}{before}{so_many}, into {self.top}")
        only = self._where.only
        name = "status.json" if only is None else f"status-{sweep_folder.part_name(only)}.json"
        self._told = SweepProgress(console, self.top / name, total, done)
        if not due:
            return
        with stop_requests(in_process=jobs == 1 and self._where.engine == "local") as check_stop:
            play_all(source, self._workers(jobs, due, ask), self._told, check_stop)

    def _workers(self, jobs: int | None, due: int, ask: Ask) -> Workers:
        where = self._where
        if where.engine == "ray":
            slots = jobs or (None if self._sweep.trials else due)
            taken = where.ray_cpus, where.ray_gpus
            return ray_workers.RayWorkers(slots, ask, where.ray_address, *taken)
        assert jobs is not None
        return InProcess(ask) if jobs == 1 else LocalWorkers(min(jobs, due), ask)

    @contextmanager
    def failures_said(self) -> Iterator[None]:
        """Let `status.json` say what has ended the sweep, such as a full disk."""
        try:
            yield
        except Exception as error:
            if self._told is not None:
                self._told.failed(str(error))
            raise

    def withdraw(self) -> None:
        """Remove the folder of a new sweep in which no run has written anything."""
        if self._new and self._where.only is None:
            sweep_folder.withdraw(self.top)

    @property
    def _is_timing_only(self) -> bool:
        return bool(self._jobs) and all(job.timing_only for job in self._jobs)

    @property
    def failed(self) -> list[Outcome]:
        """Runs that failed in this process."""
        return [o for o in self._outcomes if o.problem]

    @property
    def _outcomes(self) -> list[Outcome]:
        return [] if self._told is None else self._told.outcomes

    def _undone(self) -> list[Job]:
        return [j for j in self._mine if sweep_folder.missing(j.folder, j.names)]

    def sum_up(self, state: str) -> None:
        """Write and print the tables; of a part only if it was the last one."""
        report = self._told
        if report is None:
            return
        # A run may be done and its worker end before it says so.
        done = None if self._sweep.trials else len(self._mine) - len(self._undone())
        last = report.digest(state, done)  # the state is said when all else is there
        if not self._quiet and report.tried_again:
            console = consoles.err()
            console.print(Text("played more than once, as a process was lost:", style="yellow"))
            for line in limit_lines(report.tried_again, NAMED):
                console.print(Text(f"  {line}"))
        is_part = self._where.only is not None
        left = [j for j in self._jobs if is_part and sweep_folder.missing(j.folder, j.names)]
        if not left and (is_part or has_results(self._scenario, self.top)):
            with sweep_folder.locked(self.top) if is_part else nullcontext():
                final_views.conclude_sweep(
                    self._scenario, self.top, self._quiet, last, self._where.report
                )
        report.write(state, done=done)
        if left and not self._quiet:
            consoles.out().print(
                f"{len(self._jobs) - len(left)} of {len(self._jobs)} runs of the whole sweep are "
                f"done; netsim compare {self.top} shows them"
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
        reasons = "\n".join(_reasons(failed))
        if all(outcome.bad_input for outcome in failed) and len(failed) == len(self._outcomes):
            self.withdraw()
            raise ScenarioError(reasons)
        runs = len(self._outcomes) if self._sweep.trials else len(self._mine)
        if len(failed) == runs:
            raise runner.RunFailedError(reasons)
        raise runner.RunFailedError(
            f"{len(failed)} of {runs} runs; the others are in {self.top}\n{reasons}"
        )

    def with_what_is_missing(self, stop: KeyboardInterrupt) -> KeyboardInterrupt:
        """Add notes: what an interrupted sweep has, what failed or has not ended, how to go on."""
        failed = {o.job.folder for o in self.failed}
        missing = [j.title for j in self._undone() if j.folder not in failed]
        ended, top = len(self._mine) - len(missing), self.top
        if self._sweep.trials:
            ended, missing = len(self._outcomes), []
            runs = "run" if ended == 1 else "runs"
            stop.__notes__ = [f"{ended} {runs} had ended; the results are in {top}"]
        else:
            stop.__notes__ = [
                f"{ended} of {len(self._mine)} runs had ended; their results are in {top}"
            ]
        stop.__notes__ += _reasons(self.failed)
        stop.__notes__ += [
            line if line.startswith("and ") else f"not ended: {line}"
            for line in limit_lines(missing, NAMED)
        ]
        stop.__notes__.append(f"to go on: the same command with --out {top}")
        return stop


def _reasons(failed: Iterable[Outcome]) -> list[str]:
    """Reasons of failures: one line for all that failed alike."""
    alike: dict[str, list[str]] = {}
    for outcome in failed:
        title = outcome.job.title
        alike.setdefault(outcome.problem.removeprefix(f"{title}: "), []).append(title)
    return [
        f"{titles[0]}: {why}"
        if len(titles) == 1
        else f"{len(titles)} runs, such as {titles[0]}: {why}"
        for why, titles in alike.items()
    ]
