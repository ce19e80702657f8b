"""Metrics over virtual time, over data transmitted, or over airtime: one panel per metric."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import metrics as measured
from netsim.recording import run_folder
from netsim.recording.main_metric import is_share
from netsim.recording.reader import RunFolder
from netsim.recording.summary_fields import Measure
from netsim.views import Around, Ask, Lines, Panel, Row, Shown
from netsim.views.gathering import names
from netsim.views.gathering import runs as of_several
from netsim.views.gathering.comparison import spread_in_words
from netsim.views.gathering.estimates import (
    AGAINST,
    BANDS,
    Band,
    Line,
    difference,
    over_seeds,
    worst,
)
from netsim.views.gathering.numbers import span, tidy
from netsim.views.gathering.runs import pictured

TITLE = "Accuracy over time"
PLACE = 20
NOTHING = "it was measured once, at the start; set metrics.every_s below horizon_s"
TAKES = ("metrics", "band", "paired_to", "against")


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of one panel."""

    metric: str
    against: str
    lines: Sequence[Line]
    minus: str = ""
    """The curve that is subtracted; empty: none is."""

    @property
    def title(self) -> str:
        """The metric, or the difference, in a table of numbers."""
        return f"{self.metric} minus {self.minus}" if self.minus else self.metric


def recorded(runs: Sequence[RunFolder]) -> list[str]:
    """The abscissae that every run has recorded: older ones did not count what they transmitted."""
    counted = all(run_folder.has(run.folder, "traffic") for run in runs)
    return [name for name in AGAINST if counted or name == "time"]


def of_runs(runs: Sequence[RunFolder], ask: Ask) -> Shown | None:
    """Return metrics of one run, or of several over each other; None: one evaluation alone.

    They are drawn against time or against what they cost, in a panel each.

    The band of one seed is the spread over nodes. Two or three seeds are drawn as lines of their
    own, unless a band is asked for. The band of four seeds or more is their standard deviation on
    a screen, and the interval of their mean on paper.

    Raises
    ------
    ScenarioError
        If a metric that was asked for was not measured, there is no curve that `paired_to` means,
        or there are no pairs.
    """
    against = ask.against or ("time",)
    for run in runs if ask.on_paper else ():
        for metric in ask.metrics:
            run.require_metric(metric)
        if against != ("time",):
            run.require("traffic")
    wanted = list(ask.metrics) or list(dict.fromkeys(m for run in runs for m in _main(run, ask)))
    found = of_several.groups(runs)
    seeds = sorted({len(group) for group in found.values()})
    band: Band = ask.band or ("nodes" if seeds[-1] == 1 else "interval" if ask.on_paper else "std")
    if len(against) > 1 and not ask.on_paper:  # over what nobody spent nothing can be drawn
        against = tuple(axis for axis in against if any(_reach(run, axis) for run in runs))
    drawn = [
        curves for metric in wanted for curves in _curves_of(found, metric, against, ask, band)
    ]
    every = [line for one in drawn for line in one.lines]
    if max((float(line.x.max()) for line in every), default=0.0) == 0:
        return None
    counts = sorted({line.seeds for line in every})  # not those of seeds that measured nothing
    about = _explanation(counts, ask.paired_to is not None) + _say_unseen(runs, every, wanted, ask)
    short = [row for one in drawn for row in _last_points(one)]
    has_bands = any(line.half is not None for line in every)
    spread = Around(BANDS[band]) if has_bands else None
    has_seeds = ask.band is None and seeds[-1] > 1
    if has_seeds:
        spread = spread_in_words([line.seeds for line in every], BANDS[band])
    return Shown([_panel(one, band, spread, has_seeds) for one in drawn], about, short)


def _curves_of(
    groups: Mapping[str, Sequence[RunFolder]],
    metric: str,
    against: Sequence[str],
    ask: Ask,
    band: Band,
) -> Iterator[Curves]:
    """Curves of a metric over each abscissa, then the paired differences if they are wanted."""
    having = {
        title: mine
        for title, group in groups.items()
        if (mine := [run for run in group if metric in measured.names(run.measured)])
    }
    one, *others = [run for group in groups.values() for run in group]
    for axis in against if having else ():
        if others:
            lines = [over_seeds(t, mine, metric, axis, band) for t, mine in having.items()]
        else:
            lines = _single(one, metric, axis, band)
        yield Curves(metric, axis, lines)
    if ask.paired_to is not None:
        minus = of_several.reference(having, ask.paired_to)
        lines = [
            difference(title, of_several.pairs(mine, having[minus]), metric, band)
            for title, mine in having.items()
            if title != minus
        ]
        yield Curves(metric, "time", lines, minus)


def _say_unseen(
    runs: Sequence[RunFolder], lines: Sequence[Line], wanted: Sequence[str], ask: Ask
) -> str:
    """Name the curves that nobody sees, as no number of theirs is finite; empty: there is none.

    Raises
    ------
    ScenarioError
        If a figure for a paper would be empty.
    """
    unseen = [line.label for line in lines if not np.isfinite(line.y).any()]
    if not unseen:
        return ""
    if ask.on_paper and len(unseen) == len(lines):
        raise ScenarioError(
            f"{runs[0].folder}: {', '.join(wanted)}: no number to draw, as models are not finite "
            "at any evaluation"
        )
    whose = f": {', '.join(dict.fromkeys(unseen))}" if len(runs) > 1 else ""
    return f"; no number, as models are not finite{whose}"


def _reach(run: RunFolder, axis: str) -> float:
    """The largest place of a run on an axis."""
    t_s = np.asarray(run.measured.get("t_s", ()), dtype=np.float64)
    return float(AGAINST[axis].places(run, t_s[-1:]).max(initial=0.0)) if len(t_s) else 0.0


def _main(run: RunFolder, ask: Ask) -> list[str]:
    """The metrics that are drawn where none was asked for: on paper the main one alone."""
    if ask.on_paper:
        run.require_metric(run.main.name)
        return [run.main.name]
    return pictured(run)


def _single(run: RunFolder, metric: str, against: str, band: Band) -> list[Line]:
    name = "mean over nodes ± std" if band == "nodes" else "mean over nodes"
    line = over_seeds(name, [run], metric, against, band)
    if measured.curve(run.measured, metric, run.main).nodes < 10:
        return [line]
    return [line, worst("worst 10 % of nodes", run, metric, against)]


def _explanation(seeds: Sequence[int], is_paired: bool) -> str:
    """The meaning of lines."""
    count = span(seeds)
    over = "mean over nodes" if seeds[-1] == 1 else f"mean over nodes and {count} seeds"
    by = "node" if seeds[-1] == 1 else "seed"
    return f"{over}; differences paired by {by}" if is_paired else over


def _panel(curves: Curves, band: Band, told: Around | None, has_seeds: bool) -> Panel:
    """Curves with their bands, or, where it has them, with their seeds."""
    table = tidy([row for line in curves.lines for row in _rows(curves, line, band)])
    y = names.metric(curves.metric)
    axis: Any = "share" if is_share(curves.metric) else "value"
    lines = curves.lines if has_seeds else ()
    each = {line.label: line.each for line in lines if line.each is not None}
    if curves.minus:
        y, axis = names.difference(y, curves.minus), "difference"
    mark = Lines(
        AGAINST[curves.against].axis,
        y,
        "curve",
        "low",
        "high",
        axis,
        silent=AGAINST[curves.against].silent,
        each=each,
        around=told,
    )
    return Panel(mark, table)


def _rows(curves: Curves, line: Line, band: Band) -> list[Row]:
    half = np.full(len(line.y), np.nan) if line.half is None else line.half
    return [
        {
            "curve": line.label,
            "metric": curves.title,
            "against": AGAINST[curves.against].column,
            "x": float(line.x[i]),
            "mean": float(line.y[i]),
            "low": float(line.y[i] - half[i]),
            "high": float(line.y[i] + half[i]),
            "band": "none" if line.half is None else band,
            "seeds": line.seeds,
        }
        for i in range(len(line.x))
    ]


def _last_points(curves: Curves) -> list[Row]:
    """Return the last point of each curve."""
    spelled = Measure("", "%" if is_share(curves.metric) else "", lambda _: None).spelled
    axis, what = AGAINST[curves.against].axis, names.metric(curves.metric)
    if curves.minus:
        what = names.difference(what, curves.minus, alone=True)
    sign: Literal["+", ""] = "+" if curves.minus else ""
    return [
        {
            "curve": line.label,
            "what": what.title,
            axis.title: float(line.x[-1]),
            "at the end": spelled(line.y[-1], None if line.half is None else line.half[-1], sign),
        }
        for line in curves.lines
    ]
