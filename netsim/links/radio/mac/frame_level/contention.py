"""Contention of stations: gaps, and slotted binary exponential backoff.

A backoff is a number of idle slots, uniform on 0 .. W-1. They are counted from a gap (DIFS, or EIFS
after a frame that was not understood) after the medium has become idle, and whether or not a frame
waits; while the medium is busy, physically or by NAV, the count stands still. A station draws one
after every exchange of frames, and when a message comes while the medium
is busy. A message that comes while it is idle, with no backoff left, is sent as soon as the medium
has been idle for the gap, at once where it has been already (IEEE 802.11-2020, 10.3.4.2, basic
access). Messages that come to several stations at one instant collide then.

The window is W after a success. It doubles with each failure, up to `stages` times, also when a
packet is given up; the failure after as many in a row as there may be attempts at a packet makes it
W again (IEEE 802.11-2020, 10.23.2.2: QSRC).
"""

from __future__ import annotations

from collections.abc import Callable

from netsim.channels.mac.csma import Csma
from netsim.clock import Clock
from netsim.links.radio.mac.frame_level.timing import Timing
from netsim.rng import Streams


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

    def ask(self) -> None:
        """Wait for a turn, for a message that finds none before it."""
        now = self._env.now
        self._waiting = True
        if self._counts_from_ns is None or now < self.nav_ns:
            if self._slots == 0:
                self._draw()
        elif self._slots <= max(0, now - self._counts_from_ns) // self._timing.slot_ns:
            self._slots, self._at_once = 0, True
            self._counts_from_ns = max(self._counts_from_ns, now)
        self._plan()

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
        self._draw()
        if self._counts_from_ns is not None:
            idle_ns = self._env.now + self._timing.difs_ns
            self._counts_from_ns = max(self._counts_from_ns, idle_ns)
        self._plan()

    def withdraw(self, exchange: bool) -> None:
        """Wait no more: the message has ended; `exchange`: in the midst of one."""
        self._waiting = self._at_once = False
        if exchange:
            self.back_off(failed=False, again=False)

    # -- the medium ------------------------------------------------------------------------------

    def becomes_busy(self) -> None:
        """Stand still: a signal is noticed, or the station sends."""
        now = self.busy_since_ns = self._env.now
        if self._counts_from_ns is not None and now > self._counts_from_ns:
            counted = (now - self._counts_from_ns) // self._timing.slot_ns
            self._slots = max(0, self._slots - counted)
        self._counts_from_ns = None
        if self._at_once:
            self._draw()

    def becomes_idle(self) -> None:
        """Go on after a gap: no signal is noticed any more."""
        difs_ns = self._timing.difs_ns
        self._counts_from_ns = max(self._env.now, self.nav_ns) + difs_ns
        self._counts_from_ns = max(self._counts_from_ns, self._eifs_ns)
        self._plan()

    def understood(self, frame_was: bool) -> None:
        """Note that a frame has ended, and whether it was understood; before the medium is idle."""
        self._eifs_ns = 0 if frame_was else self._env.now + self._timing.eifs_ns

    def reserve(self, until_ns: int) -> None:
        """Note a reservation by others; before the medium is idle."""
        self.nav_ns = max(self.nav_ns, until_ns)

    def release(self) -> None:
        """Forget a reservation that was not used."""
        self.nav_ns = self._env.now
        if self._counts_from_ns is not None:
            self.becomes_idle()

    # -- the backoff -----------------------------------------------------------------------------

    def _draw(self) -> None:
        self._draws += 1
        self._at_once = False
        window = self._window << self._stage
        self._slots = int(window * self._streams.uniform("backoff", self._node, self._draws))

    def _plan(self) -> None:
        """Plan the turn of the frame that waits, if nothing comes in between."""
        if not self._waiting or self._counts_from_ns is None:
            return
        turn_ns = self._counts_from_ns + self._slots * self._timing.slot_ns
        self._plan_number += 1
        self._env.after(max(0, turn_ns - self._env.now), self._turn, self._plan_number)

    def _turn(self, plan: int) -> None:
        if plan != self._plan_number or not self._waiting or self._counts_from_ns is None:
            return
        self._waiting = self._at_once = False
        self._slots = 0
        self._granted()
