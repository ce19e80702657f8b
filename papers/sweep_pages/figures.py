"""The figure of a what-if: accuracy and lead by what is swept, accuracy by what it cost."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image

from netsim import MEASURES, Spread
from netsim import figures as plot_style
from papers.sweep_pages import kept
from papers.sweep_pages.gallery import Point, WhatIf
from papers.sweep_pages.kept import Sweep

WIDTH_IN, HEIGHT_IN, DPI, COLOURS = 7.0, 4.7, 110, 48
ALONE = "local"
_APART_PT = 3.0
"""Between lines over one point, so that all bars are seen."""
_NEAR_PX = 20.0
"""Points nearer than this share a name."""
DECADE = 10.0
"""Ratio of the largest to the smallest value from which a horizontal axis is logarithmic."""


@dataclass(frozen=True)
class Line:
    """An algorithm in one series of points, and what it is drawn like."""

    label: str
    places: Sequence[float]
    names: Sequence[str]
    points: Sequence[kept.Line]
    colour: str
    marker: str
    is_alone: bool


def draw(what_if: WhatIf, sweep: Sweep) -> Figure:
    """Draw a what-if; within `plot_style.style`."""
    figure = plot_style.new_figure(WIDTH_IN, HEIGHT_IN)
    lines = _lines(what_if, sweep)
    panels = [figure.add_subplot(2, 2, i + 1) for i in range(4)]
    for panel, measure in zip(panels[:2], ("accuracy", "lead"), strict=True):
        _across(panel, what_if)
        _span(panel, lines, measure)
        for k, line in enumerate(lines):
            beside_pt = _APART_PT * (k - (len(lines) - 1) / 2)
            _over_points(panel, line, measure, beside_pt, what_if)
    panels[1].axhline(0.0, color=plot_style.FAINT, linewidth=0.9, zorder=1)
    for panel, cost in zip(panels[2:], ("transmitted_megabytes", "airtime_s"), strict=True):
        for line in lines:
            _over_cost(panel, line, cost, joined=_is_numbers(what_if))
        _cost_axis(panel, cost, lines)
        for k, line in enumerate(line for line in lines if not line.is_alone):
            _name_points(panel, line, cost, k % 2 == 0, not _is_numbers(what_if))
    for panel, name in zip(panels, ("accuracy", "lead", "accuracy", "accuracy"), strict=True):
        title = {"lead": "lead over local,\nequal steps [pp]"}.get(name, "accuracy [%]")
        panel.set_ylabel(title)
        panel.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
        panel.tick_params(axis="y", length=0)
        if name == "accuracy" and panel.get_ylim()[1] > 100:
            panel.set_ylim(top=100)
    shown = {line.label: panels[0].plot([], [], **_look(line))[0] for line in lines}
    plot_style.legend(figure, list(shown.values()), list(shown), "")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a small PNG: of few colours."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def _lines(what_if: WhatIf, sweep: Sweep) -> list[Line]:
    """Series by algorithm, those alone last and in grey."""
    places = _places(what_if)
    series = list(dict.fromkeys(s for _, _, s in what_if.points))
    at = dict(zip(sweep.design.points, zip(places, what_if.points, strict=True), strict=True))
    algorithms = list(dict.fromkeys(x.algorithm for x in sweep.lines))
    algorithms.sort(key=lambda name: (name == ALONE, name != what_if.algorithm))
    found: list[Line] = []
    for algorithm in algorithms:
        for k, one in enumerate(series):
            points = [
                x for x in sweep.lines if x.algorithm == algorithm and at[x.point][1][2] == one
            ]
            is_alone, number = algorithm == ALONE, len(found)
            label = ", ".join(filter(None, (algorithm, one)))
            if is_alone and found[-1].is_alone and _means(found[-1].points) == _means(points):
                found[-1] = replace(found[-1], label=algorithm)
                continue
            found.append(
                Line(
                    label,
                    [at[x.point][0] for x in points],
                    [_short(at[x.point][1]) for x in points],
                    points,
                    plot_style.FAINT if is_alone else plot_style.COLOURS[number],
                    "ox"[k % 2] if is_alone else plot_style.MARKERS[number],
                    is_alone,
                )
            )
    return found


def _means(points: Sequence[kept.Line]) -> list[float]:
    return [point.estimates["accuracy"].mean for point in points]


def _places(what_if: WhatIf) -> list[float]:
    """Numbers where they are; kinds side by side."""
    values = [x for x, _, _ in what_if.points]
    if _is_numbers(what_if):
        return [float(x) for x in values]
    order = list(dict.fromkeys(values))
    return [float(order.index(x)) for x in values]


def _is_numbers(what_if: WhatIf) -> bool:
    return not any(isinstance(x, str) for x, _, _ in what_if.points)


def _look(line: Line) -> dict[str, Any]:
    return {
        "color": line.colour,
        "marker": line.marker,
        "markeredgecolor": line.colour if line.marker == "x" else "white",
        "markeredgewidth": 1.2 if line.marker == "x" else 0.6,
        "linestyle": "--" if line.is_alone else "-",
        "linewidth": 1.1 if line.is_alone else 1.6,
    }


def _shown(line: Line, measure: str) -> list[tuple[float, Spread]]:
    both = zip(line.places, line.points, strict=True)
    return [(x, point.estimates[measure]) for x, point in both if measure in point.estimates]


def _span(panel: Axes, lines: Sequence[Line], measure: str) -> None:
    """Fix the axes around all that will be drawn."""
    scale = MEASURES[measure].scale
    cells = [cell for line in lines for cell in _shown(line, measure)]
    for sign in (-1, 1):
        ends = [scale * (cell.mean + sign * (cell.half_width or 0.0)) for _, cell in cells]
        panel.plot([x for x, _ in cells], ends, linestyle="none")
    panel.set_xlim(panel.get_xlim())
    panel.set_ylim(panel.get_ylim())


def _over_points(panel: Axes, line: Line, measure: str, beside_pt: float, what_if: WhatIf) -> None:
    """A measure by what is swept.

    Parameters
    ----------
    panel : Axes
    line : Line
    measure : str
    beside_pt : float
        How far to the right of its place it is drawn [1/72 inch].
    what_if : WhatIf
    """
    cells, scale = _shown(line, measure), MEASURES[measure].scale
    look = _look(line)
    if not _is_numbers(what_if):  # kinds have no order, so no line joins them
        look["linestyle"] = "none"
    panel.errorbar(
        [_beside(panel, x, beside_pt) for x, _ in cells],
        [scale * cell.mean for _, cell in cells],
        [scale * (cell.half_width or 0.0) for _, cell in cells],
        capsize=2.5,
        elinewidth=1.0,
        zorder=2 + (not line.is_alone),
        **look,
    )


def _beside(panel: Axes, x: float, shift_pt: float) -> float:
    figure = panel.get_figure()
    assert figure is not None
    drawn = panel.transData.transform((x, 0.0))
    moved = (drawn[0] + shift_pt / 72 * figure.dpi, drawn[1])
    return float(panel.transData.inverted().transform(moved)[0])


def _over_cost(panel: Axes, line: Line, cost: str, joined: bool) -> None:
    """Accuracy by what was spent; training alone spends nothing and is a level.

    Parameters
    ----------
    panel : Axes
    line : Line
    cost : str
        A measure.
    joined : bool
        Whether points are joined in their order.
    """
    scale = MEASURES["accuracy"].scale
    if line.is_alone:
        levels = [scale * mean for mean in _means(line.points)]
        panel.axhspan(min(levels) - 0.1, max(levels) + 0.1, color=plot_style.BLANK, zorder=1)
        panel.axhline(sum(levels) / len(levels), color=line.colour, linestyle="--", linewidth=1.1)
        return
    panel.errorbar(
        [point.estimates[cost].mean for point in line.points],
        [scale * mean for mean in _means(line.points)],
        [scale * (point.estimates["accuracy"].half_width or 0.0) for point in line.points],
        capsize=2.5,
        elinewidth=1.0,
        zorder=3,
        **(_look(line) | {"linestyle": ":" if joined else "none", "linewidth": 0.9}),
    )


def _name_points(panel: Axes, line: Line, cost: str, above: bool, every: bool) -> None:
    """Name points of what was spent.

    Parameters
    ----------
    panel : Axes
        With the limits that it will have.
    line : Line
    cost : str
        A measure.
    above : bool
        Whether names are above their points.
    every : bool
        All points, or the first and the last.
    """
    scale = MEASURES["accuracy"].scale
    last = len(line.points) - 1
    named: list[tuple[float, float]] = []
    for i, (point, name) in enumerate(zip(line.points, line.names, strict=True)):
        if not (every or i in (0, last)):
            continue
        place = (point.estimates[cost].mean, scale * point.estimates["accuracy"].mean)
        x, y = panel.transData.transform(place)
        if any(abs(x - there) < _NEAR_PX and abs(y - at) < _NEAR_PX / 2 for there, at in named):
            continue
        named.append((x, y))
        right = panel.transAxes.inverted().transform((x, y))[0] > 0.6
        panel.annotate(
            name,
            place,
            xytext=(-5 if right else 5, 3 if above else -9),
            textcoords="offset points",
            ha="right" if right else "left",
            color=line.colour,
            fontsize=7,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )


def _across(panel: Axes, what_if: WhatIf) -> None:
    """The axis of what is swept, with a tick a point."""
    panel.set_xlabel(what_if.axis)
    places = _places(what_if)
    if not _is_numbers(what_if):
        names = dict.fromkeys(str(x) for x, _, _ in what_if.points)
        panel.set_xticks(range(len(names)), list(names), fontsize=7.5)
        panel.margins(x=0.12)
        return
    positive = [x for x in places if x > 0]
    if max(positive) >= DECADE * min(positive):
        if min(places) > 0:
            panel.set_xscale("log")
        else:
            panel.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
    ticks = sorted(set(places))
    panel.set_xticks(ticks, [_tick(x) for x in ticks])
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.minorticks_off()


def _cost_axis(panel: Axes, cost: str, lines: Sequence[Line]) -> None:
    title = {"transmitted_megabytes": "transmitted [MB]", "airtime_s": "airtime of all nodes [s]"}
    panel.set_xlabel(title[cost])
    spent = [p.estimates[cost].mean for line in lines if not line.is_alone for p in line.points]
    if min(spent) > 0 and max(spent) >= DECADE * min(spent):
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
    else:
        panel.set_xlim(0, 1.12 * max(spent))


def _short(point: Point) -> str:
    """A point's name without its series; a kind's is that of its tick."""
    x, name, series = point
    return x if isinstance(x, str) else name.removesuffix(f", {series}")


def _tick(x: float) -> str:
    for prefix, size in (("M", 1e6), ("k", 1e3)):
        if x >= max(size, 1e4):
            return f"{x / size:g}{prefix}"
    return f"{x:g}"
