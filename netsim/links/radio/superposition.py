"""Over-the-air aggregation: rows sent at the same time, which the channel adds up.

Truncated channel inversion (Zhu, Wang and Huang, "Broadband Analog Aggregation for Low-Latency
Federated Edge Learning", IEEE Trans. Wireless Commun. 2020, arXiv:1812.11494): with the power gain
g of its fading, sender k scales a symbol x of mean square 1 by sqrt(rho / (S_k g)) where
g >= g_th, and does not send it elsewhere. S_k is its mean SNR at full power, so that all arrive
with the power rho over noise, and the receiver has, over sqrt(rho),

    y = sum over k of 1{g_k >= g_th} x_k + z,    Var z = 1 / rho

Power is constrained on average: rho E[1/g; g >= g_th] <= S_k for the weakest sender, so

    rho = min over k of S_k / E[1/g; g >= g_th];    Rayleigh: E[1/g; g >= g_th] = E1(g_th)

and a share P(g < g_th) of what is sent is truncated, 1 - exp(-g_th) under Rayleigh fading.

A symbol carries one value and lasts 1 / bandwidth, K resource blocks side by side K / bandwidth
each: D values take D / bandwidth, however many nodes send. That is the frame's airtime, counted
once; each sender's radio spends energy for all of it. No bit is transmitted. Value d goes on
resource block d mod K. Fades change from one coherence block to the next.

Senders begin at times at which their symbols come to the receiver together, so with
`propagation_delay` it has the frame by the distance of the farthest sender later. The radios are
free by then.

A receiver that is off, or asleep when the frame begins, hears nothing of it; one that is awake then
listens to its end. A sender whose contact with it ends meanwhile is in no sum (`outage`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import scipy

from netsim.channels.fading import Fading
from netsim.channels.fading.frequency_selective import FrequencySelective
from netsim.channels.fading.none import NoFading
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.devices.energy.meter import EnergyMeter
from netsim.errors import ProtocolError
from netsim.links.arrivals import Arrivals
from netsim.links.link import (
    ASLEEP,
    DEADLINE,
    DELIVERED,
    OFF,
    OUTAGE,
    PARTIAL,
    WITHDRAWN,
    PhysicalLink,
    Transmission,
)
from netsim.links.radio.noncoherent import (
    NonCoherent,
    gains_in,
    lose_contact,
    symbols_in_a_block,
)
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.messaging.over_the_air import Energies, OverTheAir, Superposed
from netsim.rng import Streams
from netsim.units import NS_PER_S, linear_to_db, to_ns

_MACS = ("orthogonal", "ofdma")
"""Medium access under which a frame is sent."""


UNCOUNTED = (
    'frames over the air have drawn no energy: [energy.radio] kind = "first_order" counts bits, of '
    'which they have none; set "transmit" or "radio_state"'
)


def mean_inverse_gain(fading: Fading, truncation: float) -> float:
    """E[1/g; g >= g_th]: mean power of truncated channel inversion over the received power.

    Parameters
    ----------
    fading : Fading
        Of power gain g, mean 1.
    truncation : float
        g_th, linear.

    Returns
    -------
    float
        Infinite where g_th is 0 and gains are as often small as Rayleigh's.
    """
    if isinstance(fading, NoFading):
        return 1.0 if truncation <= 1.0 else 0.0
    if isinstance(fading, Rayleigh | FrequencySelective):
        return float(scipy.special.exp1(truncation))

    def inverse(u: float) -> float:
        gain = float(fading.power_gain(u))
        return 1.0 / gain if gain >= truncation else 0.0

    return float(scipy.integrate.quad(inverse, 0.0, 1.0, limit=500)[0])


class Superposition:
    """Gathers what is sent over the air and sends it, one frame a receiver at a time.

    Parameters
    ----------
    link : PhysicalLink
        Which it is a part of.
    radio : Radio
    channel : RadioChannel
    meter : EnergyMeter
    free : list of bool or None
        By node, whether its radio is free; a frame takes those of its ends. None: radios are not
        taken.
    released : callable
        Called with the radios that a frame has given back; it calls `retry`.
    streams : Streams
        Draws which of the frames that are due at one instant goes first.
    """

    def __init__(
        self,
        link: PhysicalLink,
        radio: Radio,
        channel: RadioChannel,
        meter: EnergyMeter,
        free: list[bool] | None,
        released: Callable[[Sequence[int]], None],
        streams: Streams,
    ) -> None:
        self._arrivals = Arrivals(link.env, streams, self._make_due)
        self._env, self._recorder, self._meter = link.env, link.recorder, meter
        self._released, self._finish, self._off = released, link.finish, link.off
        self._link = link
        self._asleep = link.is_asleep
        self._energies = NonCoherent(link, meter, released)
        self.set_radio(radio, channel, free, link.ttl_ns)
        self._waiting: dict[int, list[Transmission]] = {}
        self._due: dict[int, None] = {}
        self._frames: dict[int, int] = {}
        self._gathered: dict[int, int] = {}  # by receiver, frames that began to gather
        self._on_air: list[dict[Transmission, Superposed]] = []  # by frame

    def set_radio(
        self, radio: Radio, channel: RadioChannel, free: list[bool] | None, ttl_ns: int | None
    ) -> None:
        """Send by this table from now on.

        Parameters
        ----------
        radio : Radio
        channel : RadioChannel
        free : list of bool or None
            As this is made with.
        ttl_ns : int or None
            A message that has not arrived this long after it was sent is given up; None: never.
        """
        self._radio, self._channel, self._free, self._ttl_ns = radio, channel, free, ttl_ns
        self._energies.set_radio(radio, channel, free, ttl_ns)

    def add(self, tx: Transmission) -> None:
        """Let a transmission wait for the others of its frame."""
        if self._radio.mac.kind not in _MACS:
            raise ProtocolError(
                f'over the air: [radio.mac] kind = "{self._radio.mac.kind}" has no time in which '
                f"several nodes send at once; it must be one of {', '.join(_MACS)}"
            )
        if self._meter.by_bits:
            self._recorder.warnings.once("energy over the air", UNCOUNTED)
        if isinstance(tx.envelope.message, Energies):
            self._energies.add(tx)
            return
        group = self._waiting.setdefault(tx.dst, [])
        group.append(tx)
        message = _message(tx)
        if len(group) >= message.senders:
            self._is_complete(tx.dst)
        elif len(group) == 1:
            number = self._gathered[tx.dst] = self._gathered.get(tx.dst, 0) + 1
            self._env.call_after(to_ns(message.wait_s), self._end_wait, tx.dst, number)

    @property
    def is_due(self) -> bool:
        """True if a frame waits for nothing but radios."""
        return bool(self._due) or self._energies.is_due

    def retry(self) -> None:
        """Start the frames that are due and whose radios are free."""
        self._energies.retry()
        for dst in list(self._due):
            group = self._waiting[dst]
            radios = [dst, *dict.fromkeys(tx.src for tx in group)]
            if self._free is None or all(self._free[node] for node in radios):
                del self._due[dst], self._waiting[dst]
                self._start(dst, group, radios)

    def drop(self, node: int) -> None:
        """Give up what a node that has been switched off sends, is about to send, or receives.

        A frame goes on without it for the others; what it has sent of its row is in no sum.
        """
        self._energies.drop(node)
        for frame in self._on_air:
            for tx in [tx for tx in frame if node in (tx.src, tx.dst)]:
                del frame[tx]
                self._finish(tx, OFF, 1)
        for dst, group in list(self._waiting.items()):
            stay = [tx for tx in group if tx.src != node]
            for tx in group:
                if tx.src == node:
                    self._finish(tx, OFF, 0)
            if stay:
                self._waiting[dst] = stay
            else:
                del self._waiting[dst]
                self._due.pop(dst, None)

    def num_waiting(self, src: int) -> int:
        """Number of a node's transmissions that wait for others, or for radios."""
        return len(self._waiting_rows(src, object)) + self._energies.num_waiting(src)

    def withdraw(self, src: int, kind: type) -> int:
        """End a node's waiting rows of a class as `withdrawn`, and return their number.

        Parameters
        ----------
        src : int
        kind : type
        """
        gone = self._waiting_rows(src, kind)
        for tx in gone:
            stay = [one for one in self._waiting[tx.dst] if one is not tx]
            if stay:
                self._waiting[tx.dst] = stay
            else:
                del self._waiting[tx.dst]
                self._due.pop(tx.dst, None)
            self._finish(tx, WITHDRAWN, 0)
        if self._due:  # of which one may have waited for this node's radio
            self._env.call_after(0, self.retry)
        return len(gone) + self._energies.withdraw(src, kind)

    def _waiting_rows(self, src: int, kind: type) -> list[Transmission]:
        """Waiting transmissions of a node, of one class."""
        waiting = (tx for group in self._waiting.values() for tx in group)
        return [tx for tx in waiting if tx.src == src and isinstance(tx.envelope.message, kind)]

    def _end_wait(self, dst: int, number: int) -> None:
        """Send what has waited long enough for others, even if the first to come has left."""
        if dst in self._waiting and number == self._gathered[dst]:
            self._is_complete(dst)

    def _is_complete(self, dst: int) -> None:
        """Send the frame to a receiver, after those of this instant that are drawn before it."""
        if self._free is None:
            self._make_due(dst)
        else:
            self._arrivals.add(dst, (dst, *(tx.src for tx in self._waiting[dst])), dst)

    def _make_due(self, dst: int) -> None:
        if dst in self._waiting:
            self._due[dst] = None
            self.retry()

    def _start(self, dst: int, group: list[Transmission], radios: list[int]) -> None:
        """Send a frame."""
        now = self._env.now
        means = {tx.src: self._channel.mean_snr(tx.src, dst, now) for tx in group}
        missed = OFF if dst in self._off else None
        if missed is None and self._asleep(dst) and not any(tx.envelope.reply for tx in group):
            missed = ASLEEP
        apart = {tx for tx in group if self._link.are_apart(tx.src, dst)}
        heard = [tx for tx in group if means[tx.src] > 0.0 and missed is None and tx not in apart]
        for tx in group:
            if tx not in heard:
                self._env.call_after(0, self._finish, tx, missed or OUTAGE, 0)
        if not heard:
            return
        messages = [_message(tx) for tx in heard]
        values = max(m.row.num_values for m in messages)
        truncation = max(m.truncation for m in messages)
        spent = mean_inverse_gain(self._radio.fading, truncation)
        snr = min(means[tx.src] for tx in heard) / spent if spent else math.inf
        number = self._frames[dst] = self._frames.get(dst, 0) + 1
        noise = math.sqrt(1.0 / snr) if snr > 0.0 else math.inf
        duration_ns = round(values / self._radio.bandwidth_hz * NS_PER_S)
        if self._free is not None:
            for node in radios:
                self._free[node] = False
        frame: dict[Transmission, Superposed] = {}
        for tx in heard:
            came = self._good_blocks(tx, now, duration_ns, truncation)
            frame[tx] = Superposed((dst, number), noise, symbols_in_a_block(self._radio), came)
            listeners = [dst] if tx is heard[0] else []
            self._meter.on_air(tx.src, listeners, now, now + duration_ns, duration_ns)
        lose_contact(self._link, frame, duration_ns)
        snr_db = linear_to_db(snr) if 0.0 < snr < math.inf else None
        self._on_air.append(frame)
        self._env.call_after(duration_ns, self._end, frame, radios, snr_db, duration_ns)

    def _good_blocks(
        self, tx: Transmission, begins_ns: int, duration_ns: int, truncation: float
    ) -> tuple[tuple[bool, ...], ...]:
        """Return whether a sender's channel is good, by coherence block and resource block."""
        gains = gains_in(self._radio, self._channel, tx, begins_ns, duration_ns)
        return tuple(tuple(g >= truncation for g in block) for block in gains)

    def _end(
        self,
        frame: dict[Transmission, Superposed],
        radios: Sequence[int],
        snr_db: float | None,
        airtime_ns: int,
    ) -> None:
        self._on_air = [other for other in self._on_air if other is not frame]
        self._recorder.airtime_ns += airtime_ns
        wait_ns = max((self._link.propagation_ns(tx.src, tx.dst) for tx in frame), default=0)
        for tx, arrived in frame.items():
            share = arrived.share
            outcome = PARTIAL if 0.0 < share < 1.0 else DELIVERED if share else OUTAGE
            if self._ttl_ns is not None and self._env.now - tx.envelope.sent_ns > self._ttl_ns:
                outcome = DEADLINE
            self._link.deliver((tx, outcome, 1, 0, snr_db, arrived), 0, wait_ns)
        self._released(radios)


def _message(tx: Transmission) -> OverTheAir:
    message = tx.envelope.message
    assert isinstance(message, OverTheAir)
    return message
