"""Layout of a figure: panels beside each other, labels in lines."""

import textwrap

from matplotlib import rcParams
from matplotlib.figure import Figure

from netsim.views.render.figure.sheets import Sheet

_LONG = 30
"""A label of more letters is taller than a panel."""
_NARROW_IN = 5.0
"""In a narrower figure panels stand below each other."""


def columns_of(count: int, sheet: Sheet) -> int:
    """Panels beside each other on a sheet of paper."""
    if sheet.width_in is None or sheet.width_in >= _NARROW_IN:
        return {1: 1, 2: 2, 4: 2}.get(count, 3)
    return 1


def wrapped(label: str, figure: Figure, columns: int) -> str:
    """A label below a panel in as many lines as the width of the panel needs.

    Parameters
    ----------
    label : str
    figure : Figure
    columns : int
        Panels beside each other.
    """
    width_pt = 72 * 0.8 * figure.get_figwidth() / columns
    return textwrap.fill(label, int(width_pt / (0.52 * float(rcParams["font.size"]))))


def wrapped_once(label: str) -> str:
    """A label beside a panel, in two lines where it is long."""
    if len(label) <= _LONG or "\n" in label:
        return label
    return "\n".join(textwrap.wrap(label, -(-len(label) // 2) + 4))
