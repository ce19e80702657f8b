"""The figures of runs, as matplotlib figures that a notebook shows and a script saves."""

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from netsim.errors import ScenarioError
from netsim.recording.summary_fields import MEASURES, named
from netsim.registry import did_you_mean
from netsim.results import figures, graph_figure, heatmaps, node_map, plot_style, sweep_figure
from netsim.results.frames import PlayedRun
from netsim.results.summary import load
from netsim.results.sweep_comparison import SweepDesign, compare_points, measures_to_show


class Plots:
    """The figures of some runs; each call draws a new one.

    Parameters
    ----------
    runs : sequence of PlayedRun
    """

    def __init__(self, runs: Sequence[PlayedRun]) -> None:
        self._runs = runs

    def accuracy(self, against: str = "time") -> Figure:
        """Test accuracies, mean over nodes with its spread: a panel a metric, a curve an algorithm.

        Seeds of one algorithm become one curve.

        Parameters
        ----------
        against : {"time", "megabytes"}
            Virtual time [s], or what all nodes have transmitted, headers included [MB].

        Raises
        ------
        ScenarioError
            If the run has nothing to draw, as of all figures.
        """
        return self._curves((), against)

    def metric(self, *metrics: str, against: str = "time") -> Figure:
        """Any metrics, drawn as `accuracy` draws.

        Parameters
        ----------
        *metrics : str
            As the column `metric` of `run.metrics` has them, such as `loss`.
        against : {"time", "megabytes"}
            As of `accuracy`.
        """
        return self._curves(metrics, against)

    def weights(self) -> Figure:
        """Collaboration weights at the end of the run: who listens to whom."""
        return self._of_one(heatmaps.weights, "no weights have been logged")

    def weights_by_shared_classes(self) -> Figure:
        """The same weights by how many classes two nodes share."""
        return self._of_one(
            lambda folder, _, title: graph_figure.draw(folder, title),
            "no weights, or all pairs of nodes share as many classes",
        )

    def deliveries(self) -> Figure:
        """Messages delivered, and the delivered share of those sent, by pair of nodes."""
        return self._of_one(heatmaps.deliveries, "no messages in its log")

    def map(self) -> Figure:
        """Where nodes are, and the links between them."""
        return self._of_one(
            lambda folder, _, title: node_map.draw(folder, title), "nodes have no places"
        )

    def _curves(self, metrics: Sequence[str], against: str) -> Figure:
        if against not in figures.AGAINST:
            raise ScenarioError(
                f'plot: against = "{against}": must be one of {", ".join(figures.AGAINST)}'
                + did_you_mean(against, figures.AGAINST)
            )
        found = figures.curves([run.folder for run in self._runs], against, metrics)
        if found is None:
            what = ", ".join(metrics) or "accuracy"
            raise ScenarioError(
                f"plot: {self._runs[0].folder}: has no {what} over {against}; run.metrics and "
                "run.plot.metric(name) show what it has"
            )
        return found

    def _of_one(self, draw: Callable[[Path, int, str], Figure | None], why: str) -> Figure:
        """A figure of a single run.

        Parameters
        ----------
        draw : callable
            (folder, how many nodes, heading) -> figure, or None where there is nothing to draw.
        why : str
            What is said then.
        """
        if len(self._runs) > 1:
            names = ", ".join(str(run.labels["algorithm"]) for run in self._runs[:5])
            raise ScenarioError(
                f"plot: this figure is of one run, and here are {len(self._runs)} ({names}); "
                f'choose one, as in run["{self._runs[0].labels["algorithm"]}"].plot'
            )
        [run] = self._runs
        summary = load(run.folder)
        with plot_style.style():
            found = draw(run.folder, int(summary["nodes"]), figures.title_of(summary))
        if found is None:
            raise ScenarioError(f"plot: {run.folder}: {why}")
        return found


class SweepPlots(Plots):
    """The figures of a sweep.

    Parameters
    ----------
    runs : sequence of PlayedRun
    folder : Path
        Of the sweep.
    design : SweepDesign
        What it varies.
    """

    def __init__(self, runs: Sequence[PlayedRun], folder: Path, design: SweepDesign) -> None:
        super().__init__(runs)
        self._folder, self._design = folder, design

    def sweep(self, *show: str) -> Figure:
        """Means over seeds with their 95 % intervals against the swept key: a panel a measure.

        Parameters
        ----------
        *show : str
            Names of measures, the columns of `sweep.summary`; none: those that the sweep shows.
        """
        lines = compare_points(self._folder, self._design)
        try:
            wanted = measures_to_show(lines, [named(name) for name in show] or self._design.show)
        except ValueError as error:
            raise ScenarioError(f"plot: {error}") from None
        found = sweep_figure.draw(lines, wanted, self._folder.name)
        if found is None:
            known = [name for name in MEASURES if any(name in line.estimates for line in lines)]
            raise ScenarioError(
                f"plot: {self._folder}: nothing is varied, or no run has {', '.join(wanted)}; "
                f"there are {', '.join(known)}"
            )
        return found
