"""Wake-ups, switches and jobs, which enter the fingerprint of a run and are not written."""

from netsim.recording.fingerprint import Fingerprint
from netsim.recording.parquet_parts import Column, Parts

MARK_COLUMNS = (
    Column("messages_before", "count"),
    Column("t_s", "time"),
    Column("node", "id"),
    Column("what", "word"),
    Column("count", "count"),
)


class Marks:
    """Hashes the events of a run that are no messages.

    Parameters
    ----------
    part_rows : int
        So many are hashed at a time; the result does not depend on it.
    """

    def __init__(self, part_rows: int) -> None:
        self._rows = Parts(None, MARK_COLUMNS, part_rows)
        self._hash = Fingerprint(MARK_COLUMNS)

    def add(self, messages_before: int, t_ns: int, node: int, what: str, count: int) -> None:
        """Add an event.

        Parameters
        ----------
        messages_before : int
            How many messages had been logged: fixes its place among them.
        t_ns : int
        node : int
        what : str
            `woke`, `skipped`, `on`, `off` or `job`.
        count : int
            Number of the wake-up, or local steps of the job; 0 for a switch.
        """
        rows = self._rows
        rows.values += (messages_before, t_ns, node, what, count)
        if len(rows.values) >= rows.full:
            self._hash.add(rows.take())

    def digest(self) -> bytes:
        """Hash of all events so far."""
        self._hash.add(self._rows.take())
        return self._hash.digest(self._rows.words)
