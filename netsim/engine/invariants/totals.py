"""Bits, airtime and local steps add up to the totals, and never fall."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netsim.engine.invariants import Invariant, Observed, differ
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import OUTCOMES
from netsim.units import to_s


class Totals(Invariant):
    """Check of the sums of nodes' spending, against the network's and against earlier ones."""

    def __init__(self, run: Observed) -> None:
        super().__init__(run)
        self._bits = [0] * len(run.parts)
        self._airtime_ns = 0
        self._in_rows: dict[str, int] | None = None

    def watch(self) -> None:
        self._in_rows = {"bits_offered": 0, "bits_transmitted": 0, "bits_delivered": 0}
        self.run.recorder.watch_messages(self._rows)

    def _rows(self, rows: Rows, _: Sequence[str]) -> None:
        assert self._in_rows is not None
        delivered = rows["outcome"] == OUTCOMES.index("delivered")
        self._in_rows["bits_offered"] += int(rows["bits"].sum())
        self._in_rows["bits_delivered"] += int(rows["bits"][delivered].sum())
        self._in_rows["bits_transmitted"] += int(rows["bits_transmitted"].sum())
        if np.any(rows["bits_transmitted"] < 0):
            i = int(np.flatnonzero(rows["bits_transmitted"] < 0)[0])
            bits, node = int(rows["bits_transmitted"][i]), int(rows["src"][i])
            at_ns = int(rows["t_done_s"][i])
            self.broken(f"node {node}", at_ns, "bits transmitted in a row", bits, 0)

    def at_evaluation(self, now_ns: int) -> None:
        recorder, link = self.run.recorder, self.run.link
        bits = [link.bits_transmitted_by(parts.id) for parts in self.run.parts]
        for node, (now, before) in enumerate(zip(bits, self._bits, strict=True)):
            if now < before:
                self.broken(f"node {node}", now_ns, "bits transmitted have fallen", now, before)
        airtime_ns = recorder.airtime_ns - recorder.airtime_ahead_ns(now_ns)
        if airtime_ns < self._airtime_ns:
            what = "airtime has fallen, in ns"
            self.broken("all nodes", now_ns, what, airtime_ns, self._airtime_ns)
        self._bits, self._airtime_ns = bits, airtime_ns
        self._sums(now_ns, recorder.bits_transmitted, recorder.local_steps)

    def after(self, summary: Mapping[str, Any]) -> None:
        now_ns, messages = self.run.clock.now, summary["messages"]
        self._sums(now_ns, messages["bits_transmitted"], summary["local_steps"])
        airtime_s = to_s(self._airtime_ns)
        if self._in_rows is None:
            return
        if differ(messages["airtime_s"], airtime_s):
            what = "airtime of the summary and at the last evaluation, in s"
            self.broken("all nodes", now_ns, what, messages["airtime_s"], airtime_s)
        for name, found in self._in_rows.items():
            # What has been sent of messages in flight is in no row yet.
            fewer = name == "bits_transmitted" and self.run.link.in_flight
            if found > messages[name] or (found < messages[name] and not fewer):
                what = f"{name} of all rows and of the summary"
                self.broken("all nodes", now_ns, what, found, messages[name])

    def _sums(self, now_ns: int, bits_transmitted: int, local_steps: int) -> None:
        parts = self.run.parts
        bits = sum(self.run.link.bits_transmitted_by(one.id) for one in parts)
        if bits != bits_transmitted:
            what = "bits transmitted, node by node and in all"
            self.broken("all nodes", now_ns, what, bits, bits_transmitted)
        steps = sum(one.processor.local_steps for one in parts)
        if steps != local_steps:
            self.broken(
                "all nodes", now_ns, "local steps, node by node and in all", steps, local_steps
            )
