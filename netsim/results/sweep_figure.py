"""The figure of a sweep: a panel a measure, its mean against the swept key, a line an algorithm.

Bars are the 95 % intervals over seeds. The horizontal axis is the swept key with the most values;
where a grid has further keys, each of their combinations is a line of its own. An axis is
logarithmic where what it shows spans decades.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from netsim.recording.summary_fields import MEASURES, definitions
from netsim.results import plot_style
from netsim.results.sweep_comparison import Estimate, PointResult
from netsim.scenario.labels import short_key, short_path

_UNITS = {
    "m_per_s": "m/s", "s": "s", "ns": "ns", "hz": "Hz", "bps": "bit/s", "bits": "bit",
    "bytes": "byte", "dbm": "dBm", "db": "dB", "w": "W", "m": "m", "j": "J", "k": "K",
}  # fmt: skip
_WIDE, _TALL = 10.0, 100.0
"""Ratios of the largest to the smallest value from which an axis is logarithmic."""
_COLUMNS = {1: 1, 2: 2, 4: 2}
"""Panels side by side, by how many there are; else three."""


def draw(lines: Sequence[PointResult], show: Sequence[str], heading: str) -> Figure | None:
    """Draw a sweep.

    Parameters
    ----------
    lines : sequence of PointResult
        See `sweep_comparison.compare_points`.
    show : sequence of str
        Names of measures.
    heading : str

    Returns
    -------
    Figure or None
        None where nothing is swept, or nothing was measured.
    """
    key = swept_key([line.values for line in lines])
    shown = [name for name in show if any(name in line.estimates for line in lines)]
    if key is None or not shown:
        return None
    groups = _groups(lines, key)
    inner = _number_inside([line.values[key] for line in lines])
    path = f"{key}.{inner}" if inner else key
    values = [line.values[key][inner] if inner else line.values[key] for line in lines]
    numbers = all(_is_number(value) for value in values)
    columns = _COLUMNS.get(len(shown), 3)
    rows = -(-len(shown) // columns)
    with plot_style.style():
        figure = plot_style.new_figure(max(4.6, 3.3 * columns), 0.7 + 2.7 * rows)
        handles: dict[str, Any] = {}
        for i, name in enumerate(shown):
            panel = figure.add_subplot(rows, columns, i + 1)
            positions = _horizontal(panel, path, values)
            at = {id(line): positions(v) for line, v in zip(lines, values, strict=True)}
            for k, (label, group) in enumerate(groups.items()):
                # kinds have no order, so no line joins them; beside each other all bars are seen
                beside = 0.0 if numbers else 0.1 * (k - (len(groups) - 1) / 2)
                measured = [line for line in group if name in line.estimates]
                cells = [(at[id(m)] + beside, m.estimates[name]) for m in measured]
                found = _line(panel, name, cells, k, "-" if numbers else "none")
                handles.setdefault(label, found)
            _vertical(panel, name, lines)
            bottom = panel.get_ylim()[0]
            panel.update_datalim([(x, bottom) for x in at.values()])
            panel.autoscale_view(scaley=False)  # every panel spans all points
        plot_style.heading(figure, heading)
        note = definitions(shown)
        plot_style.legend(figure, list(handles.values()), list(handles), note)
    return figure


def swept_key(values: Sequence[Mapping[str, Any]]) -> str | None:
    """The key with the most values, the first of equals; None where none has two."""
    counts = {key: len({str(v[key]) for v in values}) for key in (values[0] if values else ())}
    most = max(counts.values(), default=0)
    return next((key for key, n in counts.items() if n == most), None) if most > 1 else None


def _number_inside(values: Sequence[Any]) -> str | None:
    """The key whose numbers tell tables of one kind apart; None for anything else."""
    if not all(isinstance(v, Mapping) and v.keys() == values[0].keys() for v in values):
        return None
    differing = [k for k in values[0] if len({str(v[k]) for v in values}) > 1]
    if not all(_is_number(v[k]) for k in differing for v in values):
        return None
    tables = len({str(v) for v in values})
    return next((k for k in differing if len({v[k] for v in values}) == tables), None)


def value_label(value: Any, named: bool = True) -> str:
    """A swept value in short: a table by its kind and its other keys' values."""
    if isinstance(value, Mapping):
        kind = [str(value[k]) for k in ("kind", "schedule") if k in value]
        rest = {k: value_label(v) for k, v in value.items() if k not in ("kind", "schedule")}
        others = ", ".join(f"{k} {text}" if named else text for k, text in rest.items())
        return (", " if named else "\n").join([*kind, others] if others else kind)
    if isinstance(value, bool):
        return str(value).lower()
    return _tick(value) if isinstance(value, int | float) else short_path(str(value))


def _tick(x: float) -> str:
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(x) >= max(size, 1e4):
            return f"{x / size:g}{prefix}"
    return f"{x:g}"


def _groups(lines: Sequence[PointResult], key: str) -> dict[str, list[PointResult]]:
    """Lines of the picture: by algorithm, and by what else is swept."""
    several = len({line.algorithm for line in lines}) > 1
    found: dict[str, list[PointResult]] = {}
    for line in lines:
        others = [f"{short_key(k)} = {value_label(v)}" for k, v in line.values.items() if k != key]
        parts = ([line.algorithm] if several or not others else []) + others
        found.setdefault(", ".join(parts), []).append(line)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _line(
    panel: Axes, name: str, cells: Sequence[tuple[float, Estimate]], k: int, joined: str
) -> Any:
    scale = MEASURES[name].scale
    x = [position for position, _ in cells]
    y = [scale * cell.mean for _, cell in cells]
    half = [scale * (cell.half_width or 0.0) for _, cell in cells]
    return panel.errorbar(
        x,
        y,
        half,
        linestyle=joined,
        color=plot_style.COLOURS[k % len(plot_style.COLOURS)],
        marker=plot_style.MARKERS[k % len(plot_style.MARKERS)],
        markeredgecolor="white",
        markeredgewidth=0.6,
        capsize=2.5,
        elinewidth=1.0,
        zorder=3,
    )


def _horizontal(panel: Axes, key: str, values: Sequence[Any]) -> Any:
    """Set up the axis of the swept key; returns value -> position."""
    path, _, last = key.rpartition(".")
    unit = next((u for u in _UNITS if last.endswith(f"_{u}")), None)
    plain = f"{path}.{last}" if path else last
    if unit:
        plain = f"{plain.removesuffix(f'_{unit}')} [{_UNITS[unit]}]"
    panel.set_xlabel(plain)
    if not all(_is_number(v) for v in values):
        different = {str(v): v for v in values}
        ticks = [value_label(v, named=False) for v in different.values()]
        if len(set(ticks)) < len(ticks):  # only the names of keys tell some apart
            ticks = [value_label(v) for v in different.values()]
        panel.set_xticks(range(len(ticks)), ticks)
        if len(ticks) * max(len(line) for tick in ticks for line in tick.split("\n")) > 40:
            panel.tick_params(axis="x", labelsize=7, rotation=20)
        panel.margins(x=0.12)
        places = {text: i for i, text in enumerate(different)}
        return lambda value: places[str(value)]
    positive = [v for v in values if v > 0]
    if positive and min(values) >= 0 and max(positive) >= _WIDE * min(positive):
        if min(values) > 0:
            panel.set_xscale("log")
        else:  # a key that may be nought, such as a latency: linear up to its first step
            panel.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
    numbers = sorted(set(values))
    if len(numbers) <= 7:
        panel.set_xticks(numbers, [_tick(v) for v in numbers])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.minorticks_off()
    return float


def _vertical(panel: Axes, name: str, lines: Sequence[PointResult]) -> None:
    measure = MEASURES[name]
    cells = [line.estimates[name] for line in lines if name in line.estimates]
    lows = np.array([cell.mean - (cell.half_width or 0.0) for cell in cells])
    highs = np.array([cell.mean + (cell.half_width or 0.0) for cell in cells])
    means = np.array([cell.mean for cell in cells])
    if measure.unit == "points":
        lows, highs, means = (measure.scale * drawn for drawn in (lows, highs, means))
    if measure.unit != "%" and means.min() > 0 and means.max() >= _TALL * means.min():
        panel.set_yscale("log")
        if lows.min() <= 0:  # bars that reach below nought would stretch the axis without end
            panel.set_ylim(bottom=0.5 * means.min())
    else:
        margin = 0.06 * (highs.max() - lows.min()) or 0.01 * max(abs(means).max(), 1e-12)
        low, high = lows.min() - margin, highs.max() + margin
        if means.min() >= 0:
            low = max(low, 0.0)
        if measure.unit == "%":
            if high - low < 0.04:  # hardly any change should look like it
                low, high = max(low - 0.05, 0.0), high + 0.05
            low, high = 100 * low, 100 * min(high, 1.0 + 0.02 * (1.0 - low))
        panel.set_ylim(low, high)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot_style.tick_text(y)))
    unit = f" [{measure.unit}]" if measure.unit not in ("#", "") else ""
    panel.set_ylabel(measure.title.capitalize() + unit)
    panel.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
    panel.tick_params(axis="y", length=0)
