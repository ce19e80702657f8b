"""Parts of a radio link, as `[radio]` has it: interference, and the sampler of attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from netsim.channels.mac.ofdma import Ofdma
from netsim.channels.rate.minstrel import Minstrel
from netsim.links.radio.cells import Cells
from netsim.links.radio.changing_contention import ChangingContention
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.constant_contention import ConstantContention
from netsim.links.radio.flight import Flight
from netsim.links.radio.interference import Interference
from netsim.links.radio.random_access import RandomAccess
from netsim.links.radio.rate_adaptation import RateAdaptation
from netsim.links.radio.slot_interference import SlotInterference
from netsim.links.radio.table import Radio
from netsim.rng import Streams


def interference_of(
    radio: Radio,
    channel: RadioChannel,
    nodes: int,
    distance_m: Callable[[int, int, int], float] | None,
    base_stations: AbstractSet[int],
    streams: Streams,
    slot_of: Sequence[int],
) -> Interference | Cells | None:
    """Return the interference of flights; None: there is none, or the frame level plays it.

    Parameters
    ----------
    radio : Radio
    channel : RadioChannel
    nodes : int
        How many nodes there are.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    base_stations : set of int
    streams : Streams
    slot_of : sequence of int
        The slot of each node, where they have slots.
    """
    mac = radio.mac
    if radio.plays_frames:
        return None
    if mac.senses:
        kind = ConstantContention if channel.constant else ChangingContention
        return kind(radio, channel, nodes, distance_m)
    if isinstance(mac, Ofdma):
        block_s = radio.fading.constant_s(radio.carrier_hz)
        return Cells(mac, channel, nodes, base_stations, block_s, streams)
    if mac.interferes and mac.turns(1) is not None:
        return SlotInterference(mac, channel, nodes, slot_of, by_snr_of(radio))
    if mac.interferes or mac.contends:
        among = RandomAccess if mac.random_access else Interference
        return among(mac, channel, nodes, distance_m, by_snr_of(radio))
    return None


def by_snr_of(radio: Radio) -> bool:
    """True if the SNR of each attempt counts: attempts are combined, or rates differ."""
    return bool(radio.arq.combines or radio.rate.adapts)


def adaptation_of(radio: Radio, streams: Streams) -> RateAdaptation | None:
    """Rates of unicasts, where they follow acknowledgements."""
    if isinstance(radio.rate, Minstrel):
        return RateAdaptation(radio.rate, radio.bandwidth_hz, streams)
    return None


def rejoin(medium: Interference | Cells, flights: Iterable[Flight], now_ns: int) -> None:
    """Let flights on the air join what begins to keep track of them.

    Parameters
    ----------
    medium : Interference or Cells
    flights : iterable of Flight
        In order of their start.
    now_ns : int
    """
    joined: list[Flight] = []
    for flight in flights:
        for reception in flight.receptions:
            reception.interferers, reception.shifts, reception.rise = {}, {}, 1.0
        if not isinstance(medium, SlotInterference) or flight.begins_ns <= now_ns:
            medium.join(flight, joined, now_ns)
        joined.append(flight)
