"""Sheets for figures: a screen, or a paper with its columns."""

from dataclasses import dataclass

from netsim.errors import ScenarioError, one_line
from netsim.registry import did_you_mean

WIDTHS_IN = {"column": 3.5, "text": 7.16}
"""Widths of a column and of a page's text, in inches, as the IEEE's journals have them."""
LEAST_IN, MOST_IN = 1.5, 40.0


@dataclass(frozen=True)
class Sheet:
    """Sheet for a figure."""

    width_in: float | None = None
    """Width of the whole figure [in]; None: as wide as its panels need."""
    text_pt: float = 9.0
    """Size of axis labels; ticks and legends are half a point smaller."""
    has_heading: bool = True
    """True: the run's name stands over the picture; in a paper its caption says it."""
    thin: float = 1.0
    """Factor on widths of lines and sizes of markers."""


SCREEN = Sheet()


def width_in(width: str | float, before: str = "width = ") -> float:
    """A figure's width [in] from `column`, `text`, or a number; `before` begins what is refused.

    Raises
    ------
    ScenarioError
        If it is neither, or no figure is so wide.
    """
    if isinstance(width, str) and width in WIDTHS_IN:
        return WIDTHS_IN[width]
    try:
        found = float(width)
    except (TypeError, ValueError):
        found = 0.0
    if not LEAST_IN <= found <= MOST_IN:
        raise ScenarioError(
            f"{before}{one_line(width)}: must be column, text, or a number of inches from "
            f"{LEAST_IN:g} to {MOST_IN:g}" + did_you_mean(str(width), WIDTHS_IN)
        )
    return found


def paper(width_in: float) -> Sheet:
    """Return the sheet of a paper: eight points, whatever the width [in], and no heading."""
    return Sheet(width_in, 8.0, False, 0.75)
