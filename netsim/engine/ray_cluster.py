"""The connection of this process with a Ray cluster."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.engine import optional_imports
from netsim.errors import ScenarioError

ADDRESS = "RAY_ADDRESS"
"""Environment variable that names a cluster; without it one is started on this machine."""

NICENESS = "RAY_worker_niceness"
"""Environment variable of Ray that says how far its processes stand back; 15 by default, where a
run without actors stands back from nobody."""

_connections = [0]


def imported() -> ModuleType:
    """Ray; raises a ScenarioError if it is not installed."""
    return optional_imports.imported("ray", "--engine ray")


def connected(address: str | None = None) -> Any:
    """Ray, connected with a cluster; `leave` ends that.

    Parameters
    ----------
    address : str or None
        Of the cluster, as `ray.init` takes it; None: the one of $RAY_ADDRESS, else one on this
        machine that ends when everybody has left.

    Raises
    ------
    ScenarioError
        If there is no Ray or no such cluster.
    """
    ray = imported()
    if ray.is_initialized():  # by another run of this process, or by the user, who keeps it
        _connections[0] += bool(_connections[0])
        return ray
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    address = address or os.environ.get(ADDRESS) or None
    if address is None:  # and not one of somebody else, which Ray would look for on this machine
        options: dict[str, Any] = {"address": "local", "include_dashboard": False}
        os.environ.setdefault(NICENESS, "0")
    else:
        options = {"address": address}
    try:
        # Workers import from the folder that this process is in, and work in it: this one is
        # on every node, and there is nothing of Python's in it.
        with contextlib.chdir(os.sep):
            ray.init(**options, logging_level="ERROR", log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        said = f"--address {address}" if address else "a cluster of Ray on this machine"
        raise ScenarioError(f"{said}: {error}") from error
    finally:
        for number, handler in handlers.items():  # Ray has some of its own
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(number, handler)
    _connections[0] = 1
    return ray


def join(address: str | None) -> None:
    """Say which cluster runs of this process take; None changes nothing."""
    if address is not None:
        os.environ[ADDRESS] = address


def leave() -> None:
    """End a use of the cluster; with the last one the connection ends."""
    if _connections[0]:
        _connections[0] -= 1
        if not _connections[0]:
            imported().shutdown()


def python_files(folder: Path) -> dict[str, bytes]:
    """The Python files of a folder, by name below it: sent to where they are not."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.py"))}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that were sent, by name below a folder, in their order."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def room(cpus: float, gpus: float) -> int:
    """Return the number of processes that the nodes of the cluster have room for at a time.

    `cpus` and `gpus`: what one takes of a node.
    """
    ray = connected()
    try:
        found = 0
        for node in ray.nodes():
            has = node["Resources"] if node["Alive"] else {}
            wanted = {"CPU": cpus, "GPU": gpus}
            found += int(min(has.get(k, 0) / n for k, n in wanted.items() if n))
        return max(1, found)
    finally:
        leave()


def object_store_bytes() -> int:
    """Return the size of the smallest object store of the cluster's nodes."""
    ray = connected()
    try:
        sizes = [n["Resources"].get("object_store_memory", 0) for n in ray.nodes() if n["Alive"]]
        return int(min(filter(None, sizes), default=0))
    finally:
        leave()
