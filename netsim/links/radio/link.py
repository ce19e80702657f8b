"""The air at work: half-duplex radios, block fading, whole messages sampled at once.

A message over the air is cut into packets and sampled as one draw per stretch of constant channel
(`netsim.channels.arq`); it costs a handful of events however large it is. What others do to it
meanwhile is the matter of `netsim.channels.mac`.

Admission: a unicast starts when both radios are free and takes both at once; those that wait are
tried in order of arrival whenever one of their radios becomes free, so a busy peer holds up nobody
else and nothing can deadlock. A broadcast takes its sender's radio and that of every receiver that
is free; one that is busy or asleep misses it. Where senders share the medium packet by packet, a
message takes its sender's turn only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from netsim.channels.mac import ALONE
from netsim.channels.sleep import Rhythm
from netsim.clock import LAST, Clock, then
from netsim.links.link import ARRIVED, BUSY, DEADLINE, OFF, OUTAGE, Link, Report, Transmission
from netsim.links.radio.admission import Admission, Queued
from netsim.links.radio.channel import Budget, Propagation
from netsim.links.radio.energy_accounting import count_airtime, count_bits, take_back
from netsim.links.radio.flight import Flight, Reception
from netsim.links.radio.interference import Changed, Sharing
from netsim.links.radio.message_level import Whole
from netsim.links.radio.packet_level import ByPacket
from netsim.links.radio.receivers import Listening
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.units import SPEED_OF_LIGHT_M_PER_S, to_ns


class Air(Link):
    """`Radio` at work.

    Parameters
    ----------
    radio : Radio
    budget : Budget
    last_wakeup : callable
        See `Propagation`.
    distance_m : callable or None
        (node, node, time in ns) -> how far apart they are; None where nodes have no places.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always.
    """

    def __init__(
        self,
        radio: Radio,
        budget: Budget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        env: Clock,
        recorder: Recorder,
        streams: Streams,
        distance_m: Callable[[int, int, int], float] | None = None,
        rhythms: Sequence[Rhythm | None] = (),
    ) -> None:
        nodes = len(budget.tx_power_w)
        super().__init__(env, recorder, nodes, to_ns(radio.ttl_s) if radio.ttl_s else None)
        self.acknowledged = radio.arq.acknowledged
        self.control_bits = radio.control_bits
        self.discovery = radio.discovery
        self.probe_window_s = radio.probe_window_s
        self._channel = channel = Propagation(radio, budget, last_wakeup, streams)
        self._admission = Admission(nodes, radio.queue_limit, self._start)
        self._flights: dict[Flight, None] = {}
        self._draws = (Whole if radio.fidelity == "message" else ByPacket)(
            radio, channel, env, streams, self._end
        )
        mac = self._mac = radio.mac
        self._exclusive = mac.exclusive
        self._medium = mac.medium(1, nodes)
        self._sharing: Sharing | None = None
        if mac.interferes or mac.contends:
            self._sharing = Sharing(mac, channel, nodes, distance_m)
        self._distance_m = distance_m if radio.propagation_delay else None
        self._packets = radio.packets
        free = self._admission.free if mac.exclusive else None
        self._listening = Listening(channel, radio.packets, self.off, free, rhythms)

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        return self._channel.in_reach(src, others, self.env.now)

    # -- admission -------------------------------------------------------------------------------

    def unicast(self, tx: Transmission) -> None:
        self.in_flight += 1
        for one in self._in_contact((tx,)):
            radios = (tx.src, tx.dst if self._exclusive else tx.src)
            self._admit((one,), radios, broadcast=False)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self.in_flight += len(group)
        src, group = group[0].src, self._in_contact(group)
        if group:
            self._admit(group, (src, src), broadcast=True)

    def _admit(
        self, group: Sequence[Transmission], radios: tuple[int, int], broadcast: bool
    ) -> None:
        queued = self._admission.admit(group, radios, broadcast)
        if queued is None:
            return
        if queued.gone:
            self.env.after(0, self._give_up, queued, BUSY)
            return
        longest_ns = self.longest_wait_ns(group[0])
        if longest_ns is not None:
            self.env.after(longest_ns, self._expire, queued, DEADLINE)
        contact_ns = self.contact_ns(group[0])
        if contact_ns is not None and not broadcast:
            self.env.after(contact_ns, self._expire, queued, OUTAGE)

    def _expire(self, queued: Queued, outcome: str) -> None:
        """Give up what has not even started when its time to live, patience or contact ends."""
        if not queued.gone:
            self._give_up(queued, outcome)

    def _give_up(self, queued: Queued, outcome: str) -> None:
        queued.gone = True
        for tx in queued.group:
            self.finish(tx, outcome, attempts=0)

    # -- flights ---------------------------------------------------------------------------------

    def _start(self, queued: Queued) -> None:
        group = queued.group
        first = group[0]
        src, now = first.src, self.env.now
        deadline_ns = None if self.ttl_ns is None else first.sent_ns + self.ttl_ns
        if deadline_ns is not None and deadline_ns < now:
            deadline_ns = now
        packets, packet_bits = self._packets(first.bits)
        from_ns = now + self._mac.wait_ns(src, len(self.bits_sent), now)
        rate_bps: float | None = None
        missed: list[Report] = []
        if queued.broadcast:
            rate_bps, receptions, missed = self._listening.audience(group, from_ns)
        else:
            receptions = [self._listening.receiver(first, from_ns)]
        radios = [src]
        if self._exclusive:
            radios += [r.tx.dst for r in receptions if not r.in_vain]
        flight = Flight(
            src, radios, receptions, packets, packet_bits, from_ns, deadline_ns, rate_bps, missed
        )
        self._launch(flight)
        if self.meetings is not None:
            for reception in receptions:
                # Last of its instant: what arrives at that very moment has arrived.
                left_ns = self.contact_ns(reception.tx) or 0
                then(self.env.due(left_ns, LAST), partial(self._part, flight, reception))

    def _launch(self, flight: Flight) -> None:
        for radio in flight.radios:
            self._admission.free[radio] = False
        changed: Changed | None = None
        if self._sharing is not None:
            changed = self._sharing.join(flight, self._flights, self.env.now)
        elif self._medium != ALONE:
            flight.medium = self._medium
            for reception in flight.receptions:
                reception.medium = self._medium
        self._flights[flight] = None
        self._draws.begin(flight)
        count_airtime(flight, flight.ends_ns, self.recorder, self.meter)
        if changed is not None:
            self._change_all(changed)

    def _change_all(self, changed: Changed) -> None:
        self._change(changed.at_once, worse=True)
        self._change(changed.after, worse=False)

    def _change(self, flights: Sequence[Flight], worse: bool) -> None:
        """Go on with flights under the conditions that they meet from now on."""
        for flight in flights:
            count_airtime(flight, self.env.now, self.recorder, self.meter)
            self._draws.change(flight, worse)
            count_airtime(flight, flight.ends_ns, self.recorder, self.meter)

    def _end(self, flight: Flight, cut: bool = False) -> None:
        """A flight is off the air: tell what became of it, then free its radios.

        `cut`: because one of its ends is off, or they have lost contact.
        """
        del self._flights[flight]
        count_airtime(flight, self.env.now, self.recorder, self.meter)
        reports = [r.fixed or self._draws.report(flight, r, cut) for r in flight.receptions]
        if self.meter.by_bits:
            count_bits(flight, reports, self.meter)
        if self._sharing is not None:
            self._change_all(self._sharing.leave(flight, self._flights))
        flight.leg += 1
        for report in (*reports, *flight.missed):
            self._tell(report)
        self._admission.release(flight.radios)

    def _tell(self, report: Report) -> None:
        """Finish a transmission: at once, or when it has travelled; that holds up nothing else."""
        tx = report[0]
        if self._distance_m is None or report[1] not in ARRIVED:
            self.finish(*report)
            return
        distance_m = self._distance_m(tx.src, tx.dst, self.env.now)
        self.env.after(to_ns(distance_m / SPEED_OF_LIGHT_M_PER_S), self.finish, *report)

    # -- nodes that go off -----------------------------------------------------------------------

    def switched(self, node: int, on: bool) -> None:
        """A node is switched on or off; off ends what it sends and receives as `off`.

        Whoever sends to a node that is off does so in vain: its attempts go unanswered, as many
        as `arq` makes, also should the node come back meanwhile.
        """
        super().switched(node, on)
        if on:
            return
        for queued in self._admission.waiting_from(node):
            self._give_up(queued, OFF)
        for flight in list(self._flights):
            if flight not in self._flights:
                continue  # what was told of another has ended it
            deaf = [r for r in flight.receptions if r.tx.dst == node and not r.in_vain]
            if flight.src == node or (deaf and not flight.broadcast):
                self._cut(flight)
            elif deaf:
                self._miss_the_rest(flight, deaf[0])

    # -- contacts that end -----------------------------------------------------------------------

    def _in_contact(self, group: Sequence[Transmission]) -> Sequence[Transmission]:
        """Those whose ends are in contact; the others end at once."""
        if self.meetings is None:
            return group
        apart = [tx for tx in group if self.contact_ns(tx) == 0]
        for tx in apart:
            self.env.after(0, self.finish, tx, OUTAGE, 0)
        return [tx for tx in group if tx not in apart]

    def _part(self, flight: Flight, reception: Reception, _: object) -> None:
        """The ends of a flight lose contact; the other receivers of a broadcast listen on."""
        if flight not in self._flights or reception not in flight.receptions:
            return
        if not reception.in_vain:
            reception.vain = OUTAGE
        if flight.broadcast:
            self._miss_the_rest(flight, reception)
        else:
            self._cut(flight)

    # -- flights cut short -----------------------------------------------------------------------

    def _cut(self, flight: Flight) -> None:
        """A flight ends before its time, in vain; until now its receivers have listened."""
        count_airtime(flight, self.env.now, self.recorder, self.meter)
        for reception in flight.receptions:
            reception.in_vain = True
        self._end(flight, cut=True)

    def _miss_the_rest(self, flight: Flight, reception: Reception) -> None:
        """A receiver of a broadcast is lost; the others listen on."""
        reception.in_vain = True
        report = reception.fixed or self._draws.report(flight, reception, cut=True)
        flight.receptions.remove(reception)
        take_back(flight, reception, self.env.now, self.meter)
        self._tell(report)
        if self._exclusive:
            flight.radios.remove(reception.tx.dst)
            self._admission.release([reception.tx.dst])
