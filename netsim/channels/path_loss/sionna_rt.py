"""Ray-traced gains: an npz of what `Paths.cir()` of Sionna RT gives.

Members: `a`, complex, [N_rx, N_tx, paths, T], or as `cir` gives it with one antenna at either end,
[N_rx, 1, N_tx, 1, paths, T]; `tau` [s], likewise without T; entries of `a` that are 0 are no
paths. Coefficients are those of the complex baseband, with the phase exp(-j 2 pi f tau) of the
carrier, as `cir(normalize_delays=False)` gives them. `t_s` [T] where T > 1. `rx_node` [N_rx] and
`tx_node` [N_tx]: which node each receiver and transmitter is; without them both are nodes 0, 1, ...
A pair that was traced one way has the same gain the other way; one that was not traced at all has
none. Optionally `carrier_hz`. `examples/sionna_scene.py` writes such a file.
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
from netsim.traces.arrays import Arrays
from netsim.traces.gains import Gains, power_gain


class RayTracedGains(PathLossFromFile):
    """Gains of the paths that Sionna RT traced.

    Attributes
    ----------
    path : str
        `.npz` with `a[N_rx, N_tx, paths, T]` and `tau[N_rx, N_tx, paths]`.
    gain : {"mean", "faded"}
        The sum of the paths' powers, which is the mean over their phases, beside which the radio
        has its own fading; or the power over the radio's bandwidth with the phases as traced, at
        each time of the file, beside `fading.kind = "none"`.
    """

    kind: Literal["sionna_rt"] = "sionna_rt"
    path: FilePath
    gain: Literal["mean", "faded"] = "mean"

    def link_gains(
        self, nodes: int, carrier_hz: float, bandwidth_hz: float, folder: Path | None
    ) -> Gains:
        arrays = Arrays(TABLE, self.path, folder)
        a = _one_antenna(arrays, "a", arrays.get("a", kinds="c", ndims=(4, 6)), last=2)
        tau_s = _one_antenna(arrays, "tau", arrays.get("tau", ndims=(3, 5)), last=1)
        if a.shape[:3] != tau_s.shape:
            raise arrays.error(
                f"has shape {tau_s.shape}, and a {a.shape}; receivers, transmitters and paths "
                "must be alike",
                "tau",
            )
        _require_numbers(arrays, a, tau_s)
        require_carrier(arrays, carrier_hz)
        t_s = matrix_times(arrays, a.shape[3], "a")
        band_hz = bandwidth_hz if self.gain == "faded" else None
        power = np.array(
            [
                [power_gain(a[r, t], tau_s[r, t], band_hz) for t in range(a.shape[1])]
                for r in range(a.shape[0])
            ]
        )
        rx, tx = (
            _node_numbers(arrays, f"{end}_node", count)
            for end, count in zip(("rx", "tx"), a.shape, strict=False)
        )
        gain_db = by_node(power.transpose(2, 1, 0), tx, rx)
        return self.checked_gains(t_s, gain_db, nodes, arrays, "a", faded=self.gain == "faded")


def by_node(
    power: NDArray[np.float64], tx: NDArray[np.int64], rx: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Gains between nodes from gains between transmitters and receivers.

    Parameters
    ----------
    power : (T, N_tx, N_rx) float64
        Linear.
    tx, rx : (N_tx,), (N_rx,) int64
        The node that each transmitter and receiver is.

    Returns
    -------
    (T, N, N) float64
        In dB, from the row's node to the column's; a pair known one way only is the same both
        ways, and -inf where it is known neither way.
    """
    count = int(max(tx.max(initial=-1), rx.max(initial=-1))) + 1
    found = np.full((len(power), count, count), np.nan)
    found[:, tx[:, None], rx[None, :]] = power
    found = np.where(np.isnan(found), found.transpose(0, 2, 1), found)
    with np.errstate(divide="ignore"):
        return np.asarray(10.0 * np.log10(np.nan_to_num(found, nan=0.0)))


def _one_antenna(arrays: Arrays, member: str, found: NDArray[Any], last: int) -> NDArray[Any]:
    """An array without the axes of antennas, which stand second and fourth; `last` are behind."""
    if found.ndim == 2 + last:
        return found
    if found.shape[1] != 1 or found.shape[3] != 1:
        raise arrays.error(
            f"has shape {found.shape}, {found.shape[1]} and {found.shape[3]} antennas; trace with "
            "one antenna at either end: PlanarArray(num_rows=1, num_cols=1, ...) of one "
            "polarisation",
            member,
        )
    return found[:, 0, :, 0]


def _require_numbers(arrays: Arrays, a: NDArray[Any], tau_s: NDArray[Any]) -> None:
    """Raise DataError if a coefficient, or the delay of a path that is there, is no number."""
    there = (a != 0).any(axis=3)
    for member, bad in (
        ("a", ~np.isfinite(a).all(axis=3)),
        ("tau", there & ~np.isfinite(tau_s)),
    ):
        if bad.any():
            r, t, path = (int(x[0]) for x in np.nonzero(bad))
            raise arrays.error(
                f"path {path} from transmitter {t} to receiver {r} has an entry that is no finite "
                "number; 0 in a is no path",
                member,
            )


def _node_numbers(arrays: Arrays, name: str, count: int) -> NDArray[np.int64]:
    if name not in arrays:
        return np.arange(count)
    found = arrays.get(name, kinds="iu", ndims=(1,)).astype(np.int64)
    if len(found) != count or len(set(found.tolist())) != count or (found < 0).any():
        raise arrays.error(f"must hold {count} different node numbers, 0, 1, ...", name)
    if (found >= 100_000).any():
        raise arrays.error(f"holds node {int(found.max())}; at most 99999 are possible", name)
    return found
