"""The `[link.trace]` table: the capacity of nodes' uplinks and downlinks over time."""

from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from netsim.links.wired.capacity import PiecewiseCapacity
from netsim.registry import Duration, FilePath, Finite, Positive, Table
from netsim.rng import Streams
from netsim.traces.bandwidth import Pieces, read_bandwidth
from netsim.traces.files import Text, read_text
from netsim.traces.moments import file_time_of_start
from netsim.traces.remarks import note_left_out
from netsim.units import NS_PER_S, to_ns


class BandwidthTrace(Table):
    """Measured bandwidth of the nodes' uplinks and downlinks.

    It holds for every node that is no server and whose group states no rate of its own.

    Parameters
    ----------
    uplink : str
        File of the nodes' uplinks: a table of times and rates, Pensieve's, Sabre's, or Mahimahi's
        packet opportunities. Beside the scenario, else below the data folder. Absent: only
        downlinks vary.
    downlink : str
        File of the nodes' downlinks, which may be the same. Absent: only uplinks vary.
    names : tuple of str
        Only these traces of the files; empty: all of them.
    assign : {"permutation", "order"}
        Assignment of traces to nodes: drawn by the seed, or in the order of the file; where there
        are fewer traces than nodes they are assigned again. A node has the same place in both
        files.
    after : {"loop", "hold"}
        At its end a trace starts anew, or its last rate stays.
    start : {"first", "random"}
        Start of the run in the trace: at its first row, or at a time drawn for each node.
    start_s : float, optional
        Time of the file at which the run starts. Absent: that of a trace's first row, 0 of packet
        opportunities.
    scale : float
        Factor on all rates of the files.
    bin_s : float, optional
        Packet opportunities are averaged over so long, which takes fewer events. Absent: each is
        what the ms before it carries.
    """

    uplink: FilePath | None = None
    downlink: FilePath | None = None
    names: tuple[str, ...] = ()
    assign: Literal["permutation", "order"] = "permutation"
    after: Literal["loop", "hold"] = "loop"
    start: Literal["first", "random"] = "first"
    start_s: Finite | None = None
    scale: Positive = 1.0
    bin_s: Duration | None = None

    @model_validator(mode="after")
    def _names_a_file(self) -> Self:
        if self.uplink is None and self.downlink is None:
            raise ValueError("needs uplink or downlink, the files")
        if self.start == "random" and self.start_s is not None:
            raise ValueError('start_s is not read with start = "random", which draws it')
        return self

    def read(
        self,
        direction: Literal["uplink", "downlink"],
        nodes: int,
        streams: Streams,
        folder: Path | None,
    ) -> list[PiecewiseCapacity] | None:
        """Read the capacity of each node in one direction.

        Parameters
        ----------
        direction : {"uplink", "downlink"}
        nodes : int
            Number of nodes.
        streams : Streams
            For the assignment of traces to nodes, and for random starts.
        folder : Path or None
            The data folder, where the file may lie.

        Returns
        -------
        list of PiecewiseCapacity or None
            One for each node; None where no file is named for this direction.

        Raises
        ------
        DataError
            If the file is malformed, or a capacity would be 0 for ever.
        """
        path: str | None = getattr(self, direction)
        if path is None:
            return None
        text = read_text(path, folder, "link.trace", key=direction)
        traces = read_bandwidth(text, self.bin_s)
        unknown = [name for name in self.names if name not in traces]
        if unknown:
            raise text.error(f"names: it holds no trace {unknown[0]}")
        chosen = list(self.names or traces)
        for name in chosen:
            self._require_an_end(text, name, traces[name])
        order = np.arange(len(chosen))
        if self.assign == "permutation":
            order = streams.permutation("bandwidth trace", n=len(chosen))
        how = "drawn by the seed" if self.assign == "permutation" else "the first ones"
        note_left_out(text.where, "traces", len(chosen), min(nodes, len(chosen)), how)
        return [
            self._capacity(text, traces[chosen[order[node % len(chosen)]]], node, streams)
            for node in range(nodes)
        ]

    def _require_an_end(self, text: Text, name: str, pieces: Pieces) -> None:
        called = f"trace {name}" if name else "the trace"
        if not any(pieces.bps):
            raise text.error(
                f"{called} has capacity 0 throughout: nothing would ever arrive; leave it out "
                "with names"
            )
        if self.after == "hold" and not pieces.held_bps:
            raise text.error(
                f'{called} ends with capacity 0, and after = "hold" keeps that for ever; set '
                'after = "loop", or leave it out with names'
            )

    def _capacity(
        self, text: Text, pieces: Pieces, node: int, streams: Streams
    ) -> PiecewiseCapacity:
        loops = self.after == "loop"
        last_s = pieces.first_s + pieces.length_ns / NS_PER_S
        begins_s = file_time_of_start(
            text.where,
            pieces.first_s,
            last_s,
            self.start_s,
            "the last rate stays",
            repeats=loops,
            clear=True,
        )
        offset_ns = to_ns(begins_s - pieces.first_s)
        if offset_ns < 0:
            raise text.error(
                f"start_s = {begins_s:.12g} is before its first row, at {pieces.first_s:.12g} s; "
                "no rate is known there"
            )
        if self.start == "random":
            offset_ns = int(streams.uniform("bandwidth trace/start", node) * pieces.length_ns)
        rates = [bps * self.scale for bps in pieces.bps]
        if loops:
            return PiecewiseCapacity(pieces.starts_ns, rates, pieces.length_ns, offset_ns)
        starts = [*pieces.starts_ns, pieces.length_ns]
        return PiecewiseCapacity(starts, [*rates, pieces.held_bps * self.scale], None, offset_ns)
