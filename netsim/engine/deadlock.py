"""What the processes of nodes wait for: those that only listen, and those that wait in vain."""

from collections.abc import Sequence, Set

import simpy

from netsim.errors import DeadlockError
from netsim.units import to_s

Processes = Sequence[tuple[str, simpy.Process]]
"""The processes of one node and what they are called."""


def is_idle(processes: Processes) -> bool:
    """Whether all that a node does is listen, and nothing has come."""
    for _, process in processes:
        if process.is_alive:
            target = process.target
            if target.triggered or not getattr(target, "listener", False):
                return False
    return True


def require_nobody(nodes: Sequence[Processes], off: Set[int], now_ns: int) -> None:
    """Nothing is left to happen, so no process of a node that is on may wait for anything.

    Raises
    ------
    DeadlockError
        If any does and does not only listen.
    """
    waiting = [
        f"node {i} in {name} (waits for {_target(process)})"
        for i, processes in enumerate(nodes)
        for name, process in processes
        if i not in off
        if process.is_alive and not getattr(process.target, "listener", False)
    ]
    if waiting:
        more = f" and {len(waiting) - 8} more" if len(waiting) > 8 else ""
        raise DeadlockError(
            f"deadlock at {to_s(now_ns):g} s: nothing is left to happen, but these "
            f"wait: {'; '.join(waiting[:8])}{more}"
        )


def _target(process: simpy.Process) -> str:
    return getattr(process.target, "what", type(process.target).__name__)
