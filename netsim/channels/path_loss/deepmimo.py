"""Ray-traced gains from the folder of a DeepMIMO v4 scenario.

One file holds one matrix of one transmitter and one set of receivers: NAME_tSSS_txIII_rRRR.mat (or
.npz), with the number of the transmitter's set, its number in that set, and the number of the
receivers' set. Read are `power` [receivers, paths], received power in dBW of 0 dBW sent, NaN where
there is no path; with `gain = "faded"` also `phase` [degrees] and `delay` [s], shaped alike.
Angles, interactions and `rx_pos`, `tx_pos` are not read. Layout as in DeepMIMO's own reader
(github.com/DeepMIMO/DeepMIMO, `get_mat_filename`, `load_mat`).

Transmitters are nodes 0, 1, ... in the order of their file names, receivers the nodes after them.
A link has the same gain both ways. There is no gain between two receivers or two transmitters, so
they do not hear each other: the nodes are a cell, not a network of peers. Of a scenario with
several scenes, each in a folder of its own, scene k holds from k `scene_s` on.
"""

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.path_loss._from_file import TABLE, PathLossFromFile
from netsim.channels.path_loss.sionna_rt import by_node
from netsim.errors import DataError
from netsim.registry import Duration, FolderPath, Index, did_you_mean
from netsim.traces.arrays import Arrays
from netsim.traces.gains import Gains, power_gain

_POWER = re.compile(r"power_(t\d+_tx\d+)_r(\d+)\.(mat|npz)")


class DeepMimoGains(PathLossFromFile):
    """Gains between base stations and users of a DeepMIMO scenario.

    Attributes
    ----------
    path : str
        Folder of the DeepMIMO scenario.
    transmitters : tuple of str
        Transmitters that become nodes, by their names in the files; empty: all that have files for
        the set of receivers. Example: `["t001_tx000"]`
    receiver_set : int or None
        RRR in the files' names: the set of receivers. Absent: the only one that the folder has.
    receivers : tuple of int
        Rows of the matrices that become nodes; empty: the first ones that some transmitter reaches.
    gain : {"mean", "faded"}
        The sum of the paths' powers; or the power over the radio's bandwidth with the phases as
        traced, beside `fading.kind = "none"`.
    scene_s : float
        Duration of each of several scenes [s].
    """

    kind: Literal["deepmimo"] = "deepmimo"
    path: FolderPath
    transmitters: tuple[str, ...] = ()
    receiver_set: Index | None = None
    receivers: tuple[Index, ...] = ()
    gain: Literal["mean", "faded"] = "mean"
    scene_s: Duration = 0.1

    def link_gains(
        self, nodes: int, carrier_hz: float, bandwidth_hz: float, folder: Path | None
    ) -> Gains:
        scenes = self._scene_folders()
        names = self._transmitters(scenes[0])
        band_hz = bandwidth_hz if self.gain == "faded" else None
        power: list[NDArray[np.float64]] = []
        for scene in scenes:
            read = [self._power(scene, name, band_hz) for name in names]
            arrays = read[0][0]
            if len({len(gains) for _, gains in read}) > 1:
                raise arrays.error(
                    f"transmitters {', '.join(names)} have files of different numbers of receivers"
                )
            power.append(np.array([gains for _, gains in read]))
        if len({found.shape for found in power}) > 1:
            raise arrays.error("scenes have different numbers of receivers")
        every = np.array(power)
        rows = self._rows(arrays, every, nodes - len(names))
        tx = np.arange(len(names))
        gain_db = by_node(every[:, :, rows], tx, len(names) + np.arange(len(rows)))
        t_s = np.array([k * self.scene_s for k in range(len(scenes))])
        return self.checked_gains(t_s, gain_db, nodes, arrays, "power", faded=self.gain == "faded")

    def _error(self, what: str) -> DataError:
        return DataError(f'[{TABLE}] path = "{self.path}": {what}')

    def _scene_folders(self) -> list[Path]:
        top = Path(self.path)
        if not top.is_dir():
            raise self._error(
                "no such folder; name the folder of a DeepMIMO scenario, with its power_*.mat"
            )
        if _receiver_sets(top):
            return [top]
        scenes = sorted(
            inner for inner in top.iterdir() if inner.is_dir() and _receiver_sets(inner)
        )
        if not scenes:
            raise self._error(
                "neither it nor a folder in it has files power_tSSS_txIII_rRRR.mat or .npz; "
                "name the folder of a DeepMIMO v4 scenario"
            )
        return scenes

    def _transmitters(self, scene: Path) -> list[str]:
        found = _receiver_sets(scene)
        chosen = self._receiver_set(found)
        known = sorted(name for name, of in found if of == chosen)
        for name in self.transmitters:
            if name not in known:
                raise self._error(
                    f'transmitters: there is no "{name}" with receivers r{chosen:03}; there are '
                    f"{', '.join(known)}" + did_you_mean(name, known)
                )
        return list(self.transmitters) or known

    def _receiver_set(self, found: list[tuple[str, int]]) -> int:
        sets = sorted({of for _, of in found})
        if self.receiver_set is None and len(sets) == 1:
            return sets[0]
        if self.receiver_set not in sets:
            raise self._error(
                f"receiver_set: must be one of {', '.join(map(str, sets))}, the RRR of its files "
                "power_tSSS_txIII_rRRR"
            )
        return self.receiver_set

    def _power(
        self, scene: Path, name: str, band_hz: float | None
    ) -> tuple[Arrays, NDArray[np.float64]]:
        """Gain from one transmitter to each receiver: (receivers,), linear."""
        of = self._receiver_set(_receiver_sets(scene))
        arrays, power_dbw = _matrix(scene, "power", f"{name}_r{of:03}")
        amplitude = np.nan_to_num(10.0 ** (power_dbw / 20.0), nan=0.0)
        if band_hz is None:
            return arrays, np.asarray((amplitude**2).sum(axis=1))
        others = []
        for key in ("phase", "delay"):
            other, values = _matrix(scene, key, f"{name}_r{of:03}")
            if values.shape != power_dbw.shape:
                raise other.error(f"has shape {values.shape}, and power {power_dbw.shape}", key)
            others.append(np.nan_to_num(values))
        phase_deg, delay_s = others
        a = (amplitude * np.exp(1j * np.deg2rad(phase_deg)))[:, :, None]
        pairs = zip(a, delay_s, strict=True)
        return arrays, np.array([power_gain(of_one, tau, band_hz)[0] for of_one, tau in pairs])

    def _rows(self, arrays: Arrays, power: NDArray[np.float64], count: int) -> list[int]:
        """Return the rows of the receivers that are nodes."""
        there = power.shape[2]
        if count < 0:
            raise arrays.error(
                f"the scenario has fewer nodes than there are transmitters, {power.shape[1]}; "
                "raise [nodes] count, or choose transmitters"
            )
        if self.receivers:
            if max(self.receivers) >= there:
                raise arrays.error(f"has {there} receivers, and {max(self.receivers)} is named")
            return list(self.receivers)
        reached = np.flatnonzero((power > 0.0).any(axis=(0, 1))).tolist()
        if len(reached) < count:
            raise arrays.error(
                f"{len(reached)} of its {there} receivers are reached by a path, and {count} are "
                "needed beside the transmitters; lower [nodes] count"
            )
        return reached[:count]


def _receiver_sets(scene: Path) -> list[tuple[str, int]]:
    """(transmitter, number of the set of receivers) of every file of powers in a folder."""
    found = (_POWER.fullmatch(file.name) for file in scene.iterdir())
    return [(match[1], int(match[2])) for match in found if match is not None]


def _matrix(scene: Path, key: str, name: str) -> tuple[Arrays, NDArray[Any]]:
    mat = scene / f"{key}_{name}.mat"
    path = mat if mat.is_file() else mat.with_suffix(".npz")
    arrays = Arrays(TABLE, str(path), None)
    return arrays, arrays.get(key, ndims=(2,)).astype(np.float64)
