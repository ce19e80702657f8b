"""No message arrives after its time to live, and none is given up later than that."""

from collections.abc import Sequence

import numpy as np

from netsim.engine.invariants import Invariant
from netsim.engine.invariants.causality import is_analogue
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import ARRIVED, OUTCOMES
from netsim.units import to_ns

_CAME = [OUTCOMES.index(outcome) for outcome in ARRIVED]


class TimeToLive(Invariant):
    """Check of the time from sending to the end of each message, propagation included.

    What is sent over the air at once with others is on the air for its whole frame, and may only
    not arrive late. Not where the scenario changes on its way.
    """

    def watch(self) -> None:
        scenario = self.run.world.scenario
        if scenario.changes:
            return
        radio, wire = scenario.radio, scenario.link
        self._wired = self.run.is_wired
        limits = (None if table is None else table.ttl_s for table in (radio, wire))
        self._most_ns = [np.inf if ttl_s is None else to_ns(ttl_s) for ttl_s in limits]
        if min(self._most_ns) < np.inf:
            self.run.recorder.watch_messages(self._rows)

    def _rows(self, rows: Rows, kinds: Sequence[str]) -> None:
        took_ns = rows["t_done_s"] - rows["t_sent_s"]
        wired = self._wired[rows["src"]] | self._wired[rows["dst"]]
        most_ns = np.where(wired, self._most_ns[1], self._most_ns[0])
        counts = np.isin(rows["outcome"], _CAME) | ~is_analogue(rows, kinds)
        late = np.flatnonzero(counts & (took_ns > most_ns))
        if len(late):
            i = int(late[0])
            outcome, src, dst = OUTCOMES[rows["outcome"][i]], *(rows[n][i] for n in ("src", "dst"))
            what = f"a message from node {src} ended as {outcome} after its time to live, in ns"
            self.broken(f"node {dst}", int(rows["t_done_s"][i]), what, took_ns[i], most_ns[i])
