"""Table of the other events of a run: wake-ups, switches and jobs."""

from netsim.recording.fingerprint import Fingerprint
from netsim.recording.parquet_parts import Parts
from netsim.recording.schema import OTHER_EVENT_COLUMNS, OtherEventRow


class OtherEvents:
    """Table of the events of a run that are no messages: hashed and written.

    Parameters
    ----------
    parts : Parts
        Of the table's columns.
    """

    def __init__(self, parts: Parts) -> None:
        self._rows = parts
        self._hash = Fingerprint(OTHER_EVENT_COLUMNS)

    def add(self, row: OtherEventRow) -> None:
        """Add an event."""
        rows = self._rows
        rows.values += row
        if len(rows.values) >= rows.full:
            self._take()

    def flush(self) -> None:
        """Hash and write the waiting rows, if there are any."""
        if self._rows.values:
            self._take()

    def _take(self) -> None:
        rows = self._rows.take()
        self._hash.add(rows)
        self._rows.write(rows)

    def close(self) -> None:
        """Close the table, once everything has been flushed."""
        self._rows.close()

    def digest(self) -> bytes:
        """Hash of all events so far, which have been flushed."""
        return self._hash.digest(self._rows.words)
