"""Channel that the attempts of a flight meet, with the present interference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netsim.channels.block import ChannelBlock
from netsim.channels.mac import Medium
from netsim.links.radio.background import Interferer
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.flight import Flight, Reception


def blocks_met(
    flight: Flight,
    reception: Reception,
    channel: RadioChannel,
    time_ns: int,
    rates: Callable[[int], tuple[float, int]] | None = None,
) -> Iterator[ChannelBlock]:
    """The channel that attempts meet from an instant on, with interference as things are.

    Parameters
    ----------
    flight : Flight
    reception : Reception
        One of the flight's.
    channel : RadioChannel
    time_ns : int
    rates : callable or None
        Time [ns] -> rate [bit/s], and until when [ns], where it follows acknowledgements.
    """
    return channel.blocks(
        flight.src,
        reception.tx.dst,
        time_ns,
        flight.packet_bits,
        flight.rate_bps,
        medium=reception.medium,
        began_ns=flight.begins_ns,
        interferers=() if channel.constant else interferers_at(flight, reception),
        noise_rise=reception.rise if channel.constant else 1.0,
        power=flight.power,
        rates=rates,
    )


def interferers_at(flight: Flight, reception: Reception) -> Sequence[Interferer]:
    """Senders whose power is noise to a reception of a flight at present."""
    if not reception.interferers:
        return ()
    begins_ns = flight.begins_ns
    return [
        Interferer(other.src, other.medium_share * other.power, max(begins_ns, other.begins_ns))
        for other in reception.interferers
    ]


def sending_rate_bps(flight: Flight, snr: float, channel: RadioChannel) -> float:
    """The rate at which a flight's packets go [bit/s]; 0: none gets through.

    Parameters
    ----------
    flight : Flight
    snr : float
        At its receiver, linear: what its rate follows unless it has one of its own, as broadcasts
        have, or one that acknowledgements have taught.
    channel : RadioChannel
    """
    known = flight.expected_bps if flight.rate_bps is None else flight.rate_bps
    return channel.rate_bps(snr) if known is None else known


def transmit_share(medium: Medium, attempt_ns: float) -> float:
    """Share of an attempt's time in which its sender transmits, in [0, 1]."""
    if attempt_ns <= 0.0 or (medium.slowdown == 1.0 and medium.wait_ns == 0.0):
        return 1.0
    alone_ns = (attempt_ns - medium.wait_ns) / medium.slowdown
    return medium.transmissions * alone_ns / attempt_ns
