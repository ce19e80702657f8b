"""The figure of a sweep: one panel per measure, its mean over the swept key by algorithm.

Bars are the 95 % intervals over seeds; two or three seeds are drawn themselves. The horizontal axis
is the swept key with the most values; where a grid has further keys, each of their combinations is
a line of its own. Of a search each trial is a mark, and each key that it drew has panels of its
own. An axis is logarithmic where what it shows spans decades.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from netsim.recording.summary_fields import MEASURES, definitions
from netsim.views import Around, Panel, Response, Row, Shown
from netsim.views.gathering import names, swept
from netsim.views.gathering.comparison import (
    LEVEL,
    Estimate,
    PointResult,
    are_few,
    spread_in_words,
    tidy_rows,
)
from netsim.views.gathering.numbers import span
from netsim.views.gathering.sweep_tables import SweepTables, of_fewer_seeds
from netsim.views.gathering.swept import SweptAxis, swept_key

TITLE = "Response"
PLACE = 5
TAKES = ("metrics", "paired_to")

_ON_PAGE = 6
"""Measures that a page shows over the swept key."""


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return the measures that the sweep shows, over the swept key."""
    return gather(sweep.lines, sweep.measures[:_ON_PAGE], is_search=bool(sweep.trials))


def gather(
    lines: Sequence[PointResult], show: Sequence[str], minus: str = "", is_search: bool = False
) -> Shown | None:
    """Gather one panel per measure, and of a search one panel per key that it drew.

    None where nothing is swept, or nothing was measured.

    Parameters
    ----------
    lines : sequence of PointResult
        See `SweepTables.lines`.
    show : sequence of str
        Names of measures.
    minus : str
        The algorithm or point to which differences are drawn; empty: none are.
    is_search : bool
        Whether points are trials.
    """
    key = swept_key([line.values for line in lines])
    shown = [name for name in show if any(name in line.estimates for line in lines)]
    if key is None or not shown:
        return None
    keys = swept.varied_keys([line.values for line in lines]) if is_search else [key]
    groups = _groups(lines, keys)
    sides = ("", minus) if minus else ("",)
    cells = [line.estimates[name] for line in lines for name in shown if name in line.estimates]
    seen = (_seen(cell, side) for cell in cells for side in sides)
    counts = [cell.seeds for cell in seen if cell is not None]
    around = spread_in_words(counts, f"{100 * LEVEL:g} % interval")
    panels = [
        _panel(groups, name, axis, having, side, is_search, around)
        for name in shown
        for axis, having in _axes(lines, keys)
        for side in sides
    ]
    told = [_explanation(lines, minus, is_search), of_fewer_seeds(lines, shown), definitions(shown)]
    about = "\n".join(filter(None, told))
    return Shown(
        panels, about, _summary_rows(groups, keys, shown, minus), rows=_rows(lines, shown, minus)
    )


def _rows(lines: Sequence[PointResult], shown: Sequence[str], minus: str) -> list[Row]:
    """One row per point, algorithm and measure that is drawn, for a file beside the figure."""
    to = minus or lines[0].point
    return [{**row, "diff_to": to} for row in tidy_rows(lines) if row["metric"] in shown]


def _panel(
    groups: Mapping[str, Sequence[PointResult]],
    name: str,
    axis: SweptAxis,
    lines: Sequence[PointResult],
    minus: str,
    is_search: bool,
    told: Around | None,
) -> Panel:
    """One measure over one key, whose `axis` has the values of `lines`, in their order."""
    places = {id(line): x for line, x in zip(lines, axis.at, strict=True)}
    there = [
        (label, line, cell)
        for label, group in groups.items()
        for line in group
        if id(line) in places and (cell := _seen(line.estimates.get(name), minus)) is not None
    ]
    rows = [
        (label, line.point, places[id(line)], cell.mean, cell.half_width or 0.0, cell.seeds)
        for label, line, cell in there
    ]
    columns = ("curve", "point", "x", "mean", "half_width", "seeds")
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    table = {c: np.array(one) for c, one in zip(columns, cells, strict=True)}
    y = names.measure(name)
    if minus:
        y = names.difference(y, names.method(minus))
    mark = Response(
        replace(axis.axis, per=1.0),  # the table has its places in this unit
        y,
        tuple(groups),
        tuple(axis.at),
        tuple(axis.words),
        axis.scale,
        joined=axis.is_number and not is_search,  # kinds have no order
        is_difference=bool(minus) or MEASURES[name].unit == "pp",
        each=[cell.values if are_few(cell.seeds) else () for _, _, cell in there],
        around=told,
    )
    return Panel(mark, table)


def _axes(
    lines: Sequence[PointResult], keys: Sequence[str]
) -> list[tuple[SweptAxis, list[PointResult]]]:
    """The axis of each key with the points that have the key: trials have those of their method."""
    found = []
    for key in keys:
        having = [line for line in lines if key in line.values]
        found.append((SweptAxis.of(key, [line.values[key] for line in having]), having))
    return found


def _groups(lines: Sequence[PointResult], keys: Sequence[str]) -> dict[str, list[PointResult]]:
    """Lines of the picture: by algorithm, and by what else is swept."""
    several = len({line.algorithm for line in lines}) > 1
    varied = swept.varied_keys([line.values for line in lines])
    further = [
        swept.with_name(key, [line.values[key] for line in lines])
        for key in varied
        if key not in keys
    ]
    found: dict[str, list[PointResult]] = {}
    for k, line in enumerate(lines):
        others = [told[k] for told in further]
        parts = ([names.method(line.algorithm)] if several or not others else []) + others
        found.setdefault(", ".join(parts), []).append(line)
    return found


def _seen(cell: Estimate | None, minus: str) -> Estimate | None:
    """A measure, or its difference to something; None where there is none."""
    return cell.difference if cell is not None and minus else cell


def _explanation(lines: Sequence[PointResult], minus: str, is_search: bool) -> str:
    """Return the words that explain marks."""
    seeds = span(line.seeds for line in lines)
    what = "each mark a trial: " if is_search else ""
    if seeds == "1":
        return f"{what}one seed"
    over = f"{what}mean over {seeds} seeds"
    return f"{over}; differences paired by seed" if minus else over


def _summary_rows(
    groups: Mapping[str, Sequence[PointResult]],
    keys: Sequence[str],
    shown: Sequence[str],
    minus: str,
) -> list[Row]:
    """One row per mark."""
    found = []
    every = [line for group in groups.values() for line in group]
    axes = [
        (axis.axis.title, dict(zip(map(id, having), axis.texts, strict=True)))
        for axis, having in _axes(every, keys)
    ]
    for label, group in groups.items():
        for line in group:
            row: Row = {"curve": label}
            row |= {title: texts[id(line)] for title, texts in axes if id(line) in texts}
            for name in shown:
                cell = line.estimates.get(name)
                if cell is None:
                    continue
                measure = names.measure(name)
                row[measure.title] = MEASURES[name].spelled(cell.mean, cell.half_width)
                if minus and (diff := cell.difference) is not None:
                    difference = names.difference(measure, names.method(minus), alone=True)
                    row[difference.title] = MEASURES[name].spelled(diff.mean, diff.half_width, "+")
            found.append(row)
    return found
