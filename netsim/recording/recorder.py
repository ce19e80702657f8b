"""The event log of a run: messages, wake-ups, switches, local steps; and its fingerprint.

The fingerprint is a SHA-256 over messages, wake-ups, switches and jobs in order. All but messages
enter with the number of messages logged before them, which fixes the order between the kinds of
event. So runs with equal fingerprints had the same events in the same order.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from netsim.recording import run_folder
from netsim.recording.fingerprint import Fingerprint
from netsim.recording.intervals import Intervals
from netsim.recording.message_log import MessageLog, Watcher
from netsim.recording.parquet_parts import Extent, Parts, Rows, join, write_table
from netsim.recording.run_warnings import RunWarnings
from netsim.recording.schema import TABLES, WAKES, GraphRow, HopRow, MetricRow, TrafficRow
from netsim.recording.uses import Uses
from netsim.units import to_s

WRITE_EVERY_S = 30.0
"""Wall time between two parts of a table, where its rows do not fill them sooner."""
_PARTS_A_STRETCH = 20
"""Of a table that is written more often: parts in the time that a run has taken, at most."""


class Recorder:
    """Recorder of the events and measurements of one run.

    Parameters
    ----------
    folder : Path or None
        The run folder; created if need be. None: totals, fingerprint and metrics are kept in
        memory.
    part_rows : int
        Rows of one Parquet part, and a few more where a message to several receivers ends it; the
        fingerprint does not depend on it.
    log_messages : bool
        Whether to write `messages/` and `wakes/`; totals and fingerprint do not depend on it.
    is_replay : bool
        Whether the folder holds the tables of the past, which is played again until `go_on`.
    timeline : bool
        Whether to write `intervals/`: what every node was at, and when.
    hops : bool
        Whether to write `hops/`, where messages go by relays.

    Attributes
    ----------
    airtime_ns : int
        Time for which transmitters were on, over all nodes; the link adds to it.
    airtime_ahead_ns : callable
        (time_ns) -> how much of it is still to come then; set where a link counts transmissions to
        their planned ends.
    bits_transmitted : int
        Bits that all nodes have put on the air or through their wires, headers and retransmissions
        included, a broadcast once; the link adds to it when a transmission ends.
    local_steps : int
        Training steps of all nodes so far.
    intervals : Intervals or None
        Is told what nodes are at; None unless `timeline`.
    message, messages : callable
        Record a message that has ended; see `MessageLog`.
    write_every_s : float
        What waits is written so often [s of wall time]; see `checkpoint`.
    traffic : Traffic
        Counts messages, bits and models.
    ages : Ages
        Counts how old messages that carry values are when they are used.
    uses : Uses
        Records what became of messages that brought values.
    warnings : RunWarnings
        What the summary and the terminal warn of.

    Raises
    ------
    ScenarioError
        If the folder already holds a run's tables.
    """

    def __init__(
        self,
        folder: Path | None,
        part_rows: int = 100_000,
        *,
        log_messages: bool = True,
        is_replay: bool = False,
        timeline: bool = False,
        hops: bool = False,
    ) -> None:
        self.airtime_ns = 0
        self.bits_transmitted = 0
        self.local_steps = 0
        self._folder = folder
        self.airtime_ahead_ns: Callable[[int], int] = lambda now_ns: 0
        self._accounted_to_ns = 0

        def parts(name: str, written: bool = True) -> Parts:
            where = folder / name if folder is not None and written else None
            return Parts(where, TABLES[name], part_rows, is_replay)

        self._tables = {
            "messages": parts("messages", log_messages),
            "wakes": parts("wakes", log_messages),
            "metrics": parts("metrics"),
            "traffic": parts("traffic"),
            "graph": parts("graph"),
            "uses": parts("uses", log_messages),
        }
        self._log = MessageLog(self._tables["messages"])
        self._other_events = self._tables["wakes"]  # wake-ups, switches and jobs
        self._other_events.on_the_way = self._hashed
        self._other_values = self._other_events.values
        self._hash = Fingerprint(TABLES["wakes"])
        self._metrics = self._tables["metrics"]
        self._metrics.on_the_way = self._kept
        self._spent, self._graph = self._tables["traffic"], self._tables["graph"]
        self.uses = Uses(self._tables["uses"])
        self.intervals: Intervals | None = None
        if timeline:
            self._tables["intervals"] = parts("intervals")
            self.intervals = Intervals(self._tables["intervals"])
        self._hops: Parts | None = None
        if hops:
            self._hops = self._tables["hops"] = parts("hops", log_messages)
        self.message, self.messages = self._log.message, self._log.messages
        self.traffic = self._log.traffic
        self.ages = self.uses.ages
        self.warnings = RunWarnings()
        self._wakes: Counter[str] = Counter()
        self._metric_parts: list[Rows] = []
        self._began_at_s = self._written_at_s = time.monotonic()
        self.write_every_s = WRITE_EVERY_S
        self._totals: dict[str, Any] | None = None

    def limit_age(self, limit_ns: float) -> None:
        """Take messages for used up to this age only [ns]: the algorithm's `max_age_s`."""
        self.ages.limit_ns = limit_ns

    def wake(self, t_ns: int, node: int, round: int, outcome: str) -> None:
        """Record a wake-up of a node.

        Parameters
        ----------
        round : int
            Number of the wake-up.
        outcome : {"woke", "skipped"}
            `skipped`: the node was busy with other work.
        """
        self._wakes[outcome] += 1
        self._mark(t_ns, node, outcome, round)

    def switched(self, t_ns: int, node: int, on: bool) -> None:
        """Record that a node was switched on or off.

        Parameters
        ----------
        t_ns : int
        node : int
        on : bool
        """
        self._mark(t_ns, node, "on" if on else "off", 0)
        if self.intervals is not None:
            self.intervals.switched(t_ns, node, on)

    def hop(self, *fields: Any, **named: Any) -> None:
        """Record a hop that has ended, by the fields of its `HopRow`."""
        if self._hops is not None:
            self._hops.add(HopRow(*fields, **named))

    def job(self, t_ns: int, node: int, steps: int) -> None:
        """Record that a node started a training job.

        Parameters
        ----------
        steps : int
            Local steps of the job.
        """
        self.local_steps += steps
        self._mark(t_ns, node, "job", steps)

    def _mark(self, t_ns: int, node: int, what: str, count: int) -> None:
        log, values = self._log, self._other_values
        values += (log.taken + len(log.receivers), t_ns, node, what, count)  # an `OtherEventRow`
        if len(values) >= self._other_events.full:
            self._other_events.flush()

    def _hashed(self, rows: Rows) -> Rows:
        """Hash rows of wake-ups, switches and jobs."""
        self._hash.add(rows)
        return rows

    def metric(self, *fields: Any, **named: Any) -> None:
        """Record a number measured on one node's published model, by the fields of `MetricRow`."""
        self._metrics.add(MetricRow(*fields, **named))

    def _kept(self, rows: Rows) -> Rows:
        """Keep rows of metrics, where there is no folder to read them from."""
        if self._folder is None:
            self._metric_parts.append(self._metrics.readable(rows))
        return rows

    def spent(self, t_ns: int) -> None:
        """Record what the whole network has spent by an evaluation: a row of `traffic/`."""
        self._accounted_to_ns = t_ns
        self._spent.add(TrafficRow(t_ns, self.bits_transmitted, self.airtime_s()))

    def graph(self, *fields: Any, **named: Any) -> None:
        """Record the weight that a node gives to a peer, by the fields of its `GraphRow`."""
        self._graph.add(GraphRow(*fields, **named))

    def nodes(self, table: Mapping[str, Sequence[Any]]) -> None:
        """Write `nodes.parquet` from its columns by name: one row for each node, in order of id."""
        if self._folder is not None:
            columns = {name: list(cells) for name, cells in table.items()}
            write_table(self._folder / "nodes.parquet", pa.table(columns))

    def metric_rows(self) -> Rows:
        """All metrics so far, as they are read from the folder; works without a folder, too."""
        self._metrics.flush()
        if self._folder is not None:
            return run_folder.read(self._folder, "metrics", [c.name for c in TABLES["metrics"]])
        return join(self._metric_parts or [self._metrics.readable(self._metrics.take())])

    def checkpoint(self) -> None:
        """Write what waits, if that is `write_every_s` ago; a killed run loses no more.

        More often than usual for a while only, so that a long run has few small parts.
        """
        now_s = time.monotonic()
        every_s = max(self.write_every_s, (now_s - self._began_at_s) / _PARTS_A_STRETCH)
        if now_s - self._written_at_s >= min(every_s, WRITE_EVERY_S):
            self._write_all()

    def extents(self) -> dict[str, Extent]:
        """Write what waits; how far each table has been written."""
        self._write_all()
        return {name: parts.extent() for name, parts in self._tables.items()}

    def go_on(self, extents: Mapping[str, Extent]) -> None:
        """End the replay of the past: write after what `extents` gave at that event."""
        self._write_all()
        for name, parts in self._tables.items():
            parts.go_on(extents[name])

    def event_log_sha256(self) -> str:
        """Hash of all events so far."""
        self._write_all()
        return self._count()["event_log_sha256"]  # type: ignore[no-any-return]

    def close(self) -> dict[str, Any]:
        """Write what waits and return the totals; further calls return them again.

        Returns
        -------
        dict
            `messages` {sent delivered partial lost expired withdrawn bits_offered bits_transmitted
            bits_delivered airtime_s}, `outcomes` {kind: {outcome: count}}, `models_sent`,
            `sent_by_kind` {kind: {messages models bits_offered bits_transmitted bits_delivered}},
            `delay`, `staleness` (see `Ages`), `wakes` {woke skipped}, `local_steps`,
            `event_log_sha256`. Sent = delivered + partial + lost + expired + withdrawn.
            `bits_offered` is the payload of all messages that ended, once for each receiver;
            `bits_delivered` that of those delivered whole; `bits_transmitted` what was put on the
            air or through wires for them: every attempt with headers, a broadcast once. Messages
            and models by kind are of those that were begun, once for each receiver. `delay`
            {arrived mean_s p50_s p95_s p99_s max_s by_kind} is from sending to arrival, waiting
            for radios or wires included, over messages delivered whole or in part; percentiles
            are right to 0.4 %.
        """
        if self._totals is None:
            for table in self._tables.values():
                table.close()
            self._totals = self._count()
        return self._totals

    def salvage(self) -> dict[str, int]:
        """Write what waits of a run that failed, table by table as far as that can be done.

        Nothing is written into a table of which a part is missing, and no empty part.

        Returns
        -------
        dict of str to int
            How many rows of each table are in the folder.
        """
        for table in self._tables.values():
            for end in (table.flush, table.withdraw_empty):
                with suppress(Exception):  # the run's own error is what is told
                    end()
        return {name: t.rows_written for name, t in self._tables.items() if t.rows_written}

    @property
    def messages_ended(self) -> int:
        """Number of messages that have ended so far, one for each receiver."""
        return self._log.count

    def watch_messages(self, told: Watcher) -> None:
        """Tell of every message that ends, by and by; see `flush_messages`."""
        self._log.watchers.append(told)

    def flush_messages(self) -> None:
        """Tell those that watch of all messages that have ended."""
        self._tables["messages"].flush()

    def airtime_s(self) -> float:
        """Airtime up to the last evaluation."""
        return to_s(self.airtime_ns - self.airtime_ahead_ns(self._accounted_to_ns))

    def _write_all(self) -> None:
        for table in self._tables.values():
            table.flush()
        self._written_at_s = time.monotonic()

    def _count(self) -> dict[str, Any]:
        totals = self._log.totals(self.bits_transmitted, self.airtime_s())
        fingerprint = hashlib.sha256(self._log.digest(totals["outcomes"]))
        fingerprint.update(self._hash.digest(self._other_events.words))
        return {
            **totals,
            "staleness": self.ages.summary(),
            "uses": self.uses.summary(),
            "wakes": dict.fromkeys(WAKES, 0) | self._wakes,
            "local_steps": self.local_steps,
            "event_log_sha256": fingerprint.hexdigest(),
        }
