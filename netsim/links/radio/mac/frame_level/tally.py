"""Progress of messages at their receivers, and the reports about them."""

from __future__ import annotations

import numpy as np

from netsim.links.link import (
    ASLEEP,
    COLLISION,
    DEADLINE,
    DELIVERED,
    OUTAGE,
    PARTIAL,
    RETRIES,
    Report,
)
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.frame_level.frame import DECODED, SPOILT, Frame
from netsim.units import linear_to_db


class Tally:
    """A message at one receiver.

    Parameters
    ----------
    packets : int

    Attributes
    ----------
    arrived : ndarray of bool, shape (packets,)
        Which packets have arrived; the sender may not know it.
    attempts, asleep, spoilt : int
        Data frames sent, those of them at which the receiver slept, and those that were lost to
        other frames.
    too_weak : int
        Those that were lost without others.
    combined_snr : float
        Sum of the SINRs of the attempts at the packet in turn, linear; where they are combined.
    """

    def __init__(self, packets: int) -> None:
        self.arrived = np.zeros(packets, dtype=np.bool_)
        self.attempts = self.asleep = self.spoilt = self.too_weak = 0
        self.combined_snr = 0.0
        self._packet = 0
        self._settled = 0
        self._snr_sum = 0.0
        self._hopeful = False

    def sent(self, packet: int, snr: float, hopeful: bool) -> None:
        """Count a data frame that begins.

        Parameters
        ----------
        packet : int
            Which is in it.
        snr : float
            At the receiver, linear, without interference.
        hopeful : bool
            Whether it could be decoded if no other frame came.
        """
        if packet != self._packet:
            self._packet, self.combined_snr = packet, 0.0
        self.attempts += 1
        self._snr_sum += snr
        self._hopeful = self._hopeful or hopeful

    def ended(self, frame: Frame, node: int, asleep: bool) -> None:
        """Count what became of a data frame.

        Parameters
        ----------
        frame : Frame
        node : int
            The receiver.
        asleep : bool
            Whether it slept.
        """
        result = frame.results.get(node)
        self.combined_snr += frame.sinr.get(node, 0.0)
        if result == DECODED:
            self.arrived[frame.packet] = True
        elif asleep:
            self.asleep += 1
        elif result == SPOILT:
            self.spoilt += 1
        else:
            self.too_weak += 1

    def report(
        self, flight: Flight, reception: Reception, settled: int, limit: int | None
    ) -> Report:
        """Report the outcome of the message.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            That at this receiver.
        settled : int
            Packets that its sender is done with.
        limit : int or None
            Attempts at one packet; None: any number.

        Returns
        -------
        Report
            Its SNR is the mean over data frames, without interference.
        """
        tx, delivered, mask = reception.tx, int(self.arrived.sum()), None
        if reception.unreachable is not None:
            outcome = reception.unreachable
        elif delivered == flight.packets:
            outcome = DELIVERED
        elif delivered and tx.envelope.message.accepts_partial:
            outcome, mask = PARTIAL, self.arrived
        elif flight.expired:
            outcome = DEADLINE
        elif limit is not None and self.asleep >= limit:
            outcome = ASLEEP
        elif self.spoilt > self.too_weak:
            outcome = COLLISION
        else:
            outcome = RETRIES if self._hopeful else OUTAGE
        lost = settled - int(self.arrived[:settled].sum())
        snr_db = linear_to_db(self._snr_sum / self.attempts) if self.attempts else None
        return tx, outcome, self.attempts, lost, snr_db, mask
