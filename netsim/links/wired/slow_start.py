"""The `[link.slow_start]` table: how TCP begins, window by window.

A connection that begins sends a window of segments, then waits for acknowledgements, each of which
opens the window by what it acknowledges: windows double every round trip (M. Allman et al., RFC
5681, section 3.1; the initial window of ten segments is RFC 6928's). When a window takes longer to
send than its first acknowledgement takes to come back, the sender never waits again, and has its
share of the bottleneck from then on. So a message that is alone on its way takes

    RTT (handshake) + B/R + sum over its windows but the last of max(0, RTT + S/R - W S/R)

longer than its latency (J. Kurose and K. Ross, Computer Networking, "TCP latency modeling: dynamic
congestion window"): B bits, segments of S bits, windows of W segments, R the rate.

Losses of TCP's own making, and what congestion control does after the first window that fills the
pipe, are left out.
"""

from netsim.registry import Count, Table

SEGMENT_BYTES = 1448
"""Payload of a segment in an Ethernet frame, with time stamps."""


class SlowStart(Table):
    """Every message opens a connection of its own.

    Attributes
    ----------
    initial_window_segments : int
        Segments that are sent before the first acknowledgement. Source: RFC 6928.
    segment_bytes : int or None
        Bytes of the message in one segment. Absent: `packet_payload_bytes` of the link, else 1448.
    handshake : bool
        Whether a message first waits for a round trip, for the connection to be made.
    delayed_acknowledgements : bool
        Whether the receiver acknowledges the first segment at once and then every second one, as
        ns-3 does. The last segment of a window then waits for the first of the next: windows are
        10, 18, 36, 72, ... in place of 10, 20, 40, 80, ... Source: RFC 5681, section 4.2.
    """

    initial_window_segments: Count = 10
    segment_bytes: Count | None = None
    handshake: bool = True
    delayed_acknowledgements: bool = True

    def acknowledged_before_next(self, sent: int) -> int:
        """Return the number of the first `sent` segments acknowledged before the next window."""
        return sent - 1 if self.delayed_acknowledgements and sent % 2 == 0 else sent


class Windows:
    """The windows of one connection.

    Parameters
    ----------
    rules : SlowStart
    bits : float
        Of the message on the wire, headers and retransmissions included.
    segments : float
        How many segments the message is cut into; the last one may be shorter.

    Attributes
    ----------
    segment_bits : float
        Of a segment on the wire.
    left_bits : float
        What has not been sent.
    """

    def __init__(self, rules: SlowStart, bits: float, segments: float) -> None:
        self._rules = rules
        self.segment_bits = bits / segments
        self.left_bits = bits
        self._window: int | None = rules.initial_window_segments
        self._sent = self._acknowledged = 0

    def next_bits(self) -> float:
        """Bits of the next window, which counts as sent."""
        bits = self.left_bits
        if self._window is not None and self._window * self.segment_bits < bits:
            bits = self._window * self.segment_bits
            self._sent += self._window
            before, self._acknowledged = (
                self._acknowledged,
                self._rules.acknowledged_before_next(self._sent),
            )
            self._window = 2 * (self._acknowledged - before)
        self.left_bits -= bits
        return bits

    def fill_the_pipe(self) -> None:
        """Let all that is left be the next window: acknowledgements come while one is sent."""
        self._window = None
