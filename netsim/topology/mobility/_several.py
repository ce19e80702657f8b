"""Trajectories of nodes that move by different laws."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.topology.mobility import HighTrack, Track


class Several:
    """Each node goes as the law of its own says.

    Parameters
    ----------
    tracks : sequence of Track or None
        One a node: that of its law, for all nodes; None where a node stays.
    start_m : (N, 2) float64
        Places of those that stay.
    """

    def __init__(self, tracks: Sequence[Track | None], start_m: NDArray[np.float64]) -> None:
        self._tracks, self._start_m = tracks, start_m
        self.fastest_m_per_s = max(
            (track.fastest_m_per_s for track in tracks if track is not None), default=0.0
        )

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 2)."""
        found = self._start_m[list(nodes)].copy()
        for rows, track, theirs in self._by_track(nodes):
            found[rows] = track.at(theirs, time_ns)
        return found

    def _by_track(self, nodes: Sequence[int]) -> list[tuple[list[int], Track, list[int]]]:
        """Rows of `nodes`, a track, and which nodes of it they are."""
        found: dict[int, tuple[list[int], Track, list[int]]] = {}
        for row, node in enumerate(nodes):
            track = self._tracks[node]
            if track is not None:
                rows, _, theirs = found.setdefault(id(track), ([], track, []))
                rows.append(row)
                theirs.append(node)
        return list(found.values())


class SeveralHigh(Several):
    """Several models where heights of some change, and those of others are the scenario's.

    Parameters
    ----------
    tracks, start_m
        As of `Several`.
    heights_m : (N,) float64
        Heights of those whose law has none [m].
    """

    def __init__(
        self,
        tracks: Sequence[Track | None],
        start_m: NDArray[np.float64],
        heights_m: NDArray[np.float64],
    ) -> None:
        super().__init__(tracks, start_m)
        self._level_m = heights_m
        spans = [
            track.height_span_m if isinstance(track, HighTrack) else (height, height)
            for track, height in zip(tracks, heights_m.tolist(), strict=True)
        ]
        self.height_span_m = min(low for low, _ in spans), max(high for _, high in spans)

    def heights_m(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Heights above the ground [m] of some nodes at one instant; shape (len(nodes),)."""
        found = self._level_m[list(nodes)].copy()
        for rows, track, theirs in self._by_track(nodes):
            if isinstance(track, HighTrack):
                found[rows] = track.heights_m(theirs, time_ns)
        return found
