"""Marks as JSON for the page: each is drawn by `assets/marks/` from what is made of it here."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.views import (
    Cells,
    Columns,
    Layers,
    Lines,
    OnPage,
    Panel,
    Points,
    Quantity,
    Response,
    Sentences,
    Shares,
    Shown,
    Table,
)
from netsim.views.gathering.numbers import rounded_list
from netsim.views.gathering.swept import number_texts, telling_apart
from netsim.views.render.colours import COLOURS_OF, FATES

_MOST_BANDS = 3
"""Curves with bands or single seeds around them; more would hide each other."""


def section(shown: Shown, title: str) -> dict[str, Any] | None:
    """A view as a section of the page; None where a browser draws none of its marks."""
    panels = [_panel(panel) for panel in shown.panels if panel.on_page]
    if not panels:
        return None
    about = shown.about_with(shown.spreads_in_words(_MOST_BANDS))
    made = {"title": title, "about": about, "panels": panels}
    marks = [panel.mark for panel in shown.panels]
    curves = {mark.curves for mark in marks if isinstance(mark, Response)}
    if len(curves) == 1 and len(marks) > 1 and all(isinstance(mark, Response) for mark in marks):
        made["curves"] = list(*curves)  # one legend for all panels
        for panel in panels:
            panel["data"]["has_legend_above"] = True
    return made


def _panel(panel: Panel) -> dict[str, Any]:
    mark = panel.mark
    if isinstance(mark, OnPage):
        return {"mark": mark.script, "data": mark.data}
    write = _WRITTEN_BY.get(type(mark))
    data = {} if write is None else write(mark, panel.table)
    return {"mark": type(mark).__name__.lower(), "data": {"title": panel.title, **data}}


def _quantity_fields(quantity: Quantity) -> dict[str, str]:
    return {"label": quantity.label, "unit": quantity.unit}


def _cells(mark: Cells, table: Table) -> dict[str, Any]:
    """Cells as a list of places and one of values: most pairs of many nodes have none."""
    per = mark.block
    rows, columns = mark.shape
    values = mark.value.scale * table[mark.value.column]
    known = np.isfinite(values)
    place = mark.places(table[mark.row.column]) * columns + mark.places(table[mark.column.column])
    return {
        "rows": rows,
        "columns": columns,
        "ticks": mark.ticks,
        "low": mark.low,
        "block": per,
        "nodes": mark.nodes,
        "row": mark.row.label,
        "column": mark.column.label,
        "value": _quantity_fields(mark.value),
        "missing": mark.missing,
        "top": mark.top,
        "at": place[known].tolist(),
        "values": rounded_list(values[known], 3),
    }


def _lines(mark: Lines, table: Table) -> dict[str, Any]:
    """Curves over one sorted axis, None where a curve has no point."""
    x, place = np.unique(mark.x.scale * table[mark.x.column], return_inverse=True)
    place = place.reshape(-1)

    def values(found: NDArray[np.float64], mine: NDArray[np.bool_]) -> list[Any]:
        made = np.full(len(x), np.nan)
        made[place[mine]] = mark.y.scale * found
        return rounded_list(made, 5)

    lines: list[dict[str, Any]] = []
    has_room, has_bands = len(set(table[mark.curve].tolist())) <= _MOST_BANDS, False
    for name in dict.fromkeys(table[mark.curve].tolist()):
        mine = table[mark.curve] == name
        legend, y = mark.told.get(name, ""), values(table[mark.y.column][mine], mine)
        line: dict[str, Any] = {"name": name, "told": legend, "y": y}
        lines.append(line)
        has_band = bool(mark.low) and bool(np.isfinite(table[mark.low][mine]).any())
        has_bands |= has_band and name not in mark.each
        if has_room and name in mark.each:
            line["each"] = [values(seed, mine) for seed in mark.each[name]]
        elif has_room and has_band:
            line["low"], line["high"] = (
                values(table[end][mine], mine) for end in (mark.low, mark.high)
            )
    kinds = ["bands"] * has_bands + ["single seeds"] * bool(mark.each)
    left_out = "" if has_room else " and ".join(kinds).capitalize()
    return {
        "x": {**_quantity_fields(mark.x), "values": rounded_list(x, 7)},
        "y": _quantity_fields(mark.y),
        "axis": mark.axis,
        "is_log": mark.is_log,
        "silent": mark.silent,
        "left_out": left_out,
        "lines": lines,
    }


def _layers(mark: Layers, table: Table) -> dict[str, Any]:
    """Heights by layer and place, of each word that rows can be chosen by."""
    x, place = np.unique(mark.x.scale * table[mark.x.column], return_inverse=True)
    layers = list(dict.fromkeys(table[mark.layer].tolist()))
    layer = np.array([layers.index(word) for word in table[mark.layer].tolist()])
    by = [""] if mark.by is None else list(dict.fromkeys(table[mark.by.column].tolist()))
    heights = []
    for word in by:
        mine = np.ones(len(layer), np.bool_) if mark.by is None else table[mark.by.column] == word
        key = layer[mine] * len(x) + place.reshape(-1)[mine]
        values = mark.y.scale * table[mark.y.column][mine]
        found = np.bincount(key, values, len(layers) * len(x)).reshape(len(layers), len(x))
        whole = table[mark.y.column].dtype.kind in "iu"
        heights.append(rounded_list(found.astype(np.int64) if whole else found))
    known = COLOURS_OF[mark.colours]
    return {
        "x": {**_quantity_fields(mark.x), "values": rounded_list(x, 7)},
        "y": _quantity_fields(mark.y),
        "width": mark.width,
        "layers": [{"name": word, "colour": known.get(word, "")} for word in layers],
        "by": None if mark.by is None else {"label": mark.by.label, "words": by},
        "heights": heights,
        "order": mark.order,
        "whole": mark.whole,
    }


def _shares(mark: Shares, table: Table) -> dict[str, Any]:
    """Parts by bar, in their order."""
    words = list(dict.fromkeys(table[mark.layer].tolist()))
    rows = []
    for name in dict.fromkeys(table[mark.row].tolist()):
        mine = table[mark.row] == name
        rows.append(
            {
                "name": name,
                "shares": rounded_list(mark.y.scale * table[mark.y.column][mine]),
                "counts": rounded_list(table[mark.counts][mine]),
            }
        )
    layers = [{"name": word, "colour": FATES.get(word, "")} for word in words]
    return {"y": _quantity_fields(mark.y), "layers": layers, "rows": rows}


def _response(mark: Response, table: Table) -> dict[str, Any]:
    """Marks by line, as lists of place, mean, half the interval, seeds, and each of few seeds."""
    lines = []
    for name in mark.curves:
        mine = table["curve"] == name
        lines.append(
            {
                "name": name,
                "points": table["point"][mine].tolist(),
                "x": rounded_list(table[mark.x.column][mine], 12),
                "mean": rounded_list(mark.y.scale * table[mark.y.column][mine], 5),
                "half": rounded_list(mark.y.scale * table["half_width"][mine]),
                "seeds": rounded_list(table["seeds"][mine]),
                "each": [
                    rounded_list([mark.y.scale * value for value in mark.each[row]])
                    for row in np.flatnonzero(mine).tolist()
                ],
            }
        )
    return {
        "x": _quantity_fields(mark.x),
        "y": _quantity_fields(mark.y),
        "at": rounded_list(sorted(set(mark.at)), 12),
        "ticks": _ticks(mark),
        "scale": mark.scale,
        "joined": mark.joined,
        "is_difference": mark.is_difference,
        "lines": lines,
    }


def _ticks(mark: Response) -> list[str]:
    """Ticks of one line each; of a table its kind where that is enough to know it by."""
    if not mark.words:
        return number_texts(sorted(set(mark.at)))
    lines = (lambda word: word.partition("\n")[0], lambda word: word.replace("\n", ", "))
    return telling_apart(mark.words, lines)


def _columns(mark: Columns, table: Table) -> dict[str, Any]:
    columns = []
    for quantity in mark.quantities:
        cells = table[quantity.column]
        is_word = cells.dtype.kind in "US"
        scale = quantity.scale
        values = cells.tolist() if is_word else rounded_list(cells if scale == 1 else scale * cells)
        about = mark.about.get(quantity.column, "")
        columns.append(
            {"key": quantity.column, "title": quantity.label, "unit": quantity.unit,
             "about": about, "values": values}
        )  # fmt: skip
    return {
        "caption": mark.caption,
        "columns": columns,
        "sort": mark.sort,
        "descending": mark.descending,
        "picks": mark.picks,
        "marked": sorted(mark.marked),
    }


def _sentences(mark: Sentences, table: Table) -> dict[str, Any]:
    return {"sentences": [f"{one.mark} {one.text}".strip() for one in mark.lines]}


def _points(mark: Points, table: Table) -> dict[str, Any]:
    y = mark.y.scale
    return {
        "x": {**_quantity_fields(mark.x), "values": rounded_list(table[mark.x.column])},
        "y": {**_quantity_fields(mark.y), "values": rounded_list(y * table[mark.y.column])},
        "half": rounded_list(y * table[mark.around]),
        "of": {**_quantity_fields(mark.of), "values": rounded_list(table[mark.of.column])},
        "level": rounded_list(y * mark.over_all),
        "says": [mark.bars, mark.level],
    }


_WRITTEN_BY: dict[type, Callable[[Any, Table], dict[str, Any]]] = {
    Cells: _cells,
    Columns: _columns,
    Layers: _layers,
    Lines: _lines,
    Points: _points,
    Response: _response,
    Sentences: _sentences,
    Shares: _shares,
}
