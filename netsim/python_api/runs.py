"""Runs and sweeps that have been played, opened by their folders: tables, figures, comparisons."""

import html
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import pandas as pd

from netsim.campaign import sweep_results
from netsim.errors import RunWarning, ScenarioError, one_line
from netsim.python_api.arguments import as_number, as_path
from netsim.python_api.plots import Plots, SweepPlots
from netsim.python_api.scenario import Scenario, load
from netsim.recording import run_folder
from netsim.recording.keys_without_effect import unmoved_in
from netsim.recording.reader import RunFolder
from netsim.recording.run_mismatches import changed_in, made_unlike
from netsim.recording.run_warnings import warned_in, warnings_of
from netsim.recording.summary import left_out, run_folders
from netsim.registry import did_you_mean
from netsim.views import explain, trials
from netsim.views.gathering import frames
from netsim.views.gathering.comparison import SweepDesign, tidy_rows
from netsim.views.gathering.frames import Comparison
from netsim.views.gathering.sweep_tables import SweepTables


class Run:
    """Records of one or several algorithms in one world.

    Tables are pandas DataFrames, read from the folder when they are first asked for; their first
    columns say of which `seed` and `algorithm` a row is. Times are virtual.

    Attributes
    ----------
    folder : Path
        Folder of all of it, absolute: it holds whatever the working folder is later.
    """

    def __init__(
        self, folder: Path, runs: Sequence[RunFolder], scenario: Scenario | None = None
    ) -> None:
        self.folder = folder.absolute()
        self._runs = tuple(runs)
        self._written = {run.folder: _written(run.folder) for run in runs}
        self._scenario = scenario
        self._shown = folder  # as it was named
        self._tables: dict[str, pd.DataFrame] = {}

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The names of the algorithms, in the order of the scenario."""
        return tuple(dict.fromkeys(str(run.labels["algorithm"]) for run in self._runs))

    @property
    def scenario(self) -> Scenario:
        """The scenario as it was played, every value resolved.

        Raises
        ------
        ScenarioError
            If it names kinds that are not known here, as those of objects of another session.
        """
        if self._scenario is None:
            self._opened()
            self._scenario = load(run_folder.scenario_file(self.folder))
        return self._scenario

    def __getitem__(self, algorithm: str) -> "Run":
        """The runs of one algorithm."""
        algorithm = str(algorithm)
        chosen = [run for run in self._runs if run.labels["algorithm"] == algorithm]
        if not chosen:
            raise KeyError(
                f"no algorithm {algorithm}; there are {', '.join(self.algorithms)}"
                + did_you_mean(algorithm, self.algorithms)
            )
        return self._of(chosen)

    def _of(self, runs: Sequence[RunFolder]) -> Self:
        """The same with some of its runs."""
        chosen = copy(self)
        chosen._runs, chosen._tables = tuple(runs), {}
        return chosen

    def _opened(self) -> tuple[RunFolder, ...]:
        """The runs to read, once each is known to be that which was opened; others are refused."""
        for run in self._runs:
            now = _written(run.folder)
            if now != self._written[run.folder]:
                what = "is no longer there" if now is None else "has changed since it was opened"
                raise ScenarioError(
                    f"{one_line(run.folder)}: {what}; netsim.open(folder) opens what there is now"
                )
        return self._runs

    def __iter__(self) -> Iterator["Run"]:
        """Yield the runs of each algorithm."""
        return (self[name] for name in self.algorithms)

    def __len__(self) -> int:
        return len(self.algorithms)

    # -- tables ----------------------------------------------------------------------------------

    @property
    def metrics(self) -> pd.DataFrame:
        """Measures of each node's published model, in long form.

        Columns `t_s` [s], `node`, `metric`, `stage`, `value` (shares in [0, 1]); and what the node
        had spent by then: `steps`, `bits_transmitted` [bit], `energy_j` [J].
        """
        return self._table("metrics")

    def curve(self, metric: str = "accuracy") -> pd.DataFrame:
        """A metric over time: `mean`, `std` and `worst` (tenth) over nodes at each `t_s` [s].

        Parameters
        ----------
        metric : str
            As the column `metric` of `metrics` has it.

        Raises
        ------
        ScenarioError
            If no run has measured it.

        Warns
        -----
        RunWarning
            Names the runs that have not; the curves are of the others.
        """
        return frames.curves(self._opened(), str(metric))

    @property
    def messages(self) -> pd.DataFrame:
        """Messages that have ended, one row per message and receiver.

        Columns `t_sent_s`, `t_done_s` [s], `src`, `dst`, `kind`, `bits` (payload), `attempts`,
        `packets_lost`, `snr_db` [dB], `outcome`, `round`, `age_s` [s], `bits_transmitted`.
        """
        return self._table("messages")

    @property
    def uses(self) -> pd.DataFrame:
        """Fates of arrived messages with a model or other values, one row per message.

        Columns `message` (number of its row among the messages of its run, from 0), `t_sent_s`,
        `t_arrived_s` [s], `src`, `dst`, `kind`, `fate`; of its first use `t_used_s`, `age_at_use_s`
        [s], `used_by`, `weight`.
        """
        return self._table("uses")

    @property
    def intervals(self) -> pd.DataFrame:
        """Intervals in which a node did `what`, in runs with `[metrics] timeline = true`.

        Columns `t_begin_s`, `t_end_s` [s], `node`, `what`, `busy_s` (radio at work) [s].
        """
        return self._table("intervals")

    @property
    def wakeups(self) -> pd.DataFrame:
        """Wake-ups, skipped wake-ups, switches and training jobs (`what`) of nodes at `t_s` [s]."""
        return self._table("wakes")

    @property
    def traffic(self) -> pd.DataFrame:
        """Totals of all nodes at each evaluation (`t_s` [s]): `bits_transmitted`, `airtime_s`."""
        return self._table("traffic")

    @property
    def graph(self) -> pd.DataFrame:
        """Weights that a `node` gave a `peer` at `t_s` [s], or itself if both are equal."""
        return self._table("graph")

    @property
    def nodes(self) -> pd.DataFrame:
        """Nodes: role, speed, samples, class counts, position [m], transmit power [dBm]."""
        return self._made("nodes", frames.nodes)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per algorithm (of a sweep: a point, seed and algorithm), one column per measure.

        The measures are those that `netsim compare` knows, such as `accuracy`, `delivered_share`
        (shares in [0, 1]), `transmitted_megabytes` [MB], `delay_s` [s].
        """
        return self._made("summary", frames.summary)

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """The whole `summary.json` by algorithm; in a sweep by the folder of each run."""
        several = len(self.algorithms) < len(self._opened())
        return {
            str(run.folder.relative_to(self.folder) if several else run.labels["algorithm"]): (
                run_folder.summary(run.folder)
            )
            for run in self._opened()
        }

    @property
    def warnings(self) -> list[str]:
        """Warnings before reading the numbers: assumptions of links, slow paths, divergence.

        For several algorithms they include data, files and sources that differ between their runs,
        and unequal numbers of local steps; for a sweep, files and sources that changed between its
        runs, and keys without effect: warnings that differ in numbers alone are told once, with
        the number of runs.
        """
        return [*self._warned(), *self._unlike()]

    def _warned(self) -> list[str]:
        return warnings_of([run.folder for run in self._opened()])

    def _unlike(self) -> list[str]:
        names = [str(run.labels["algorithm"]) for run in self._opened()]
        return made_unlike([run.folder for run in self._opened()], names)

    def _table(self, name: str) -> pd.DataFrame:
        """A table of all runs; what a caller adds to it is not seen by the next one."""
        if name not in self._tables:
            self._tables[name] = frames.table(self._opened(), name)
        return self._tables[name].copy(deep=False)

    def _made(self, name: str, make: Callable[[Sequence[RunFolder]], pd.DataFrame]) -> pd.DataFrame:
        """The same of what is made of all runs."""
        if name not in self._tables:
            self._tables[name] = make(self._opened())
        return self._tables[name].copy(deep=False)

    # -- figures and comparisons -----------------------------------------------------------------

    @property
    def plot(self) -> Plots:
        """Figures: `run.plot.accuracy()`, `.metric("loss")`, `.weights()`, `.deliveries()`, ..."""
        return Plots(self._opened())

    def compare(
        self, other: "Run", metric: str = "accuracy", at_s: float | None = None
    ) -> Comparison:
        """The difference to another run, the same node of the same seed in both.

        Algorithms with equal names form pairs; if each side has a single one, these two do.

        Parameters
        ----------
        other : Run
            Of the same nodes: another algorithm, or the same one in a scenario that differs.
        metric : str
            As the column `metric` of `metrics` has it.
        at_s : float, optional
            Virtual time [s]: the last evaluation of both at or before it; None: the last of both.

        Returns
        -------
        Comparison
            `by_algorithm` and `by_node` are DataFrames.

        Raises
        ------
        ScenarioError
            If there are no pairs, or the metric was not measured.
        """
        if not isinstance(other, Run):
            raise ScenarioError(
                f"compare: other = {one_line(repr(other))[:200]}: must be a Run, as "
                "netsim.open(folder) gives it"
            )
        until_s = as_number("compare", "at_s", at_s)
        return frames.compare(self._opened(), other._opened(), str(metric), until_s)

    def explain(self, node: int | None = None) -> pd.DataFrame:
        """Return what limited the runs, or what happened to one node, as `netsim explain` tells it.

        Returns
        -------
        pandas.DataFrame
            One row per finding, the most important first: labels of the run, `rank`, `share` of
            messages, time or work, and the `finding` in words.

        Raises
        ------
        ScenarioError
            If a run has no log, or no such node.
        """
        number = as_number("explain", "node", node, whole=True)
        chosen = None if number is None else int(number)
        return frames.shown(self._opened(), lambda run: explain.gather(run.folder, chosen))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self.algorithms)} in {self._shown}>"

    def _repr_html_(self) -> str:
        try:
            shown = self.summary
        except ScenarioError as problem:
            return f"<p>{html.escape(str(problem))}</p>"
        named = [name for name in SHOWN if name in shown]
        return f"<p>{self._shown}</p>" + str(shown[named]._repr_html_())


def _written(folder: Path) -> tuple[int, int] | None:
    """Time at which a run's summary was written [ns], and its size; None where there is none."""
    try:
        found = (folder / "summary.json").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


SHOWN = ("accuracy", "best", "delivered_share", "delay_s", "transmitted_megabytes", "wall_s")
"""Measures that a notebook shows of a run."""


class Sweep(Run):
    """Runs of one scenario at several points and of several seeds.

    The tables' first columns are the swept keys.

    Attributes
    ----------
    design : SweepDesign
        Keys that are varied: points, seeds.
    """

    def __init__(
        self,
        folder: Path,
        runs: Sequence[RunFolder],
        design: SweepDesign,
        scenario: Scenario | None = None,
    ) -> None:
        super().__init__(folder, runs, scenario)
        self.design = design

    def _warned(self) -> list[str]:
        return warned_in(self.folder, [run.folder for run in self._opened()])

    def _unlike(self) -> list[str]:
        folders, points = [run.folder for run in self._opened()], self.design.points
        return changed_in(self.folder, folders, points) + unmoved_in(points, folders)

    def _swept(self) -> SweepTables:
        return SweepTables(self.folder, self.design, sweep_results.read_trials(self.folder))

    @property
    def points(self) -> pd.DataFrame:
        """One row per point, algorithm and measure: `mean` over seeds, 95 % interval, difference.

        `diff` is that to the first point, with `diff_low` and `diff_high`, over the `diff_seeds`
        seeds that both have; the mean is over `seeds`. Trials of a search have no difference.
        """
        names = {run.labels["algorithm"] for run in self._opened()}
        found = pd.DataFrame(tidy_rows(self._swept().lines))
        return found[found["algorithm"].isin(names)].reset_index(drop=True)

    @property
    def by_seed(self) -> pd.DataFrame:
        """One row per point, algorithm and seed: the numbers whose means `points` has.

        Columns `point`, `algorithm`, `seed`, then the measures of `netsim.MEASURES` that any run
        has, `lead` over the sweep's `against` and what its `target` took among them.
        """
        names = {run.labels["algorithm"] for run in self._opened()}
        rows = [
            {"point": point, "algorithm": algorithm, "seed": seed, **measures}
            for point, algorithms in self._swept().rows.items()
            for algorithm, seeds in algorithms.items()
            for seed, measures in seeds.items()
            if algorithm in names
        ]
        return pd.DataFrame(rows).dropna(axis="columns", how="all")

    @property
    def trials(self) -> pd.DataFrame:
        """One row per trial of a search, the best of each algorithm first.

        Columns `trial` (its point), `algorithm`, `state` (`done`, `pruned`, `failed`, `running`),
        one per key that trials draw, and `score`, the mean over seeds of what the search selects
        by.

        Raises
        ------
        ScenarioError
            If the sweep is no search.
        """
        found = self._swept()
        if not found.trials:
            raise ScenarioError(f"{one_line(self.folder)}: is no search, whose points are trials")
        return pd.DataFrame(trials.rows(found))

    @property
    def plot(self) -> SweepPlots:
        """Figures: those of runs, and `sweep.plot.sweep()`."""
        return SweepPlots(self._opened(), self._swept())


def open_folder(folder: str | Path) -> Run:
    """Open runs that have ended, whichever program played them.

    Parameters
    ----------
    folder : str or Path
        Of a run, of several algorithms, or of a sweep: what `--out` named.

    Returns
    -------
    Run
        A `Sweep` if it is one.

    Raises
    ------
    ScenarioError
        If no finished run is there.

    Warns
    -----
    RunWarning
        Names the runs that have not ended, which are left out.
    """
    path = as_path(folder, "folder")
    run: Run
    if sweep_results.is_sweep(path):
        run, without = opened_sweep(path, None), sweep_results.missing(path)
    else:
        run, without = opened_run(path, run_folders(path), None), left_out(path)
    for warning in without:
        warnings.warn(warning, RunWarning, stacklevel=2)
    return run


def opened_run(folder: Path, folders: Sequence[Path], scenario: Scenario | None) -> Run:
    """The run of a folder.

    Parameters
    ----------
    folder : Path
    folders : sequence of Path
        One an algorithm, in their order.
    scenario : Scenario or None
        None: that of the folder.
    """
    runs = []
    for path in folders:
        summary = run_folder.summary(path)
        name = str(summary.get("algorithm", path.name))
        runs.append(
            RunFolder(path.absolute(), {"seed": int(summary.get("seed", 0)), "algorithm": name})
        )
    return Run(folder, runs, scenario)


def opened_sweep(folder: Path, scenario: Scenario | None) -> Sweep:
    """The sweep of a folder, of which a run must have ended; `scenario`: None for the folder's."""
    design: SweepDesign = sweep_results.design_of(folder)
    runs = SweepTables(folder.absolute(), design).runs
    if not runs:
        raise ScenarioError(f"{one_line(folder)}: no run of this sweep has ended")
    return Sweep(folder, runs, design, scenario)
