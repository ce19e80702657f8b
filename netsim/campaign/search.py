"""A search for good values of some keys: Optuna decides on each trial by those before it.

There is a study for each algorithm at each point of the sweep's grid, kept in `search.journal` in
the sweep's folder; `trials.json` says for readers what each trial was. A trial plays its seeds one
after the other and is judged by their mean. Trial k's values depend on the seed, on k and on the
trials of its study before it, so that with one run at a time a search that was interrupted goes on
as it would have. Before there is anything to learn from, all studies draw alike.
"""

import json
import math
import os
import re
import statistics
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.campaign import sweep_folder
from netsim.campaign.grid import Job, Outcome, at_point, with_seed
from netsim.campaign.play_job import Evaluation
from netsim.campaign.sweep_points import Point, place_of
from netsim.campaign.sweep_results import TRIALS, played_points, require_number, score
from netsim.engine import optional_imports
from netsim.errors import FolderError, ScenarioError
from netsim.recording import run_folder
from netsim.recording.whole_files import reason, write_text
from netsim.rng import Streams
from netsim.scenario import Scenario
from netsim.scenario.draft import Draft
from netsim.scenario.labels import toml_text
from netsim.scenario.sweep import Draw

JOURNAL = "search.journal"

MOST_EVALUATIONS = 1_000_000
"""Of a run: the steps that Optuna compares trials at are counted on from seed to seed."""


def imported() -> ModuleType:
    """Optuna, quiet but for warnings; raises a ScenarioError if it is not installed."""
    optuna = optional_imports.imported("optuna", "a search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@dataclass
class _Study:
    """The trials of one algorithm at one point of the grid."""

    study: Any  # an optuna.Study
    number: int  # among the studies of the sweep
    label: str  # begins the names of its trials; empty if it is the only one
    template: Job  # a run of it, without a trial's values
    draw: Mapping[str, Draw]  # the keys that matter to its algorithm
    # trials that were under way when an earlier process ended, or of which a run failed in it
    interrupted: list[Any]
    trials: int  # how many there have been


@dataclass
class _Trial:
    """A trial under way: its runs to come, the scores of those that have ended."""

    of: _Study
    trial: Any
    jobs: list[Job]
    record: dict[str, Any]
    scores: list[float] = field(default_factory=list)
    evaluations: int = 0


class Search:
    """The trials of a search, whose values Optuna chooses; a `pool.Source`.

    Parameters
    ----------
    draft : Draft
        The scenario before validation.
    scenario : Scenario
        With a sweep that has trials.
    jobs : sequence of Job
        As `grid.plan` gives them: one a seed at each point of the grid, from which trials differ
        by their values.
    top : Path
        The sweep's folder, locked by this process.

    Attributes
    ----------
    total : int
        Trials that there are to be.
    runs_before : int
        Runs of the trials that had ended when this process took over.

    Raises
    ------
    ScenarioError
        If Optuna is missing, or the folder's journal can't be read, or is none of its trials.
    """

    def __init__(self, draft: Draft, scenario: Scenario, jobs: Sequence[Job], top: Path) -> None:
        sweep = scenario.sweep
        assert sweep is not None
        assert sweep.trials is not None
        assert scenario.chosen_by is not None
        self._optuna = imported()
        self._draft, self._top, self._sweep = draft, top, sweep
        self._trials, self._select = sweep.trials, scenario.chosen_by
        self._streams = Streams(scenario.seed)
        self._seeds = tuple(dict.fromkeys(job.seed for job in jobs))
        self._playing: dict[Path, _Trial] = {}
        self._known: dict[str, dict[str, Any]] = {}  # values of the journal's trials, by name
        self._ready: deque[_Trial] = deque()
        self._records: list[dict[str, Any]] = []
        storage = self._storage()
        self._studies = [
            self._study(storage, scenario, i, job, name)
            for i, job in enumerate(job for job in jobs if job.seed == self._seeds[0])
            for name in job.names
        ]
        self._require_journal_of(self._known)
        self.total = self._trials * len(self._studies)
        self.runs_before = len(self._records) * len(self._seeds)

    def _storage(self) -> Any:
        path = self._top / JOURNAL
        if not path.exists():
            self._require_journal_of({})
        else:  # a process that was killed may have left half a line, or its lock
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole != len(content):
                os.truncate(path, whole)
            Path(f"{path}.lock").unlink(missing_ok=True)
        journal = self._optuna.storages.journal
        try:
            backend = _WholeLines(path, journal.JournalFileBackend(str(path)))
            return self._optuna.storages.JournalStorage(backend)
        except Exception as error:  # it checks nothing of what it reads
            raise ScenarioError(f"{path}: is no journal of Optuna's: {error}") from error

    def _require_journal_of(self, trials: Mapping[str, Any]) -> None:
        """Refuse a journal that is not of the folder's trials: their runs would count as others'.

        `trials`: values by the name of each trial of the journal.

        Raises
        ------
        ScenarioError
        """
        path, listed = self._top / JOURNAL, played_points(self._top)
        there = [p.name for p in self._top.iterdir() if p.is_dir() and _OF_TRIAL.fullmatch(p.name)]
        for name in sorted({*listed, *there}):
            if name not in trials:
                problem = f"does not have {name}, of which the folder has runs"
            elif name in listed and _as_listed(trials[name]) != listed[name]:
                problem = f"has {name} with other values than {TRIALS}"
            else:
                continue
            raise ScenarioError(
                f"{path}: {problem}: put it back as it was, or search in another folder"
            )

    def _study(self, storage: Any, scenario: Scenario, i: int, job: Job, name: str) -> _Study:
        several = len(job.names) > 1
        grid = [job.point.label] * bool(job.point.values)
        label = ",".join([*grid, *([name] if several else [])])
        pruners = self._optuna.pruners
        lowest_best = scenario.main_metric.is_lowest_best(self._select)
        study = self._optuna.create_study(
            storage=storage,
            study_name=label or "search",
            direction="minimize" if lowest_best else "maximize",
            pruner=pruners.MedianPruner() if self._sweep.prunes else pruners.NopPruner(),
            load_if_exists=True,
        )
        known = study.get_trials(deepcopy=False)
        states = self._optuna.trial.TrialState
        running = [t for t in known if t.state == states.RUNNING]
        of = [entry.name for entry in scenario.algorithm].index(name)
        # What all algorithms share comes first, so that all draw the same of it, trial by trial.
        drawn = sorted(self._sweep.draw.items(), key=lambda item: item[0].startswith("algorithm."))
        found = _Study(
            study,
            i * len(scenario.algorithm) + of,
            label,
            replace(job, names=(name,), reports=self._sweep.prunes),
            {k: d for k, d in drawn if not _of_another(k, name, scenario)},
            running,
            len(known),
        )
        words = {states.COMPLETE: "done", states.PRUNED: "pruned", states.FAIL: "failed"}
        for t in known:
            values = {
                k: _drawn_value(d, t.params[k]) for k, d in found.draw.items() if k in t.params
            }
            self._known[_point(found, t.number)] = found.template.point.values | values
            if t.state in words:
                record = self._record(found, t.number, values)
                record |= {"state": words[t.state], "score": t.value}
        return found

    def _record(self, of: _Study, number: int, values: dict[str, Any]) -> dict[str, Any]:
        """Return the record of a trial in `trials.json`."""
        record = {
            "point": _point(of, number),
            "algorithm": of.template.names[0],
            "values": of.template.point.values | values,
            "state": "running",
            "score": None,
        }
        self._records.append(record)
        return record

    def next_job(self) -> Job | None:
        """The next run: of a trial under way, of one that was interrupted, or of a new one."""
        while not self._ready:
            due = [s for s in self._studies if s.interrupted or s.trials < self._trials]
            if not due:
                return None
            self._begin(min(due, key=lambda s: (not s.interrupted, s.trials, s.number)))
        trial = self._ready.popleft()
        job = trial.jobs.pop(0)
        trial.evaluations = 0
        self._playing[job.folder] = trial
        return job

    def _begin(self, of: _Study) -> None:
        """Ask Optuna for the values of a trial and prepare its runs."""
        number = of.interrupted[0].number if of.interrupted else of.trials
        uniform = self._streams.uniform("search", number)
        of.study.sampler = self._sampler(int(uniform * 2**32))
        if of.interrupted:
            trial = self._optuna.trial.Trial(of.study, of.interrupted.pop(0)._trial_id)
        else:
            trial = of.study.ask()
            of.trials += 1
        values = {key: _suggested(trial, key, draw) for key, draw in of.draw.items()}
        record = self._record(of, number, values)
        point = Point(record["point"], record["values"])
        own = at_point(self._draft, point)
        jobs = [
            replace(
                of.template,
                point=point,
                seed=seed,
                draft=with_seed(own, seed),
                folder=self._top / place_of(point.label, seed),
            )
            for seed in self._seeds
        ]
        self._write()
        self._advance(_Trial(of, trial, jobs, record))

    def _sampler(self, seed: int) -> Any:
        samplers = self._optuna.samplers
        kind = samplers.RandomSampler if self._sweep.search == "random" else samplers.TPESampler
        return kind(seed=seed)

    def _advance(self, trial: _Trial) -> None:
        """Go on with a trial's next run that is not done, or tell its result."""
        while trial.jobs:
            job = trial.jobs[0]
            if sweep_folder.missing(job.folder, job.names):
                self._ready.append(trial)
                return
            score_of_run = self._score(job)
            if score_of_run is None:
                self._tell(trial, "failed")
                return
            trial.scores.append(score_of_run)
            trial.jobs.pop(0)
        self._tell(trial, "done", statistics.fmean(trial.scores))

    def _score(self, job: Job) -> float | None:
        """The score of a run that is done.

        Raises
        ------
        RunFailedError
            If it can have none, and no trial has had one: the search would learn nothing.
        """
        run = job.folder / job.names[0]
        summary = run_folder.summary(run)
        if all(record["score"] is None for record in self._records):
            require_number(summary, self._select, run)
        return score(summary, self._select)

    def _tell(self, trial: _Trial, word: str, value: float | None = None) -> None:
        states = self._optuna.trial.TrialState
        state = {"done": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[word]
        trial.of.study.tell(trial.trial.number, value, state)
        trial.record |= {"state": word, "score": value}
        self._write()

    def _write(self) -> None:
        write_text(self._top / TRIALS, json.dumps(self._records, indent=1, default=str) + "\n")

    def goes_on(self, job: Job, evaluation: Evaluation) -> bool:
        """Return whether a run shall go on, now that it has measured its models."""
        trial, value = self._playing[job.folder], evaluation.means.get(self._select)
        trial.evaluations += 1
        if value is None or not math.isfinite(value):
            return True
        step = len(trial.scores) * MOST_EVALUATIONS + trial.evaluations
        if (
            step
            not in trial.of.study.get_trials(deepcopy=False)[trial.trial.number].intermediate_values
        ):
            trial.trial.report(statistics.fmean([*trial.scores, value]), step)
        return not trial.trial.should_prune()

    def ended(self, outcome: Outcome) -> None:
        """Tell Optuna what became of a run, once its trial is over.

        Of a run that failed the values may be good, such as where the disk was full.
        """
        trial = self._playing.pop(outcome.job.folder)
        if outcome.pruned:
            self._tell(trial, "pruned")
            return
        if outcome.problem:  # Optuna is not told, so that the same command plays it again
            trial.record["state"] = "failed"
            self._write()
            return
        score_of_run = self._score(outcome.job)
        if score_of_run is None:
            self._tell(trial, "failed")
            return
        trial.scores.append(score_of_run)
        self._advance(trial)


_OF_TRIAL = re.compile(r"(?:.*,)?trial-\d{3,}")
"""Names of trials, which are those of their folders."""


def _point(of: _Study, number: int) -> str:
    """Name of a trial."""
    return ",".join([*([of.label] if of.label else []), f"trial-{number:03d}"])


def _as_listed(values: Mapping[str, Any]) -> Any:
    """Values of a trial as they are read from `trials.json`."""
    return json.loads(json.dumps(values, default=str))


class _WholeLines:
    """Journal of Optuna's, in which a line that can't be written leaves nothing behind.

    Another line after half of one would make all of it unreadable.
    """

    def __init__(self, path: Path, backend: Any) -> None:
        self._path, self._backend = path, backend

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        """Yield the lines from one on."""
        return self._backend.read_logs(log_number_from)  # type: ignore[no-any-return]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add lines.

        Raises
        ------
        FolderError
        """
        size = self._path.stat().st_size
        try:
            self._backend.append_logs(logs)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self._path, size)
            raise FolderError(f"{self._path}: can't be written: {reason(error)}") from error


def _suggested(trial: Any, key: str, draw: Draw) -> Any:
    """The value of a key in a trial; the one that it has if it was asked before."""
    if draw.values:
        return _drawn_value(draw, trial.suggest_categorical(key, list(_choices(draw))))
    return trial.suggest_float(key, draw.low, draw.high, log=draw.log)


def _drawn_value(draw: Draw, said: Any) -> Any:
    """The value that Optuna's name for it stands for."""
    return _choices(draw)[said] if draw.values else said


def _choices(draw: Draw) -> dict[str, Any]:
    """The values of a list by what they are called: tables, too, have to be told apart."""
    return {toml_text(value): value for value in draw.values}


def _of_another(key: str, name: str, scenario: Scenario) -> bool:
    """Return whether a key belongs to another algorithm than the one of this name."""
    table, _, rest = key.partition(".")
    address = rest.partition(".")[0]
    entries = scenario.algorithm
    if table != "algorithm" or len(entries) == 1:
        return False
    means = [
        entry.name for i, entry in enumerate(entries) if address in (entry.name, entry.kind, str(i))
    ]
    return bool(means) and name not in means
