"""A broadcast that is sent in rounds until every receiver has every packet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.links.link import DEADLINE, DELIVERED, PARTIAL, Report, Transmission
from netsim.links.radio.mac.flight import Flight, Reception


class BroadcastRounds:
    """Progress of a broadcast at each of its receivers.

    Parameters
    ----------
    group : sequence of Transmission
        One for each receiver.
    packets : int
        Of the message.
    packet_bits : int
        Of each packet, header included.
    most : int
        How many rounds there are at most.
    feedback_bits : int
        By which each receiver tells what it lacks.

    Attributes
    ----------
    lacking : list of Transmission
        Those whose receivers still lack a packet.
    sending : (n,) int
        Which packets are in the round that is next or under way.
    """

    def __init__(
        self,
        group: Sequence[Transmission],
        packets: int,
        packet_bits: int,
        most: int,
        feedback_bits: int,
    ) -> None:
        self.packet_bits, self.feedback_bits = packet_bits, feedback_bits
        self.lacking, self._left = list(group), most
        self.sending: NDArray[np.int64] = np.arange(packets)
        self._have = {tx.dst: np.zeros(packets, dtype=np.bool_) for tx in group}
        self._attempts = dict.fromkeys(self._have, 0)
        self._bits = 0

    def count(self, reception: Reception, report: Report) -> None:
        """Count the packets of a receiver in a round that has ended, for all or for it alone."""
        dst = reception.tx.dst
        self._attempts[dst] += report[2]
        if reception.came is not None:
            self._have[dst][self.sending] |= reception.came

    def end_round(
        self, flight: Flight, reports: Sequence[Report], bits: int, cut: bool
    ) -> tuple[list[Report], int]:
        """Settle the end of a round; `lacking` are the receivers of the next one.

        Parameters
        ----------
        flight : Flight
            The round, with what came in each reception.
        reports : sequence of Report
            What became of the round at each of its receptions.
        bits : int
            Transmitted in it.
        cut : bool
            Whether it ended before its planned end.

        Returns
        -------
        list of Report, int
            Of those that need no more, or get none; bits of the rounds that no report has told of.
        """
        self._left -= 1
        self._bits += bits
        for reception, report in zip(flight.receptions, reports, strict=True):
            self.count(reception, report)
        over = cut or flight.expired or self._left == 0 or flight.deserted
        of_round = [*reports, *flight.missed]
        ended = [r for r in of_round if over or self._have[r[0].dst].all()]
        done = {report[0] for report in ended}
        self.lacking = [report[0] for report in of_round if report[0] not in done]
        if self.lacking:
            have_all = np.logical_and.reduce([self._have[tx.dst] for tx in self.lacking])
            self.sending = np.flatnonzero(~have_all)
        bits_told = 0
        if ended:
            bits_told, self._bits = self._bits, 0
        return [self._report(report, flight.expired) for report in ended], bits_told

    def given_up(self, tx: Transmission, outcome: str) -> tuple[Report, int]:
        """The report of a receiver that gets no further round, and the bits not reported before.

        Parameters
        ----------
        tx : Transmission
        outcome : str
            Why, unless the message is of use in part.
        """
        bits, self._bits = self._bits, 0
        return self._report((tx, outcome, 0, 0, None, None), False), bits

    def _report(self, report: Report, expired: bool) -> Report:
        tx, outcome, _, _, snr_db, _ = report
        have, mask = self._have[tx.dst], None
        if have.all():
            outcome = DELIVERED
        elif have.any() and tx.envelope.message.accepts_partial:
            outcome, mask = PARTIAL, have
        elif expired:
            outcome = DEADLINE
        return tx, outcome, self._attempts[tx.dst], int((~have).sum()), snr_db, mask
