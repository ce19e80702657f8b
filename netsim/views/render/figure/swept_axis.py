"""The axis of a swept key with Matplotlib: scale, ticks, and marks beside each other."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from netsim.views import Response
from netsim.views.gathering.swept import number_texts, tick

_BESIDE, _OF_GAP = 0.018, 0.6
"""Marks at one value stand so far apart: a part of the axis, and of the gap between values."""
_MOST_TICKS = 7
_CLOSE = 0.1
"""Ticks that are nearer to each other, as a part of the axis, would write over each other."""
_SUBS = (1.0, 2.0, 5.0)


def set_up(axis: Response, panel: Axes, narrow: bool = False) -> None:
    """Set label, scale, ticks and limits of a panel's horizontal axis.

    Parameters
    ----------
    narrow : bool
        Whether words have little room.
    """
    panel.set_xlabel(axis.x.title)
    if axis.words:
        _label_ticks(axis.words, panel, narrow)
    else:
        _numbers(axis, panel)


def _numbers(axis: Response, panel: Axes) -> None:
    at = list(axis.at)
    if axis.scale == "log":
        panel.set_xscale("log")
    elif axis.scale == "symlog":  # a key that may be nought, such as a latency
        panel.set_xscale("symlog", linthresh=min(v for v in at if v > 0), linscale=0.5)
    different = sorted(set(at))
    change = panel.xaxis.get_transform()
    places = change.transform(np.array(different))
    low, high = float(places[0]), float(places[-1])
    margin = 0.07 * (high - low) or 0.5
    if len(different) <= _MOST_TICKS and np.all(np.diff(places) >= _CLOSE * (high - low)):
        panel.set_xticks(different, number_texts(different))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.minorticks_off()
    else:
        plain = FuncFormatter(lambda v, _: tick(v))
        panel.xaxis.set_major_formatter(plain)
        if panel.get_xscale() == "log":
            panel.xaxis.set_major_locator(LogLocator(subs=_SUBS))
            panel.xaxis.set_minor_formatter(NullFormatter())
    ends = change.inverted().transform(np.array([low - margin, high + margin]))
    panel.set_xlim(*(float(v) for v in ends))


def _label_ticks(ticks: Sequence[str], panel: Axes, narrow: bool) -> None:
    panel.set_xticks(range(len(ticks)), ticks)
    letters = len(ticks) * max(len(line) for text in ticks for line in text.split("\n"))
    if letters > (26 if narrow else 40):
        panel.tick_params(axis="x", labelsize=7, rotation=20)
    panel.set_xlim(-0.5, len(ticks) - 0.5)


def offset_marks(panel: Axes, x: Sequence[float], place: int, count: int) -> list[float]:
    """Return places of marks at which their bars hide no others at the same values.

    Parameters
    ----------
    panel : Axes
        With its scale and limits.
    x : sequence of float
        Values on its axis.
    place, count : int
        Which of how many marks at each value.
    """
    change = panel.xaxis.get_transform()
    at = change.transform(np.asarray(x, dtype=np.float64))
    low, high = (float(v) for v in change.transform(np.array(panel.get_xlim())))
    every = np.unique(np.round(at, 9))
    gap = float(np.diff(every).min()) if len(every) > 1 else high - low
    step = min(_BESIDE * (high - low), _OF_GAP * gap / max(count, 1))
    moved = at + step * (place - (count - 1) / 2)
    return [float(v) for v in change.inverted().transform(moved)]
