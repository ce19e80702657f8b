"""Choice, from the scenario's table, of the rule of the medium and of what samples attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from netsim.channels.mac import ALONE, Mac, Turns, distance_among
from netsim.channels.mac.ofdma import Ofdma
from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.devices.energy.meter import EnergyMeter
from netsim.links.radio.mac.cells import Cells
from netsim.links.radio.mac.changing_contention import ChangingContention
from netsim.links.radio.mac.constant_contention import ConstantContention
from netsim.links.radio.mac.flight import Flight, Transmits
from netsim.links.radio.mac.frame_level.sampler import FrameLevelSampler
from netsim.links.radio.mac.interference import Changed, Interference
from netsim.links.radio.mac.message_level import MessageLevelSampler
from netsim.links.radio.mac.packet_level import PacketLevelSampler
from netsim.links.radio.mac.random_access import OnAir, RandomAccess
from netsim.links.radio.mac.rate_adaptation import RateAdaptation
from netsim.links.radio.mac.slot_interference import SlotInterference
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.recording.run_warnings import RunWarnings
from netsim.rng import Streams


def slots(
    mac: Mac,
    radios: Sequence[int],
    distance_m: Callable[[int, int, int], float] | None,
    streams: Streams,
) -> tuple[dict[int, int], int]:
    """Return the slot of each node that has a radio, and how many slots there are.

    Parameters
    ----------
    mac : Mac
    radios : sequence of int
        Nodes with a radio, in order.
    distance_m : callable or None
        (one, other, time_ns) -> metres.
    streams : Streams
    """
    slot_of = mac.slot_of_each(len(radios), distance_among(radios, distance_m))
    number = max(slot_of, default=0) + 1
    if mac.turns(number) is not None:  # nobody is first by a number
        order = streams.permutation("order of slots", n=number).tolist()
        slot_of = [order[slot] for slot in slot_of]
    return dict(zip(radios, slot_of, strict=True)), number


def interference_of(
    radio: Radio,
    channel: RadioChannel,
    nodes: int,
    distance_m: Callable[[int, int, int], float] | None,
    servers: AbstractSet[int],
    streams: Streams,
    slot_of: Mapping[int, int],
    listens: bool,
    warnings: RunWarnings,
) -> Interference | Cells | None:
    """Return the rule by which flights affect each other.

    Parameters
    ----------
    radio : Radio
    channel : RadioChannel
    nodes : int
    distance_m : callable or None
        (one, other, time_ns) -> metres.
    servers : set of int
        Base stations.
    streams : Streams
    slot_of : mapping of int to int
        The slot of each node with a radio, where senders have slots.
    listens : bool
        Whether receiving takes energy.
    warnings : RunWarnings
        Of the run; told if what senders do to each other could not be solved.

    Returns
    -------
    Interference, Cells or None
        None: flights do nothing to each other, or the frame level plays it.
    """
    mac = radio.mac
    if radio.plays_frames:
        return None
    if mac.senses:
        kind = ConstantContention if channel.constant else ChangingContention
        return kind(radio, channel, nodes, distance_m, warnings, listens)
    if isinstance(mac, Ofdma):
        block_s = radio.fading.constant_s(radio.carrier_hz)
        return Cells(mac, channel, nodes, servers, block_s, streams)
    by_snr = bool(radio.combines or radio.rate.adapts)  # the SNR of each attempt counts
    if mac.interferes and mac.turns(1) is not None:
        return SlotInterference(mac, channel, nodes, slot_of, by_snr)
    if mac.interferes or mac.contends:
        among = RandomAccess if mac.random_access else Interference
        return among(mac, channel, nodes, distance_m, by_snr)
    return None


OTHER_SLOTS = (
    "messages on the air when [radio.mac] changed go on to their end in the slots that they had, "
    "or without slots where they had none ([[changes]], netsim fork)"
)


def leave_slots(
    flights: Iterable[Flight],
    turns: Turns | None,
    airtime: Callable[[Flight, int], None],
    recorder: Recorder,
    now_ns: int,
) -> None:
    """Let flights on the air continue without slots if the new rule has none.

    Parameters
    ----------
    flights : iterable of Flight
    turns : Turns or None
        The slots of the new rule.
    airtime : callable
        See `EnergyAccounting.count_airtime`.
    recorder : Recorder
        Warns of flights that keep other slots than those.
    now_ns : int
    """
    for flight in flights:
        if turns is not None and flight.turns != turns:
            recorder.warnings.once("other slots", OTHER_SLOTS)
        elif turns is None and flight.turns is not None:
            planned = flight.ends_ns > flight.begins_ns  # frames are counted one by one
            airtime(flight, now_ns)
            flight.sampler.leave_slots(flight)
            if planned:
                airtime(flight, flight.ends_ns)


class Rejoined:
    """Flights on the air that a new rule, or none, takes over.

    Parameters
    ----------
    medium : Interference, Cells or None
    flights : iterable of Flight
        In order of their start.
    now_ns : int
    """

    def __init__(
        self, medium: Interference | Cells | None, flights: Iterable[Flight], now_ns: int
    ) -> None:
        self._medium = medium
        self._before = {
            flight: (flight.medium, [one.rise for one in flight.receptions]) for flight in flights
        }
        joined: list[Flight] = []
        for flight in self._before:
            flight.contenders, flight.hidden, flight.found, flight.answers = {}, {}, None, 0.0
            for reception in flight.receptions:
                reception.interferers, reception.shifts, reception.rise = {}, {}, 1.0
                reception.hidden = {}
                if flight.turns is None:
                    reception.medium = ALONE
            if flight.turns is None:
                flight.medium, flight.medium_share = ALONE, 1.0
        for flight in self._before:
            if medium is None:
                continue
            if not isinstance(medium, SlotInterference) or flight.begins_ns <= now_ns:
                medium.join(flight, joined, now_ns)
            joined.append(flight)

    def settle(self, now_ns: int) -> Changed:
        """Return all flights whose interferers have changed; see `Interference.settle`."""
        at_once, after = ([], []) if self._medium is None else self._medium.settle(now_ns)
        for flight, (medium, rises) in self._before.items():
            now = [one.rise for one in flight.receptions]
            if flight in at_once or flight in after or (flight.medium, now) == (medium, rises):
                continue
            louder = any(more > less for more, less in zip(now, rises, strict=True))
            worse = louder or flight.medium.collision > medium.collision
            (at_once if worse else after).append(flight)
        return Changed(at_once, after)


class Samplers(NamedTuple):
    """The samplers of a link.

    Attributes
    ----------
    of_messages : MessageLevelSampler, PacketLevelSampler or FrameLevelSampler
        Plays every message that `one_by_one` does not.
    one_by_one : PacketLevelSampler or None
        Plays short messages, or all, under random access.
    frames : FrameLevelSampler or None
        `of_messages`, where frames are played.
    """

    of_messages: MessageLevelSampler | PacketLevelSampler | FrameLevelSampler
    one_by_one: PacketLevelSampler | None
    frames: FrameLevelSampler | None


def samplers_of(
    radio: Radio,
    budget: LinkBudget,
    channel: RadioChannel,
    env: Clock,
    streams: Streams,
    ended: Callable[..., None],
    off: AbstractSet[int],
    rhythms: Sequence[Rhythm | None],
    distance_m: Callable[[int, int, int], float] | None,
    recorder: Recorder,
    meter: EnergyMeter,
    on_air: OnAir,
    goes_on: Callable[[Flight], None],
    transmits: Transmits,
    adaptation: RateAdaptation | None,
) -> Samplers:
    """Make the samplers of the attempts of flights.

    Parameters
    ----------
    radio : Radio
        Its `fidelity` and `mac` decide.
    budget, channel, env, streams, off, rhythms, distance_m, recorder, meter
        Of the link.
    ended : callable
        (flight, leg, cut=False); called where a flight is over.
    on_air : OnAir
        Packets under random access.
    goes_on : callable
        (flight); called where another planned end is known.
    transmits : callable
        Told of how much of the time senders transmit; see `EnergyAccounting.set_transmit_share`.
    adaptation : RateAdaptation or None

    Returns
    -------
    Samplers
    """
    if radio.plays_frames:
        frames = FrameLevelSampler(
            radio, budget, channel, env, streams, ended, off, rhythms, distance_m, recorder, meter
        )
        return Samplers(frames, None, frames)
    parts, random_access = (radio, channel, env, streams, ended), radio.mac.random_access
    by_packet = None
    if random_access or radio.fidelity == "packet":
        by_packet = PacketLevelSampler(*parts, on_air, goes_on, transmits, adaptation)
    one_by_one = by_packet if random_access else None
    if by_packet is not None and radio.fidelity == "packet":
        return Samplers(by_packet, one_by_one, None)
    return Samplers(MessageLevelSampler(*parts, goes_on, transmits, adaptation), one_by_one, None)
