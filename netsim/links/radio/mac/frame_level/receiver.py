"""Reception by radios: each locks to one frame at a time, and decodes it by its SINR.

A receiver locks to a frame that it notices if the frame is 4 dB over noise and all others together
when its preamble is searched for (as ns-3's `ThresholdPreambleDetectionModel`; of frames that begin
together at most the strongest is found). One that reaches the sensitivity is always found where it
is alone; without a sensitivity noise does not count. While a receiver is locked it finds no other.

Loss: every piece of a frame over which interference is constant is lost as if it were that share
of a packet: 1 - prod (1 - PER(SINR_k))^(share_k). For error models that treat bits alike this is
the loss of the frame's pieces one by one; a threshold has to hold in every piece. Without
`capture` a frame that overlaps another one that its receiver notices is lost.

Whether the medium is busy, and who may lock, is found for all radios in one step: sums over the
frames on the air, each of which is a row over nodes. Rows are added in the order in which frames
have come; a radio that is locked is looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import expm1, inf, log1p

import numpy as np

from netsim.channels.mac.csma import PREAMBLE_SNR
from netsim.links.radio.mac.frame_level.frame import DATA, DECODED, SPOILT, Frame
from netsim.links.radio.mac.frame_level.hearing import NO_ENERGY
from netsim.links.radio.phy.channel import RadioChannel
from netsim.rng import Streams

LEAST = 2.0**-53
"""A frame is not lost with a smaller probability: draws are multiples of it."""


class Decoder:
    """The packet-error model, applied to frames of any length.

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
        self._error = lru_cache(maxsize=1 << 14)(channel.packet_error)
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
        """`hazard` of a whole frame after earlier attempts that failed.

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


class Lock:
    """A frame that a radio is receiving.

    Parameters
    ----------
    frame : Frame
    snr : float
        Linear, without interference.
    overlapped : bool
        Whether another frame that its receiver notices is on the air, too.
    """

    __slots__ = ("frame", "hazard", "overlapped", "piece_from_ns", "snr", "worst")

    def __init__(self, frame: Frame, snr: float, overlapped: bool) -> None:
        self.frame, self.snr, self.overlapped = frame, snr, overlapped
        self.hazard, self.worst = 0.0, inf
        self.piece_from_ns = frame.arrives_ns or 0

    def close_piece(self, decoder: Decoder, interference: float, now_ns: int) -> None:
        """Count the piece of the frame that ends now: signals come or go.

        Parameters
        ----------
        decoder : Decoder
        interference : float
            Power of all other signals over the noise, during the piece.
        now_ns : int
        """
        length_ns, self.piece_from_ns = now_ns - self.piece_from_ns, now_ns
        if length_ns <= 0:
            return
        sinr = self.snr / (1.0 + interference)
        self.worst = min(self.worst, sinr)
        self.hazard += decoder.hazard(self.frame, sinr, length_ns / self.frame.duration_ns)


class Receivers:
    """The receiving halves of all radios, and what is on the air.

    Parameters
    ----------
    nodes : int
    decoder : Decoder
    least_snr : float
        From this sum of SNRs on, linear, frames on the air hold the medium busy.
    listens : callable
        (node, frame) -> whether the node's radio is on and awake for a frame.
    earlier_snr : callable
        (frame, node) -> sum of the SNRs of earlier attempts at its packet; read where attempts
        are combined.

    Attributes
    ----------
    busy : (nodes,) bool array
        Whether each finds the medium busy, as of the last `changes`: it sends or receives a frame,
        or all frames in range together reach the sensitivity.
    """

    def __init__(
        self,
        nodes: int,
        decoder: Decoder,
        least_snr: float,
        listens: Callable[[int, Frame], bool],
        earlier_snr: Callable[[Frame, int], float],
    ) -> None:
        self._decoder, self._least_energy = decoder, max(least_snr, NO_ENERGY)
        self._listens, self._earlier_snr = listens, earlier_snr
        # Alone, what reaches the sensitivity is found.
        self._noise = min(1.0, least_snr / PREAMBLE_SNR)
        self._locks: dict[int, Lock] = {}
        self._on_air: dict[Frame, None] = {}
        self._sensed: dict[Frame, None] = {}  # those whose preamble has passed
        self.busy = np.zeros(nodes, dtype=np.bool_)
        self._occupied = np.zeros(nodes, dtype=np.bool_)  # sends or receives
        self._energy = self._quiet = np.zeros(nodes)  # sum of the SNRs of those in range

    # -- what radios do --------------------------------------------------------------------------

    def note_sending(self, node: int) -> None:
        """Note that a radio sends from now on, and receives nothing."""
        self._locks.pop(node, None)
        self._occupied[node] = True

    def stop_receiving(self, node: int, sends: bool = False) -> None:
        """Stop receiving; `sends`: the radio goes on sending."""
        self._locks.pop(node, None)
        self._occupied[node] = sends

    def is_receiving(self, node: int) -> bool:
        """True if a radio is locked to a frame."""
        return node in self._locks

    def changes(self) -> list[int]:
        """Nodes for which the medium has become busy or idle, in ascending order; see `busy`."""
        busy = (self._energy >= self._least_energy) | self._occupied
        changed: list[int] = (busy != self.busy).nonzero()[0].tolist()
        self.busy = busy
        return changed

    def change_of(self, node: int) -> bool:
        """True if the medium has become busy or idle for one node."""
        busy = self._occupied[node] or self._energy[node] >= self._least_energy
        if busy == self.busy[node]:
            return False
        self.busy[node] = busy
        return True

    # -- frames ----------------------------------------------------------------------------------

    def begin_arrival(self, frame: Frame, now_ns: int) -> None:
        """Let a frame begin to arrive everywhere."""
        if self._locks:
            self._close_pieces(frame, now_ns)
            for node, lock in self._locks.items():
                lock.overlapped = lock.overlapped or bool(frame.noticed[node])
        self._on_air[frame] = None

    def lock_receivers(self, frame: Frame) -> None:
        """Sense a frame whose preamble has passed, and lock to it where it can be received."""
        heard, others = frame.heard, [other for other in self._on_air if other is not frame]
        self._sensed[frame] = None
        self._energy = self._energy + heard.energy if len(self._sensed) > 1 else heard.energy
        found = frame.noticed & ~self._occupied
        if others or self._noise:
            noise = self._noise + sum(other.heard.snr for other in others)
            found &= heard.snr >= PREAMBLE_SNR * noise
        for node in found.nonzero()[0].tolist():
            if self._listens(node, frame):
                overlapped = bool(others) and any(other.noticed[node] for other in others)
                self._locks[node] = Lock(frame, float(heard.snr[node]), overlapped)
                self._occupied[node] = True
                frame.listeners.append(node)

    def end_arrival(self, frame: Frame, now_ns: int) -> dict[int, bool]:
        """Let a frame end everywhere.

        Parameters
        ----------
        frame : Frame
        now_ns : int

        Returns
        -------
        dict of int to bool
            By node that was locked to it, in ascending order, whether it was decoded.
        """
        through = {}
        if self._locks:
            alone = len(self._on_air) == 1 and not frame.cut and frame in self._on_air
            if not alone:
                self._close_pieces(frame, now_ns)
            for node in frame.listeners:
                lock = self._locks.get(node)
                if lock is not None and lock.frame is frame:
                    through[node] = not frame.cut and self._sample_decoding(
                        lock, node, alone, now_ns
                    )
                    del self._locks[node]
            self._occupied[list(through)] = False
        del self._on_air[frame]
        if frame in self._sensed:
            del self._sensed[frame]
            self._energy = sum((other.heard.energy for other in self._sensed), self._quiet)
        return through

    def _close_pieces(self, frame: Frame, now_ns: int) -> None:
        """Close the pieces of locked frames where another one that is heard comes or goes."""
        heard, decoder = frame.heard.at_all, self._decoder
        if len(self._on_air) == 1 and frame in self._on_air:  # all are locked to it
            for lock in self._locks.values():
                lock.close_piece(decoder, 0.0, now_ns)
            return
        by_frame: dict[Frame, list[int]] = {}
        for node, lock in self._locks.items():
            if heard[node]:
                by_frame.setdefault(lock.frame, []).append(node)
        for locked, nodes in by_frame.items():
            rows = [other.heard.snr[nodes] for other in self._on_air if other is not locked]
            noise = sum(rows[1:], rows[0]).tolist() if rows else [0.0] * len(nodes)
            for node, interference in zip(nodes, noise, strict=True):
                self._locks[node].close_piece(decoder, interference, now_ns)

    def _sample_decoding(self, lock: Lock, node: int, at_last: bool, now_ns: int) -> bool:
        """Sample whether the frame that ends was decoded; keep the result if it was for us.

        `at_last`: its last piece, without interference, is still open.
        """
        decoder, frame = self._decoder, lock.frame
        if at_last and lock.piece_from_ns == frame.arrives_ns:  # it was alone all the time
            hazard = alone = decoder.hazard(frame, lock.snr, 1.0)
            lock.worst = lock.snr
        else:
            if at_last:
                lock.close_piece(decoder, 0.0, now_ns)
            hazard = lock.hazard
            alone = decoder.hazard(frame, lock.snr, 1.0) if hazard or lock.overlapped else 0.0
        if decoder.combines and frame.kind == DATA:
            earlier = self._earlier_snr(frame, node)
            frame.sinr[node] = lock.worst
            hazard = decoder.combined_hazard(frame, earlier, lock.worst)
            alone = decoder.combined_hazard(frame, earlier, lock.snr)
        if lock.overlapped and not decoder.capture:
            hazard = inf
        u = lost = lost_alone = 0.0
        if hazard > 0.0 or alone > 0.0:
            lost, lost_alone = -expm1(-hazard), -expm1(-alone)
            if max(lost, lost_alone) < LEAST:
                u = 1.0
            elif lost_alone < 1.0:
                u = decoder.draw(frame, node)
        through = u >= lost
        if frame.is_for(node):
            if through:
                frame.results[node] = DECODED
            elif u >= lost_alone:
                frame.results[node] = SPOILT
        return through
