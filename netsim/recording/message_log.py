"""The message table of a run.

Messages are recorded a million times in a large run, so recording only appends; counting, hashing
and writing happen on arrays, once per part.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from netsim.errors import ProtocolError
from netsim.recording.fingerprint import Fingerprint
from netsim.recording.parquet_parts import Parts, Rows
from netsim.recording.schema import ADDED_OUTCOMES, OUTCOMES, MessageRow
from netsim.recording.traffic_stats import Traffic

Watcher = Callable[[Rows, Sequence[str]], None]
"""Told of rows of the message table, times in ns, and the names of their kinds by code."""


class MessageLog:
    """Collects, counts, hashes and writes the rows of messages that have ended.

    Messages that one sending takes to several receivers, and that end alike, are one waiting row;
    they become a row each when the rows become arrays.

    `parts`: of the table's columns; `dst` of a waiting row is the number of receivers.

    Attributes
    ----------
    taken : int
        Messages that have been counted and hashed.
    receivers : list of int
        Of the waiting rows, one after the other.
    traffic : Traffic
        Counts messages, bits and models.
    watchers : list of Watcher
        Told of rows as they are counted.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts, parts.on_the_way = parts, self._counted
        for outcome in OUTCOMES:
            parts.words["outcome"][outcome]  # fixed codes
        self._values: list[Any] = parts.values  # of the waiting rows, one after the other
        self._dst, self._width = MessageRow._fields.index("dst"), parts.width
        self.receivers: list[int] = []
        self._full = parts.full // parts.width
        self.traffic = Traffic()
        self.watchers: list[Watcher] = []
        self.taken = 0
        # without later columns, so that older fingerprints hold
        self._hash = Fingerprint([c for c in parts.columns if not c.is_later])

    @property
    def count(self) -> int:
        """Number of messages that have ended so far."""
        return self.taken + len(self.receivers)

    def message(self, *fields: Any, **named: Any) -> int:
        """Record a message to one receiver that has ended, and return its row's number.

        Parameters
        ----------
        *fields, **named
            Those of `MessageRow`, in order or by name.
        """
        row = MessageRow(*fields, **named)
        return self.messages(row, (row.dst,))

    def messages(self, row: MessageRow, receivers: Sequence[int]) -> int:
        """Record a message to several receivers that has ended alike at all of them.

        `row`: that of each of them but for `dst`, which is not read.

        Returns
        -------
        int
            Number of the first one's row in the table.
        """
        self._values += row
        self._values[self._dst - self._width] = len(receivers)
        number = self.taken + len(self.receivers)
        self.receivers += receivers
        if len(self.receivers) >= self._full:
            self._parts.flush()
        return number

    def _counted(self, rows: Rows) -> Rows:
        """Count and hash waiting rows, now one a receiver.

        Raises
        ------
        ProtocolError
            If a message ended in a way that `OUTCOMES` does not name.
        """
        receivers = np.array(self.receivers, dtype=np.int32)
        self.receivers.clear()
        if len(receivers) > len(rows["dst"]):
            rows = {name: np.repeat(cells, rows["dst"]) for name, cells in rows.items()}
        rows["dst"] = receivers
        outcomes = self._parts.words["outcome"]
        if len(outcomes) > len(OUTCOMES):
            unknown = ", ".join(list(outcomes)[len(OUTCOMES) :])
            raise ProtocolError(f"unknown message outcome {unknown}; it is {', '.join(OUTCOMES)}")
        self.taken += len(receivers)
        self._hash.add(rows)
        self.traffic.add(rows)
        for watcher in self.watchers:
            watcher(rows, list(self._parts.words["kind"]))
        return rows

    def totals(self, bits_transmitted: int, airtime_s: float) -> dict[str, Any]:
        """See `Traffic.totals`."""
        kinds: Sequence[str] = list(self._parts.words["kind"])
        return self.traffic.totals(kinds, bits_transmitted, airtime_s)

    def digest(self, outcomes: dict[str, Any]) -> bytes:
        """Hash of all messages; `outcomes` are those that occurred, by message class."""
        occurred = {outcome for counts in outcomes.values() for outcome in counts}
        named = [o for o in OUTCOMES if o in occurred or o not in ADDED_OUTCOMES]
        return self._hash.digest({**self._parts.words, "outcome": named})
