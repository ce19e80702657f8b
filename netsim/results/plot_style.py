"""The style of all figures: colours, fonts, axes, legends, and how files are written.

Drawn with Matplotlib's objects and the Agg canvas, never through pyplot: no window, no figures
that stay behind, safe in worker processes and threads. Colours are Okabe and Ito's, told apart by
colour-blind readers; markers repeat the distinction for print in grey.
"""

import io
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from netsim.recording.whole_files import write_whole

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, FAINT, GRID, BLANK = "#222222", "#6b6b6b", "#e3e3e3", "#ececec"
DECADES = 100.0
"""Ratio of the largest to the smallest value from which a vertical axis is logarithmic."""
SEQUENTIAL = "Blues"
"""White is zero, so an empty pair looks empty."""
SHOWN_DPI = 120
"""Dots an inch of a figure in a notebook."""

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.labelsize": 9.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a8a8a",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": "#8a8a8a",
    "ytick.color": "#8a8a8a",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.7,
    "lines.markersize": 5,
    "savefig.dpi": 200,
}


_drawing = threading.RLock()
"""Held while Matplotlib has our style: its settings are those of the process."""


@contextmanager
def style() -> Iterator[None]:
    """Context in which figures are built and saved."""
    with _drawing, rc_context(_STYLE):
        yield


class _Picture(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot has been imported."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        with style():
            self.savefig(drawn, format="png", dpi=SHOWN_DPI)
        return drawn.getvalue()


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure, in inches, whose layout adapts to what is put into it."""
    figure = _Picture(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(wspace=0.04)  # type: ignore[call-arg]
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda partial: figure.savefig(partial, format="png"))
    return path


def curve_style(i: int, points: int) -> dict[str, Any]:
    """Colour and marker of the i-th curve, with a dozen markers at most."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "markevery": max(1, round(points / 12)),
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "clip_on": False,  # a marker on the axis stays whole
        "zorder": 3,
    }


def heading(figure: Figure, text: str) -> None:
    """What was run, in bold, over the picture."""
    figure.suptitle(text, x=0.012, ha="left", fontsize=10, fontweight="bold")


def legend(figure: Figure, handles: Any, names: Any, note: str) -> None:
    """One legend below all panels, with a note on what the lines are.

    Parameters
    ----------
    figure : Figure
    handles : sequence of Matplotlib artists
    names : sequence of str
        One a handle.
    note : str
        Title of the legend; empty for none.
    """
    box = figure.legend(
        handles, names, loc="outside lower center", ncols=min(4, len(names)), title=note or None
    )
    box.get_title().set(color=FAINT, fontsize=8)


def share_axis(axes: Axes, label: str, drawn: NDArray[np.float64]) -> None:
    """Percent on a vertical axis around what is drawn, never beyond 0 and 100.

    Parameters
    ----------
    axes : Axes
    label : str
    drawn : array
        All that is drawn, as shares in [0, 1]; NaN is left out.
    """
    axes.set_ylabel(label)
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    margin = max(0.06 * (high - low), 0.01)
    axes.set_ylim(max(0.0, low - margin), min(1.0, high + margin))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g}"))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(axis="y", length=0)


def value_axis(axes: Axes, label: str, drawn: NDArray[np.float64]) -> None:
    """Plain numbers on a vertical axis around what is drawn; logarithmic over decades.

    Parameters
    ----------
    axes : Axes
    label : str
    drawn : array
        All that is drawn; what is not finite is left out.
    """
    axes.set_ylabel(label)
    drawn = drawn[np.isfinite(drawn)]
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    if not len(drawn):
        return
    low, high = float(drawn.min()), float(drawn.max())
    if low > 0 and high > DECADES * low:
        axes.set_yscale("log")
        return
    margin = 0.06 * (high - low) or 0.01 * max(abs(high), 1e-12)
    axes.set_ylim(max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick_text(y)))


def number_axis(axes: Axes, label: str, end: float) -> None:
    """Plain numbers on a horizontal axis from zero.

    Parameters
    ----------
    axes : Axes
    label : str
    end : float
        The largest number drawn.
    """
    axes.set_xlabel(label)
    axes.set_xlim(0, 1.015 * end if end > 0 else 1)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: tick_text(x)))


def tick_text(x: float) -> str:
    """A tick's number: no needless digits, commas from ten thousand on."""
    return f"{x:,.0f}" if abs(x) >= 10_000 else f"{x:g}"


def heatmap(axes: Axes, cells: NDArray[np.float64], block: int, top: float | None) -> Any:
    """A square heat map; NaN is grey, ticks are node ids.

    Parameters
    ----------
    axes : Axes
    cells : (M, M) array
        At least 0; white is zero.
    block : int
        Nodes a cell.
    top : float or None
        The value of the darkest colour; None: the largest cell.

    Returns
    -------
    AxesImage
        For `colour_bar`.
    """
    n = len(cells)
    axes.set_facecolor(BLANK)
    image = axes.imshow(cells, cmap=SEQUENTIAL, vmin=0.0, vmax=top, interpolation="nearest")
    step = max(1, math.ceil(n / 10))
    step = next(nice for nice in (1, 2, 5, 10, 20, 25, 50, 100, 200) if nice >= step)
    ticks = np.arange(0, n, step)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [str(t * block) for t in ticks])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if n <= 60:  # hairlines between cells
        axes.set_xticks(np.arange(n + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(n + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=0.6)
        axes.tick_params(which="minor", length=0)
    return image


def colour_bar(figure: Figure, image: Any, axes: Any, label: str = "") -> None:
    """A narrow colour bar.

    Parameters
    ----------
    figure : Figure
    image : AxesImage
        From `heatmap`.
    axes : Axes or sequence of Axes
        Beside which it stands.
    label : str
    """
    bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=22, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label(label)
