"""The frames of an exchange: data, its announcement, and the answers to both."""

from __future__ import annotations

from netsim.channels.mac.csma import ACK_BITS, basic_rate_bps
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.frame_level.frame import CTS, DATA, RTS, Frame
from netsim.links.radio.mac.frame_level.timing import RTS_BITS, Timing


def data_frame(
    timing: Timing, flight: Flight, packet: int, rate_bps: float, acknowledged: bool
) -> Frame:
    """A data frame.

    Parameters
    ----------
    timing : Timing
    flight : Flight
    packet : int
        Which of its packets.
    rate_bps : float
    acknowledged : bool
        Whether unicasts are.

    Returns
    -------
    Frame
        With a reservation for its acknowledgement, if it will have one.
    """
    bits, dst, nav_ns = flight.packet_bits, None, 0
    if not flight.broadcast:
        dst = flight.receptions[0].tx.dst
        nav_ns = timing.sifs_ns + timing.ack_ns(rate_bps) if acknowledged else 0
    duration_ns = timing.data_ns(bits, rate_bps)
    return Frame(DATA, flight.src, dst, flight, duration_ns, rate_bps, bits, nav_ns, packet=packet)


def rts(timing: Timing, data: Frame) -> Frame:
    """The announcement of a data frame; it reserves the medium to the end of the exchange."""
    nav_ns = 2 * timing.sifs_ns + timing.cts_ns + data.duration_ns + data.nav_ns
    rate_bps = min(basic_rate_bps(0.0), data.rate_bps)
    return Frame(RTS, data.src, data.dst, data.flight, timing.rts_ns, rate_bps, RTS_BITS, nav_ns)


def answer(timing: Timing, kind: str, node: int, frame: Frame) -> Frame:
    """The answer to a frame, of what is left of its reservation.

    Parameters
    ----------
    timing : Timing
    kind : str
        `ACK` or `CTS`.
    node : int
        Who answers.
    frame : Frame

    Returns
    -------
    Frame
    """
    duration_ns = timing.cts_ns if kind == CTS else timing.ack_ns(frame.rate_bps)
    nav_ns = frame.nav_ns - timing.sifs_ns - duration_ns
    # A rate below all basic ones has an answer of its own.
    rate_bps = min(basic_rate_bps(frame.rate_bps), frame.rate_bps)
    return Frame(
        kind, node, frame.src, frame.flight, duration_ns, rate_bps, ACK_BITS, nav_ns, frame
    )
