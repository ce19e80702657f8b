"""The air between stations: brings every frame to those that it reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netsim.clock import Clock
from netsim.links.radio.frame_level.frame import Frame
from netsim.links.radio.frame_level.hearing import Hearing
from netsim.links.radio.frame_level.timing import Timing


class Listener(Protocol):
    """What the medium tells a station."""

    def stops_sending(self, frame: Frame) -> None:
        """Its own frame has ended."""

    def arrives(self, frame: Frame, snr: float, noticed: bool) -> None:
        """A frame begins to arrive.

        Parameters
        ----------
        frame : Frame
        snr : float
            Linear, without interference.
        noticed : bool
            Whether it is strong enough for its preamble to be found.
        """

    def detects(self, frame: Frame, in_range: bool) -> None:
        """The preamble of a frame has passed; `in_range`: of carrier sensing."""

    def leaves(self, frame: Frame) -> bool:
        """A frame ends; whether there is something to do about it, once it has ended for all."""

    def acts_on(self, frame: Frame) -> None:
        """Answer a frame, or go on with the exchange that it belongs to."""

    def goes_on(self, frame: Frame) -> None:
        """Its own frame has ended everywhere."""


class Medium:
    """The air.

    Parameters
    ----------
    hearing : Hearing
    timing : Timing
    env : Clock
    begins, ended : callable
        Called with each frame that begins, and with each that has ended, before any
        station acts on it.

    Attributes
    ----------
    stations : list of Listener
        By node.
    """

    def __init__(
        self,
        hearing: Hearing,
        timing: Timing,
        env: Clock,
        begins: Callable[[Frame], None],
        ended: Callable[[Frame], None],
    ) -> None:
        self._hearing, self._timing, self._env = hearing, timing, env
        self._begins, self._ended = begins, ended
        self.stations: list[Listener] = []
        self._sent: dict[int, int] = {}

    def send(self, frame: Frame) -> None:
        """Begin to send a frame."""
        env, src, delay_ns = self._env, frame.src, self._timing.propagation_ns
        frame.begins_ns = env.now
        frame.number = self._sent[src] = self._sent.get(src, 0) + 1
        heard = self._hearing.of(src, env.now, frame.flight.begins_ns)
        # Beyond carrier-sense range only those that it is for take notice.
        frame.audience = [
            (node, snr, strong and (near or frame.is_for(node)), near)
            for node, snr, strong, near in heard
        ]
        self._begins(frame)
        if delay_ns:
            env.after(frame.duration_ns, self._sender_ends, frame)
            env.after(delay_ns, self._arrive, frame)
        else:
            self._arrive(frame)

    def cut(self, frame: Frame) -> None:
        """End a frame before its time: its sender stops. Nobody can decode it."""
        frame.cut = True
        self._end(frame)

    def _arrive(self, frame: Frame) -> None:
        if frame.over:
            return
        stations = self.stations
        frame.arrives_ns = self._env.now
        for node, snr, noticed, _ in frame.audience:
            stations[node].arrives(frame, snr, noticed)
        detection_ns = min(self._timing.detection_ns, frame.duration_ns // 2)
        self._env.after(detection_ns, self._detect, frame)
        self._env.after(frame.duration_ns, self._end, frame)

    def _detect(self, frame: Frame) -> None:
        if frame.over:
            return
        stations = self.stations
        for node, _, noticed, in_range in frame.audience:
            if noticed or in_range:
                stations[node].detects(frame, in_range)

    def _sender_ends(self, frame: Frame) -> None:
        if not frame.over:
            self.stations[frame.src].stops_sending(frame)

    def _end(self, frame: Frame) -> None:
        """End a frame: for all stations first, then let them act on it."""
        if frame.over:
            return
        frame.over = True
        stations, sender = self.stations, self.stations[frame.src]
        sender.stops_sending(frame)
        concerned = []
        if frame.arrives_ns is not None:
            concerned = [node for node, _, _, _ in frame.audience if stations[node].leaves(frame)]
        self._ended(frame)
        for node in concerned:
            stations[node].acts_on(frame)
        if not frame.cut:
            sender.goes_on(frame)
