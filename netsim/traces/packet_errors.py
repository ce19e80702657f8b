"""Measured or simulated packet error over SNR, by rate and packet size."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.traces.csv_columns import BITS_PER_S, Columns


class Curve(NamedTuple):
    """Packet error of packets of one size at one rate.

    Attributes
    ----------
    snr_db : (n,) float64
        Ascending.
    per : (n,) float64
        In [0, 1], not rising.
    """

    snr_db: NDArray[np.float64]
    per: NDArray[np.float64]


Curves = dict[float | None, dict[int, Curve]]
"""By rate [bit/s] (None: any), by packet size [byte]; both ascending."""


def read_curves(table: str, path: str, folder: Path | None) -> Curves:
    """Read a CSV file with the columns `rate` [bit/s], `bytes`, `snr_db`, `per`.

    Parameters
    ----------
    table, path, folder
        See `netsim.traces.files.read_text`. Rows in any order; in place of
        `rate` there may be `rate_mbps` or the like; all cells of `rate` may be empty:
        then the curves hold for any rate.

    Raises
    ------
    DataError
        Naming the line.
    """
    rows = Columns.of(table, path, folder, ("bytes", "snr_db", "per"))
    rows.needed = ["rate", "bytes", "snr_db", "per"]
    speed = "rate" if "rate" in rows else rows.find("rate_bps", BITS_PER_S)
    rate = rows.numbers(speed, empty=0.0) * rows.factor(speed, BITS_PER_S)
    size = rows.numbers("bytes")
    snr_db, per = rows.numbers("snr_db"), rows.numbers("per")
    rows.require(rate >= 0, "rate must be a number of bit/s greater than 0")
    rows.require((rate > 0) == (rate[0] > 0), "rate must be stated in every row or in none")
    rows.require((size >= 1) & (size % 1 == 0), "bytes must be a whole number of at least 1")
    rows.require((per >= 0) & (per <= 1), "per must be a probability, 0 to 1")
    order = np.lexsort((snr_db, size, rate))
    same = (np.diff(rate[order]) == 0) & (np.diff(size[order]) == 0)
    again, rises = np.zeros(len(rate), dtype=bool), np.zeros(len(rate), dtype=bool)
    again[order[1:]] = same & (np.diff(snr_db[order]) == 0)
    rises[order[1:]] = same & (np.diff(per[order]) > 0)
    rows.require(~again, "this rate and size has a row for this snr_db already")
    rows.require(~rises, "per must not rise with snr_db; smooth the measurement")
    found: Curves = {}
    ends = np.flatnonzero(np.append(~same, True)) + 1
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        mine = order[start:end]
        key = float(rate[mine[0]]) or None
        curve = Curve(snr_db[mine], per[mine])
        found.setdefault(key, {})[int(size[mine[0]])] = curve
    return found
