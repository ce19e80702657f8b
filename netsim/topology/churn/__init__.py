"""On and off times of nodes; one model of churn a file, its name is its `kind`.

The state of a node is a function of (seed, node, time): however often and in whatever order it is
asked for, it is the same. It changes at the instants of its switches, from each of them on.
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from netsim.registry import Component
from netsim.rng import Streams
from netsim.units import FOREVER_NS


class Periods(NamedTuple):
    """The on and off periods of one node.

    Attributes
    ----------
    on : bool
        Whether it is on at time 0.
    switches_ns : iterator of int
        When that changes: positive, strictly ascending, with or without an end.
    """

    on: bool
    switches_ns: Iterator[int]


class Churn(Component):
    """Base of the models of churn."""

    @abstractmethod
    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        """On and off periods of some nodes, one each; None if they are always on.

        Parameters
        ----------
        nodes : sequence of int
        streams : Streams
            The only randomness.
        folder : Path or None
            The data folder, where files may lie.

        Raises
        ------
        ScenarioError
            If a file is not there or not what it should be.
        """


class Timeline:
    """On and off times of each node.

    Parameters
    ----------
    periods : sequence of Periods or None
        One a node; None for one that is always on.
    """

    def __init__(self, periods: Sequence[Periods | None]) -> None:
        self._starts_on = [p is None or p.on for p in periods]
        self._coming: list[Iterator[int]] = [
            iter(()) if p is None else p.switches_ns for p in periods
        ]
        self._known: list[list[int]] = [[] for _ in periods]

    def _extend(self, node: int, time_ns: int) -> list[int]:
        """The node's switches, the first after an instant among them if there is one."""
        known = self._known[node]
        while not known or known[-1] <= time_ns:
            switch_ns = next(self._coming[node], None)
            if switch_ns is None:
                break
            known.append(switch_ns)
        return known

    def is_on(self, node: int, time_ns: int) -> bool:
        """Return whether a node is on at an instant."""
        switches = bisect_right(self._extend(node, time_ns), time_ns)
        return self._starts_on[node] ^ (switches % 2 == 1)

    def next_switch(self, node: int, after_ns: int) -> int | None:
        """Return the time of a node's next switch after an instant; None: never."""
        known = self._extend(node, after_ns)
        number = bisect_right(known, after_ns)
        return known[number] if number < len(known) else None

    def work_ends(self, node: int, start_ns: int, work_ns: int) -> int:
        """Return the time at which a node has been on for `work_ns` since an instant.

        Parameters
        ----------
        node : int
        start_ns : int
            The instant.
        work_ns : int
            At least 0.

        Returns
        -------
        int
            Virtual time [ns]; `FOREVER_NS` if it is never on for so long.
        """
        on, now_ns = self.is_on(node, start_ns), start_ns
        while True:
            switch_ns = self.next_switch(node, now_ns)
            if on and (switch_ns is None or now_ns + work_ns <= switch_ns):
                return now_ns + work_ns
            if switch_ns is None:
                return FOREVER_NS  # it is not on for long enough ever again
            work_ns -= (switch_ns - now_ns) * on
            on, now_ns = not on, switch_ns


def timeline(
    laws: Sequence[Churn], streams: Streams, folder: Path | None = None
) -> Timeline | None:
    """Return the on and off times of nodes 0, 1, ..., by their churn; None if all are always on.

    Parameters
    ----------
    laws : sequence of Churn
        One a node.
    streams : Streams
    folder : Path or None
        The data folder, where files may lie.

    Raises
    ------
    ScenarioError
        If a file is not there or not what it should be.
    """
    periods: list[Periods | None] = [None] * len(laws)
    for law in dict.fromkeys(laws):
        nodes = [i for i, own in enumerate(laws) if own == law]
        found = law.periods(nodes, streams, folder)
        for node, own in zip(nodes, found or (), strict=False):
            periods[node] = own
    return None if all(p is None for p in periods) else Timeline(periods)
