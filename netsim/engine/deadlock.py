"""Find the nodes that only listen, and the processes that wait in vain."""

from collections import Counter
from collections.abc import Sequence, Set

import simpy

from netsim.clock import Clock, Event
from netsim.errors import DeadlockError, ProtocolError
from netsim.node.process_guard import waits_at
from netsim.units import to_s

Processes = Sequence[tuple[str, simpy.Process]]
"""The processes of one node and what they are called."""

NAMED_AT_MOST = 8
"""Waiting processes that an error names."""

EVENTS_AT_ONE_INSTANT = 1_000_000
"""Events at one instant beyond which virtual time is taken to stand still, in a small network."""

EVENTS_WATCHED = 2_000
"""Events that are looked at to see which process keeps time from passing."""


def only_listens(processes: Processes) -> bool:
    """Return whether every process of a node has ended or listens, and has no message."""
    for _, process in processes:
        if process.is_alive:
            target = process.target
            if target.triggered or not _listens(target):
                return False
    return True


def require_no_deadlock(nodes: Sequence[Processes], off: Set[int], now_ns: int) -> None:
    """Check the end of a run at which nothing is left to happen.

    Parameters
    ----------
    nodes : sequence of Processes
        By node.
    off : set of int
        Nodes that are off: their processes may wait.
    now_ns : int
        Virtual time [ns].

    Raises
    ------
    DeadlockError
        If a process of a node that is on waits for anything but messages it listens for.
    """
    waiting = [
        _waits(i, name, process)
        for i, processes in enumerate(nodes)
        for name, process in processes
        if i not in off
        if process.is_alive and not _listens(process.target)
    ]
    if waiting:
        raise DeadlockError(
            f"deadlock at {to_s(now_ns):g} s: nothing is left to happen, but these "
            f"wait: {_listed(waiting)}"
        )


def in_vain(nodes: Sequence[Processes], off: Set[int], now_ns: int, horizon_s: float) -> str | None:
    """A warning if everybody listens, or is off, when nothing is left to happen.

    There is nothing to warn of if a process has ended: the others may listen until the end.

    Parameters
    ----------
    nodes : sequence of Processes
        By node.
    off : set of int
        Nodes that are off.
    now_ns : int
        When the last thing happened [ns].
    """
    every = [(i, *named) for i, processes in enumerate(nodes) for named in processes]
    if not every or not all(process.is_alive for _, _, process in every):
        return None
    said = f"nothing happened after {to_s(now_ns):g} s of {horizon_s:g} s"
    if len(off) == len(nodes):
        return f"{said}: all nodes were off, and none comes back before the end"
    return (
        f"{said}: every process waits for messages, and nobody sends any: "
        f"{_listed([_waits(*one) for one in every])}"
    )


class TimePasses:
    """Watch that ends a run in which virtual time stands still.

    Parameters
    ----------
    nodes : sequence of Processes
        By node.
    until_ns : int
        The last instant that is played.
    """

    def __init__(self, clock: Clock, nodes: Sequence[Processes], until_ns: int) -> None:
        self._clock, self._nodes, self._until_ns = clock, nodes, until_ns
        self._since_ns, self._events = clock.now, 0

    def count(self, events: int) -> None:
        """Count events that have happened.

        Raises
        ------
        ProtocolError
            If more have happened at one instant than messages between all nodes would make.
        """
        self._events += events
        if self._clock.now != self._since_ns:
            self._since_ns, self._events = self._clock.now, 0
        if self._events >= EVENTS_AT_ONE_INSTANT + 100 * len(self._nodes) ** 2:
            self._require_end()

    def _require_end(self) -> None:
        """Play a few more events, and name the process that they let go on most often."""
        clock, now = self._clock, self._clock.now
        known = {p: (i, name) for i, each in enumerate(self._nodes) for name, p in each}
        resumed: Counter[simpy.Process] = Counter()
        for _ in range(EVENTS_WATCHED):
            process = clock.next_resumed()
            if process in known:
                resumed[process] += 1
            if not clock.play(min(now, self._until_ns), 1):
                return
        culprit = f"time stands still at {to_s(now):g} s"
        if resumed:
            process, count = resumed.most_common(1)[0]
            node, name = known[process]
            culprit = (
                f"node {node} at {to_s(now):g} s in {name}{waits_at(process)}: time stands still: "
                f"of the last {EVENTS_WATCHED} events {count} were this process going on"
            )
        raise ProtocolError(
            f"{culprit}; more than {self._events} events have happened at this instant; a loop "
            "needs a verb that takes time, such as node.sleep of more than 0 s"
        )


def _waits(node: int, name: str, process: simpy.Process) -> str:
    return f"node {node} in {name}{waits_at(process)} (waits for {_description(process.target)})"


def _listed(waiting: Sequence[str]) -> str:
    others = len(waiting) - NAMED_AT_MOST
    more = f" and {others} more" if others > 0 else ""
    return "; ".join(waiting[:NAMED_AT_MOST]) + more


def _listens(target: simpy.Event) -> bool:
    return isinstance(target, Event) and target.listener


def _description(target: simpy.Event) -> str:
    return target.what if isinstance(target, Event) else type(target).__name__
