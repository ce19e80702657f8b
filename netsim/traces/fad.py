"""Fading traces of ns-3's LTE module (`.fad`)."""

import numpy as np
from numpy.typing import NDArray

from netsim.traces.files import Text, quote

_MOST_DB = 60.0
"""No fading makes a signal stronger by more than this."""


def read_fading(text: Text, rows: int | None = None) -> NDArray[np.float64]:
    """Read a fading trace.

    Parameters
    ----------
    text : Text
        One line a resource block, one column a sample [dB], by white space. No comments.
    rows : int or None
        How many lines to read; None: all.

    Returns
    -------
    (blocks, samples) float64
        In dB.

    Raises
    ------
    DataError
        Naming the line.
    """
    found: list[NDArray[np.float64]] = []
    for at, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if rows is not None and len(found) == rows:
            break
        try:
            values = np.array(words, dtype=np.float64)
        except ValueError:
            bad = next(k for k, word in enumerate(words) if not _is_number(word))
            problem = f"column {bad + 1} is {quote(words[bad])}, not a fade in dB"
            raise text.error(problem, at) from None
        wild = ~(values <= _MOST_DB)  # NaN, too
        if wild.any():
            column = int(np.argmax(wild))
            raise text.error(
                f"column {column + 1} is {values[column]:g}, not a fade in dB of at most "
                f"{_MOST_DB:g}",
                at,
            )
        if found and len(values) != len(found[0]):
            raise text.error(
                f"has {len(values)} samples, the lines before {len(found[0])}; a line is a "
                "resource block, a column a sample",
                at,
            )
        found.append(values)
    if not found:
        raise text.error("holds no fading trace")
    if rows is not None and len(found) < rows:
        raise text.error(f"holds {len(found)} resource blocks, and {rows} are asked for")
    return np.array(found)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
