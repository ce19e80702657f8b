"""The figures of runs, as matplotlib figures that a notebook shows and a script saves."""

from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.figure import Figure

from netsim import views
from netsim.campaign import sweep_results
from netsim.errors import ScenarioError
from netsim.python_api.arguments import require_one_of, require_texts
from netsim.recording import metrics as measured
from netsim.recording.reader import RunFolder
from netsim.recording.summary_fields import MEASURES, measure_name
from netsim.views import Ask, Shown, accuracy
from netsim.views import sweep as response
from netsim.views.gathering.comparison import measures_to_show
from netsim.views.gathering.estimates import AGAINST, BANDS, Band
from netsim.views.gathering.runs import pictured, shown_of, title_of
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import SCREEN, Sheet, paper, width_in

Width = str | float | None
"""`column` (3.5 in), `text` (7.16 in) or inches, as a paper needs it; None: for a screen."""


class Plots:
    """The figures of some runs; each call draws a new one.

    With a `width` a figure is drawn for a paper, as `netsim plot` draws it: without a heading, its
    text eight points, intervals over seeds where there are several. `figure.savefig("x.pdf")`
    embeds fonts; the same figure gives the same bytes.
    """

    def __init__(self, runs: Sequence[RunFolder]) -> None:
        self._runs = runs

    def accuracy(
        self,
        against: str = "time",
        *,
        width: Width = None,
        band: Band | None = None,
        paired_to: str | None = None,
    ) -> Figure:
        """Test accuracies, mean over nodes: one panel per metric, one curve per algorithm.

        Seeds of one algorithm become one curve.

        Parameters
        ----------
        against : {"time", "megabytes", "airtime"}
            Virtual time [s]; what all nodes have transmitted, headers included [MB]; for how long
            [s].
        width : {"column", "text"} or float, optional
            Of a figure for a paper, or in inches.
        band : {"interval", "std", "nodes", "none"}, optional
            Span of bands: the 95 % interval or the standard deviation over seeds, that over nodes,
            nothing. None: of four seeds and more the deviation over them (on paper the interval),
            of one that over nodes; two or three seeds are drawn themselves.
        paired_to : str, optional
            An algorithm; one panel more has the paired differences to it.

        Raises
        ------
        ScenarioError
            If the run has nothing to draw, as of all figures.
        """
        return self._curves((), against, _sheet(width), band, paired_to)

    def metric(
        self,
        *metrics: str,
        against: str = "time",
        width: Width = None,
        band: Band | None = None,
        paired_to: str | None = None,
    ) -> Figure:
        """Any metrics, drawn as `accuracy` draws.

        Parameters
        ----------
        *metrics : str
            As the column `metric` of `run.metrics` has them, such as `loss`.
        against, width, band, paired_to
            As of `accuracy`.
        """
        return self._curves(metrics, against, _sheet(width), band, paired_to)

    def cdf(self, *what: str, width: Width = "column", paired_to: str | None = None) -> Figure:
        """Empirical distributions over nodes, and of messages, one curve per algorithm.

        Parameters
        ----------
        *what : str
            Metrics, `delay`, `age`; none: the main metric and, where messages are logged, delays.
        width : {"column", "text"} or float
            As of `accuracy`.
        paired_to : str, optional
            An algorithm; panels more have the differences to it, node by node.
        """
        require_texts("plot", what=what, paired_to=paired_to)
        ask = Ask(what, paired_to=paired_to, on_paper=True)
        return self._view("cdf", ask, _sheet("column" if width is None else width))

    def graph(self, width: Width = "column") -> Figure:
        """Draw the final weights, alike nodes side by side: one panel per algorithm.

        Parameters
        ----------
        width : {"column", "text"} or float
            As of `accuracy`.
        """
        return self._view("graph", Ask(on_paper=True), _sheet("column" if width is None else width))

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        """Any other view of `netsim/views`, such as `run.plot.age_by_pair(width="column")`."""
        if name not in views.names():
            raise AttributeError(f"no figure {name}; there are {', '.join(dir(self))}")

        def draw(*, width: Width = None) -> Figure:
            sheet = _sheet(width)
            return self._view(name, Ask(on_paper=not sheet.has_heading), sheet)

        draw.__name__ = name
        return draw

    def __dir__(self) -> list[str]:
        own = [name for name in super().__dir__() if not name.startswith("_")]
        return sorted({*own, *views.names()})

    def numbers(self, view: str) -> pd.DataFrame:
        """The table that a view of `netsim/views` draws, in SI units and shares in [0, 1].

        Parameters
        ----------
        view : str
            Its name, such as `age_by_pair` or `fates`.
        """
        require_texts("plot", view=view)
        return shown_of(view, self._drawn(), Ask(), "plot: ").frame()

    def _view(self, name: str, ask: Ask, sheet: Sheet) -> Figure:
        """Any view."""
        runs = self._drawn()
        shown = shown_of(name, runs, ask, "plot: ")
        title = title_of(runs[0].summary, algorithm=len(runs) == 1)
        try:
            return _figure(shown, f"{views.find(name).TITLE} · {title}", sheet)
        except panels.OnPageOnlyError as error:
            raise ScenarioError(f"plot: {name}: {error}") from None

    def _drawn(self) -> list[RunFolder]:
        return [RunFolder.ended(run.folder) for run in self._runs]

    def _curves(
        self,
        metrics: Sequence[str],
        against: str,
        sheet: Sheet,
        band: Band | None,
        paired_to: str | None,
    ) -> Figure:
        """Metrics over time or over what it cost; without any, the main one on test samples."""
        require_one_of("plot", "against", against, AGAINST)
        require_one_of("plot", "band", band, BANDS)
        require_texts("plot", metric=metrics, paired_to=paired_to)
        runs = self._drawn()
        there = {m for run in runs for m in measured.names(run.measured)}
        for name in metrics if there else ():
            require_one_of("plot", "metric", name, sorted(there))
        wanted = metrics or list(dict.fromkeys(m for run in runs for m in pictured(run)))
        wanted = [m for m in wanted if m in there]
        shown = None
        if wanted and against in accuracy.recorded(runs):
            ask = Ask(tuple(wanted), band, paired_to, (against,), not sheet.has_heading)
            shown = accuracy.of_runs(runs, ask)
        if shown is None:
            what = ", ".join(metrics) or "accuracy"
            raise ScenarioError(
                f"plot: {self._runs[0].folder}: has no {what} over {against}; run.metrics and "
                "run.plot.metric(name) show what it has"
            )
        return _figure(shown, title_of(runs[0].summary, algorithm=len(runs) == 1), sheet)


class SweepPlots(Plots):
    """The figures of a sweep.

    Parameters
    ----------
    runs : sequence of RunFolder
    tables : SweepTables
    """

    def __init__(self, runs: Sequence[RunFolder], tables: SweepTables) -> None:
        super().__init__(runs)
        self._tables = tables

    def sweep(self, *show: str, width: Width = None, paired_to: str | None = None) -> Figure:
        """Means over seeds with their 95 % intervals against the swept key: one panel per measure.

        Two or three seeds are drawn themselves, without an interval.

        Parameters
        ----------
        *show : str
            Names of measures, the columns of `sweep.summary`; none: those that the sweep shows.
        width : {"column", "text"} or float, optional
            As of `accuracy`.
        paired_to : str, optional
            An algorithm, or a point's label; each measure has one panel more, with the paired
            differences to it.
        """
        require_texts("plot", show=show, paired_to=paired_to)
        mine = {run.labels["algorithm"] for run in self._runs}
        folder, design = self._tables.folder, self._tables.design
        lines = [ln for ln in self._tables.lines_to(paired_to) if ln.algorithm in mine]
        try:
            asked = [measure_name(name) for name in show]
        except ValueError as error:
            raise ScenarioError(f"plot: {error}") from None
        there = [name for name in MEASURES if any(name in line.estimates for line in lines)]
        for name in asked if there else ():
            require_one_of("plot", "show", name, there)
        wanted = measures_to_show(lines, asked or design.show)
        minus = paired_to or ""
        shown = response.gather(lines, wanted, minus, sweep_results.is_search(folder, minus))
        if shown is None:
            raise ScenarioError(
                f"plot: {folder}: nothing is varied, or no run has {', '.join(wanted)}; "
                f"there are {', '.join(there)}"
            )
        return _figure(shown, folder.resolve().name, _sheet(width))


def _figure(shown: Shown, heading: str, sheet: Sheet) -> Figure:
    """Draw what a view shows."""
    with plot_style.style(sheet):
        return panels.draw(shown, heading, sheet).figure


def _sheet(width: Width) -> Sheet:
    """Return the sheet for a figure of a width."""
    return SCREEN if width is None else paper(width_in(width))
