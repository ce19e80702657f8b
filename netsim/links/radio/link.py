"""The radio link: half-duplex radios, fading channels, messages sampled as a whole.

The life of a message, in the order of `RadioLink`'s methods:

1. Admission (`unicast`, `broadcast`, `admission.RadioQueue`). A unicast starts when the radios of
   both ends are free, and takes both. A broadcast takes its sender's radio and that of every
   receiver that is free; one that is busy or asleep misses it. Those of one instant come in a
   random order (`arrivals.Arrivals`). Where senders share the medium packet by packet
   (`Mac.exclusive` is false), a message takes its sender's radio only.
2. Flight (`_start`). `receivers.Receivers` says who listens from when on,
   `interference.Interference` what it and the other flights do to each other.
3. Attempts. `message_level`, `packet_level` or `frame_level` samples them, and calls `_end` when
   the flight is over. Where other flights come or go meanwhile, it goes on under other conditions
   (`_settle`); `frame_level` sees to that itself.
4. Outcome (`_end`): a `Report` for each receiver; its radios are free, and what waits starts.
5. Accounting: airtime and bits, by `energy_accounting.EnergyAccounting`, whenever they are known.
6. Delivery (`_deliver`): after its propagation `PhysicalLink.finish` logs it, and calls `done`.

A message whose time to live, patience or contact ends while it waits is given up (`_give_up`). A
flight is cut short when a node is switched off or a contact ends (`switched`, `_lose_contact`).
What several nodes send at once (`OverTheAir`) is `superposition.Superposition`'s; what goes by
relays is `relaying.Relaying`'s, hop by hop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from netsim.channels.mac import ALONE
from netsim.clock import LAST, then
from netsim.links.link import (
    ARRIVED,
    BUSY,
    DEADLINE,
    OFF,
    OUTAGE,
    WITHDRAWN,
    Report,
    Transmission,
)
from netsim.links.radio.admission import QueuedMessage
from netsim.links.radio.cells import Cells
from netsim.links.radio.changing_contention import ChangingContention
from netsim.links.radio.flight import Flight, Reception
from netsim.links.radio.interference import Interference
from netsim.links.radio.random_access import PLAYED
from netsim.links.radio.repeated_broadcast import BroadcastRounds
from netsim.links.radio.setup import RadioSetup
from netsim.links.radio.slot_interference import SlotInterference
from netsim.units import NS_PER_S, SPEED_OF_LIGHT_M_PER_S, to_ns


class RadioLink(RadioSetup):
    """One half-duplex radio a node, as the table `[radio]` describes it."""

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        if self._relaying is None:
            return self._channel.in_reach(src, others, self.env.now)
        routes, now = self._relaying.routes, self.env.now
        return [j for j in others if routes.way(src, j, now)]

    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        channel, now = self._channel, self.env.now
        hops = [(src, dst) for src in senders]
        if self._relaying is not None:
            ways = [self._relaying.routes.way(src, dst, now) for src in senders]
            hops = [hop for way in ways for hop in pairwise(way)]
        packets, packet_bits = self._packets(bits)
        total_ns = 0.0
        for src, to in hops:  # one after the other: the receiver has one radio
            rate_bps = channel.mean_rate_bps(src, to, now)
            if rate_bps > 0:
                total_ns += packets * channel.attempt_ns(packet_bits, rate_bps, ALONE)
        return total_ns / NS_PER_S

    def airtime_ahead_ns(self, now_ns: int) -> int:
        return sum(self._accounting.airtime_ahead_ns(flight, now_ns) for flight in self._flights)

    # -- 1. admission ----------------------------------------------------------------------------

    def unicast(self, tx: Transmission) -> None:
        if self._relaying is not None and self._relaying.takes(tx):
            return
        self._in_flight += 1
        group: Sequence[Transmission] = (tx,)
        if self.meetings is None or (group := self.in_contact(group)):
            if tx.envelope.message.over_the_air:
                self._superposition.add(tx)
            else:
                other = tx.dst if self._exclusive else tx.src
                self._come(QueuedMessage(group, (tx.src, other), broadcast=False))

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self._in_flight += len(group)
        src, group = group[0].src, self.in_contact(group)
        if group:
            self._come(QueuedMessage(group, (src, src), broadcast=True))

    def _come(self, message: QueuedMessage) -> None:
        """Admit a message, with all that come at this instant where they may need one radio."""
        if self._exclusive:
            src = message.radios[0]
            self._arrivals.add(src, (src, *(tx.dst for tx in message.group)), message)
        else:
            self._admit(message)

    def _admit(self, message: QueuedMessage) -> None:
        """Start a message, or let it wait for its radios; refuse it where too many wait."""
        if message.left_queue:
            return
        first = message.group[0]
        if self._queue.can_start(message):
            self._start(message)
            return
        if self._queue.is_full(first.src):
            self.env.after(0, self._give_up, message, BUSY)
            return
        self._queue.add(message)
        longest_ns = self.longest_wait_ns(first)
        if longest_ns is not None:
            self.env.after(longest_ns, self._give_up, message, DEADLINE)
        contact_ns = self.contact_ns(first)
        if contact_ns is not None and not message.broadcast:
            self.env.after(contact_ns, self._give_up, message, OUTAGE)

    def withdraw(self, src: int, kind: type) -> int:
        waiting = [
            message
            for message in self._waiting_from(src)
            if message.rounds is None and isinstance(message.group[0].envelope.message, kind)
        ]
        for message in waiting:
            self._give_up(message, WITHDRAWN)
        return sum(len(message.group) for message in waiting)

    def _waiting_from(self, src: int) -> list[QueuedMessage]:
        """The messages of a sender that have not started, oldest first."""
        come = [message for message in self._arrivals.of(src) if not message.left_queue]
        return [*self._queue.waiting_from(src), *come]

    def _give_up(self, message: QueuedMessage, outcome: str) -> None:
        """End a message that has not started, unless that has been done."""
        if not message.left_queue:
            message.left_queue = True
            for tx in message.group:
                if message.rounds is None:
                    self.finish(tx, outcome, attempts=0)
                else:
                    self._deliver(*message.rounds.given_up(tx, outcome))

    def _release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""
        for message in self._queue.release(radios):
            self._start(message)
        self._superposition.retry()

    # -- 2. flight -------------------------------------------------------------------------------

    def _start(self, message: QueuedMessage) -> None:
        """Put a message whose radios are free on the air."""
        group = message.group
        first, now = group[0], self.env.now
        src = first.src
        deadline_ns = None if self.ttl_ns is None else first.envelope.sent_ns + self.ttl_ns
        if deadline_ns is not None and deadline_ns < now:
            deadline_ns = now
        packets, packet_bits = self._packets(first.envelope.bits)
        rounds = message.rounds
        if rounds is not None:
            packets, packet_bits = len(rounds.sending), rounds.packet_bits
        elif self._rounds > 1 and message.broadcast and first.envelope.request is None:
            rounds = BroadcastRounds(group, packets, packet_bits, self._rounds, self._feedback_bits)
        begins_ns = now + self._mac.wait_ns(self._slot_of[src], self._slots, now)
        one_by_one = self._one_by_one
        played = one_by_one is not None and (
            packets <= PLAYED or self._mac.plays_all or self._sampler is one_by_one
        )
        if one_by_one is not None and not played:
            begins_ns = self._first_slot_ns(group, packet_bits, begins_ns)
        rate_bps: float | None = None
        missed: list[Report] = []
        power = 1.0
        if self._channel.power.at_work:
            power = self._channel.power.over_full(src, [tx.dst for tx in group], now)
        if message.broadcast:
            rate_bps, receptions, missed = self._receivers.of_broadcast(group, begins_ns, power)
        else:
            receptions = [self._receivers.of_unicast(first, begins_ns)]
        radios = [] if src in self._base_stations else [src]
        if self._exclusive:
            radios += [r.tx.dst for r in receptions if r.unreachable is None]
        flight = Flight(
            src, radios, receptions, packets, packet_bits, begins_ns, deadline_ns, rate_bps, missed
        )
        flight.power = flight.power_now = power
        flight.sampler, flight.overhead_ns = self._sampler, self._channel.overhead_ns(packet_bits)
        if played:
            flight.sampler, flight.played = one_by_one, True
        if rounds is not None:
            flight.repeated, self._in_rounds[flight] = True, rounds
        if self._adaptation is not None and not message.broadcast:
            attempt_ns = partial(self._channel.attempt_ns, packet_bits, medium=ALONE)
            flight.expected_bps = self._adaptation.best_bps(src, first.dst, attempt_ns)
        for radio in radios:
            self._queue.free[radio] = False
        flight.turns = self._turns
        if not self._alone and (self._interference is None or self._turns is not None):
            flight.medium = self._medium
            for reception in receptions:
                reception.medium = self._medium
        if begins_ns > now and isinstance(self._interference, SlotInterference):
            # Last of its instant: those whose slot it was have ended.
            then(self.env.due(begins_ns - now, LAST), partial(self._join_in_slot, flight))
        elif self._interference is not None:
            self._interference.join(flight, self._flights, now)
        if rounds is not None and rounds.feedback_bits and rate_bps:
            told_ns = self._channel.attempt_ns(rounds.feedback_bits, rate_bps, flight.medium)
            flight.feedback_ns = round(told_ns * len(receptions))
        self._flights[flight] = None
        flight.sampler.begin(flight)
        self._accounting.airtime(flight, flight.ends_ns)
        if self._interference is not None and not self._ending:
            self._settle(self._interference)
        if self.meetings is not None:
            for reception in receptions:
                # Last of its instant: what arrives at that very moment has arrived.
                left_ns = self.contact_ns(reception.tx) or 0
                then(self.env.due(left_ns, LAST), partial(self._lose_contact, flight, reception))

    def _first_slot_ns(self, group: Sequence[Transmission], packet_bits: int, ready_ns: int) -> int:
        """Begin of a message whose packets are not played one by one: now, or in a slot [ns]."""
        channel = self._channel
        rates_bps = [channel.mean_rate_bps(tx.src, tx.dst, ready_ns) for tx in group]
        rate_bps = min((rate for rate in rates_bps if rate > 0), default=0.0)
        if not rate_bps:
            return ready_ns
        packet_ns = channel.attempt_ns(packet_bits, rate_bps, ALONE)
        begins_ns: float = self._mac.begins_ns(ready_ns, packet_ns, 0.0)
        return round(begins_ns)

    # -- 3. attempts, when other flights come or go ----------------------------------------------

    def _goes_on(self, flight: Flight) -> None:
        self._accounting.airtime(flight, flight.ends_ns)

    def _settle(self, interference: Interference | Cells) -> None:
        """Let flights go on under the conditions that they meet from now on."""
        changed = interference.settle(self.env.now)
        for flights, worse in ((changed.at_once, True), (changed.after, False)):
            for flight in flights:
                planned = flight.ends_ns > flight.begins_ns  # else airtime is counted at the end
                if planned:
                    self._accounting.airtime(flight, self.env.now)
                flight.sampler.change(flight, worse)
                if planned:
                    self._accounting.airtime(flight, flight.ends_ns)
        if isinstance(interference, ChangingContention) and not self._look_planned:
            at_ns = interference.next_look_ns(self.env.now) if self._flights else None
            if at_ns is not None:
                self._look_planned = True
                self.env.after(at_ns - self.env.now, self._look_again)

    def _join_in_slot(self, flight: Flight, _: object) -> None:
        """Let a flight that has waited for its slot interfere, if it has not ended."""
        interference = self._interference
        if flight in self._flights and isinstance(interference, SlotInterference):
            interference.join_late(flight, self._flights, self.env.now)
            self._settle(interference)

    def _look_again(self) -> None:
        """Let links that have changed matter for those on the air."""
        self._look_planned, contention = False, self._interference
        if isinstance(contention, ChangingContention):
            contention.look_again(self.env.now)
            self._settle(contention)

    # -- 4. outcome ------------------------------------------------------------------------------

    def _end(self, flight: Flight, leg: int, cut: bool = False) -> None:
        """End a flight, `cut` before its planned end; nothing happens if it is in a later leg."""
        if leg != flight.leg:
            return
        del self._flights[flight]
        self._accounting.airtime(flight, self.env.now)
        for told in self.flights_ended:
            told(flight)
        reports = [self._report(flight, reception, cut) for reception in flight.receptions]
        bits = self._accounting.bits(flight, reports, cut)
        self.count_transmitted(flight.src, bits)
        missed, rounds = flight.missed, self._in_rounds.pop(flight, None)
        if rounds is not None:
            if flight.feedback_ns and not (cut or flight.expired):
                for reception in flight.receptions:
                    self.count_transmitted(reception.tx.dst, rounds.feedback_bits)
                    bits += rounds.feedback_bits
            reports, bits = rounds.after(flight, reports, bits, cut)
            missed = ()
        if self._overhears:
            noticing = self._channel.noticing(
                flight.src, range(self._nodes), flight.begins_ns, flight.power_now
            )
            at_once = self._flights if self._exclusive else None
            self._accounting.overheard(flight, noticing, at_once)
        interference = self._interference
        if interference is not None:
            interference.leave(flight, self._flights)
        flight.leg += 1
        self._ending += 1
        for report in (*reports, *missed):
            self._deliver(report, bits)
            bits = 0  # one row of the log has them
        self._release(flight.radios)
        if rounds is not None and rounds.lacking:
            self._next_round(flight.src, rounds)
        self._ending -= 1
        if interference is not None and not self._ending:  # with what has begun meanwhile
            self._settle(interference)

    def _next_round(self, src: int, rounds: BroadcastRounds) -> None:
        """Send what receivers of a broadcast lack."""
        group = self.in_contact(rounds.lacking)
        if group:
            self._admit(QueuedMessage(group, (src, src), broadcast=True, rounds=rounds))

    def _report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        return reception.predetermined or flight.sampler.report(flight, reception, cut)

    # -- 6. delivery -----------------------------------------------------------------------------

    def _deliver(self, report: Report, bits: int = 0) -> None:
        """Finish a transmission: at once, or after its propagation, which holds up no radio."""
        tx = report[0]
        if self._distance_m is None or report[1] not in ARRIVED:
            self.finish(*report, bits)
            return
        distance_m = self._distance_m(tx.src, tx.dst, self.env.now)
        self.env.after(to_ns(distance_m / SPEED_OF_LIGHT_M_PER_S), self.finish, *report, bits)

    # -- flights cut short -----------------------------------------------------------------------

    def switched(self, node: int, on: bool) -> None:
        """End, as `off`, what a node sends and receives when it has been switched off."""
        if on:
            return
        self._superposition.drop(node)
        for message in self._waiting_from(node):
            self._give_up(message, OFF)
        for flight in list(self._flights):
            if flight not in self._flights:
                continue  # what was told of another has ended it
            at_node = [r for r in flight.receptions if r.tx.dst == node and not r.unreachable]
            if flight.src == node or (at_node and not flight.broadcast):
                self._cut(flight, OFF)
            elif at_node:
                self._drop_receiver(flight, at_node[0], OFF)
        if self._frames is not None:
            self._frames.switch_off(node)

    def _lose_contact(self, flight: Flight, reception: Reception, _: object) -> None:
        """End a reception whose two ends lose contact, if it has not ended."""
        if flight not in self._flights or reception not in flight.receptions:
            return
        if flight.broadcast:
            self._drop_receiver(flight, reception, OUTAGE)
        else:
            self._cut(flight, OUTAGE)

    def _cut(self, flight: Flight, outcome: str) -> None:
        """End a flight before its planned end; until now its receivers have listened."""
        self._accounting.airtime(flight, self.env.now)
        for reception in flight.receptions:
            reception.unreachable = reception.unreachable or outcome
        if self._frames is not None:
            self._frames.stop(flight)
        self._end(flight, flight.leg, cut=True)

    def _drop_receiver(self, flight: Flight, reception: Reception, outcome: str) -> None:
        """End a broadcast at one receiver; the others listen on."""
        reception.unreachable = outcome
        report = self._report(flight, reception, cut=True)
        flight.receptions.remove(reception)
        self._accounting.receiver_leaves(flight, reception, self.env.now)
        rounds = self._in_rounds.get(flight)
        if rounds is None:
            self._deliver(report)
        else:
            rounds.count(reception, report)
            self._deliver(*rounds.given_up(reception.tx, outcome))
        if reception.tx.dst in flight.radios:
            flight.radios.remove(reception.tx.dst)
            self._release([reception.tx.dst])
