"""What one radio receives: it locks to one frame at a time, and decodes it by its SINR.

A receiver locks to a frame that it notices if the frame is 4 dB over noise and all others together
when its preamble is searched for (as ns-3's `ThresholdPreambleDetectionModel`; of frames that begin
together at most the strongest is found). One that reaches the sensitivity is always found where it
is alone; without a sensitivity noise does not count. While a receiver is locked it finds no other.

Loss: every piece of a frame over which interference is constant is lost as if it were that share
of a packet: 1 - prod (1 - PER(SINR_k))^(share_k). For error models that treat bits alike this is
the loss of the frame's pieces one by one; a threshold has to hold in every piece. Without
`capture` a frame that overlaps another one that its receiver notices is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import expm1, inf, log1p

from netsim.channels.mac.csma import PREAMBLE_SNR
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.frame_level.frame import DATA, DECODED, SPOILT, Frame
from netsim.rng import Streams


class Decoder:
    """The packet-error model as frames of any length meet it.

    Parameters
    ----------
    channel : RadioChannel
    streams : Streams
    capture : bool
        Whether a frame may survive others that its receiver notices.
    combines : bool
        Whether receivers add up the SNRs of the attempts at a packet.
    """

    def __init__(
        self, channel: RadioChannel, streams: Streams, capture: bool, combines: bool
    ) -> None:
        self._error = lru_cache(maxsize=1 << 14)(channel.error)
        self._streams = streams
        self.capture, self.combines = capture, combines

    def hazard(self, frame: Frame, snr: float, share: float) -> float:
        """-log of the probability that a share of a frame is decoded; inf: it is lost.

        Parameters
        ----------
        frame : Frame
        snr : float
            Of this share, over noise and interference, linear.
        share : float
            Of the frame's length, in [0, 1].
        """
        packet_bits = frame.flight.packet_bits
        per = self._error(snr, packet_bits, frame.rate_bps)
        if per >= 1.0:
            return inf if share > 0.0 else 0.0
        return -log1p(-per) * share * frame.bits / packet_bits

    def combined_hazard(self, frame: Frame, earlier_snr: float, snr: float) -> float:
        """As `hazard` of a whole frame, given that the earlier attempts were not enough.

        Parameters
        ----------
        frame : Frame
        earlier_snr : float
            Sum of the SNRs of earlier attempts, linear.
        snr : float
            Of this one, linear.
        """
        bits, rate_bps = frame.flight.packet_bits, frame.rate_bps
        before = self._error(earlier_snr, bits, rate_bps) if earlier_snr else 1.0
        after = self._error(earlier_snr + snr, bits, rate_bps)
        lost = after / before if before > 0.0 else 0.0
        return inf if lost >= 1.0 else -log1p(-lost)

    def draw(self, frame: Frame, node: int) -> float:
        """The uniform draw that decides over a frame at a node."""
        return self._streams.uniform("frame decoding", frame.src, frame.number, node)


class Receiver:
    """The receiving half of a radio.

    Parameters
    ----------
    node : int
    decoder : Decoder
    least_snr : float
        From this sum of SNRs on, linear, frames on the air hold the medium busy.
    earlier_snr : callable
        (frame, node) -> sum of the SNRs of earlier attempts at its packet; read where attempts
        are combined.

    Attributes
    ----------
    locked : Frame or None
        The frame that is being received.
    """

    def __init__(
        self,
        node: int,
        decoder: Decoder,
        least_snr: float,
        earlier_snr: Callable[[Frame, int], float],
    ) -> None:
        self._node, self._decoder = node, decoder
        self._least_snr, self._earlier_snr = least_snr, earlier_snr
        # Alone, what reaches the sensitivity is found.
        self._noise = min(1.0, least_snr / PREAMBLE_SNR)
        self._signals: dict[Frame, tuple[float, bool]] = {}  # SNR, whether it is noticed
        self._sensed: dict[Frame, float] = {}  # SNR of those in range whose preamble has passed
        self.locked: Frame | None = None
        self._snr = self._hazard = self._worst = 0.0  # of the frame that is being received
        self._piece_from_ns = 0
        self._overlapped = False

    @property
    def busy(self) -> bool:
        """Whether it receives a frame, or all frames in range together reach the sensitivity."""
        if self.locked is not None:
            return True
        sensed = self._sensed
        return bool(sensed) and sum(sensed.values()) >= self._least_snr

    def arrives(self, frame: Frame, snr: float, noticed: bool, now_ns: int) -> None:
        """A frame begins to arrive.

        Parameters
        ----------
        frame : Frame
        snr : float
            Linear, without interference.
        noticed : bool
        now_ns : int
        """
        if self.locked is not None:
            self._close_piece(now_ns)
            self._overlapped = self._overlapped or noticed
        self._signals[frame] = snr, noticed

    def detects(self, frame: Frame, in_range: bool, listening: bool) -> None:
        """A frame's preamble has passed: sense its energy, lock to it if it can be received.

        Parameters
        ----------
        frame : Frame
        in_range : bool
            Whether it is in carrier-sense range.
        listening : bool
            Whether the radio is ready to receive.
        """
        snr, noticed = self._signals[frame]
        if in_range:
            self._sensed[frame] = snr
        if not noticed or not listening or self.locked is not None:
            return
        if snr < PREAMBLE_SNR * (self._noise + self._interference(frame)):
            return
        self.locked, self._snr = frame, snr
        self._hazard, self._worst = 0.0, inf
        self._piece_from_ns = frame.arrives_ns or 0
        self._overlapped = any(seen for f, (_, seen) in self._signals.items() if f is not frame)
        frame.listeners.append(self._node)

    def drop(self) -> None:
        """Stop receiving: the radio sends, or goes off."""
        self.locked = None

    def leaves(self, frame: Frame, now_ns: int) -> bool | None:
        """A frame ends here; whether it was decoded, None if it was not being received."""
        through = None
        if self.locked is frame:
            self._close_piece(now_ns)
            through = not frame.cut and self._decodes(frame)
            self.locked = None
        elif self.locked is not None:
            self._close_piece(now_ns)
        del self._signals[frame]
        self._sensed.pop(frame, None)
        return through

    def _decodes(self, frame: Frame) -> bool:
        """Sample whether the frame that ends was decoded; keep the result if it was for us."""
        decoder, node = self._decoder, self._node
        hazard, alone = self._hazard, decoder.hazard(frame, self._snr, 1.0)
        if decoder.combines and frame.kind == DATA:
            earlier = self._earlier_snr(frame, node)
            frame.sinr[node] = self._worst
            hazard = decoder.combined_hazard(frame, earlier, self._worst)
            alone = decoder.combined_hazard(frame, earlier, self._snr)
        if self._overlapped and not decoder.capture:
            hazard = inf
        lost, lost_alone = -expm1(-hazard), -expm1(-alone)
        u = decoder.draw(frame, node) if max(lost, lost_alone) > 0.0 and lost_alone < 1.0 else 0.0
        through = u >= lost
        if frame.is_for(node):
            if through:
                frame.results[node] = DECODED
            elif u >= lost_alone:
                frame.results[node] = SPOILT
        return through

    def _interference(self, frame: Frame) -> float:
        if len(self._signals) == 1:
            return 0.0
        return sum(snr for other, (snr, _) in self._signals.items() if other is not frame)

    def _close_piece(self, now_ns: int) -> None:
        """Count the piece of the locked frame that ends now: signals come or go."""
        frame = self.locked
        assert frame is not None
        length_ns, self._piece_from_ns = now_ns - self._piece_from_ns, now_ns
        if length_ns <= 0:
            return
        sinr = self._snr / (1.0 + self._interference(frame))
        self._worst = min(self._worst, sinr)
        self._hazard += self._decoder.hazard(frame, sinr, length_ns / frame.duration_ns)
