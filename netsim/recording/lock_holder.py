"""Holder of a lock: a process, told apart from others of its number on this and other machines."""

import json
import os
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from netsim.errors import ScenarioError
from netsim.traces.bounded import opened

STALE_AFTER_S = 120.0
"""Without a heartbeat for so long, another machine's lock is stale."""

HEARTBEAT_S = 10.0
"""Time between two heartbeats."""

AHEAD_S = 5.0
"""A heartbeat that is so far in the future is of another clock: its age tells nothing."""

_silent: dict[tuple[str, str], float] = {}
"""Locks of clocks that are ahead which did not beat while they were watched, and their times."""


@dataclass(frozen=True)
class Holder:
    """The process that a lock names.

    Attributes
    ----------
    pid : int
    host : str
        The machine's name.
    machine : str
        What tells machines, their boots and containers of equal name apart; empty if unknown.
    started : str
        When the process started, in clock ticks since boot; empty if unknown.
    token : str
        Of this lock alone.
    """

    pid: int = 0
    host: str = ""
    machine: str = ""
    started: str = ""
    token: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" if self.pid else "an unknown process"


def this_process() -> Holder:
    """Describe the process that runs, for a new lock."""
    pid = os.getpid()
    return Holder(pid, socket.gethostname(), _machine(), _started(pid), secrets.token_hex(8))


def read(path: Path) -> Holder | None:
    """Return the holder that a lock names; None if it has gone, an unknown one if unreadable."""
    try:
        with opened(path, str(path)) as file:
            content = json.loads(file.read(4096))
        pid, *words = (content[name] for name in ("pid", "host", "machine", "started", "token"))
        return Holder(int(pid), *map(str, words))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError, ScenarioError):
        return Holder()


def is_stale(path: Path, found: Holder) -> bool:
    """Return whether the process of a lock is dead, or silent on another machine for too long."""
    if found.pid and found.host == socket.gethostname() and found.machine == _machine():
        return not _is_alive(found)
    try:
        age_s = time.time() - path.stat().st_mtime
        return age_s > STALE_AFTER_S or (age_s < -AHEAD_S and not _beats(path, found))
    except OSError:
        return True


def _beats(path: Path, found: Holder) -> bool:
    """Return whether a lock is touched within two and a half heartbeats.

    The time of its last touch alone tells nothing.

    Raises
    ------
    OSError
        If it goes meanwhile.
    """
    seen = path.stat().st_mtime
    if _silent.get((str(path), found.token)) == seen:
        return False
    until_s = time.monotonic() + 2.5 * HEARTBEAT_S
    while time.monotonic() < until_s:
        if path.stat().st_mtime != seen:
            return True
        time.sleep(HEARTBEAT_S / 50)
    _silent[str(path), found.token] = seen
    return False


def _is_alive(found: Holder) -> bool:
    try:
        os.kill(found.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        pass
    started = _started(found.pid)
    return started != "dead" and (not started or not found.started or started == found.started)


def _started(pid: int) -> str:
    """Return the start time of a process, `dead` for a zombie; empty if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()
    return "dead" if state in "ZX" else rest[18]


def _machine() -> str:
    """The boot of this machine and this container's numbering of processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
