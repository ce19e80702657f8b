"""The air between stations: brings every frame to those that it reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netsim.clock import Clock
from netsim.links.radio.mac.frame_level.contention import Contention
from netsim.links.radio.mac.frame_level.frame import Frame
from netsim.links.radio.mac.frame_level.hearing import Hearing
from netsim.links.radio.mac.frame_level.receiver import Receivers
from netsim.links.radio.mac.frame_level.timing import Timing


class Listener(Protocol):
    """Station as the medium sees it: told of frames, and its contention of busy and idle times."""

    contention: Contention

    def stops_sending(self, frame: Frame) -> None:
        """Its own frame has ended."""

    def receives(self, frame: Frame, through: bool) -> bool:
        """A frame that it was locked to ends, decoded or not; before the medium is idle.

        Returns
        -------
        bool
            Whether there is something to do about it, once it has ended for all.
        """

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
    receivers : Receivers
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
        receivers: Receivers,
        begins: Callable[[Frame], None],
        ended: Callable[[Frame], None],
    ) -> None:
        self._hearing, self._timing, self._env = hearing, timing, env
        self._receivers, self._begins, self._ended = receivers, begins, ended
        self.stations: list[Listener] = []
        self._sent: dict[int, int] = {}

    def send(self, frame: Frame) -> None:
        """Begin to send a frame."""
        env, src, delay_ns = self._env, frame.src, self._timing.propagation_ns
        frame.begins_ns = env.now
        frame.number = self._sent[src] = self._sent.get(src, 0) + 1
        heard = frame.heard = self._hearing.of(src, env.now, frame.flight.begins_ns)
        frame.noticed = heard.noticed
        if not heard.everywhere:  # those that it is for take notice beyond carrier-sense range
            receptions = frame.flight.receptions
            dst = [r.tx.dst for r in receptions] if frame.dst is None else [frame.dst]
            frame.noticed = heard.noticed.copy()
            frame.noticed[dst] = heard.strong[dst]
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
        frame.arrives_ns = self._env.now
        self._receivers.arrives(frame, self._env.now)
        detection_ns = min(self._timing.detection_ns, frame.duration_ns // 2)
        self._env.after(detection_ns, self._detect, frame)
        self._env.after(frame.duration_ns, self._end, frame)

    def _detect(self, frame: Frame) -> None:
        if frame.over:
            return
        self._receivers.detects(frame)
        for node in self._receivers.changes():
            self.stations[node].contention.becomes_busy()

    def look(self, node: int) -> None:
        """Tell a station whether the medium has become busy or idle by what it does itself."""
        if self._receivers.change_of(node):
            contention, busy = self.stations[node].contention, self._receivers.busy[node]
            (contention.becomes_busy if busy else contention.becomes_idle)()

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
            receivers = self._receivers
            through = receivers.leaves(frame, self._env.now)
            changed = set(receivers.changes())
            for node in sorted(changed | through.keys()):
                if node in through and stations[node].receives(frame, through[node]):
                    concerned.append(node)
                if node in changed:
                    stations[node].contention.becomes_idle()
        self._ended(frame)
        for node in concerned:
            stations[node].acts_on(frame)
        if not frame.cut:
            sender.goes_on(frame)
