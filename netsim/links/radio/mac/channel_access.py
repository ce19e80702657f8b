"""Choice of the rule by which flights share the medium, from the scenario's medium access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from netsim.channels.mac.ofdma import Ofdma
from netsim.links.radio.mac.cells import Cells
from netsim.links.radio.mac.changing_contention import ChangingContention
from netsim.links.radio.mac.constant_contention import ConstantContention
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.interference import Interference
from netsim.links.radio.mac.random_access import RandomAccess
from netsim.links.radio.mac.slot_interference import SlotInterference
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.recording.run_warnings import RunWarnings
from netsim.rng import Streams


def interference_of(
    radio: Radio,
    channel: RadioChannel,
    nodes: int,
    distance_m: Callable[[int, int, int], float] | None,
    servers: AbstractSet[int],
    streams: Streams,
    slot_of: Sequence[int],
    listens: bool,
    warnings: RunWarnings,
) -> Interference | Cells | None:
    """Return the rule of what flights do to each other.

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
    slot_of : sequence of int
        The slot of each node, where senders have slots.
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
    by_snr = bool(radio.arq.combines or radio.rate.adapts)  # the SNR of each attempt counts
    if mac.interferes and mac.turns(1) is not None:
        return SlotInterference(mac, channel, nodes, slot_of, by_snr)
    if mac.interferes or mac.contends:
        among = RandomAccess if mac.random_access else Interference
        return among(mac, channel, nodes, distance_m, by_snr)
    return None


def rejoin(medium: Interference | Cells, flights: Iterable[Flight], now_ns: int) -> None:
    """Let flights on the air join a rule that begins to keep track of them.

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
