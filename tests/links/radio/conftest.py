"""Radios in the air without a scenario: who sends what when, and what became of it."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from netsim.clock import Clock
from netsim.links.link import Transmission
from netsim.links.radio.link import RadioLink
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.rng import Streams


@dataclass(frozen=True)
class Whole(Message):
    """Of no use in part."""


@dataclass(frozen=True)
class Parts(Message):
    """Of use in part."""

    accepts_partial: ClassVar[bool] = True


@dataclass
class Ended:
    """Outcome of a message."""

    src: int
    dst: int
    outcome: str
    arrived: np.ndarray | None
    at_ns: int
    attempts: int
    lost: int
    snr_db: float | None
    sent_ns: int


@dataclass
class Ether:
    """An air whose mean SNRs are given, and what happened in it."""

    air: RadioLink
    env: Clock
    recorder: Recorder
    spent: "Spent"
    off: set[int]
    ended: list[Ended] = field(default_factory=list)

    def send(self, src, dst, bits, *, at_ns=None, parts=False, patience_ns=None, reply=False):
        """Send now or at a time; `dst` may be several nodes: then it is a broadcast."""
        if at_ns is not None and at_ns > self.env.now:
            wait_ns = at_ns - self.env.now
            self.env.call_after(
                wait_ns, lambda: self._send(src, dst, bits, parts, patience_ns, reply)
            )
        else:
            self._send(src, dst, bits, parts, patience_ns, reply)

    def _send(self, src, dst, bits, parts, patience_ns, reply):
        message = Parts() if parts else Whole()
        envelope = Envelope(
            message, src, bits, 0, self.env.now, reply=reply, patience_ns=patience_ns
        )
        receivers = [dst] if isinstance(dst, int) else dst
        group = [Transmission(envelope, j, self._done) for j in receivers]
        if isinstance(dst, int):
            self.air.unicast(group[0])
        else:
            self.air.broadcast(group)

    def _done(self, tx, outcome, arrived):
        of_air, sent_ns = self.recorder.last, tx.envelope.sent_ns
        self.ended.append(Ended(tx.src, tx.dst, outcome, arrived, self.env.now, *of_air, sent_ns))

    def switch(self, node, on, at_ns):
        self.env.call_after(at_ns - self.env.now, self._switch, node, on)

    def _switch(self, node, on):
        (self.off.discard if on else self.off.add)(node)
        self.air.on_switch(node, on)

    def run(self):
        """Until nothing is left to happen."""
        self.env.run()
        assert self.air.in_flight == 0
        return self.ended


class LastRow(Recorder):
    """Remembers the row that was recorded last, and the bits transmitted of all rows."""

    def __init__(self):
        super().__init__(None)
        self.messages = self._remember
        self.transmitted = []

    def _remember(self, row, receivers):
        self.last = row[6], row[7], row[8]
        self.transmitted.append(row[12])
        return 0


class Given(MeanSnr):
    """Mean SNRs from a matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def snr(self, src, others, time_ns):
        return self.matrix[src][list(others)]

    def pair_snr(self, src, dst, time_ns):
        return float(self.matrix[src, dst])


class Spent:
    """Counts airtime by sender and by receiver."""

    by_bits = listens = True

    def __init__(self, nodes):
        self.sending_ns, self.receiving_ns = [0] * nodes, [0] * nodes
        self.bits, self.heard_bits = [0] * nodes, [0] * nodes
        self.overheard_ns = [0] * nodes

    def in_one_state(self, oldest_ns):
        """Airtime is counted message by message."""

    def on_air(self, src, receivers, from_ns, to_ns, airtime_ns, power=1.0):
        self.sending_ns[src] += airtime_ns
        for node in receivers:
            self.count_reception(node, from_ns, to_ns, airtime_ns)

    def count_reception(self, node, from_ns, to_ns, airtime_ns):
        self.receiving_ns[node] += airtime_ns

    def count_overhearing(self, nodes, from_ns, to_ns, airtime_ns):
        for node in nodes:
            self.overheard_ns[node] += airtime_ns

    def count_sent(self, src, to, receivers, bits):
        self.bits[src] += bits
        for node in receivers:
            self.count_received_bits(node, bits)

    def count_received_bits(self, node, bits):
        self.heard_bits[node] += bits


def in_the_air(
    radio=None,
    mean_snr=100.0,
    nodes=2,
    seed=0,
    distance_m=None,
    rhythms=(),
    wakes_every_ns=None,
    meetings=None,
    base_stations=(),
):
    """Make an Ether: `in_the_air({radio keys}, mean_snr=number, matrix or MeanSnr, nodes=...)`."""
    keys = {
        "fading": {"kind": "none"},
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_payload_bytes": 125,
        "packet_error": {"kind": "fixed", "loss": 0.0},
    } | (radio or {})
    radio = Radio.model_validate(keys)
    if not isinstance(mean_snr, MeanSnr):
        matrix = np.broadcast_to(np.asarray(mean_snr, dtype=float), (nodes, nodes))
        mean_snr = Given(matrix)
    threshold = 10 ** (radio.threshold_db / 10)
    budget = LinkBudget(mean_snr, threshold, (1.0,) * nodes)
    env, recorder = Clock(), LastRow()

    def last_wakeup(node, time_ns):
        number = time_ns // wakes_every_ns if wakes_every_ns else 0
        return number * (wakes_every_ns or 0), number

    streams = Streams(seed)
    spent, off = Spent(nodes), set()
    air = RadioLink(
        radio, budget, last_wakeup, env, recorder, streams, spent, off, meetings, distance_m,
        rhythms, frozenset(base_stations),
    )  # fmt: skip
    return Ether(air, env, recorder, spent, off)


@pytest.fixture
def ether():
    """See `in_the_air`."""
    return in_the_air


@pytest.fixture
def slots_in_order(monkeypatch):
    """Slots of a frame in the order of node ids, or of colours, for delays derived by hand."""
    monkeypatch.setattr(Streams, "permutation", lambda self, purpose, *ids, n: np.arange(n))
