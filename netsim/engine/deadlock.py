"""What the processes of nodes wait for: nodes that only listen, and processes that wait in vain."""

from collections.abc import Sequence, Set

import simpy

from netsim.clock import Event
from netsim.errors import DeadlockError
from netsim.units import to_s

Processes = Sequence[tuple[str, simpy.Process]]
"""The processes of one node and what they are called."""

NAMED_AT_MOST = 8
"""Waiting processes that an error names."""


def only_listens(processes: Processes) -> bool:
    """Whether every process of a node has ended or listens, and no message for it has come."""
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
        f"node {i} in {name} (waits for {_description(process.target)})"
        for i, processes in enumerate(nodes)
        for name, process in processes
        if i not in off
        if process.is_alive and not _listens(process.target)
    ]
    if waiting:
        others = len(waiting) - NAMED_AT_MOST
        more = f" and {others} more" if others > 0 else ""
        raise DeadlockError(
            f"deadlock at {to_s(now_ns):g} s: nothing is left to happen, but these "
            f"wait: {'; '.join(waiting[:NAMED_AT_MOST])}{more}"
        )


def _listens(target: simpy.Event) -> bool:
    return isinstance(target, Event) and target.listener


def _description(target: simpy.Event) -> str:
    return target.what if isinstance(target, Event) else type(target).__name__
