"""Packet errors from a table: measured, or from a link-level simulator.

CSV with the columns `rate` [bit/s], `bytes`, `snr_db`, `per`.

SNR: between two rows ln(per) is linear in snr_db (a per of 0 counts as 1e-12), since curves fall by
decades; below the first row of a curve everything is lost, from its last row on its last per holds.
Both err towards loss where a table is too short.

Rate: the curves of the tabled rate that is nearest, which must be within 1 %; a rate that the table
lacks is an error before the run. An empty column `rate` holds for any rate.

Size: pieces of a packet are lost independently, so that -ln(1 - per) grows linearly with the size:
between two tabled sizes on the line through both, beyond the smallest and the largest through the
origin.
"""

import math
from bisect import bisect_left
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import PrivateAttr

from netsim.channels.packet_error import PacketError
from netsim.errors import DataError
from netsim.registry import FilePath
from netsim.traces.packet_errors import Curve, Curves, read_curves
from netsim.units import linear_to_db

TABLE = "radio.packet_error"
_LEAST = 1e-12
_SAME_RATE = 0.01
_ROUNDING_DB = 1e-9
"""An SNR in dB that was made linear and dB again still meets the row that it is of."""


class TabledPacketError(PacketError):
    """Packet error by rate, size and SNR, as a file states it; the threshold is not used.

    Attributes
    ----------
    path : str
        CSV with the columns `rate` (in bit/s), `bytes`, `snr_db`, `per`; `.gz` is unpacked.
    """

    kind: Literal["table"] = "table"
    path: FilePath
    per_rate: ClassVar[bool] = True
    by_rate: ClassVar[bool] = True
    _curves: Curves | None = PrivateAttr(default=None)
    _of_rates: dict[float, "OfOneRate"] = PrivateAttr(default_factory=dict)

    def open_file(self, folder: Path | None) -> None:
        self._curves = read_curves(TABLE, self.path, folder)
        self._of_rates.clear()

    @property
    def curves(self) -> Curves:
        """All curves, by rate and size."""
        if self._curves is None:
            self.open_file(None)
        assert self._curves is not None
        return self._curves

    def at_rate(self, rate_bps: float) -> "OfOneRate":
        found = self._of_rates.get(rate_bps)
        if found is None:
            found = self._of_rates[rate_bps] = self._of_rate(rate_bps)
        return found

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        """Probability at the table's slowest rate; attempts at a known rate are `at_rate`."""
        slowest = min(rate or 0.0 for rate in self.curves)
        return self.at_rate(slowest).probability(snr, packet_bits, threshold)

    def _of_rate(self, rate_bps: float) -> "OfOneRate":
        curves = self.curves
        if None in curves:
            return OfOneRate(curves=curves[None])
        nearest = min((r for r in curves if r is not None), key=lambda r: abs(r - rate_bps))
        if not abs(nearest - rate_bps) <= _SAME_RATE * rate_bps:
            known = ", ".join(f"{r:g}" for r in curves if r is not None)
            raise DataError(
                f'[{TABLE}] path = "{self.path}": has no rate of {rate_bps:g} bit/s, which '
                f"[radio.rate] uses; it has {known}; add it, or set a rate that it has"
            )
        return OfOneRate(curves=curves[nearest])


class OfOneRate(PacketError):  # noqa: N818 - a packet error is a channel model
    """The curves of one rate, by packet size."""

    curves: dict[int, Any]

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        if snr <= 0.0:
            return 1.0
        snr_db, sizes = linear_to_db(snr), list(self.curves)
        size = packet_bits / 8.0
        after = bisect_left(sizes, size)
        if size in self.curves:
            failing = self._log_loss(sizes[after], snr_db)
        elif 0 < after < len(sizes):
            low, high = sizes[after - 1], sizes[after]
            part = (size - low) / (high - low)
            failing = (1.0 - part) * self._log_loss(low, snr_db) + part * self._log_loss(
                high, snr_db
            )
        else:
            nearest = sizes[min(after, len(sizes) - 1)]
            failing = self._log_loss(nearest, snr_db) * size / nearest
        return -math.expm1(-failing)

    def _log_loss(self, size: int, snr_db: float) -> float:
        """-ln(1 - per) of packets of a tabled size."""
        per = _interpolate(self.curves[size], snr_db)
        return -math.log1p(-per) if per < 1.0 else math.inf


def _interpolate(curve: Curve, snr_db: float) -> float:
    at = int(np.searchsorted(curve.snr_db, snr_db + _ROUNDING_DB, side="right"))
    if at == 0:
        return 1.0
    if at == len(curve.snr_db):
        return float(curve.per[-1])
    start_db, end_db = curve.snr_db[at - 1], curve.snr_db[at]
    before, after = max(_LEAST, curve.per[at - 1]), max(_LEAST, curve.per[at])
    part = (snr_db - start_db) / (end_db - start_db)
    return float(before * (after / before) ** part)
