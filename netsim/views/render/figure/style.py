"""The style of all figures: colours, fonts, axes, legends, and how files are written.

Drawn with Matplotlib's objects and the Agg canvas, never through pyplot: no window, no figures
that stay behind, safe in worker processes and threads. Colours are Okabe and Ito's, told apart by
colour-blind readers; line styles and markers repeat the distinction for print in grey.

PDF files embed their fonts as TrueType (Type 42, which journals take), SVG files hold text as
paths, so that it looks the same wherever they are opened. No file holds a time: the same figure
gives the same bytes.
"""

import io
import math
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from netsim.recording.whole_files import make_folder, write_whole
from netsim.views.render.figure.sheets import SCREEN, Sheet

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.4)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)))
INK, FAINT, GRID, BLANK = "#222222", "#6b6b6b", "#e3e3e3", "#ececec"
SEQUENTIAL = "Blues"
"""White is zero, so an empty pair looks empty."""
SHOWN_DPI = 120
"""Dots an inch of a figure in a notebook."""
FORMATS = ("pdf", "svg", "png")


_STYLE: Any = {
    "text.parse_math": False,  # names of runs are no formulas
    "font.family": "sans-serif",
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
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "netsim",  # else ids in a file are drawn anew each time
}
_NO_TIME = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
PAPER_DPI = 600
"""Dots an inch of a PNG for a paper."""


_drawing = threading.RLock()
"""Held while Matplotlib has our style: its settings are those of the process."""


@contextmanager
def style(sheet: Sheet = SCREEN) -> Iterator[None]:
    """Context in which figures are built and saved."""
    text, thin = sheet.text_pt, sheet.thin
    sizes: Any = {
        "font.size": text,
        "axes.labelsize": text + 0.5 * sheet.has_heading,
        "axes.titlesize": text + 0.5 * sheet.has_heading,
        "xtick.labelsize": text - 0.5,
        "ytick.labelsize": text - 0.5,
        "legend.fontsize": text - 0.5,
        "lines.linewidth": 1.7 * thin,
        "lines.markersize": 5 * thin,
    }
    with _drawing, rc_context({**_STYLE, **sizes}):
        yield


class _Picture(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot has been imported."""

    sheet = SCREEN

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure; see `matplotlib.figure.Figure.savefig`."""
        form = str(options.get("format") or Path(str(fname)).suffix[1:] or "png")
        if form in _NO_TIME:
            options.setdefault("metadata", _NO_TIME[form])
        with style(self.sheet):  # ticks are made when they are drawn
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=SHOWN_DPI)
        return drawn.getvalue()


def new_figure(width_in: float, height_in: float, sheet: Sheet = SCREEN) -> Figure:
    """An empty figure, in inches, whose layout adapts to what is put into it.

    Parameters
    ----------
    width_in, height_in : float
    sheet : Sheet
        What it is drawn for; the style that it is saved in.
    """
    figure = _Picture(figsize=(width_in, height_in), layout="constrained")
    figure.sheet = sheet
    FigureCanvasAgg(figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(wspace=0.04, h_pad=0.06)  # type: ignore[call-arg]
    return figure


def sheet_of(figure: Any) -> Sheet:
    """The sheet that a figure of `new_figure` is drawn for."""
    return figure.sheet if isinstance(figure, _Picture) else SCREEN


def save(figure: Figure, path: Path, form: str = "png", dpi: int | None = None) -> Path:
    """Write a figure whole.

    Parameters
    ----------
    figure : Figure
        From `new_figure`.
    path : Path
    form : {"png", "pdf", "svg"}
    dpi : int, optional
        Dots an inch of a PNG.
    """
    make_folder(path.parent)
    more: dict[str, Any] = {} if dpi is None else {"dpi": dpi}
    write_whole(path, lambda file: figure.savefig(cast(IO[bytes], file), format=form, **more))
    return path


def curve_style(i: int, points: int) -> dict[str, Any]:
    """Colour, line and marker of the i-th curve, with a dozen markers at most."""
    step = max(1, round(points / 12))
    return {
        "linestyle": LINES[i % len(LINES)],
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "markevery": (i % step, step),  # markers of curves that run together lie side by side
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "clip_on": False,  # a marker on the axis stays whole
        "zorder": 3,
    }


def heading(figure: Figure, text: str) -> None:
    """Write the run's name, in bold, over the picture."""
    figure.suptitle(text, x=0.012, ha="left", fontsize=10, fontweight="bold")


def legend(figure: Figure, handles: Any, names: Any, note: str) -> None:
    """One legend below all panels, as wide as the figure, with a note on what the lines are.

    Parameters
    ----------
    figure : Figure
    handles : sequence of Matplotlib artists
    names : sequence of str
        One a handle.
    note : str
        Title of the legend; empty for none.
    """
    text_pt = float(rcParams["legend.fontsize"])
    width_pt = 72 * figure.get_figwidth()
    longest = max((len(line) for name in names for line in name.split("\n")), default=1)
    columns = max(1, min(4, len(names), int(width_pt / (text_pt * (0.56 * longest + 4.6)))))
    box = figure.legend(
        handles, names, loc="outside lower center", ncols=columns, title=note or None
    )
    title = box.get_title()
    title.set(color=FAINT, fontsize=text_pt - 0.5, multialignment="center")
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    letters = max(map(len, note.splitlines()), default=0)
    while letters > 8 and title.get_window_extent(renderer).width > 0.97 * figure.bbox.width:
        letters -= 2
        title.set_text("\n".join(textwrap.fill(line, letters) for line in note.splitlines()))


def heatmap(
    axes: Axes, cells: NDArray[np.float64], block: int, top: float | None, low: float = 0.0
) -> Any:
    """A heat map; NaN is grey, ticks are node ids.

    Parameters
    ----------
    axes : Axes
    cells : (M, K) array
    block : int
        Nodes a cell.
    top : float or None
        The value of the darkest colour; None: the largest cell.
    low : float
        That of white.

    Returns
    -------
    AxesImage
        For `colour_bar`.
    """
    axes.set_facecolor(BLANK)
    image = axes.imshow(cells, cmap=SEQUENTIAL, vmin=low, vmax=top, interpolation="nearest")
    for axis, n in zip((axes.yaxis, axes.xaxis), cells.shape, strict=True):
        step = max(1, math.ceil(n / 10))
        step = next(nice for nice in (1, 2, 5, 10, 20, 25, 50, 100, 200) if nice >= step)
        ticks = np.arange(0, n, step)
        axis.set_ticks(ticks, [str(t * block) for t in ticks])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if max(cells.shape) <= 60:  # hairlines between cells
        axes.set_xticks(np.arange(cells.shape[1] + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(cells.shape[0] + 1) - 0.5, minor=True)
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
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.6g}"))
    bar.set_label(label)
