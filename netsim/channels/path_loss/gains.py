"""Gains of all pairs of nodes from a file: an npz, or a Colosseum scenario's .mat.

npz: `gain_db` [T, N, N] or [N, N], from the sender (row) to the receiver (column), received over
sent power in dB, -inf where nothing arrives; `t_s` [T] where T > 1; optionally `carrier_hz`.

.mat (MATLAB, saved with -v7 or older): the structures of the scenario files of the wireless
emulator Colosseum ("New Scenario File Format Requirements", Colosseum user documentation):
`chMatrix`, N x N numbers in dB, or N x N (x T) cells, each with the taps of a link from the row's
node to the column's: a structure with the fields `delay` and `iq`, or their numbers side by side
(taps x 2) or below each other (2 x taps). The gain is the sum of |iq|^2 over taps, which is the
mean over the band. `time` [ms] where T > 1. `coordinates` and `origin` are not read.
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.path_loss._from_file import (
    TABLE,
    PathLossFromFile,
    matrix_times,
    require_carrier,
)
from netsim.registry import FilePath
from netsim.traces.arrays import NUMBERS, Arrays
from netsim.traces.gains import Gains


class MeasuredGains(PathLossFromFile):
    """The gain of each link as a file states it; nodes need no places.

    Attributes
    ----------
    path : str
        `.npz` with `gain_db[T, N, N]` and `t_s[T]`, or a Colosseum `.mat` with `chMatrix`.
    """

    kind: Literal["gains"] = "gains"
    path: FilePath

    def link_gains(
        self, nodes: int, carrier_hz: float, bandwidth_hz: float, folder: Path | None
    ) -> Gains:
        arrays = Arrays(TABLE, self.path, folder)
        if arrays.matlab:
            return self._of_colosseum(arrays, nodes)
        gain_db = arrays.get("gain_db", ndims=(2, 3))
        if gain_db.ndim == 2:
            gain_db = gain_db[None]
        _require_square(arrays, "gain_db", gain_db)
        require_carrier(arrays, carrier_hz)
        t_s = matrix_times(arrays, len(gain_db), "gain_db")
        return self.checked_gains(t_s, gain_db, nodes, arrays, "gain_db")

    def _of_colosseum(self, arrays: Arrays, nodes: int) -> Gains:
        matrix = arrays.get("chMatrix", kinds=NUMBERS + "O", ndims=(2, 3))
        matrix = matrix[:, :, None] if matrix.ndim == 2 else matrix
        by_time = np.moveaxis(matrix, 2, 0)
        _require_square(arrays, "chMatrix", by_time)
        if matrix.dtype != object:
            gain_db = by_time.astype(np.float64)
        else:
            power = np.array(
                [_tap_power(arrays, cell, place) for place, cell in np.ndenumerate(by_time)]
            )
            with np.errstate(divide="ignore"):
                gain_db = 10.0 * np.log10(power.reshape(by_time.shape))
        t_s = np.zeros(1)
        if len(gain_db) > 1:
            t_s = matrix_times(arrays, len(gain_db), "chMatrix", name="time") / 1e3
        return self.checked_gains(t_s, gain_db, nodes, arrays, "chMatrix")


def _require_square(arrays: Arrays, member: str, matrices: NDArray[Any]) -> None:
    count, senders, receivers = matrices.shape
    if senders != receivers or count == 0 or senders == 0:
        raise arrays.error(
            f"has shape {(senders, receivers)} at {count} times; needed are as many senders "
            "(rows) as receivers (columns)",
            member,
        )


def _tap_power(arrays: Arrays, cell: Any, place: tuple[int, ...]) -> float:
    """Sum of |iq|^2 over the taps of one link."""
    if isinstance(cell, dict):
        taps = np.asarray(cell.get("iq"))
    else:
        taps = np.asarray(cell)
        if taps.dtype.kind in "fiuc" and taps.ndim == 2 and 2 in taps.shape:
            taps = taps[1] if taps.shape[0] == 2 else taps[:, 1]
        elif taps.size:
            taps = np.asarray(None)
    if taps.dtype.kind not in "fiuc" and taps.size:
        k, i, j = place
        raise arrays.error(
            f"the cell ({i + 1}, {j + 1}, {k + 1}) holds no taps: a structure with the fields "
            "delay and iq, or numbers, taps x 2",
            "chMatrix",
        )
    return float((np.abs(taps) ** 2).sum()) if taps.size else 0.0
