"""Sweeps: a grid, random trials and seeds, each run in a process of its own.

Folders are `<out>/<point>/seed-<s>/<algorithm>/`; tables over seeds come from
`netsim.results.sweep_comparison`.
"""

import itertools
import multiprocessing
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netsim.backends.native import cores
from netsim.engine import runner
from netsim.engine.failures import failure_text
from netsim.errors import ScenarioError
from netsim.recording.summary_fields import MEASURES
from netsim.rng import Streams
from netsim.scenario import Scenario, algorithm_files, check
from netsim.scenario.draft import TAGS, Draft
from netsim.scenario.labels import short_key, short_path, shown
from netsim.scenario.sweep import Sweep

COMMAND_LINE = "command line"
"""The layer of a draft that the options of `netsim sweep` make."""


@dataclass(frozen=True)
class Point:
    """One setting of the swept keys; `trial` numbers random ones."""

    label: str
    values: dict[str, Any]
    trial: int | None = None


@dataclass(frozen=True)
class Job:
    """One run of a sweep, ready to be sent to another process."""

    point: Point
    seed: int
    draft: Draft
    folder: Path
    algorithms: Path | None
    timing_only: bool

    @property
    def where(self) -> str:
        """The run's name for people."""
        return f"{self.point.label}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What became of a job; `bad_input` problems were found before anything was written."""

    job: Job
    folders: tuple[Path, ...] = ()
    problem: str = ""
    bad_input: bool = False


def points(sweep: Sweep, seed: int) -> list[Point]:
    """The grid, times the random trials.

    Trial k draws key number i from the stream (seed, "sweep", k, i): adding trials changes none.
    """
    streams = Streams(seed)
    grid = [dict(zip(sweep.over, c, strict=True)) for c in itertools.product(*sweep.over.values())]
    found: list[Point] = []
    for values in grid:
        label = _label(values, sweep.over)
        for trial in range(sweep.trials or 0):
            drawn = {
                key: draw.at(streams.uniform("sweep", trial, i))
                for i, (key, draw) in enumerate(sweep.draw.items())
            }
            parts = [label] * bool(values) + [f"trial-{trial:03d}"]
            found.append(Point(",".join(parts), values | drawn, trial))
        if sweep.trials is None:
            found.append(Point(label, values))
    labels = [p.label for p in found]
    return [
        replace(p, label=f"{p.label}-{i}") if labels.count(p.label) > 1 else p
        for i, p in enumerate(found)
    ]


def _label(values: dict[str, Any], over: Mapping[str, Sequence[Any]]) -> str:
    """A folder's name: `mu1=0.1,fading=rayleigh`."""
    lasts = [short_key(key) for key in values]
    parts = []
    for (key, value), last in zip(values.items(), lasts, strict=True):
        name = last if lasts.count(last) == 1 else key
        text = f"{name}={_short(value, over[key])}"
        parts.append(re.sub(r"[^A-Za-z0-9_.=-]+", "_", text))
    return ",".join(parts)[:120] or "base"


def _short(value: Any, others: Sequence[Any] = ()) -> str:
    """A value in a label: of a table its kind, and what tells it from others of that kind."""
    if isinstance(value, float):
        return f"{value:.6g}".replace("e+", "e")
    if not isinstance(value, dict):
        return short_path(str(value))
    tag = next((t for t in TAGS if t in value), None)
    if tag is None:
        return shown(value)
    alike = [v for v in others if isinstance(v, dict) and v.get(tag) == value[tag]]
    differing = [k for k in value if any(v.get(k) != value[k] for v in alike)]
    return "-".join([str(value[tag]), *(f"{k}={_short(value[k])}" for k in differing)])


def plan(
    draft: Draft,
    scenario: Scenario,
    out: Path,
    algorithms: Path | None,
    timing_only: bool = False,
) -> list[Job]:
    """Every run of a sweep; each point is checked, once for all its seeds.

    Parameters
    ----------
    draft : Draft
        The scenario before validation; each run is a copy with its point's values and its seed.
    scenario : Scenario
        The same, validated; with a sweep.
    out : Path
        The sweep's folder; nothing is written.
    algorithms : Path or None
        A folder of the user's own algorithm files.
    timing_only : bool
        Without tensor work.

    Raises
    ------
    ScenarioError
        With the problems of all runs; nothing was written.
    """
    sweep = scenario.sweep
    assert sweep is not None
    modules = algorithm_files.algorithms(algorithms)
    jobs: list[Job] = []
    problems: list[str] = []
    learned = [name for name in sweep.show if MEASURES[name].learned]
    if timing_only and learned:
        problems.append(
            f"{draft.path}: [sweep] show = {shown(learned[0])}: takes learning, so --timing-only "
            "does not tell"
        )
    select = sweep.chosen_by
    if select and "validation" in select and scenario.data.validation == 0:
        problems.append(
            f'{draft.path}: [sweep] select = "{select}": needs samples set aside; '
            "set [data] validation, such as 0.2"
        )
    for point in points(sweep, scenario.seed):
        own = draft.copy()
        own.raw.pop("sweep", None)
        try:
            for key, value in point.values.items():
                own.assign(key, value, _said(draft, key, value))
            checked = check(own, modules)
            problems += runner.machine_problems(checked, own.path, modules, timing_only)
        except ScenarioError as error:
            problems += str(error).splitlines()
        for seed in seeds(sweep, scenario.seed):
            seeded = own.copy()
            seeded.assign("seed", seed, draft.path)
            folder = out / point.label / f"seed-{seed}"
            jobs.append(Job(point, seed, seeded, folder, algorithms, timing_only))
    if problems:
        raise ScenarioError("\n".join(dict.fromkeys(problems)))
    return jobs


def seeds(sweep: Sweep, seed: int) -> tuple[int, ...]:
    """The seeds of a sweep; the scenario's own where it lists none."""
    return sweep.seeds or (seed,)


def _said(draft: Draft, key: str, value: Any) -> str:
    """Where a point's value comes from, for errors."""
    for table, option in (("over", "--over"), ("draw", "--draw")):
        if draft.source(("sweep", table, key)) == COMMAND_LINE:
            return f"{option} {key}={shown(value)}"
    return f"{draft.path}: [sweep] {key} = {shown(value)}"


def run_job(job: Job) -> Outcome:
    """Play one run of a sweep; its errors become part of the outcome."""

    def make_folder() -> Path:
        job.folder.mkdir(parents=True, exist_ok=True)
        return job.folder

    try:
        scenario = check(job.draft, algorithm_files.algorithms(job.algorithms))
        folders = runner.play(
            scenario, make_folder, job.draft.path, job.timing_only, sub_folders=True
        )
    except Exception as error:  # one run's crash is that run's outcome; the others go on
        bad_input = isinstance(error, ScenarioError)
        return Outcome(job, (), f"{job.where}: {failure_text(error)}", bad_input)
    return Outcome(job, tuple(folders))


_interrupted: list[Job] = []
"""The run of this process that Ctrl-C has ended; a pool would hand it the next one."""


def run_in_worker(job: Job) -> Outcome:
    """`run_job` in a process of a pool, which plays nothing more once it has been interrupted."""
    if _interrupted:
        raise KeyboardInterrupt
    try:
        return run_job(job)
    except KeyboardInterrupt:
        _interrupted.append(job)
        raise


def run_jobs(jobs: Sequence[Job], workers: int, told: Callable[[Outcome], None]) -> None:
    """Play all runs of a sweep.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int
        Runs at a time, a process each; 1: in this process. They share the cores: the threads of
        each are its part of them, unless `[run] threads` is a number.
    told : callable
        Told of each run that ends.
    """
    if workers == 1:
        for job in jobs:
            told(run_job(job))
        return
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    workers = min(workers, len(jobs))
    pool = ProcessPoolExecutor(workers, context, initializer=cores.share, initargs=(workers,))
    try:
        waiting = {pool.submit(run_in_worker, job): job for job in jobs}
        for future in as_completed(waiting):
            job = waiting[future]
            try:
                outcome = future.result()
            except BrokenProcessPool:
                problem = "its process, or one beside it, was killed (out of memory?)"
                outcome = Outcome(job, (), f"{job.where}: {problem}")
            told(outcome)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def workers(sweep: Sweep) -> int:
    """How many runs at a time: as asked for, else one a core."""
    return sweep.jobs or cores.available()
