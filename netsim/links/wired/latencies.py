"""The `[link.latency_matrix]` table: measured round-trip times between hosts."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath, Table
from netsim.rng import Streams
from netsim.traces.files import Text, is_comment, parse_number, quote, read_text
from netsim.traces.remarks import note_left_out, note_remark
from netsim.units import FOREVER_NS


class LatencyMatrix(Table):
    """A square matrix of latencies between hosts; each node stands for one of them.

    Parameters
    ----------
    path : str
        A text with a row of numbers a line, separated by white space or commas; may be `.gz` or in
        a `.zip`. Beside the scenario, else below the data folder.
    member : str
        File of a zip. Absent: the only one.
    unit : {"ms", "s"}
        Unit of the entries: files rarely say (PlanetLab's are ms, Seattle's s).
    round_trip : bool
        Whether an entry is there and back; half of it is the latency of a message.
    assign : {"permutation", "order"}
        Hosts that are nodes: drawn by the seed, or the first ones.
    """

    path: FilePath
    member: str | None = None
    unit: Literal["ms", "s"]
    round_trip: bool = True
    assign: Literal["permutation", "order"] = "permutation"

    def read_ns(self, nodes: int, streams: Streams, folder: Path | None) -> NDArray[np.int64]:
        """Read the latencies between the nodes.

        Parameters
        ----------
        nodes : int
            Number of nodes.
        streams : Streams
            For the assignment of hosts to nodes.
        folder : Path or None
            The data folder, where the file may lie.

        Returns
        -------
        (nodes, nodes) int64
            From row to column, in ns.

        Raises
        ------
        DataError
            If the file isn't such a matrix, or has too few hosts.
        """
        text = read_text(self.path, folder, "link.latency_matrix", member=self.member)
        rows: list[list[float]] = []
        for at, line in enumerate(text.content.splitlines(), start=1):
            if is_comment(line):
                continue
            row = []
            for column, word in enumerate(_split_row(line), start=1):
                value = parse_number(word)
                if value is None or not 0 <= value < float("inf"):
                    raise text.error(
                        f"column {column} is {quote(word)}, not a latency; it must be a number "
                        "of at least 0",
                        at,
                    )
                row.append(value)
            rows.append(row)
            if len(row) != len(rows[0]):
                raise text.error(f"has {len(row)} entries, the rows before {len(rows[0])}", at)
        if not rows or len(rows) != len(rows[0]):
            raise text.error(
                f"is no square matrix: {len(rows)} rows of {len(rows[0]) if rows else 0} entries; "
                "a row and a column for each host are needed, and no names or numbers of hosts"
            )
        if len(rows) == 3 and all(row[:2] in ([0, 1], [0, 2], [1, 2]) for row in rows):
            raise text.error(
                "may be a list of pairs (host, host, latency) as well as a matrix of 3 hosts; "
                "write each host's latency to itself, 0, on the diagonal"
            )
        self._require_both_ways(text, np.array(rows))
        if len(rows) < nodes:
            raise text.error(f"has {len(rows)} hosts, [nodes] count = {nodes}; lower the count")
        hosts, how = np.arange(len(rows)), "the first ones"
        if self.assign == "permutation":
            hosts = streams.permutation("latency matrix", n=len(rows))
            how = "drawn by the seed"
        hosts = hosts[:nodes]
        note_left_out(text.where, "hosts", len(rows), nodes, how)
        scale_ns = (1e6 if self.unit == "ms" else 1e9) / (2 if self.round_trip else 1)
        found = np.minimum(np.array(rows)[np.ix_(hosts, hosts)], FOREVER_NS / scale_ns)
        found_ns: NDArray[np.int64] = np.rint(found * scale_ns).astype(np.int64)
        return found_ns

    def _require_both_ways(self, text: Text, matrix: NDArray[np.float64]) -> None:
        """Raise DataError if one half of a matrix is missing; remark on pairs without latency."""
        above = np.triu(np.ones(matrix.shape, dtype=bool), 1)
        half = [bool(matrix[part].any()) for part in (above, above.T)]
        if half[0] != half[1]:
            raise text.error(
                f"holds 0 from each host to all {'later' if half[1] else 'earlier'} ones: it is "
                "half a matrix; write the latencies of both directions, the same ones or others"
            )
        none = (matrix == 0.0) & (above | above.T)
        if none.any() and any(half):
            i, j = (int(k[0]) for k in np.nonzero(none))
            note_remark(
                f"{text.where}: {np.count_nonzero(none):,} latencies between different hosts are "
                f"0, the first in row {i + 1}, column {j + 1}; if these were not measured, take "
                "the hosts out"
            )


def _split_row(line: str) -> list[str]:
    """The entries of a row: between commas or semicolons if it has some, else between blanks."""
    separator = next((sign for sign in ";," if sign in line), None)
    words = [word.strip() for word in line.split(separator)]
    return words[:-1] if separator and not words[-1] else words
