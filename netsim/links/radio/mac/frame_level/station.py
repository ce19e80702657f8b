"""Stations and the air between them: contention, exchanges of frames, and the frames on the air.

A backoff is a number of idle slots, uniform on 0 .. W-1. They are counted from a gap (DIFS, or EIFS
after a frame that was not understood) after the medium has become idle, and whether or not a frame
waits; while the medium is busy, physically or by NAV, the count stands still. A station draws one
after every exchange of frames, and when a message comes while the medium is busy. A message that
comes while it is idle, with no backoff left, is sent as soon as the medium has been idle for the
gap, at once where it has been already (IEEE 802.11-2020, 10.3.4.2, basic access). Messages that
come to several stations at one instant collide then.

The window is W after a success. It doubles with each failure, up to `stages` times, also when a
packet is given up; the failure after as many in a row as there may be attempts at a packet makes it
W again (IEEE 802.11-2020, 10.23.2.2: QSRC).

A packet of a unicast: RTS and CTS if it is long enough, the data, its acknowledgement, each a SIFS
after the one before. If an answer does not begin in time, or another frame comes in its place, the
attempt has failed: the next one follows a longer backoff, up to the limit of `[radio.arq]`, which
counts attempts of every fate. Packets of broadcasts, and of unicasts without acknowledgements, are
sent once.
"""

from __future__ import annotations

from collections.abc import Callable

from netsim.channels.mac.csma import PREAMBLE_S, Csma
from netsim.clock import Clock
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.frame_level.frame import (
    ACK,
    CTS,
    DATA,
    DECODED,
    RTS,
    Frame,
    Timing,
    answer_frame,
    data_frame,
    rts_frame,
)
from netsim.links.radio.mac.frame_level.hearing import Hearing
from netsim.links.radio.mac.frame_level.receiver import Receivers
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import to_ns


class Contention:
    """The contention of one station for the medium.

    Parameters
    ----------
    node : int
    mac : Csma
    limit : int or None
        Attempts at one packet; None: any number.
    timing : Timing
    env : Clock
    streams : Streams
    granted : callable
        Called when the station may send, once for each time that it asks.

    Attributes
    ----------
    nav_ns : int
        Until when the medium is reserved for others (network allocation vector).
    busy_since_ns : int
        When the medium last became busy.
    """

    def __init__(
        self,
        node: int,
        mac: Csma,
        limit: int | None,
        timing: Timing,
        env: Clock,
        streams: Streams,
        granted: Callable[[], None],
    ) -> None:
        self._node, self._limit = node, limit
        self._window, self._stages = mac.cw_min, mac.stages
        self._timing, self._env, self._streams, self._granted = timing, env, streams, granted
        self.nav_ns = 0
        self.busy_since_ns = 0
        self._eifs_ns = 0  # when the EIFS after a frame that was not understood ends
        self._failures = self._stage = 0
        self._slots = 0  # still to be counted, from `_counts_from_ns` on
        self._counts_from_ns: int | None = 0  # None: the medium is busy
        self._waiting = False  # whether a frame waits for its turn
        self._at_once = False  # whether it waits for a gap only, without a backoff
        self._plan_number = 0
        self._draws = 0

    # -- frames that wait ------------------------------------------------------------------------

    def request_turn(self) -> None:
        """Wait for a turn with a message that has no other before it."""
        now = self._env.now
        self._waiting = True
        if self._counts_from_ns is None or now < self.nav_ns:
            if self._slots == 0:
                self._draw_backoff()
        elif self._slots <= max(0, now - self._counts_from_ns) // self._timing.slot_ns:
            self._slots, self._at_once = 0, True
            self._counts_from_ns = max(self._counts_from_ns, now)
        self._plan_turn()

    def back_off(self, failed: bool, again: bool) -> None:
        """Draw a backoff after an exchange of frames.

        Parameters
        ----------
        failed : bool
            Whether the exchange failed.
        again : bool
            Whether a frame waits for the next turn.
        """
        if not failed or self._failures == self._limit:
            self._failures = self._stage = 0
        else:
            self._failures += 1
            self._stage = min(self._stage + 1, self._stages)
        self._waiting = again
        self._draw_backoff()
        if self._counts_from_ns is not None:
            idle_ns = self._env.now + self._timing.difs_ns
            self._counts_from_ns = max(self._counts_from_ns, idle_ns)
        self._plan_turn()

    def withdraw(self, exchange: bool) -> None:
        """Wait no more: the message has ended; `exchange`: in the midst of one."""
        self._waiting = self._at_once = False
        if exchange:
            self.back_off(failed=False, again=False)

    # -- the medium ------------------------------------------------------------------------------

    def becomes_busy(self) -> None:
        """Stand still: a signal is noticed, or the station sends."""
        now, since_ns = self._env.now, self._counts_from_ns
        self.busy_since_ns, self._counts_from_ns = now, None
        if self._slots and since_ns is not None and now > since_ns:
            self._slots = max(0, self._slots - (now - since_ns) // self._timing.slot_ns)
        if self._at_once:
            self._draw_backoff()

    def becomes_idle(self) -> None:
        """Continue after a gap, when no signal is noticed any more."""
        now, nav_ns = self._env.now, self.nav_ns
        gap_ends_ns = (now if now > nav_ns else nav_ns) + self._timing.difs_ns
        eifs_ns = self._eifs_ns
        self._counts_from_ns = gap_ends_ns if gap_ends_ns > eifs_ns else eifs_ns
        if self._waiting:
            self._plan_turn()

    def note_frame_end(self, understood: bool, reserved_ns: int) -> None:
        """Note that a frame has ended, before the medium becomes idle.

        Parameters
        ----------
        understood : bool
        reserved_ns : int
            Until when it reserves the medium for others; 0: it does not.
        """
        self._eifs_ns = 0 if understood else self._env.now + self._timing.eifs_ns
        if reserved_ns > self.nav_ns:
            self.nav_ns = reserved_ns

    def forget_reservation(self) -> None:
        """Forget a reservation that was not used."""
        self.nav_ns = self._env.now
        if self._counts_from_ns is not None:
            self.becomes_idle()

    # -- the backoff -----------------------------------------------------------------------------

    def _draw_backoff(self) -> None:
        self._draws += 1
        self._at_once = False
        window = self._window << self._stage
        self._slots = int(window * self._streams.uniform("backoff", self._node, self._draws))

    def _plan_turn(self) -> None:
        """Plan the turn of the frame that waits, if nothing comes in between."""
        if not self._waiting or self._counts_from_ns is None:
            return
        turn_ns = self._counts_from_ns + self._slots * self._timing.slot_ns
        self._plan_number += 1
        self._env.call_after(max(0, turn_ns - self._env.now), self._take_turn, self._plan_number)

    def _take_turn(self, plan: int) -> None:
        if plan != self._plan_number or not self._waiting or self._counts_from_ns is None:
            return
        self._waiting = self._at_once = False
        self._slots = 0
        self._granted()


class Medium:
    """The medium that all stations share, at frame level.

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
    stations : list of Station
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
        self.stations: list[Station] = []
        self._sent: dict[int, int] = {}

    def send(self, frame: Frame) -> None:
        """Begin to send a frame."""
        env, src, delay_ns = self._env, frame.src, self._timing.propagation_ns
        frame.begins_ns = env.now
        frame.number = self._sent[src] = self._sent.get(src, 0) + 1
        heard = frame.heard = self._hearing.heard_from(src, env.now, frame.flight.begins_ns)
        frame.noticed = heard.noticed
        if not heard.everywhere:  # those that it is for take notice beyond carrier-sense range
            receptions = frame.flight.receptions
            dst = [r.tx.dst for r in receptions] if frame.dst is None else [frame.dst]
            frame.noticed = heard.noticed.copy()
            frame.noticed[dst] = heard.strong[dst]
        self._begins(frame)
        if delay_ns:
            env.call_after(frame.duration_ns, self._sender_ends, frame)
            env.call_after(delay_ns, self._arrive, frame)
        else:
            self._arrive(frame)

    def abort(self, frame: Frame) -> None:
        """End a frame before its time: its sender stops. Nobody can decode it."""
        frame.cut = True
        self._end(frame)

    def _arrive(self, frame: Frame) -> None:
        if frame.over:
            return
        frame.arrives_ns = self._env.now
        self._receivers.begin_arrival(frame, self._env.now)
        detection_ns = min(self._timing.detection_ns, frame.duration_ns // 2)
        self._env.call_after(detection_ns, self._detect, frame)
        self._env.call_after(frame.duration_ns, self._end, frame)

    def _detect(self, frame: Frame) -> None:
        if frame.over:
            return
        self._receivers.lock_receivers(frame)
        for node in self._receivers.changes():
            self.stations[node].contention.becomes_busy()

    def tell_own_state(self, node: int) -> None:
        """Tell a station if its own sending has made the medium busy or idle."""
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
            through = receivers.end_arrival(frame, self._env.now)
            changed = set(receivers.changes())
            for node in sorted(changed | through.keys()):
                if node in through and stations[node].take_frame(frame, through[node]):
                    concerned.append(node)
                if node in changed:
                    stations[node].contention.becomes_idle()
        self._ended(frame)
        for node in concerned:
            stations[node].acts_on(frame)
        if not frame.cut:
            sender.goes_on(frame)


class Station:
    """The radio of one node.

    Parameters
    ----------
    node : int
    radio : Radio
    mac : Csma
    timing : Timing
    channel : RadioChannel
    medium : Medium
    receivers : Receivers
        Of all nodes.
    env : Clock
    streams : Streams
    listens : callable
        (node, frame) -> whether the node's radio is on and awake for a frame.
    over : callable
        Called with a flight of which nothing is left to send.

    Attributes
    ----------
    contention : Contention
        For the medium.
    flight : Flight or None
        The message under way.
    packet : int
        How many of its packets it is done with; of the last one, if none is under way.
    """

    def __init__(
        self,
        node: int,
        radio: Radio,
        mac: Csma,
        timing: Timing,
        channel: RadioChannel,
        medium: Medium,
        receivers: Receivers,
        env: Clock,
        streams: Streams,
        listens: Callable[[int, Frame], bool],
        over: Callable[[Flight], None],
    ) -> None:
        self.node = node
        self._timing, self._channel, self._medium = timing, channel, medium
        self._receivers, self._env = receivers, env
        self._listens, self._over = listens, over
        self._acknowledged, self._gives_up = radio.arq.acknowledged, radio.arq.gives_up
        self._limit, self._rts_bits = radio.arq.limit, mac.rts_threshold_bits
        self.contention = Contention(
            node, mac, radio.arq.limit, timing, env, streams, self._has_turn
        )
        self._sending: Frame | None = None
        self.flight: Flight | None = None
        self.packet = self._tries = 0
        self._data: Frame | None = None  # of the exchange under way
        self._asked: Frame | None = None  # waits for its answer
        self._overdue = False  # whether the answer must be in the frame that is being received

    # -- messages --------------------------------------------------------------------------------

    def begin(self, flight: Flight) -> None:
        """Send a message; there is none under way."""
        self.flight, self.packet, self._tries = flight, 0, 0
        self.contention.request_turn()

    def stop(self) -> None:
        """Send no more of the message under way."""
        flight, self.flight = self.flight, None
        under_way, self._data, self._asked = self._data, None, None
        sending = self._sending
        if sending is not None and sending.flight is flight and sending.kind in (DATA, RTS):
            self._medium.abort(sending)
        self.contention.withdraw(under_way is not None)

    def switch_off(self) -> None:
        """Stop sending and receiving at once."""
        if self._sending is not None:
            self._medium.abort(self._sending)
        self._receivers.stop_receiving(self.node, self._sending is not None)
        self._medium.tell_own_state(self.node)

    # -- exchanges of frames ---------------------------------------------------------------------

    def _has_turn(self) -> None:
        """Begin an exchange."""
        flight = self.flight
        assert flight is not None
        rate_bps = flight.rate_bps
        if rate_bps is None:
            dst, now = flight.receptions[0].tx.dst, self._env.now
            rate_bps = self._channel.rate_bps(self._channel.measured_snr(self.node, dst, now))
        if rate_bps == 0.0:
            self._wait_for_a_rate(flight)
            return
        self._data = data_frame(self._timing, flight, self.packet, rate_bps, self._acknowledged)
        if self._data.dst is None or self._rts_bits is None or flight.packet_bits <= self._rts_bits:
            self._send(self._data)
        else:
            self._send(rts_frame(self._timing, self._data))

    def _wait_for_a_rate(self, flight: Flight) -> None:
        """Try again when the channel has changed; without end, nothing can ever be sent."""
        length_ns = None
        if flight.rate_bps is None:
            dst, bits = flight.receptions[0].tx.dst, flight.packet_bits
            length_ns = next(self._channel.blocks(self.node, dst, self._env.now, bits)).length_ns
        if length_ns is None:
            self._finish()
        else:
            self._env.call_after(length_ns, self._try_again, flight, flight.leg)

    def _try_again(self, flight: Flight, leg: int) -> None:
        if self.flight is flight and flight.leg == leg:
            self.contention.request_turn()

    def _send(self, frame: Frame) -> None:
        self._sending = frame
        self._receivers.note_sending(self.node)
        self._medium.tell_own_state(self.node)
        self._medium.send(frame)

    def _send_after_gap(self, frame: Frame) -> None:
        """Send a frame a SIFS after the one that it follows, whatever is on the air."""
        self._env.call_after(self._timing.sifs_ns, self._send_after_sifs, frame)

    def _send_after_sifs(self, frame: Frame) -> None:
        wanted = frame.kind != DATA or frame is self._data
        if wanted and self._sending is None and self._listens(self.node, frame):
            self._send(frame)

    def goes_on(self, frame: Frame) -> None:
        """Wait for the answer, if any, to its own frame, which has ended everywhere."""
        if frame.kind == RTS or (frame is self._data and frame.nav_ns):
            self._asked, self._overdue = frame, False
            ends_ns = frame.begins_ns + frame.duration_ns
            self._env.call_after(
                ends_ns + self._timing.answer_ns - self._env.now, self._check_answer, frame
            )
        elif frame is self._data:
            self._finish_packet(through=True)

    def _check_answer(self, frame: Frame) -> None:
        """No answer has been received by the time that it should have begun."""
        if self._asked is not frame:
            return
        if self._receivers.is_receiving(self.node):
            self._overdue = True
        else:
            self._fail_attempt()

    def _fail_attempt(self) -> None:
        """End an attempt that was not answered."""
        self._asked = self._data = None
        self._tries += 1
        if self._tries == self._limit:
            self._finish_packet(through=False)
        else:
            self.contention.back_off(failed=True, again=True)

    def _finish_packet(self, through: bool) -> None:
        """Go on to the next packet: this one has arrived, as far as is known, or is given up."""
        flight = self.flight
        assert flight is not None
        self._data, self._tries = None, 0
        self.packet += 1
        done = self.packet == flight.packets or (self._gives_up and not through)
        self.contention.back_off(failed=not through, again=not done)
        if done:
            self._finish()

    def _finish(self) -> None:
        flight, self.flight = self.flight, None
        assert flight is not None
        self._over(flight)

    # -- what the medium tells -------------------------------------------------------------------

    def stops_sending(self, frame: Frame) -> None:
        """Stop sending: its own frame has ended."""
        if self._sending is frame:
            self._sending = None
            self._receivers.stop_receiving(self.node)
            self._medium.tell_own_state(self.node)

    def take_frame(self, frame: Frame, through: bool) -> bool:
        """A frame that it was locked to ends, decoded or not; before the medium is idle.

        Returns
        -------
        bool
            Whether there is something to do about it, once it has ended for all.
        """
        mine, reserved_ns = frame.dst == self.node, 0
        if frame.nav_ns and through and not mine:
            reserved_ns = self._env.now + frame.nav_ns
            if frame.kind == RTS:
                self._check_later(frame, reserved_ns)
        self.contention.note_frame_end(through, reserved_ns)
        return (through and mine) or self._overdue

    def acts_on(self, frame: Frame) -> None:
        """Answer a frame, or go on with the exchange that it belongs to."""
        if frame.dst != self.node or frame.results.get(self.node) != DECODED:
            if self._asked is not None and self._overdue:
                self._fail_attempt()
        elif frame.kind == DATA:
            if frame.nav_ns:
                self._send_after_gap(answer_frame(self._timing, ACK, self.node, frame))
        elif frame.kind == RTS:
            if self._env.now >= self.contention.nav_ns:
                self._send_after_gap(answer_frame(self._timing, CTS, self.node, frame))
        elif frame.answers is self._asked is not None:
            self._asked = None
            if frame.kind == ACK:
                self._finish_packet(through=True)
            elif self._data is not None:
                self._send_after_gap(self._data)
        elif self._asked is not None and self._overdue:
            self._fail_attempt()

    def _check_later(self, frame: Frame, until_ns: int) -> None:
        """Look, in time for the data, whether the reservation of an RTS is used."""
        timing = self._timing
        wait_ns = 2 * (timing.sifs_ns + timing.slot_ns) + timing.cts_ns + to_ns(PREAMBLE_S)
        self._env.call_after(wait_ns, self._check_use, frame, until_ns)

    def _check_use(self, frame: Frame, until_ns: int) -> None:
        """Forget the reservation of an RTS if nothing has followed it."""
        contention = self.contention
        ended_ns = frame.begins_ns + frame.duration_ns
        busy = self._receivers.busy[self.node]
        if contention.nav_ns == until_ns and not busy and contention.busy_since_ns < ended_ns:
            contention.forget_reservation()
