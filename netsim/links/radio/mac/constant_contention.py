"""CSMA among flights over links that don't change in time.

Here it is known from the start what each sender can do to each packet. Senders that spoil none by
themselves, but may do so together (`bursts`), are kept in a matrix (`received_powers`): a flight
that begins or ends makes others be looked at only where those on the air are loud enough together,
and once the powers that have come and gone since they were last amount to `SLIGHT` of the noise
from which on they lose packets: whoever can't be disturbed by it, near or far, costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac.csma import Sender
from netsim.links.radio.mac.bursts import (
    NONE,
    Bursts,
    Curve,
    lost_to_several,
    overlap_probabilities,
)
from netsim.links.radio.mac.contention import STEPS, Contention
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.interference import Changed, Interference, in_order
from netsim.links.radio.mac.received_powers import ROUNDING, Flags, Floats, ReceivedPowers
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.recording.run_warnings import RunWarnings

ROUNDS = 8
"""Solutions of a problem, at most, each with the losses to several that the last one leads to."""
CLOSE = 0.125
"""Change of a loss to several by the problem's own solution up to which there is no other one."""
MOMENT = 1e-300
"""In place of a share of the time that is 0."""


class ConstantContention(Contention):
    """Contention where no link changes while a message lasts.

    Parameters
    ----------
    radio : Radio
        One whose `mac` is `Csma`.
    channel : RadioChannel
        One that is `constant`.
    nodes : int
        How many nodes there are.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None: nodes have no places, all are in range.
    warnings, listens : RunWarnings, bool
        See `Contention`.
    """

    def __init__(
        self,
        radio: Radio,
        channel: RadioChannel,
        nodes: int,
        distance_m: Callable[[int, int, int], float] | None,
        warnings: RunWarnings,
        listens: bool = False,
    ) -> None:
        super().__init__(radio, channel, nodes, distance_m, warnings, listens)
        self._several = Bursts(channel, radio.arq.acknowledged)
        self._powers = ReceivedPowers()
        self._domain: dict[Flight, None] = {}  # as long as all hear each other: not in the powers
        self._unknown: list[Flight] = []  # those of which it is not known what disturbs them
        self._burst: dict[Flight, Sequence[float]] = {}  # what several senders at once do to each
        # see `_not_captured`
        self._captures: dict[Flight, dict[tuple[Reception, Flight], float]] = {}
        # with the losses of `_burst`, and whether the receiver sleeps
        self._senders: dict[Flight, tuple[tuple[float, bool], Sender]] = {}
        self._curves: dict[Reception, tuple[Curve, Curve]] = {}

    def goes_on_from(self, before: Interference) -> bool:
        assert isinstance(before, ConstantContention)
        if not super().goes_on_from(before):
            return False
        powers = self._powers = before._powers
        self._burst, self._domain = before._burst, before._domain
        self._unknown = list(powers.flights)
        for flight, column in powers.column.items():
            powers.power[column] = flight.power_now
        powers.stale[:] = True
        self._find_disturbances()
        return True

    # -- who meets whom --------------------------------------------------------------------------

    def _find_contenders(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        powers, src = self._powers, flight.src
        if not powers.flights:
            domain = self._domain
            if all(self.hear_each_other(src, other.src, now_ns) for other in domain):
                flight.contenders = domain.copy()
                for other in domain:
                    other.contenders[flight] = None
                domain[flight], self._burst[flight] = None, [0.0] * len(flight.receptions)
                return
            for other in domain:
                column, _ = powers.add(other)
                powers.stale[column] = False
            self._unknown, self._domain = list(domain), {}
        begun = len(powers.flights)
        column, first = powers.add(flight)
        self._unknown.append(flight)
        loudness, power = self._channel.loudness, powers.power[:begun]
        senders, receivers = powers.src[:begun], powers.dst[:first]
        to_senders = loudness.of_all(src, senders, now_ns)
        from_senders = loudness.at_all(src, senders, now_ns)
        heard = self._hear_each_other(src, senders, np.minimum(to_senders, from_senders), now_ns)
        for other in self._in_order(heard):
            flight.contenders[other] = other.contenders[flight] = None
        if len(flight.contenders) == begun:
            return
        powers.apart = True
        self._find_disturbances()
        to_receivers = loudness.of_all(src, receivers, now_ns) * flight.power_now
        to_senders, from_senders = to_senders * flight.power_now, from_senders * power
        to_own = [
            loudness.at_all(reception.tx.dst, senders, now_ns) * power
            for reception in flight.receptions
        ]
        apart = ~heard
        for other in self._in_order(apart & self._may_spoil(flight, to_own, to_receivers)):
            for one, by in ((flight, other), (other, flight)):
                self._add_hidden(one, by, now_ns)
                powers.note_hidden(one, by)
        hidden = None
        if flight.hidden:
            hidden = np.zeros(begun, np.bool_)
            hidden[[powers.column[other] for other in flight.hidden]] = True
            powers.mark_stale(flight.hidden)
            apart &= ~hidden
        for row, found in enumerate(to_own, first):
            meets = apart & (found >= self._least) & (senders != powers.dst[row])
            powers.heard[0, row, :begun] = meets * found
            beside = meets if hidden is None else meets | hidden
            powers.heard[1, row, :begun] = beside * from_senders
        of = powers.of[:first]
        meets = apart[of] & (to_receivers >= self._least) & (receivers != src)
        beside = meets if hidden is None else meets | hidden[of]
        powers.heard[0, :first, column] = meets * to_receivers
        powers.heard[1, :first, column] = beside * to_senders[of]
        powers.sum[:, :first] += powers.heard[:, :first, column]
        rows = len(powers.receptions)
        powers.sum[:, first:rows] = powers.heard[:, first:rows, :begun].sum(2)
        powers.shift_share(flight)

    def _find_disturbances(self) -> None:
        """Find the disturbances of flights for which they are unknown."""
        powers, several, unknown = self._powers, self._several, self._unknown
        self._unknown = []
        for flight in unknown:
            if flight not in powers.column:
                continue
            _, rate_bps = self._snr_and_rate(flight, flight.begins_ns)
            powers.frame_s[powers.column[flight]] = self._frame_s(flight, rate_bps)
            for reception in flight.receptions:
                row = powers.row[reception]
                packets, answers = self._curves[reception] = several.loss_curves(
                    flight, reception.tx.dst
                )
                powers.harmless[row] = 0.0 if packets is NONE else packets.noise[0]
                powers.quiet[0, row] = packets.noise[0] * (1.0 - ROUNDING)
                powers.quiet[1, row] = answers.noise[0] * (1.0 - ROUNDING)

    def _hear_each_other(
        self, src: int, senders: NDArray[np.int64], weaker: Floats, now_ns: int
    ) -> Flags:
        """Return the pairs of senders that hear each other; `weaker`: by the weaker side."""
        if self._channel.fades:
            return np.array([self.hear_each_other(src, j, now_ns) for j in senders.tolist()])
        heard: Flags = weaker >= self._channel.sensitivity
        if self._distance_m is not None:
            pairs = [(src, j) if src < j else (j, src) for j in senders.tolist()]
            heard &= np.array([self._near(*pair, 0) for pair in pairs])
        return heard

    def _may_spoil(self, flight: Flight, to_own: Sequence[Floats], to_receivers: Floats) -> Flags:
        """Return whether one of a flight and another may spoil packets of the other one by itself.

        Parameters
        ----------
        flight : Flight
            That begins.
        to_own : sequence of (columns,) float64
            By its receptions: power over noise of each that has begun.
        to_receivers : (rows,) float64
            Its own at the receptions of these.
        """
        powers, first, least = self._powers, len(to_receivers), self._channel.sensitivity
        columns, dst = len(to_own[0]) if to_own else 0, powers.dst[:first]
        if self._channel.fades or not to_own:
            return np.ones(len(powers.flights) - 1, np.bool_)
        found = np.zeros(columns, np.bool_)
        for row, loud in enumerate(to_own, first):
            found |= (loud >= least) | (1.0 + loud > powers.harmless[row])
            found |= powers.src[:columns] == powers.dst[row]
        loud = to_receivers
        theirs = (loud >= least) | (1.0 + loud > powers.harmless[:first])
        theirs |= dst == flight.src
        found[powers.of[:first][theirs]] = True
        return found

    def _hidden_effect(
        self, at: Flight, reception: Reception, flight: Flight, now_ns: int
    ) -> tuple[float, float, bool] | None:
        receiver = reception.tx.dst
        if receiver != flight.src:
            loudness = self._channel.snr(flight.src, receiver, now_ns) * flight.power_now
            harmless = self._powers.harmless[self._powers.row[reception]]
            if 1.0 + loudness <= harmless and not self._notices(receiver, flight, loudness, now_ns):
                return None
        return super()._hidden_effect(at, reception, flight, now_ns)

    def _capture_losses(
        self, flight: Flight, contenders: Sequence[Flight], now_ns: int
    ) -> tuple[tuple[float, ...], ...]:
        if self._channel.fades:
            return super()._capture_losses(flight, contenders, now_ns)
        known, rows = self._captures.setdefault(flight, {}), []
        for reception in flight.receptions:
            pairs = [(reception, other) for other in contenders]
            for pair in pairs:
                if pair not in known:
                    known[pair] = self._not_captured(flight, *pair, now_ns)
            rows.append(tuple([known[pair] for pair in pairs]))
        return tuple(rows)

    def _sender(self, flight: Flight, now_ns: int) -> Sender:
        if self._channel.fades or not flight.receptions:
            return super()._sender(flight, now_ns)
        key = self._burst[flight][0], flight in self._asleep
        known = self._senders.get(flight)
        if known is None or known[0] != key:
            known = self._senders[flight] = key, super()._sender(flight, now_ns)
        return known[1]

    def _in_order(self, which: Flags) -> list[Flight]:
        """Flights by column, in the order in which they began."""
        flights = self._powers.flights
        found = [flights[i] for i in which.nonzero()[0].tolist()]
        return sorted(found, key=in_order) if len(found) > 1 else found

    def remove(self, flight: Flight, others: Iterable[Flight]) -> None:
        for known in (self._burst, self._senders, self._captures):
            known.pop(flight, None)
        if flight in self._domain:
            del self._domain[flight]
            return
        self._powers.mark_stale(flight.hidden)
        for reception in self._powers.remove(flight):
            self._curves.pop(reception, None)

    def set_share(self, flight: Flight, share: float, others: Iterable[Flight]) -> None:
        if flight in self._domain:
            flight.medium_share = share
        elif share != flight.medium_share:
            self._powers.mark_stale(flight.hidden)
            # A packet meets more of short gaps: at most twice the share, see
            # `overlap_probabilities`.
            self._powers.shift_share(flight, min(1.0, 2.0 * abs(share - flight.medium_share)))
            flight.medium_share = self._powers.share[self._powers.column[flight]] = share

    def _note_known_conditions(self, flight: Flight) -> None:
        super()._note_known_conditions(flight)
        if flight not in self._domain:
            if flight.contenders or flight.hidden:  # whose shares may have changed
                self._powers.apply_drift()
            self._powers.touched[self._powers.column[flight]] = False

    # -- several at once -------------------------------------------------------------------------

    def _solve(self, flight: Flight, now_ns: int) -> None:
        """Set the media of a flight's problem, whose losses to several follow its own shares."""
        super()._solve(flight, now_ns)
        powers = self._powers
        if flight not in powers.column or not (flight.hidden or flight.contenders):
            return
        together = self._flights_of_problem(flight)
        for _ in range(ROUNDS):
            stale = [one for one in together if powers.stale[powers.column[one]]]
            self._look_at(stale)
            errors = [(self._found[one][0].error, self._sender(one, now_ns).error) for one in stale]
            if all(abs(new - old) <= CLOSE for old, new in errors):
                self._touched |= dict.fromkeys([one for one in stale if self._set_medium(one)])
                return
            super()._solve(flight, now_ns)

    def settle(self, now_ns: int) -> Changed:
        while self._unsolved:
            self._solve(next(iter(self._unsolved)), now_ns)
        powers = self._powers
        if not powers.flights:
            return super().settle(now_ns)
        for flight in self._touched:
            powers.touched[powers.column[flight]] = True
        before = {flight: self._burst[flight] for flight in powers.take_suspects()}
        self._look_at(before)
        for flight, losses in before.items():
            if self._burst[flight] != losses and self._set_medium(flight):
                self._touched[flight] = None
        return super().settle(now_ns)

    def _look_at(self, flights: Iterable[Flight]) -> None:
        powers = self._powers
        if not powers.flights:
            return
        powers.apply_drift()
        stale = [flight for flight in flights if powers.stale[powers.column[flight]]]
        if not stale:
            return
        receptions = [reception for flight in stale for reception in flight.receptions]
        rows = [powers.row[reception] for reception in receptions]
        losses = iter(self._lost_to_several(receptions, rows))
        powers.drift[:, rows] = 0.0
        for flight in stale:
            column = powers.column[flight]
            found = self._burst[flight] = [next(losses) for _ in flight.receptions]
            powers.stale[column], powers.lossy[column] = False, any(found)

    def _lost_to_several(self, receptions: Sequence[Reception], rows: Sequence[int]) -> list[float]:
        """Probabilities of losing a packet, or its acknowledgement, to several senders at once."""
        powers, columns, lost = self._powers, len(self._powers.flights), [0.0] * len(rows)
        if columns == 1:
            return lost
        loud = [powers.exceeds_quiet(row) for row in rows]
        packets, answers = ([i for i, at in enumerate(loud) if at[end]] for end in (0, 1))
        if not (packets or answers):
            return lost
        share, chances = powers.share[:columns], []
        if packets:
            frame_s = powers.frame_s[:columns]
            own_s = frame_s[powers.of[[rows[i] for i in packets]]][:, None]
            chances.append(overlap_probabilities(share, own_s, frame_s))
        if answers:
            # A packet that is answered has survived: who would have spoilt it is silent then.
            beside = share * powers.spared[[rows[i] for i in answers], :columns]
            chances.append(beside / np.maximum(1.0 - share + beside, MOMENT))
        both = [(i, 0) for i in packets] + [(i, 1) for i in answers]
        curves = [self._curves[receptions[i]][end] for i, end in both]
        power = powers.heard[[end for _, end in both], [rows[i] for i, _ in both], :columns]
        there = chances[0] if len(chances) == 1 else np.concatenate(chances)
        found = lost_to_several(curves, power, there).tolist()
        for (i, end), loss in zip(both, found, strict=True):
            lost[i] = 1.0 - (1.0 - lost[i]) * (1.0 - loss) if end else loss
        return lost

    def _lost_anyway(self, flight: Flight, snr: float, rate_bps: float) -> float:
        error = self._error(snr, flight.packet_bits, rate_bps)
        error = 1.0 - (1.0 - error) * (1.0 - self._burst[flight][0])
        return round(error * STEPS) / STEPS

    def _in_all(self, flight: Flight, losses: Sequence[float]) -> Sequence[float]:
        if not flight.receptions:
            return losses
        both = zip(losses, self._burst[flight], strict=False)
        return [1.0 - (1.0 - spoilt) * (1.0 - burst) for spoilt, burst in both]
