"""The radio link: half-duplex radios, fading channels, messages sampled as a whole.

The life of a message, in the order of `RadioLink`'s methods:

1. Admission (`unicast`, `broadcast`, `admission.RadioQueue`). A unicast starts when the radios of
   both ends are free, and takes both. A broadcast takes its sender's radio and that of every
   receiver that is free; one that is busy or asleep misses it. Those of one instant come in a
   random order (`arrivals.Arrivals`). Where senders share the medium packet by packet
   (`Mac.exclusive` is false), a message takes its sender's radio only.
2. Flight (`_start`). `admission.Receivers` says who listens from when on,
   `interference.Interference` what it and the other flights do to each other.
3. Attempts. `message_level`, `packet_level` or `frame_level` samples them and calls `_end` at the
   flight's end; where others come or go meanwhile, under other conditions (`_settle`).
4. Outcome (`_end`): a `Report` for each receiver; its radios are free, and what waits starts.
5. Accounting: airtime and bits, by `accounting.energy.EnergyAccounting`, whenever they are known.
6. Delivery (`_deliver`): after its propagation `PhysicalLink.finish` logs it, and calls `done`.

A message whose time to live, patience or contact ends while it waits is given up (`_give_up`). A
flight is cut short when a node is switched off or a contact ends (`on_switch`, `_lose_contact`).
`superposition.Superposition` sends what several nodes send at once, `relaying.Relaying` by relays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from itertools import pairwise, starmap

from netsim.channels.mac import ALONE, Mac
from netsim.channels.rate.minstrel import Minstrel
from netsim.channels.sleep import Rhythm
from netsim.clock import LAST, Clock, add_callback
from netsim.devices.energy.meter import EnergyMeter
from netsim.links.arrivals import Arrivals
from netsim.links.link import (
    BUSY,
    DEADLINE,
    OFF,
    OUTAGE,
    WITHDRAWN,
    PhysicalLink,
    Report,
    Transmission,
)
from netsim.links.radio.accounting.energy import EnergyAccounting
from netsim.links.radio.mac import channel_access
from netsim.links.radio.mac.admission import QueuedMessage, RadioQueue, Receivers
from netsim.links.radio.mac.allocation import Allocation, require_cells
from netsim.links.radio.mac.cells import Cells
from netsim.links.radio.mac.contention import Contention
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.interference import Interference
from netsim.links.radio.mac.random_access import PLAYED, OnAir
from netsim.links.radio.mac.rate_adaptation import RateAdaptation
from netsim.links.radio.mac.repeated_broadcast import BroadcastRounds
from netsim.links.radio.mac.slot_interference import SlotInterference
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.relaying import Relaying, is_others
from netsim.links.radio.routes import Routes
from netsim.links.radio.superposition import Superposition
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.traces.contacts import Meetings
from netsim.units import NS_PER_S, SPEED_OF_LIGHT_M_PER_S, to_ns


class RadioLink(PhysicalLink):
    """One half-duplex radio per node, as the table `[radio]` describes it.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget
        Powers, mean SNRs and threshold.
    last_wakeup : callable
        (node, time in ns) -> (time in ns, number) of its last wake-up; see `RadioChannel`.
    env : Clock
    recorder : Recorder
    streams : Streams
    meter : EnergyMeter
        Is told what the radios do.
    off : set of int
        Nodes that are switched off.
    meetings : Meetings or None
        When pairs are in contact; None: always.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    base_stations, wired : set of int
        Those that send several messages at a time, where `mac` has them; those on wires alone.
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        env: Clock,
        recorder: Recorder,
        streams: Streams,
        meter: EnergyMeter,
        off: AbstractSet[int] = frozenset(),
        meetings: Meetings | None = None,
        distance_m: Callable[[int, int, int], float] | None = None,
        rhythms: Sequence[Rhythm | None] = (),
        base_stations: AbstractSet[int] = frozenset(),
        wired: AbstractSet[int] = frozenset(),
    ) -> None:
        nodes = self._nodes = len(budget.tx_power_w)
        super().__init__(env, recorder, nodes, None, off, meetings)
        self._streams, self._meter, self._last_wakeup = streams, meter, last_wakeup
        self._distance_of_pair_m, self._rhythms = distance_m, rhythms
        self._servers, self._wired = base_stations, wired
        self._serial: dict[tuple[int, int], int] = {}
        self._queue = RadioQueue(nodes, radio.queue_limit)
        self._arrivals = Arrivals(env, streams, self._admit)
        self._in_rounds: dict[Flight, BroadcastRounds] = {}
        self._accounting = EnergyAccounting(recorder, meter)
        self._adaptation: RateAdaptation | None = None
        self._relaying: Relaying | None = None
        self._interference: Interference | Cells | None = None
        self._look_ns: int | None = None  # when contention is looked at again
        self._packets_on_air = OnAir()
        self._ending = 0  # how many flights are being ended
        self._flights: dict[Flight, None] = {}  # on the air, in order of their start
        self.flights_ended: list[Callable[[Flight], object]] = []  # told of each one that ends
        self._superposition: Superposition | None = None  # until something is sent over the air
        self._set_radio(radio, budget)

    # -- the table -------------------------------------------------------------------------------

    def _set_radio(self, radio: Radio, budget: LinkBudget) -> None:
        """Send by a table from now on."""
        self._radio = radio
        env, streams, off, nodes = self.env, self._streams, self.off, self._nodes
        distance_m, meter = self._distance_of_pair_m, self._meter
        self.ttl_ns = to_ns(radio.ttl_s) if radio.ttl_s else None
        self.acknowledged, self.control_bits = radio.arq.acknowledged, radio.control_bits
        self.discovery, self.probe_window_s = radio.discovery, radio.probe_window_s
        mac = self._mac = radio.mac
        self._takes_turns, self._exclusive = type(mac).wait_ns is not Mac.wait_ns, mac.exclusive
        self._packets = lru_cache(maxsize=64)(radio.packets)
        self.broadcast_acknowledged = radio.broadcast.rounds > 1
        self._rounds, self._feedback_bits = radio.broadcast.rounds, radio.broadcast.feedback
        channel = self._channel = RadioChannel(radio, budget, self._last_wakeup, streams)
        self._queue.limit = radio.queue_limit
        self._free = self._queue.free if mac.exclusive else None
        self._receivers = Receivers(
            channel, radio.packets, off, self._free, self._rhythms, self._serial
        )
        self._base_stations = self._servers if mac.has_base_stations else frozenset()
        self._slot_of, self._slots = channel_access.slots(
            mac, [i for i in range(nodes) if i not in self._wired], distance_m, streams
        )
        self._interference = channel_access.interference_of(
            radio, channel, nodes, distance_m, self._servers, streams, self._slot_of, meter.listens,
            self.recorder.warnings,
        )  # fmt: skip
        self._medium = mac.medium(1, self._slots)  # of every attempt, unless senders contend
        self._alone, self._turns = self._medium == ALONE, mac.turns(self._slots)
        self._adaptation = None
        if isinstance(radio.rate, Minstrel):
            self._adaptation = RateAdaptation(radio.rate, radio.bandwidth_hz, streams)
        if mac.random_access:
            self._packets_on_air.set_mac(mac, nodes, streams, channel.heard_dbm)
            if self._packets_on_air.end not in self.flights_ended:
                self.flights_ended.insert(0, self._packets_on_air.end)
        self._sampler, self._one_by_one, self._frames = channel_access.samplers_of(
            radio, budget, channel, env, streams, self._end, off, self._rhythms, distance_m,
            self.recorder, meter, self._packets_on_air, self._accounting.to_end,
            self._accounting.set_transmit_share, self._adaptation,
        )  # fmt: skip
        each = self._sampler is self._one_by_one
        self._plays_all = each or mac.plays_all or channel.may_be_silent
        if not mac.exclusive:  # radios are told to do several things at once
            meter.in_one_state(self._oldest_ns)
        apart = None if self.meetings is None else self.are_apart
        routes = Routes(radio, budget, channel, nodes, off, apart, self._wired)
        self._relaying = Relaying.from_routes(routes, radio, self, self._relaying)
        self._overhears = mac.one_channel and meter.listens and self._frames is None
        self._distance_m = distance_m if radio.propagation_delay else None

    def _oldest_ns(self) -> int:
        """Time at which the oldest flight on the air began [ns]."""
        return min((flight.begins_ns for flight in self._flights), default=self.env.now)

    def set_radio(self, radio: Radio, budget: LinkBudget, over_full: Sequence[float] = ()) -> None:
        """Send by another table from now on.

        What is on the air keeps the power, rate, channel and packets that it began with, leaves its
        slots where the new table has none, and meets those who contend and interfere from now on;
        what waits for a radio is sent by the new table.

        Parameters
        ----------
        radio : Radio
            Its messages are not played frame by frame, neither now nor until now.
        budget : LinkBudget
        over_full : sequence of float
            By node, its full transmit power until now over the new one; empty: no power changes.
        """
        adaptation, interference, exclusive = self._adaptation, self._interference, self._exclusive
        self._set_radio(radio, budget)
        if self._adaptation is not None and adaptation is not None:
            self._adaptation.learn_from(adaptation)
        if self._superposition is not None:
            self._superposition.set_radio(radio, self._channel, self._free, self.ttl_ns)
        now, medium, flights = self.env.now, self._interference, self._flights
        for flight in flights if over_full else ():
            flight.power_now *= over_full[flight.src]
        airtime = self._accounting.count_airtime
        channel_access.leave_slots(flights, self._turns, airtime, self.recorder, now)
        alike = type(medium) is type(interference)
        if not (alike and (medium is None or medium.goes_on_from(interference))):  # type: ignore[arg-type]
            self._settle(channel_access.Rejoined(medium, flights, now))
            if medium is not None:
                self._settle(medium)
        if self._exclusive is not exclusive:
            for message in self._queue.change_needs(self._exclusive, flights):
                self._start(message)

    def is_asleep(self, node: int) -> bool:
        now, rhythm = self.env.now, self._rhythms[node] if self._rhythms else None
        return rhythm is not None and rhythm.wakes_ns(now) > now

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        if self._relaying is None:
            return self._channel.in_reach(src, others, self.env.now)
        routes, now, most = self._relaying.routes, self.env.now, self._radio.routing.max_hops
        return [j for j in others if 1 < len(routes.path(src, j, now)) <= most + 1]

    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        channel, now = self._channel, self.env.now
        ways: list[Sequence[int]] = [(src, dst) for src in senders]
        if self._relaying is not None:
            ways = [self._relaying.routes.path(src, dst, now) for src in senders]
        hops = [hop for way in ways for hop in pairwise(way)]
        packets, packet_bits = self._packets(bits)
        # One after the other: the receiver has one radio.
        rates = [channel.mean_rate_bps(*hop, now) for hop in hops]
        sent_ns = sum(packets * channel.attempt_ns(packet_bits, r, ALONE) for r in rates)
        on_way_ns = [sum(starmap(self.propagation_ns, pairwise(way))) for way in ways]
        return (sent_ns + max(on_way_ns, default=0)) / NS_PER_S

    def csi(self, src: int, dst: int) -> tuple[float, float]:
        return self._channel.csi(src, dst, self.env.now)

    def waiting(self, src: int) -> int:
        held = 0 if self._superposition is None else self._superposition.num_waiting(src)
        return held + sum(len(message.group) for message in self._waiting_from(src))

    @property
    def cells(self) -> Cells:
        assert isinstance(self._interference, Cells)
        return self._interference

    def allocate(
        self,
        base_station: int,
        uplink: bool,
        shares: Mapping[int, float] | None,
        powers: Mapping[int, float],
    ) -> None:
        require_cells(self._radio)
        allocation = None if shares is None else Allocation(shares, powers)
        self.cells.allocate(base_station, uplink, allocation)
        if not self._ending:
            self._settle(self.cells)

    def airtime_ahead_ns(self, now_ns: int) -> int:
        return sum(self._accounting.airtime_ahead_ns(flight, now_ns) for flight in self._flights)

    # -- 1. admission ----------------------------------------------------------------------------

    def unicast(self, tx: Transmission) -> None:
        if self._relaying is not None and self._relaying.begin_journey(tx):
            return
        self._in_flight += 1
        group: Sequence[Transmission] = (tx,)
        if self.meetings is None or (group := self.in_contact(group)):
            if tx.envelope.message.over_the_air:
                self._over_the_air().add(tx)
            else:
                other = tx.dst if self._exclusive else tx.src
                self._accept(QueuedMessage(group, (tx.src, other), broadcast=False))

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self._in_flight += len(group)
        src = group[0].src
        if group := self.in_contact(group):
            self._accept(QueuedMessage(group, (src, src), broadcast=True))

    def _accept(self, message: QueuedMessage) -> None:
        """Admit a message, with all that come at this instant where they may need one radio."""
        if self._exclusive:
            needs: tuple[int, ...] = message.radios
            if message.broadcast:
                needs = (needs[0], *[tx.dst for tx in message.group])
            self._arrivals.add(needs[0], needs, message)
        else:
            self._admit(message)

    def _admit(self, message: QueuedMessage) -> None:
        """Start a message, or let it wait for its radios; refuse it where too many wait."""
        if message.left_queue:
            return
        first = message.group[0]
        if all([self._queue.free[radio] for radio in message.radios]):
            self._start(message)
            return
        if self._queue.is_full(first.src):
            self.env.call_after(0, self._give_up, message, BUSY)
            return
        self._queue.add(message)
        if (longest_ns := self.may_wait_ns(first)) is not None:
            self.env.call_after(longest_ns, self._give_up, message, DEADLINE)
        if not message.broadcast and (contact_ns := self.contact_ns(first)) is not None:
            self.env.call_after(contact_ns, self._give_up, message, OUTAGE)

    def withdraw(self, src: int, kind: type) -> int:
        own = [one for one in self._waiting_from(src) if not is_others(one.group[0])]
        waiting = [
            message
            for message in own
            if message.rounds is None and isinstance(message.group[0].envelope.message, kind)
        ]
        for message in waiting:
            self._give_up(message, WITHDRAWN)
        held = 0 if self._superposition is None else self._superposition.withdraw(src, kind)
        return held + sum(len(message.group) for message in waiting)

    def _waiting_from(self, src: int) -> list[QueuedMessage]:
        """Return the messages of a sender that have not started, oldest first."""
        come = [message for message in self._arrivals.waiting(src) if not message.left_queue]
        return [*self._queue.waiting_from(src), *come]

    def _give_up(self, message: QueuedMessage, outcome: str) -> None:
        """End a message that has not started, unless that has been done."""
        if message.left_queue:
            return
        message.left_queue, rounds = True, message.rounds
        for tx in message.group:
            unsent: tuple[Report, int] = (tx, outcome, 0, 0, None, None), 0
            self._deliver(*(unsent if rounds is None else rounds.given_up(tx, outcome)))

    def _release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""
        for message in self._queue.release(radios):
            self._start(message)
        over_the_air = self._superposition
        if over_the_air is not None and over_the_air.is_due:
            over_the_air.retry()

    def _over_the_air(self) -> Superposition:
        """The part that sends what several nodes send at once, made when it is first needed."""
        if self._superposition is None:
            self._superposition = Superposition(
                self, self._radio, self._channel, self._meter, self._free, self._release,
                self._streams,
            )  # fmt: skip
        return self._superposition

    # -- 2. flight -------------------------------------------------------------------------------

    def _start(self, message: QueuedMessage) -> None:
        """Put a message whose radios are free on the air."""
        group, first, now = message.group, message.group[0], self.env.now
        src, deadline_ns = first.src, None if self.ttl_ns is None else self.deadline_ns(first)
        (packets, packet_bits), rounds = self._packets(first.envelope.bits), message.rounds
        if rounds is not None:
            packets, packet_bits = len(rounds.sending), rounds.packet_bits
        elif self._rounds > 1 and message.broadcast and first.envelope.request is None:
            rounds = BroadcastRounds(group, packets, packet_bits, self._rounds, self._feedback_bits)
        overhead_ns, begins_ns = self._channel.overhead_ns(packet_bits), now
        if self._takes_turns:
            begins_ns += self._mac.wait_ns(self._slot_of[src], self._slots, now)
        one_by_one = self._one_by_one
        played = one_by_one is not None and (packets <= PLAYED or self._plays_all)
        if one_by_one is not None and not played:
            begins_ns = self._packets_on_air.first_slot_ns(
                self._channel, group, packet_bits, begins_ns
            )
        rate_bps: float | None = None
        missed: list[Report] = []
        power = 1.0
        if self._channel.power.at_work:
            power = self._channel.power.over_full(src, [tx.dst for tx in group], now)
        if isinstance(self._interference, Cells):
            power *= self._interference.power_factor(src, [tx.dst for tx in group])
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
        flight.sampler = one_by_one if played else self._sampler
        flight.played, flight.overhead_ns = played, overhead_ns
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
            slot_begins = self.env.event_after(begins_ns - now, LAST)
            add_callback(slot_begins, partial(self._join_in_slot, flight))
        elif self._interference is not None:
            self._interference.join(flight, self._flights, now)
        if rounds is not None and rounds.feedback_bits and rate_bps:
            told_ns = self._channel.attempt_ns(rounds.feedback_bits, rate_bps, flight.medium)
            flight.feedback_ns = round(told_ns * len(receptions))
        self._flights[flight] = None
        flight.sampler.begin(flight)
        self._accounting.count_airtime(flight, flight.ends_ns)
        if self._interference is not None and not self._ending:
            self._settle(self._interference)
        if self.meetings is not None:
            for reception in receptions:
                # Last of its instant: what arrives at that very moment has arrived.
                contact_ends = self.env.event_after(self.contact_ns(reception.tx) or 0, LAST)
                add_callback(contact_ends, partial(self._lose_contact, flight, reception))

    # -- 3. attempts, when other flights come or go ----------------------------------------------

    def _settle(self, interference: Interference | Cells | channel_access.Rejoined) -> None:
        """Let flights go on under the conditions that they meet from now on."""
        changed = interference.settle(self.env.now)
        for flights, worse in ((changed.at_once, True), (changed.after, False)):
            for flight in flights:
                planned = flight.ends_ns > flight.begins_ns  # frames are counted one by one
                if planned:
                    self._accounting.count_airtime(flight, self.env.now)
                flight.sampler.change(flight, worse)
                if planned:
                    self._accounting.count_airtime(flight, flight.ends_ns)
        if isinstance(interference, Contention) and self._flights:
            at_ns = interference.next_look_ns(self.env.now)
            if at_ns is not None and (self._look_ns is None or at_ns < self._look_ns):
                self._look_ns = at_ns
                self.env.call_after(at_ns - self.env.now, self._look_again, at_ns)

    def _join_in_slot(self, flight: Flight, _: object) -> None:
        """Let a flight that has waited for its slot interfere, if it has not ended."""
        interference = self._interference
        if flight in self._flights and isinstance(interference, SlotInterference):
            interference.join_late(flight, self._flights, self.env.now)
            self._settle(interference)

    def _look_again(self, at_ns: int) -> None:
        """Let what has changed matter for those on the air, unless that was planned earlier."""
        if at_ns == self._look_ns:
            self._look_ns, contention = None, self._interference
            if isinstance(contention, Contention):
                contention.look_again(self.env.now)
                self._settle(contention)

    # -- 4. outcome ------------------------------------------------------------------------------

    def _end(self, flight: Flight, leg: int, cut: bool = False) -> None:
        """End a flight, `cut` before its planned end; nothing happens if it is in a later leg."""
        if leg != flight.leg:
            return
        del self._flights[flight]
        if flight.accounted_to_ns != self.env.now:
            self._accounting.count_airtime(flight, self.env.now)
        for listener in self.flights_ended:
            listener(flight)
        fate = flight.sampler.report
        reports: list[Report] = [r.predetermined or fate(flight, r, cut) for r in flight.receptions]
        bits = self._accounting.count_bits(flight, reports, cut)
        self.count_transmitted(flight.src, bits)
        missed, rounds = flight.missed, self._in_rounds.pop(flight, None)
        if rounds is not None:
            if flight.feedback_ns and not (cut or flight.expired):
                for reception in flight.receptions:
                    self.count_transmitted(reception.tx.dst, rounds.feedback_bits)
                    bits += rounds.feedback_bits
            reports, bits = rounds.end_round(flight, reports, bits, cut)
            missed = ()
        if self._overhears:
            contention = self._interference
            of = contention if isinstance(contention, Contention) else self._channel
            others = self._flights if self._exclusive else None
            self._accounting.count_overheard(flight, of.noticing_nodes, range(self._nodes), others)
        interference = self._interference
        if interference is not None:
            interference.leave(flight, self._flights)
        flight.leg += 1
        self._ending += 1
        for report in (*reports, *missed):
            if self._distance_m is None:
                self.finish(*report, bits)
            else:
                self._deliver(report, bits)
            bits = 0  # one row of the log has them
        queue, radios = self._queue, flight.radios
        for radio in radios:
            queue.free[radio] = True
        if self._superposition is not None or any([queue.waiting[radio] for radio in radios]):
            self._release(radios)
        if rounds is not None and rounds.lacking:
            self._next_round(flight.src, rounds)
        self._ending -= 1
        if interference is not None and not self._ending:  # with what has begun meanwhile
            self._settle(interference)

    def _next_round(self, src: int, rounds: BroadcastRounds) -> None:
        """Send what receivers of a broadcast lack; who has gone keeps what it has."""
        group = [tx for tx in rounds.lacking if not self.are_apart(src, tx.dst)]
        for gone in [tx for tx in rounds.lacking if tx not in group]:
            self._deliver(*rounds.given_up(gone, OUTAGE))
        if group:
            self._admit(QueuedMessage(group, (src, src), broadcast=True, rounds=rounds))

    # -- 6. delivery -----------------------------------------------------------------------------

    def propagation_ns(self, src: int, dst: int) -> int:
        if self._distance_m is None:
            return 0
        return to_ns(self._distance_m(src, dst, self.env.now) / SPEED_OF_LIGHT_M_PER_S)

    def _deliver(self, report: Report, bits: int = 0) -> None:
        """Finish a transmission after its propagation, if there is any."""
        self.deliver(report, bits, self.propagation_ns(report[0].src, report[0].dst))

    # -- flights cut short -----------------------------------------------------------------------

    def on_switch(self, node: int, on: bool) -> None:
        """End, as `off`, what a node sends and receives when it has been switched off."""
        if on:
            return
        if self._superposition is not None:
            self._superposition.drop(node)
        for message in self._waiting_from(node):
            self._give_up(message, OFF)
        for flight in list(self._flights):
            if flight not in self._flights:
                continue  # what was told of another has ended it
            at_node = [r for r in flight.receptions if r.tx.dst == node and not r.unreachable]
            if flight.src == node or (at_node and not flight.broadcast):
                self._abort(flight, OFF)
            elif at_node:
                self._drop_receiver(flight, at_node[0], OFF)
        if self._frames is not None:
            self._frames.switch_off(node)

    def _lose_contact(self, flight: Flight, reception: Reception, _: object) -> None:
        """End a reception whose two ends lose contact, if it has not ended."""
        if flight in self._flights and reception in flight.receptions:
            if flight.broadcast:
                self._drop_receiver(flight, reception, OUTAGE)
            else:
                self._abort(flight, OUTAGE)

    def _abort(self, flight: Flight, outcome: str) -> None:
        """End a flight before its planned end; until now its receivers have listened."""
        self._accounting.count_airtime(flight, self.env.now)
        for reception in flight.receptions:
            reception.listened = reception.unreachable is None
            reception.unreachable = reception.unreachable or outcome
        if self._frames is not None:
            self._frames.stop(flight)
        self._end(flight, flight.leg, cut=True)

    def _drop_receiver(self, flight: Flight, reception: Reception, outcome: str) -> None:
        """End a broadcast at one receiver; the others listen on."""
        reception.listened, reception.unreachable = reception.unreachable is None, outcome
        report = reception.predetermined or flight.sampler.report(flight, reception, cut=True)
        flight.receptions.remove(reception)
        self._accounting.receiver_leaves(flight, reception, self.env.now, report[2])
        if (rounds := self._in_rounds.get(flight)) is not None:
            rounds.count(reception, report)
        if not (flight.receptions or flight.missed):  # its row has the bits until the flight ends
            flight.missed, flight.deserted = [report], True
        elif rounds is None:
            self._deliver(report)
        else:
            self._deliver(*rounds.given_up(reception.tx, outcome))
        if (dst := reception.tx.dst) in flight.radios:
            flight.radios.remove(dst)
            self._release([dst])
