"""A station: sends the packets of its messages in turn, and answers the frames that it receives.

A packet of a unicast: RTS and CTS if it is long enough, the data, its acknowledgement, each a SIFS
after the one before. If an answer does not begin in time, or another frame comes in its place, the
attempt has failed: the next one follows a longer backoff, up to the limit of `[radio.arq]`, which
counts attempts of every fate. Packets of broadcasts, and of unicasts without acknowledgements, are
sent once.
"""

from __future__ import annotations

from collections.abc import Callable

from netsim.channels.mac.csma import Csma
from netsim.clock import Clock
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.frame_level.contention import Contention
from netsim.links.radio.mac.frame_level.frame import ACK, CTS, DATA, DECODED, RTS, Frame
from netsim.links.radio.mac.frame_level.framing import answer, data_frame, rts
from netsim.links.radio.mac.frame_level.medium import Medium
from netsim.links.radio.mac.frame_level.receiver import Receivers
from netsim.links.radio.mac.frame_level.timing import PREAMBLE_S, Timing
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import to_ns


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
        self.contention.ask()

    def stop(self) -> None:
        """Send no more of the message under way."""
        flight, self.flight = self.flight, None
        under_way, self._data, self._asked = self._data, None, None
        sending = self._sending
        if sending is not None and sending.flight is flight and sending.kind in (DATA, RTS):
            self._medium.cut(sending)
        self.contention.withdraw(under_way is not None)

    def switch_off(self) -> None:
        """Stop sending and receiving at once."""
        if self._sending is not None:
            self._medium.cut(self._sending)
        self._receivers.drop(self.node, self._sending is not None)
        self._medium.look(self.node)

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
            self._send(rts(self._timing, self._data))

    def _wait_for_a_rate(self, flight: Flight) -> None:
        """Try again when the channel has changed; without end, nothing can ever be sent."""
        length_ns = None
        if flight.rate_bps is None:
            dst, bits = flight.receptions[0].tx.dst, flight.packet_bits
            length_ns = next(self._channel.blocks(self.node, dst, self._env.now, bits)).length_ns
        if length_ns is None:
            self._finish()
        else:
            self._env.after(length_ns, self._try_again, flight, flight.leg)

    def _try_again(self, flight: Flight, leg: int) -> None:
        if self.flight is flight and flight.leg == leg:
            self.contention.ask()

    def _send(self, frame: Frame) -> None:
        self._sending = frame
        self._receivers.sends(self.node)
        self._medium.look(self.node)
        self._medium.send(frame)

    def _send_after_gap(self, frame: Frame) -> None:
        """Send a frame a SIFS after the one that it follows, whatever is on the air."""
        self._env.after(self._timing.sifs_ns, self._follow, frame)

    def _follow(self, frame: Frame) -> None:
        wanted = frame.kind != DATA or frame is self._data
        if wanted and self._sending is None and self._listens(self.node, frame):
            self._send(frame)

    def goes_on(self, frame: Frame) -> None:
        """Its own frame has ended everywhere: wait for the answer, if there will be one."""
        if frame.kind == RTS or (frame is self._data and frame.nav_ns):
            self._asked, self._overdue = frame, False
            ends_ns = frame.begins_ns + frame.duration_ns
            self._env.after(ends_ns + self._timing.answer_ns - self._env.now, self._miss, frame)
        elif frame is self._data:
            self._settle(through=True)

    def _miss(self, frame: Frame) -> None:
        """No answer has been received by the time that it should have begun."""
        if self._asked is not frame:
            return
        if self._receivers.receives(self.node):
            self._overdue = True
        else:
            self._fail()

    def _fail(self) -> None:
        """End an attempt that was not answered."""
        self._asked = self._data = None
        self._tries += 1
        if self._tries == self._limit:
            self._settle(through=False)
        else:
            self.contention.back_off(failed=True, again=True)

    def _settle(self, through: bool) -> None:
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
        """Its own frame has ended."""
        if self._sending is frame:
            self._sending = None
            self._receivers.drop(self.node)
            self._medium.look(self.node)

    def receives(self, frame: Frame, through: bool) -> bool:
        """A frame that it was locked to ends, decoded or not; before the medium is idle.

        Returns
        -------
        bool
            Whether there is something to do about it, once it has ended for all.
        """
        mine = frame.dst == self.node
        self.contention.understood(through)
        if through and not mine:
            self._hold_back(frame)
        return (through and mine) or self._overdue

    def acts_on(self, frame: Frame) -> None:
        """Answer a frame, or go on with the exchange that it belongs to."""
        if frame.dst != self.node or frame.results.get(self.node) != DECODED:
            if self._asked is not None and self._overdue:
                self._fail()
        elif frame.kind == DATA:
            if frame.nav_ns:
                self._send_after_gap(answer(self._timing, ACK, self.node, frame))
        elif frame.kind == RTS:
            if self._env.now >= self.contention.nav_ns:
                self._send_after_gap(answer(self._timing, CTS, self.node, frame))
        elif frame.answers is self._asked is not None:
            self._asked = None
            if frame.kind == ACK:
                self._settle(through=True)
            elif self._data is not None:
                self._send_after_gap(self._data)
        elif self._asked is not None and self._overdue:
            self._fail()

    def _hold_back(self, frame: Frame) -> None:
        """Respect the reservation in a frame to somebody else."""
        if frame.nav_ns:
            timing, now = self._timing, self._env.now
            self.contention.reserve(now + frame.nav_ns)
            if frame.kind == RTS:
                wait_ns = 2 * (timing.sifs_ns + timing.slot_ns) + timing.cts_ns + to_ns(PREAMBLE_S)
                self._env.after(wait_ns, self._check_use, frame, now + frame.nav_ns)

    def _check_use(self, frame: Frame, until_ns: int) -> None:
        """Forget the reservation of an RTS if nothing has followed it."""
        contention = self.contention
        ended_ns = frame.begins_ns + frame.duration_ns
        busy = self._receivers.busy[self.node]
        if contention.nav_ns == until_ns and not busy and contention.busy_since_ns < ended_ns:
            contention.release()
