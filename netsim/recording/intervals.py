"""The table of what every node was at, and when: recorded only where it is asked for.

Radios and processors are told at its start until when a work lasts, and told again when it is cut
short. So a piece waits here until its end has come, and is a row of the table from then on.
"""

from netsim.recording.parquet_parts import Parts
from netsim.recording.schema import COMPUTE, OFF, TRAIN, IntervalRow

_PROCESSOR = (TRAIN, COMPUTE)

Piece = tuple[int, int, float]
"""Begin and end, and working time within them [ns]."""


class Intervals:
    """Intervals of time that nodes spend in their activities.

    `parts`: of the table's columns.
    """

    def __init__(self, parts: Parts) -> None:
        self._rows = parts
        self._open: dict[tuple[int, str], list[Piece]] = {}
        self._off_since_ns: dict[int, int] = {}
        self._paused: dict[tuple[int, str], list[Piece]] = {}

    def works(self, now_ns: int, node: int, what: str, from_ns: int, to_ns: int) -> None:
        """A processor works between two instants; pauses of its node are left out.

        Parameters
        ----------
        what : {"train", "compute"}
        """
        key = (node, what)
        if node in self._off_since_ns:
            self._paused.setdefault(key, []).append((from_ns, to_ns, 0.0))
        else:
            self._add(now_ns, key, (from_ns, to_ns, to_ns - from_ns))

    def stops(self, now_ns: int, node: int, what: str, from_ns: int, to_ns: int) -> None:
        """Drop a work of a processor, which it is at or which waits.

        Parameters
        ----------
        what : {"train", "compute"}
        from_ns, to_ns : int
            Between which it was to work.
        """
        key = (node, what)
        self._emit_ended(now_ns, key)
        for held in (self._open, self._paused):
            pieces = held.get(key, [])
            of_it = [one for one in pieces if one[:2] == (from_ns, to_ns)]
            if not of_it and from_ns < now_ns:  # it has gone on after a pause
                of_it = [one for one in pieces if one[0] <= now_ns]
            for one in of_it[:1]:
                pieces.remove(one)
                if held is self._open and one[0] < now_ns:
                    self._emit(key, (one[0], now_ns, now_ns - one[0]))

    def on_air(
        self, now_ns: int, node: int, what: str, from_ns: int, to_ns: int, busy_ns: float
    ) -> None:
        """Record that a radio sends or receives between two times.

        Parameters
        ----------
        what : {"transmit", "receive"}
        from_ns, to_ns : int
            Where `to_ns` is the earlier one, the time is taken back.
        busy_ns : float
            How long of it the radio is at work; negative where it is taken back.
        """
        key = (node, what)
        if to_ns > from_ns:
            self._add(now_ns, key, (from_ns, to_ns, busy_ns))
            return
        pieces = self._open.get(key, [])
        known = [k for k, one in enumerate(pieces) if one[1] == from_ns and one[0] <= to_ns]
        if known:  # of several messages that were to end at once, the one with that much work

            def error_ns(k: int) -> float:
                begin_ns, end_ns, had_ns = pieces[k]
                return abs(had_ns * (end_ns - to_ns) / (end_ns - begin_ns) + busy_ns)

            k = min(reversed(known), key=error_ns)
            begin_ns, _, had_ns = pieces[k]
            pieces[k : k + 1] = [(begin_ns, to_ns, had_ns + busy_ns)] * (to_ns > begin_ns)

    def switched(self, now_ns: int, node: int, on: bool) -> None:
        """Record that a node is switched on or off: its processor stops while it is off.

        Parameters
        ----------
        now_ns : int
        node : int
        on : bool
        """
        if on:
            since_ns = self._off_since_ns.pop(node, now_ns)
            self._emit((node, OFF), (since_ns, now_ns, now_ns - since_ns))
        else:
            self._off_since_ns[node] = now_ns
        for what in _PROCESSOR:
            key = (node, what)
            if on:
                for begin_ns, end_ns, _ in self._paused.pop(key, []):
                    begin_ns = max(begin_ns, now_ns)
                    if end_ns > begin_ns:
                        self._add(now_ns, key, (begin_ns, end_ns, end_ns - begin_ns))
            else:
                self._emit_ended(now_ns, key)
                for begin_ns, end_ns, _ in self._open.pop(key, []):
                    self._emit(key, (begin_ns, now_ns, now_ns - begin_ns))
                    self._paused.setdefault(key, []).append((begin_ns, end_ns, 0.0))

    def end(self, now_ns: int) -> None:
        """End all intervals at the end of the run."""
        for key, pieces in self._open.items():
            for begin_ns, end_ns, busy_ns in pieces:
                if end_ns > now_ns:
                    lasted_ns = end_ns - begin_ns
                    busy_ns *= (now_ns - begin_ns) / lasted_ns if lasted_ns else 0.0
                self._emit(key, (begin_ns, min(end_ns, now_ns), busy_ns))
        for node, since_ns in self._off_since_ns.items():
            self._emit((node, OFF), (since_ns, now_ns, now_ns - since_ns))
        self._open.clear()
        self._off_since_ns.clear()

    def _add(self, now_ns: int, key: tuple[int, str], piece: Piece) -> None:
        self._emit_ended(now_ns, key)
        if piece[1] > piece[0]:
            self._open.setdefault(key, []).append(piece)

    def _emit_ended(self, now_ns: int, key: tuple[int, str]) -> None:
        pieces = self._open.get(key)
        if not pieces:
            return
        for piece in pieces:
            if piece[1] <= now_ns:
                self._emit(key, piece)
        pieces[:] = [piece for piece in pieces if piece[1] > now_ns]

    def _emit(self, key: tuple[int, str], piece: Piece) -> None:
        begin_ns, end_ns, busy_ns = piece
        if end_ns <= begin_ns:
            return
        self._rows.add(IntervalRow(begin_ns, end_ns, *key, round(busy_ns)))
