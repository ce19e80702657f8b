"""Powers of the senders on the air at each other's receivers, where no link changes in time.

A matrix has the power over noise of each sender at each receiver of the others, and behind it that
at their senders, where acknowledgements arrive. A flight that begins or ends is a row and a column
of both: finding out for whom it matters takes a few operations on arrays, however many are on the
air.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.interference import SLIGHT

ROUNDING = 1e-5
"""A sum that is kept by adding and taking away may be too small by so much, relative to others."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_OF_FLIGHTS = (
    {"src": np.int64}
    | dict.fromkeys(("power", "share", "frame_s"), np.float64)
    | dict.fromkeys(("stale", "touched", "lossy"), np.bool_)
)
_OF_RECEPTIONS = dict.fromkeys(("dst", "of"), np.int64) | {"harmless": np.float64}
_AT_BOTH_ENDS = ("quiet", "sum", "drift")


class ReceivedPowers:
    """Rows are receptions and columns flights, in no particular order.

    Arrays are longer than there are flights and receptions; what follows these means nothing.

    Attributes
    ----------
    flights : list of Flight
        By column.
    receptions : list of Reception
        By row.
    column : dict of Flight to int
    row : dict of Reception to int
    src : (columns,) int64
        The sender of each flight.
    power : (columns,) float64
        Transmit power over that node's full one.
    share, frame_s : (columns,) float64
        Share of the time on the air; time of a packet [s].
    stale, touched, lossy : (columns,) bool
        Whether what a flight meets differs, by `SLIGHT` or more, from what it met when its losses
        were worked out, as of the last `apply_drift`; whether it has begun to since it was told
        last; whether it has such losses.
    dst, of : (rows,) int64
        The receiver; the column of the flight.
    harmless : (rows,) float64
        Noise over noise up to which next to nothing is lost to one interferer.
    heard : (2, rows, columns) float64
        Power over noise of each interferer at the receiver, and of whoever is on the air beside
        its packets at the sender; 0 of others.
    spared : (rows, columns) float64
        Probability that a packet survives an interferer that begins meanwhile.
    quiet : (2, rows) float64
        Noise over noise up to which next to nothing is lost to all of them, with room for rounding,
        and next to nothing of what the receiver answers.
    sum : (2, rows) float64
        Of `heard` over all columns.
    apart : bool
        Whether there are powers other than 0, or have been since there was no flight.
    drift : (2, rows) float64
        By how much power, for its share of the time, has come and gone since the flight's losses
        were worked out.
    """

    src: NDArray[np.int64]
    power: Floats
    share: Floats
    frame_s: Floats
    stale: Flags
    touched: Flags
    lossy: Flags
    dst: NDArray[np.int64]
    of: NDArray[np.int64]
    harmless: Floats
    quiet: Floats
    sum: Floats
    drift: Floats

    def __init__(self) -> None:
        self.flights: list[Flight] = []
        self.receptions: list[Reception] = []
        self.column: dict[Flight, int] = {}
        self.row: dict[Reception, int] = {}
        self._rows_of: dict[Flight, list[Reception]] = {}
        for name, kind in (*_OF_FLIGHTS.items(), *_OF_RECEPTIONS.items()):
            setattr(self, name, np.zeros(0, kind))
        for name in _AT_BOTH_ENDS:
            setattr(self, name, np.zeros((2, 0)))
        self.apart = False
        self._shifted = False  # whether drifts have grown since `apply_drift`
        self.heard: Floats = np.zeros((2, 0, 0))
        self.spared: Floats = np.ones((0, 0))

    def add(self, flight: Flight) -> tuple[int, int]:
        """Add a flight whose powers, at all receptions, are to be set; its column and first row."""
        column, first = len(self.flights), len(self.receptions)
        self._make_room(column + 1, first + len(flight.receptions))
        self.flights.append(flight)
        self.column[flight] = column
        self.src[column] = flight.src
        self.power[column], self.share[column] = flight.power_now, flight.medium_share
        self.stale[column], self.touched[column], self.lossy[column] = True, False, False
        self._rows_of[flight] = list(flight.receptions)
        for row, reception in enumerate(flight.receptions, first):
            self.receptions.append(reception)
            self.row[reception] = row
            self.dst[row], self.of[row] = reception.tx.dst, column
            self.sum[:, row] = self.drift[:, row] = 0.0
            self.quiet[:, row] = np.inf  # until it is known
            self.heard[:, row, : column + 1] = 0.0
            self.spared[row, : column + 1] = 1.0
        self.heard[:, :first, column] = 0.0
        self.spared[:first, column] = 1.0
        return column, first

    def remove(self, flight: Flight) -> list[Reception]:
        """Remove a flight and return its receptions.

        The interference of others that it disturbed may then be outdated.
        """
        self.shift_share(flight)
        column, rows = self.column.pop(flight), len(self.receptions)
        if self.apart:
            self.sum[:, :rows] -= self.heard[:, :rows, column]
        receptions = self._rows_of.pop(flight)
        for reception in receptions:
            self._drop_row(self.row.pop(reception))
        last, rows = len(self.flights) - 1, len(self.receptions)
        moved = self.flights.pop()
        self.apart = self.apart and last > 0
        if column == last:
            return receptions
        self.flights[column], self.column[moved] = moved, column
        for name in _OF_FLIGHTS:
            array = getattr(self, name)
            array[column] = array[last]
        self.heard[:, :rows, column] = self.heard[:, :rows, last]
        self.spared[:rows, column] = self.spared[:rows, last]
        for reception in self._rows_of[moved]:
            self.of[self.row[reception]] = column
        return receptions

    def note_hidden(self, at: Flight, flight: Flight) -> None:
        """Note the share of a flight's packets that a hidden sender leaves intact."""
        column = self.column[flight]
        for reception in self._rows_of[at]:
            if flight in reception.hidden:
                self.spared[self.row[reception], column] = 1.0 - reception.hidden[flight][1]

    def shift_share(self, flight: Flight, share: float = 1.0) -> None:
        """Note that a flight is heard for a larger, or smaller, share of the time.

        Those that hear it are stale, at the next `apply_drift`, once what has come and gone amounts
        to `SLIGHT` of the noise from which on they lose packets: the many far senders add up to
        that rarely.
        """
        if self.apart and len(self.flights) > 1:
            rows, column = len(self.receptions), self.column[flight]
            drift = self.drift[:, :rows]
            drift += share * self.heard[:, :rows, column]
            self._shifted = True

    def apply_drift(self) -> None:
        """Bring `stale` and `touched` up to date with `drift`: once for several shifts."""
        if self._shifted:
            self._shifted, rows = False, len(self.receptions)
            far, far_at_sender = self.drift[:, :rows] > SLIGHT * self.quiet[:, :rows]
            moved = self.of[:rows][far | far_at_sender]
            self.stale[moved] = self.touched[moved] = True

    def mark_stale(self, flights: Iterable[Flight]) -> None:
        """Note that the interferers of flights have changed."""
        for flight in flights:
            self.stale[self.column[flight]] = True

    def take_suspects(self) -> list[Flight]:
        """Select the touched stale flights that may lose other shares by it."""
        self.apply_drift()
        columns = len(self.flights)
        found = (self.stale[:columns] & self.touched[:columns]).nonzero()[0].tolist()
        self.touched[:columns] = False
        suspects = []
        for column in found:
            flight = self.flights[column]
            rows = [self.row[reception] for reception in self._rows_of[flight]]
            if self.lossy[column] or any([True in self.exceeds_quiet(row) for row in rows]):
                suspects.append(flight)
            else:
                self.stale[column] = False
                self.drift[:, rows] = 0.0
        return suspects

    def exceeds_quiet(self, row: int) -> tuple[bool, bool]:
        """Return whether all interferers together may spoil a reception's packets, and its answers.

        Parameters
        ----------
        row : int
        """
        sums, quiet = self.sum, self.quiet
        return (
            1.0 + sums.item(0, row) > quiet.item(0, row),
            1.0 + sums.item(1, row) > quiet.item(1, row),
        )

    def _drop_row(self, row: int) -> None:
        last = len(self.receptions) - 1
        moved = self.receptions.pop()
        if row == last:
            return
        self.receptions[row], self.row[moved] = moved, row
        for name in _OF_RECEPTIONS:
            array = getattr(self, name)
            array[row] = array[last]
        for name in _AT_BOTH_ENDS:
            array = getattr(self, name)
            array[:, row] = array[:, last]
        self.heard[:, row], self.spared[row] = self.heard[:, last], self.spared[last]

    def _make_room(self, columns: int, rows: int) -> None:
        """Make arrays long enough for so many columns and rows."""
        more_columns = max(8, columns) if columns > len(self.src) else 0
        more_rows = max(8, rows) if rows > len(self.dst) else 0
        if not (more_columns or more_rows):
            return
        for names, more in ((_OF_FLIGHTS, more_columns), (_OF_RECEPTIONS, more_rows)):
            for name in names:
                setattr(self, name, np.pad(getattr(self, name), (0, more)))
        for name in _AT_BOTH_ENDS:
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more_rows))))
        wider = ((0, more_rows), (0, more_columns))
        self.heard = np.pad(self.heard, ((0, 0), *wider))
        self.spared = np.pad(self.spared, wider)


def count_stronger_pairs(loud: Floats, needed: Floats) -> int:
    """Count pairs of powers over noise of which one suffices beside the other."""
    return int((loud.size - np.searchsorted(loud, needed)).sum())
