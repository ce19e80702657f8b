"""What of the radio link follows from the table `[radio]`, and how it changes in mid-run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from netsim.channels.mac import ALONE
from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.links.arrivals import Arrivals
from netsim.links.link import PhysicalLink
from netsim.links.radio.admission import QueuedMessage, RadioQueue
from netsim.links.radio.budget import LinkBudget
from netsim.links.radio.cells import Cells
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.energy_accounting import EnergyAccounting, EnergyMeter
from netsim.links.radio.flight import Flight
from netsim.links.radio.frame_level.sampler import FrameLevelSampler
from netsim.links.radio.interference import Interference
from netsim.links.radio.message_level import MessageLevelSampler
from netsim.links.radio.packet_level import PacketLevelSampler
from netsim.links.radio.parts import adaptation_of, interference_of, rejoin
from netsim.links.radio.random_access import OnAir
from netsim.links.radio.rate_adaptation import RateAdaptation
from netsim.links.radio.receivers import Receivers
from netsim.links.radio.relaying import Relaying
from netsim.links.radio.repeated_broadcast import BroadcastRounds
from netsim.links.radio.routes import Routes
from netsim.links.radio.superposition import Superposition
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.traces.contacts import Meetings
from netsim.units import to_ns


class RadioSetup(PhysicalLink):
    """Base of the radio link: its parts, and what it keeps when its table changes.

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
    base_stations : set of int
        Nodes that send any number of messages at a time, where `mac` has them.
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
    ) -> None:
        nodes = self._nodes = len(budget.tx_power_w)
        super().__init__(env, recorder, nodes, None, off, meetings)
        self._streams, self._meter, self._last_wakeup = streams, meter, last_wakeup
        self._distance_of_pair_m, self._rhythms = distance_m, rhythms
        self._servers = base_stations
        self._serial: dict[tuple[int, int], int] = {}
        self._queue = RadioQueue(nodes, radio.queue_limit)
        self._arrivals = Arrivals(env, streams, self._admit)
        self._in_rounds: dict[Flight, BroadcastRounds] = {}
        self._accounting = EnergyAccounting(recorder, meter)
        self._adaptation: RateAdaptation | None = None
        self._interference: Interference | Cells | None = None
        self._look_planned = False
        self._packets_on_air = OnAir()
        self._ending = 0  # how many flights are being ended
        self._flights: dict[Flight, None] = {}  # on the air, in order of their start
        # told of each one that ends
        self.flights_ended: list[Callable[[Flight], object]] = [self._packets_on_air.end]
        channel = self._set_radio(radio, budget)
        self._superposition = Superposition(
            self, radio, channel, meter, self._free, self._release, streams
        )

    def _set_radio(self, radio: Radio, budget: LinkBudget) -> RadioChannel:
        """Send by a table from now on; returns the channel that follows from it."""
        env, streams, off, nodes = self.env, self._streams, self.off, self._nodes
        distance_m, meter = self._distance_of_pair_m, self._meter
        self.ttl_ns = to_ns(radio.ttl_s) if radio.ttl_s else None
        self.acknowledged, self.control_bits = radio.arq.acknowledged, radio.control_bits
        self.discovery, self.probe_window_s = radio.discovery, radio.probe_window_s
        mac = self._mac = radio.mac
        self._exclusive, self._packets = mac.exclusive, radio.packets
        self.broadcast_acknowledged = radio.broadcast.rounds > 1
        self._rounds, self._feedback_bits = radio.broadcast.rounds, radio.broadcast.feedback
        channel = RadioChannel(radio, budget, self._last_wakeup, streams)
        self._channel, self._queue.limit = channel, radio.queue_limit
        self._free = self._queue.free if mac.exclusive else None
        self._receivers = Receivers(
            channel, radio.packets, off, self._free, self._rhythms, self._serial
        )
        self._base_stations = self._servers if mac.has_base_stations else frozenset()
        self._slot_of = mac.slot_of_each(nodes, distance_m)
        self._slots = max(self._slot_of, default=0) + 1
        if mac.turns(self._slots) is not None:  # nobody is first by a number
            order = streams.permutation("order of slots", n=self._slots).tolist()
            self._slot_of = [order[slot] for slot in self._slot_of]
        self._interference = interference_of(
            radio, channel, nodes, distance_m, self._servers, streams, self._slot_of
        )
        self._medium = mac.medium(1, self._slots)  # of every attempt, unless senders contend
        self._alone, self._turns = self._medium == ALONE, mac.turns(self._slots)
        self._adaptation = adaptation_of(radio, streams)
        self._frames: FrameLevelSampler | None = None
        self._sampler: MessageLevelSampler | PacketLevelSampler | FrameLevelSampler
        self._one_by_one: PacketLevelSampler | None = None  # of short messages, or of all
        if radio.plays_frames:
            self._sampler = self._frames = FrameLevelSampler(
                radio, budget, channel, env, streams, self._end, off, self._rhythms, distance_m,
                self.recorder, meter,
            )  # fmt: skip
        else:
            parts = radio, channel, env, streams, self._end
            if mac.random_access:
                self._packets_on_air.set_mac(mac, nodes, streams, channel.heard_dbm)
            if mac.random_access or radio.fidelity == "packet":
                self._sampler = PacketLevelSampler(*parts, self._packets_on_air, self._adaptation)
                self._one_by_one = self._sampler if mac.random_access else None
            if radio.fidelity != "packet":
                self._sampler = MessageLevelSampler(*parts, self._goes_on, self._adaptation)
        if not mac.exclusive:  # radios are told to do several things at once
            meter.in_one_state(self._oldest_ns)
        self._relaying: Relaying | None = None
        if radio.routing.relays:
            apart = None if self.meetings is None else self._are_apart
            routes = Routes(radio, budget, channel, nodes, off, apart)
            self._relaying = Relaying(self, radio, routes)
        self._overhears = mac.one_channel and meter.listens and self._frames is None
        self._distance_m = distance_m if radio.propagation_delay else None
        return channel

    def _oldest_ns(self) -> int:
        """Time at which the oldest flight on the air began [ns]."""
        return min((flight.begins_ns for flight in self._flights), default=self.env.now)

    def set_radio(self, radio: Radio, budget: LinkBudget, over_full: Sequence[float] = ()) -> None:
        """Send by another table from now on.

        What is on the air keeps the power, rate, channel and packets that it began with, and meets
        those who contend and interfere from now on; what waits for a radio is sent by the new
        table.

        Parameters
        ----------
        radio : Radio
            Its messages are not played frame by frame, neither now nor until now.
        budget : LinkBudget
        over_full : sequence of float
            By node, its full transmit power until now over the new one; empty: no power changes.
        """
        adaptation, interference = self._adaptation, self._interference
        channel = self._set_radio(radio, budget)
        if self._adaptation is not None and adaptation is not None:
            self._adaptation.learn_from(adaptation)
        self._superposition.set_radio(radio, channel, self._free, self.ttl_ns)
        if over_full:
            for flight in self._flights:
                flight.power_now *= over_full[flight.src]
        if self._interference is None:
            return
        alike = type(self._interference) is type(interference)
        if not (alike and self._interference.goes_on_from(interference)):  # type: ignore[arg-type]
            rejoin(self._interference, self._flights, self.env.now)
            self._settle(self._interference)

    def is_asleep(self, node: int) -> bool:
        rhythm = self._rhythms[node] if self._rhythms else None
        return rhythm is not None and rhythm.wakes_ns(self.env.now) > self.env.now

    def _are_apart(self, one: int, other: int) -> bool:
        """True if two nodes are not in contact now."""
        return self.meetings is not None and self.meetings.left_ns(one, other, self.env.now) == 0

    @abstractmethod
    def _admit(self, message: QueuedMessage) -> None:
        """Start a message, or let it wait for its radios."""

    @abstractmethod
    def _end(self, flight: Flight, leg: int, cut: bool = False) -> None:
        """End a flight, `cut` before its planned end; nothing happens if it is in a later leg."""

    @abstractmethod
    def _goes_on(self, flight: Flight) -> None:
        """Take note that a flight ends later than was planned."""

    @abstractmethod
    def _release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""

    @abstractmethod
    def _settle(self, interference: Interference | Cells) -> None:
        """Let flights go on under the conditions that they meet from now on."""
