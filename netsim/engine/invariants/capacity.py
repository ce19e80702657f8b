"""No receiver, and no channel that all share, carries more than its rate allows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.engine.invariants import Invariant, Observed
from netsim.engine.invariants.causality import is_analogue, peak_bps
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import OUTCOMES
from netsim.units import NS_PER_S

ROUNDING = 1e-6
"""Relative, of times that are sums over packets."""

SLACK_NS = 1_000
"""Times are rounded to nanoseconds, once a message."""


class Capacity(Invariant):
    """Time on the air of messages that arrived, against the time in which they were under way.

    A message needs at least its packets' bits over the rate; where rates follow the channel, over
    the highest rate. At a radio these times must not overlap, since it receives one frame at a
    time. Where all nodes hear each other and no frame is captured, they must not overlap over all
    receivers together. Two things loosen the bound:

    - Where shares of the band change from block to block, an attempt keeps the share with which it
      began. So the last packet of each message may have been sent beside another's.
    - Senders that contend at message level draw their losses independently, and a collision takes
      the channel once for all who meet in it. A broadcast without acknowledgement, which nobody
      repeats, then keeps to the channel's rate on average only. It counts at its receivers alone.

    Not checked in scenarios with `[[changes]]`.
    """

    def __init__(self, run: Observed) -> None:
        super().__init__(run)
        self._arrived: list[NDArray[np.int64]] = []  # since the last look

    def watch(self) -> None:
        world = self.run.world
        radio = world.scenario.radio
        if radio is None or world.wiring is not None or world.scenario.changes:
            return
        self._radio = radio
        self._peak_bps = peak_bps(world)
        mac = radio.mac
        self._beside = int(mac.shares_change)
        self._each_for_itself = (
            mac.senses and not radio.plays_frames and radio.broadcast.rounds == 1
        )
        self._alone = (
            mac.contends
            and mac.range_m is None
            and not getattr(mac, "capture", False)
            and radio.sensitivity_dbm is None
        )
        self.run.recorder.watch_messages(self._rows)

    def at_evaluation(self, now_ns: int) -> None:
        self._compare_all()

    def after(self, summary: Mapping[str, Any]) -> None:
        self._compare_all()

    def _rows(self, rows: Rows, kinds: Sequence[str]) -> None:
        delivered = rows["outcome"] == OUTCOMES.index("delivered")
        arrived = np.flatnonzero(delivered & ~is_analogue(rows, kinds))
        names = "src", "dst", "t_sent_s", "t_done_s", "bits"
        self._arrived.append(np.array([rows[name][arrived] for name in names], dtype=np.int64))

    def _compare_all(self) -> None:
        found, self._arrived = self._arrived, []
        if not sum(part.shape[1] for part in found):
            return
        src, dst, sent_ns, done_ns, bits = np.concatenate(found, axis=1)
        least_ns = np.array([self._least_ns(int(b)) for b in bits])
        for node in np.unique(dst).tolist():
            mine = dst == node
            self._compare(f"node {node}", sent_ns[mine], done_ns[mine], least_ns[mine])
        if self._alone:  # a broadcast is on the air once
            one, count = np.unique(
                np.stack((src, sent_ns, bits)), axis=1, return_index=True, return_counts=True
            )[1:]
            if self._each_for_itself:
                one = one[count == 1]
            if not len(one):
                return
            self._compare("all nodes", sent_ns[one], done_ns[one], least_ns[one])

    def _least_ns(self, bits: int) -> float:
        packets, packet_bits = self._radio.packets(bits)
        each_s = self._radio.attempt_overhead_s + packet_bits / self._peak_bps
        return (packets - self._beside) * each_s * NS_PER_S

    def _compare(
        self,
        where: str,
        sent_ns: NDArray[np.int64],
        done_ns: NDArray[np.int64],
        least_ns: NDArray[np.float64],
    ) -> None:
        """Let them be received one after the other, each as soon as it was sent."""
        order, free_ns = np.argsort(sent_ns, kind="stable"), 0.0
        for i in order.tolist():
            free_ns = max(free_ns, float(sent_ns[i])) + float(least_ns[i])
        last_ns = int(done_ns.max())
        if free_ns * (1 - ROUNDING) - SLACK_NS * len(sent_ns) > last_ns:
            what = (
                f"{len(sent_ns)} messages have arrived sooner than the rate allows; the last one, "
                "in ns"
            )
            self.broken(where, last_ns, what, last_ns, round(free_ns))
