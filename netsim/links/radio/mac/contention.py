"""CSMA among the flights on the air: who contends with whom, who is hidden from whom.

Two senders contend if each senses the other's carrier when the later one starts. Those that do not
are hidden from each other, and matter where one of them can spoil a packet at the other's receiver:
there the packet's error at its SINR with both on the air is compared with that without. Those that
can't are noise, each for its share of the time. The senders that hang together by hearing or
spoiling are one problem, which `netsim.channels.mac.csma` solves; its answer is the `medium` of
their flights until a flight of theirs begins or ends. Where no link changes in time
`constant_contention` has what several senders do together in place of the noise; where they do,
`changing_contention` looks at all this again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import ALONE, Medium
from netsim.channels.mac.csma import (
    ACK_BITS,
    PREAMBLE_SNR,
    Access,
    ContentionProblem,
    Csma,
    Hidden,
    Sender,
    basic_rate_bps,
)
from netsim.links.radio.mac.flight import Flight, Reception, sending_rate_bps
from netsim.links.radio.mac.interference import Changed, Interference, in_order
from netsim.links.radio.mac.received_powers import count_stronger_pairs
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.recording.run_warnings import RunWarnings
from netsim.units import NS_PER_S

HARMLESS = 1.0 / 32.0
"""Probability of spoiling a packet up to which a hidden sender is left out."""
STEPS = 16
"""Such probabilities are rounded to one in so many: problems that are alike have one solution."""
SAME = 2e-3
"""Change of a loss, and relative one of a time, up to which a flight goes on as before."""
_HARMLESS = 0.0, 0.0, False


class Contention(Interference):
    """Interference where senders listen before they talk.

    Parameters
    ----------
    radio : Radio
        One whose `mac` is `Csma`.
    channel : RadioChannel
    nodes : int
        How many nodes there are.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None: nodes have no places, all are in range.
    warnings : RunWarnings
        Of the run; told if what senders do to each other could not be solved.
    listens : bool
        Whether it matters how much of what is sent radios receive.
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
        assert isinstance(radio.mac, Csma)
        by_snr = radio.combines or radio.rate.adapts
        super().__init__(radio.mac, channel, nodes, distance_m, by_snr)
        self._radio, self._csma, self._warnings = radio, radio.mac, warnings
        self._listens, self._all = listens, np.arange(nodes)
        # By senders and powers; see `_not_found`.
        self._drowned: dict[tuple[int, float, int, float], tuple[NDArray[np.bool_], ...]] = {}
        self._noise = min(1.0, channel.sensitivity / PREAMBLE_SNR)  # as a preamble meets it
        self._error = lru_cache(maxsize=1 << 14)(channel.packet_error)
        self._access = lru_cache(maxsize=4096)(self._csma.access)
        self._alone = lru_cache(maxsize=256)(self._access_alone)
        self._half = lru_cache(maxsize=256)(channel.half_lost_snr)
        # By node, its packets and whom it hears with which power; see `_collision_wait`.
        self._holds: dict[tuple[object, ...], tuple[float, float]] = {}
        self._found: dict[Flight, tuple[Sender, Access]] = {}  # of those on the air
        self._on_air: dict[Flight, None] = {}
        self._silent: dict[Flight, None] = {}  # of those, whose links have no rate now
        self._asleep: dict[Flight, int] = {}  # of those, when their receivers wake
        self._unsolved: dict[Flight, None] = {}
        self._spoilt: dict[Flight, None] = {}  # those whose attempt under way another one overlaps
        self._keeping: dict[Flight, None] = {}  # those whose attempt under way keeps its fate
        self._ended_ns: dict[int, int] = {}  # by sender, when its last flight ended
        self._last_ends: deque[tuple[int, int]] = deque()  # less than a gap ago: when, and whose

    def goes_on_from(self, before: Interference) -> bool:
        assert isinstance(before, Contention)
        if not super().goes_on_from(before):
            return False
        self._found, self._unsolved, self._spoilt = before._found, before._unsolved, before._spoilt
        self._on_air, self._silent, self._keeping = before._on_air, before._silent, before._keeping
        self._ended_ns, self._last_ends = before._ended_ns, before._last_ends
        self._asleep = before._asleep
        return True

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        self._joined += 1
        flight.order = self._joined
        flight.contenders, flight.hidden = {}, {}
        for reception in flight.receptions:
            reception.hidden = {}
        self._find_contenders(flight, others, now_ns)
        self._on_air[flight] = None
        if not flight.broadcast and (wakes_ns := flight.receptions[0].wakes_ns) > now_ns:
            self._asleep[flight] = wakes_ns
        self._solve(flight, now_ns)
        if flight not in self._silent and self._ended_ns.get(flight.src) != now_ns:
            self._spoilt |= dict.fromkeys(self._overlap_now(flight))
            self._spoilt |= dict.fromkeys(self._begin_at_once(flight, now_ns))
        self._note_known_conditions(flight)

    def _find_contenders(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        """Find the contenders of a flight that begins, those hidden from it, and interferers."""
        apart = []
        for other in others:
            if self.hear_each_other(flight.src, other.src, now_ns):
                flight.contenders[other] = other.contenders[flight] = None
            else:
                self._add_hidden(flight, other, now_ns)
                self._add_hidden(other, flight, now_ns)
                if other not in flight.hidden:
                    apart.append(other)
        if apart:
            self.add(flight, apart, now_ns)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> None:
        """Remove a flight that has ended.

        Where its last packet got through, those hidden from it were silent, and their next one
        meets it no more; else the one that they send may be what spoilt it, and keeps its fate.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        """
        if flight not in self._silent:
            self._ended_ns[flight.src] = flight.ends_ns
            self._last_ends.append((flight.ends_ns, flight.src))
        self.remove(flight, others)
        of = self._on_air, self._silent, self._unsolved, self._spoilt, self._keeping, self._touched
        for held in (*of, self._found, self._asleep):
            held.pop(flight, None)
        for other in flight.contenders:
            del other.contenders[flight]
        for other in flight.hidden:
            del other.hidden[flight]
            for reception in other.receptions:
                reception.hidden.pop(flight, None)
        self._unsolved |= flight.contenders | flight.hidden
        if flight.lost_its_last():
            self._keeping |= flight.hidden

    def settle(self, now_ns: int) -> Changed:
        while self._unsolved:
            self._solve(next(iter(self._unsolved)), now_ns)
        for one in self._touched:
            if now_ns < one.at_once_ends_ns and all(r.rise <= r.known_rise for r in one.receptions):
                self._keeping[one] = None  # others wait for the end of what is being sent
        at_once, after = super().settle(now_ns)
        at_once += [one for one in self._spoilt if one not in at_once]
        keeping = [one for one in at_once if one in self._keeping and one not in self._spoilt]
        self._spoilt, self._keeping = {}, {}
        return Changed([one for one in at_once if one not in keeping], after + keeping)

    def next_look_ns(self, now_ns: int) -> int | None:
        """Return the next time [ns] at which what is on the air may change; None: never."""
        return min(self._asleep.values(), default=None)

    def look_again(self, now_ns: int) -> None:
        """Find anew what follows from receivers that are awake from now on."""
        for flight in [one for one, wakes_ns in self._asleep.items() if wakes_ns <= now_ns]:
            del self._asleep[flight]
            self._unsolved[flight] = None

    def hear_each_other(self, one: int, other: int, now_ns: int) -> bool:
        """Return whether two nodes sense each other's carrier.

        Parameters
        ----------
        one, other : int
            The nodes.
        now_ns : int
        """
        channel = self._channel
        if self._distance_m is not None and not self._in_reach(one, other, now_ns):
            return False
        if channel.sensitivity == 0.0:
            return True
        weaker = min(channel.snr(one, other, now_ns), channel.snr(other, one, now_ns))
        return weaker >= channel.sensitivity

    def _add_hidden(self, at: Flight, flight: Flight, now_ns: int) -> None:
        """Add a flight to those hidden from `at`, at the receivers of `at` that it disturbs."""
        for reception in at.receptions:
            found = self._hidden_effect(at, reception, flight, now_ns)
            if found is not None:
                reception.hidden[flight] = found
                at.hidden[flight] = flight.hidden[at] = None

    def _hidden_effect(
        self, at: Flight, reception: Reception, flight: Flight, now_ns: int
    ) -> tuple[float, float, bool] | None:
        """Return the effect of a hidden sender on packets: see `Hidden`; None: none."""
        receiver = reception.tx.dst
        if receiver == flight.src:
            return 1.0, 1.0, True
        loudness = self._channel.snr(flight.src, receiver, now_ns) * flight.power_now
        if loudness == 0.0:
            return None
        noticed, later = self._notices(receiver, flight, loudness, now_ns), 1.0
        if self._csma.capture or not noticed:
            later = self._lost_to(at, reception, loudness, now_ns)
        earlier = 1.0 if noticed else later
        if earlier < HARMLESS and later < HARMLESS:
            return None
        warned = bool(flight.receptions)
        if warned:
            theirs = flight.receptions[0].tx.dst
            warned = self.hear_each_other(flight.src, receiver, now_ns) and self.hear_each_other(
                at.src, theirs, now_ns
            )
        return earlier, later, warned

    def _notices(self, node: int, flight: Flight, loudness: float, now_ns: int) -> bool:
        """Return whether a node that nobody else sends to finds the preambles of a flight.

        Those that it is for do so also beyond the range of the carrier sense.
        """
        if any(reception.tx.dst == node for reception in flight.receptions):
            return loudness >= self._channel.sensitivity
        return self._detects(node, flight.src, loudness, now_ns)

    def _detects(self, node: int, src: int, loudness: float, now_ns: int) -> bool:
        """Return whether a node finds the preambles of what another one sends to somebody else."""
        if loudness < self._channel.sensitivity:
            return False
        return self._distance_m is None or self._in_reach(node, src, now_ns)

    def _in_reach(self, one: int, other: int, now_ns: int) -> bool:
        """Return whether two nodes are within the range of the carrier sense."""
        pair = (one, other) if one < other else (other, one)
        return self._near(*pair, now_ns if self._channel.moving else 0)

    def _lost_to(self, at: Flight, reception: Reception, loudness: float, now_ns: int) -> float:
        """Probability that a packet is lost to a sender's power, if not to noise alone."""
        snr = self._channel.snr(at.src, reception.tx.dst, now_ns) * at.power_now
        rate_bps = sending_rate_bps(at, snr, self._channel)
        if rate_bps <= 0.0:
            return 0.0
        alone = self._error(snr, at.packet_bits, rate_bps)
        if alone >= 1.0:
            return 0.0
        lost = (self._error(snr / (1.0 + loudness), at.packet_bits, rate_bps) - alone) / (
            1.0 - alone
        )
        return round(max(0.0, lost) * STEPS) / STEPS

    def _overlap_now(self, flight: Flight) -> list[Flight]:
        """Let a flight's first attempt overlap the attempts under way; which others it may spoil.

        A sender that has been silent and finds the medium idle begins at once. So it does beside
        senders that are hidden from it and have the medium to themselves, which are on the air
        nearly all the time, unless it has heard their receivers' CTS.
        """
        if flight.contenders:
            return []
        spoilt = []
        for other in flight.hidden:
            if other.contenders:
                continue
            rts = self._found[other][0].rts
            for reception in flight.receptions:
                loss, _, warned = reception.hidden.get(other, _HARMLESS)
                if warned and rts:
                    continue
                if loss > 0.0 and (reception.first_loss is None or loss > reception.first_loss[0]):
                    reception.first_loss = loss, flight.leg
            for reception in other.receptions:
                _, loss, warned = reception.hidden.get(flight, _HARMLESS)
                if loss > 0.0 and not (warned and rts):
                    reception.first_loss = loss, other.leg + 1
                    spoilt.append(other)
        return spoilt

    def _begin_at_once(self, flight: Flight, now_ns: int) -> Iterable[Flight]:
        """Send a flight's first packet without a backoff, if its sender finds the medium idle.

        It has to have been idle for a DIFS, and the backoff after the sender's last exchange to be
        over (IEEE 802.11-2020, 10.3.4.2). Those that begin so at one instant collide.

        Returns
        -------
        iterable of Flight
            Those that it collides with.
        """
        contenders, mac = flight.contenders, self._csma
        if not all(one.begins_ns == now_ns and one.at_once_ends_ns for one in contenders):
            flight.wait_for_only_packets(now_ns)
            return ()
        since_ns = now_ns - self._ended_ns.get(flight.src, -NS_PER_S * 10**6)
        wait_s, ends = mac.still_silent_s(since_ns / NS_PER_S), self._last_ends
        while ends and now_ns - ends[0][0] >= mac.difs_s * NS_PER_S:
            ends.popleft()
        if ends and any(self.hear_each_other(flight.src, src, now_ns) for _, src in ends):
            wait_s = max(wait_s, mac.difs_s - (now_ns - ends[-1][0]) / NS_PER_S)
        if contenders and wait_s > 0.0:
            return ()
        sender, _ = self._found[flight]
        flight.at_once_frame_ns = sender.packet_s * NS_PER_S
        flight.at_once_ends_ns = now_ns + round((wait_s + mac.exchange_s(sender)) * NS_PER_S)
        for one, other in [(a, b) for o in contenders for a, b in ((flight, o), (o, flight))]:
            for reception in one.receptions:
                lost = self._not_captured(one, reception, other, now_ns)
                before = reception.first_loss
                if before is None or lost > before[0]:
                    reception.first_loss = lost, one.leg + (one is not flight)
        return contenders

    def _flights_of_problem(self, flight: Flight) -> list[Flight]:
        """The flights of a flight's problem, in order of their start."""
        found, fresh = {flight: None}, [flight]
        for one in fresh:
            for other in (*one.contenders, *one.hidden):
                if other not in found:
                    found[other] = None
                    fresh.append(other)
        return sorted(found, key=in_order)

    def _solve(self, flight: Flight, now_ns: int) -> None:
        """Set the media of a flight's problem."""
        if not (flight.contenders or flight.hidden):
            self._look_at((flight,))
            sender = self._sender(flight, now_ns)
            self._apply_access(flight, sender, self._alone(sender, len(flight.receptions)))
            return
        together = self._flights_of_problem(flight)
        self._look_at(together)
        senders = {one: self._sender(one, now_ns) for one in together}
        index = {one: i for i, one in enumerate(senders)}
        contenders = [tuple(sorted([index[other] for other in one.contenders])) for one in senders]
        lost: tuple[tuple[tuple[float, ...], ...], ...] = ()
        if self._csma.capture or self._channel.sensitivity or self._distance_m is not None:
            pairs = zip(together, contenders, strict=True)
            of = [(one, [together[i] for i in heard]) for one, heard in pairs]
            lost = tuple([self._capture_losses(one, heard, now_ns) for one, heard in of])
            if not self._csma.capture and all(x == 1.0 for a in lost for row in a for x in row):
                lost = ()
        problem = ContentionProblem(
            tuple(senders.values()),
            tuple(contenders),
            lost,
            tuple([_hidden_senders(one, index) for one in together]),
            self._collision_waits(senders, now_ns),
        )
        found = list(zip(senders.items(), self._access(problem), strict=True))
        self._found |= {one: (sender, access) for (one, sender), access in found}
        for (one, sender), access in found:
            self._apply_access(one, sender, access)

    def _collision_waits(
        self, senders: Mapping[Flight, Sender], now_ns: int
    ) -> tuple[tuple[float, float], ...]:
        """Waits after collisions of others: see `ContentionProblem.held`."""
        mac = self._csma
        eifs_s = 0.0 if mac.eifs_s is None else max(0.0, mac.eifs_s - mac.difs_s)
        if len(senders) < 3 or not (mac.capture or eifs_s):
            return ()
        return tuple([self._collision_wait(one, s, eifs_s, now_ns) for one, s in senders.items()])

    def _collision_wait(
        self, flight: Flight, sender: Sender, eifs_s: float, now_ns: int
    ) -> tuple[float, float]:
        """Return how likely a sender finds one of two that collide, and its wait then [s].

        It waits for an EIFS where it does not decode that packet, and for its answer where it
        does, by mean SNRs and as if packets were its own.
        """
        others, mac = [(other.src, other.power_now) for other in flight.contenders], self._csma
        pairs = len(others) * (len(others) - 1) / 2
        if not pairs:
            return 0.0, 0.0
        key = flight.src, sender, frozenset(others)
        known = self._holds.get(key)
        if known is None:
            nodes, powers = (np.array(of) for of in zip(*others, strict=True))
            loud = np.sort(self._channel.loudness.at_all(flight.src, nodes, now_ns) * powers)
            preamble = PREAMBLE_SNR * (self._noise + loud)
            found, decoded = count_stronger_pairs(loud, preamble), 0
            if mac.capture:
                _, rate_bps = self._snr_and_rate(flight, now_ns)
                needed = self._half(flight.packet_bits, rate_bps)
                decoded = count_stronger_pairs(loud, np.maximum(preamble, needed * (1.0 + loud)))
            answer_s = mac.sifs_s + (sender.ack_s or 0.0)
            longer = decoded + (found - decoded if eifs_s else 0)
            total_s = decoded * answer_s + (found - decoded) * eifs_s
            known = round(longer / pairs * STEPS) / STEPS, round(total_s / max(1, longer), 7)
            if not self._channel.moving:
                self._holds[key] = known
        return known

    def _access_alone(self, sender: Sender, receptions: int) -> Access:
        """Return the access of a sender that has neither contenders nor hidden ones."""
        nobody: tuple[tuple[()], ...] = ((),) * receptions
        lost = (nobody,) if self._csma.capture else ()
        return self._access(ContentionProblem((sender,), ((),), lost, (nobody,)))[0]

    def _apply_access(self, flight: Flight, sender: Sender, access: Access) -> None:
        """Apply the effect of the other senders to a flight."""
        self._unsolved.pop(flight, None)
        self._found[flight] = sender, access
        if not access.settled:
            self._warnings.once(
                "contention",
                f"what {len(self._flights_of_problem(flight))} senders do to each other under "
                "csma was not "
                "found: the iteration ended before it converged, and its last values were taken. "
                "Delays and losses may be off; play it frame by frame (radio.fidelity = "
                '"packet")',
            )
        if self._set_medium(flight):
            self._touched[flight] = None
            self.set_share(flight, min(1.0, access.sent_s / access.attempt_s), self._on_air)

    def _sender(self, flight: Flight, now_ns: int) -> Sender:
        """A flight as a sender that always has a packet."""
        error = 0.0
        snr, rate_bps = self._snr_and_rate(flight, now_ns)
        if not flight.broadcast and rate_bps > 0.0:
            error = self._lost_anyway(flight, snr, rate_bps)
        frame_s, arq = self._frame_s(flight, rate_bps), self._radio.arq
        if flight.broadcast or not arq.acknowledged:
            return Sender(frame_s, None, False, 1, error)
        heard = flight not in self._asleep and flight.receptions[0].unreachable is None
        return self._csma.sender(frame_s, rate_bps, flight.packet_bits, arq.limit, error, heard)

    def _snr_and_rate(self, flight: Flight, now_ns: int) -> tuple[float, float]:
        """SNR at its first receiver, linear, and rate [bit/s] of a flight.

        The SNR is 0 where nobody listens, which only a broadcast can meet; its rate is known.
        """
        if flight.rate_bps is not None and not flight.receptions:
            return 0.0, flight.rate_bps
        link, channel = (flight.src, flight.receptions[0].tx.dst, now_ns), self._channel
        snr = channel.snr(*link) * flight.power_now
        known = channel.csi(*link)[0] if self._radio.rate.choice_delay_s else snr
        return snr, sending_rate_bps(flight, known, channel)

    def _frame_s(self, flight: Flight, rate_bps: float) -> float:
        """Time of a packet of a flight [s]."""
        return self._channel.attempt_ns(flight.packet_bits, rate_bps, ALONE) / NS_PER_S

    def _look_at(self, flights: Iterable[Flight]) -> None:
        """Bring up to date what flights meet beside the senders of their problem."""

    def _lost_anyway(self, flight: Flight, snr: float, rate_bps: float) -> float:
        """Probability that an attempt is lost without them."""
        raise NotImplementedError

    def _in_all(self, flight: Flight, losses: Sequence[float]) -> Sequence[float]:
        """Losses of each reception to these senders, and to others beside them."""
        return losses

    def _capture_losses(
        self, flight: Flight, contenders: Sequence[Flight], now_ns: int
    ) -> tuple[tuple[float, ...], ...]:
        """Probabilities of losing a packet to each contender's, of those that begin together."""
        return tuple(
            tuple([self._not_captured(flight, reception, other, now_ns) for other in contenders])
            for reception in flight.receptions
        )

    def _not_captured(self, at: Flight, reception: Reception, other: Flight, now_ns: int) -> float:
        """Probability of losing a packet to one that begins in the same slot, or its answer."""
        lost = self._slot_loss(at, reception, other, now_ns)
        if lost == 1.0 or at.broadcast or other.broadcast or not self._radio.arq.acknowledged:
            return lost
        receiver, theirs = reception.tx.dst, other.receptions[0]
        answers_too = 1.0 - self._slot_loss(other, theirs, at, now_ns)
        if answers_too == 0.0 or theirs.tx.dst == receiver:
            return lost
        channel, spoilt = self._channel, 1.0
        answer = channel.snr(receiver, at.src, now_ns)
        loudness = channel.snr(theirs.tx.dst, at.src, now_ns)
        judged = self._csma.capture or not self._detects(at.src, theirs.tx.dst, loudness, now_ns)
        if judged and answer >= PREAMBLE_SNR * (self._noise + loudness):
            _, rate_bps = self._snr_and_rate(at, now_ns)
            spoilt = self._error(answer / (1.0 + loudness), ACK_BITS, basic_rate_bps(rate_bps))
        return 1.0 - (1.0 - lost) * (1.0 - round(answers_too * spoilt * STEPS) / STEPS)

    def _slot_loss(self, at: Flight, reception: Reception, other: Flight, now_ns: int) -> float:
        """Probability of losing a packet to one that begins in the same slot."""
        receiver = reception.tx.dst
        if receiver == other.src:
            return 1.0
        loudness = self._channel.snr(other.src, receiver, now_ns) * other.power_now
        signal = self._channel.snr(at.src, receiver, now_ns) * at.power_now
        if signal < PREAMBLE_SNR * (self._noise + loudness):
            return 1.0
        if not self._csma.capture and self._notices(receiver, other, loudness, now_ns):
            return 1.0
        return self._lost_to(at, reception, loudness, now_ns)

    def _set_medium(self, flight: Flight) -> bool:
        """Set the medium of a flight and its receptions; return whether it has changed."""
        sender, access = self._found[flight]
        old, frame_ns = flight.medium, sender.packet_s * NS_PER_S
        losses = self._in_all(flight, access.losses)
        attempt_ns = access.attempt_s * NS_PER_S
        wait_ns = max(0.0, attempt_ns - frame_ns)
        # Where most fail by their RTS, an attempt is shorter than a packet.
        part = attempt_ns / frame_ns if attempt_ns < frame_ns else 1.0
        change_ns = wait_ns - old.wait_ns + frame_ns * (part - old.slowdown)
        differs = abs(change_ns) > SAME * (old.wait_ns + frame_ns * old.slowdown)
        for reception, loss in zip(flight.receptions, losses, strict=False):
            differs = differs or abs(loss - reception.medium.collision) > SAME
        if not differs:
            return False
        sent, most = access.sent_s / sender.packet_s if frame_ns else 1.0, max(losses)
        by_attempt = access.losses_with(losses[0])
        medium = flight.medium = Medium(part, wait_ns, most, sent, by_attempt=by_attempt)
        if self._listens:
            self._count_heard(flight)
        for reception, loss in zip(flight.receptions, losses, strict=False):
            reception.medium = medium if loss == most else medium._replace(collision=loss)
        return True

    def _count_heard(self, flight: Flight) -> None:
        """Set how much radios receive of what a flight's sender and receiver send."""
        sender, access = self._found[flight]
        found = np.ones(len(self._all))
        contenders = sorted(flight.contenders, key=in_order)
        for other, chance in zip(contenders, access.meets, strict=True):
            found *= 1.0 - chance * self._not_found(flight, other)[0]
        for other in flight.hidden:
            _, theirs = self._found[other]
            share = min(1.0, theirs.sent_s / theirs.attempt_s)
            on_air = share if access.late is None else access.late
            found *= 1.0 - on_air * self._not_found(flight, other)[1]
        flight.found, flight.answers = found, 0.0
        if sender.ack_s is not None and access.sent_s > 0.0:  # else its link has no rate now
            answers_s = sender.ack_s + sender.rts * self._csma.cts_s
            through = (1.0 - access.losses[0]) * (1.0 - sender.error)
            flight.answers = through * answers_s / access.sent_s

    def _not_found(self, flight: Flight, other: Flight) -> tuple[NDArray[np.bool_], ...]:
        """Nodes whose radios find no preamble of a flight's packet beside another one's.

        One finds, by mean SNRs, a preamble that is `PREAMBLE_SNR` over the other packet, and that
        of the earlier one in any case.

        Returns
        -------
        together, later : (nodes,) bool array
            Where both begin at once, and where the other one is on the air already.
        """
        key = flight.src, flight.power_now, other.src, other.power_now
        known = self._drowned.get(key)
        if known is None:
            now_ns, channel = max(flight.begins_ns, other.begins_ns), self._channel
            of, beside = (
                channel.loudness.of_all(one.src, self._all, now_ns) * one.power_now
                for one in (flight, other)
            )
            together = of < PREAMBLE_SNR * beside
            together[other.src] = True
            later = together.copy()
            nodes = range(len(self._all))
            later[self.noticing_nodes(other.src, nodes, now_ns, other.power_now)] = True
            known = together, later
            if not channel.moving:
                self._drowned[key] = known
        return known


def _hidden_senders(flight: Flight, index: Mapping[Flight, int]) -> tuple[tuple[Hidden, ...], ...]:
    """Senders hidden from each reception of a flight, and how they are hidden."""
    return tuple(
        [
            tuple([Hidden(index[other], *how) for other, how in reception.hidden.items()])
            for reception in flight.receptions
        ]
    )
