"""Number of cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Linux's file of a container's limit: microseconds of CPU time (or `max`) in so many."""

_processes = [1]
"""Number of processes that share the cores, this one among them."""


def available() -> int:
    """Cores that this process may use: of its affinity, and no more than its container's limit."""
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return min(found, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # another system, or no limit
        return found


def share(processes: int) -> None:
    """Tell this process that others run beside it, as many in all as given; see `cores`."""
    _processes[0] = processes


def cores() -> int:
    """The part of the available cores that this process should use, at least one."""
    return max(1, available() // _processes[0])
