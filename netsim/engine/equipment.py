"""Versions and processors: what the bits of a result depend on beside the scenario."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from netsim.backends.native import library
from netsim.errors import ScenarioError

PACKAGES = ("torch", "numpy", "scipy", "simpy", "pyarrow")


@cache
def version(name: str) -> str:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@cache
def sources_sha256() -> str:
    """The SHA-256 of netsim's own modules: a version number says little of a checkout."""
    [top] = importlib.util.find_spec("netsim").submodule_search_locations or [""]  # type: ignore[union-attr]
    folder, digest = Path(top), hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def made_with() -> dict[str, str]:
    """Versions by what they are of; machines that share a run have equal ones."""
    return {
        "netsim's sources": sources_sha256()[:12],
        "Python": platform.python_version(),
        "the native kernel": str(library.describe_kernel()),
        **{name: version(name) for name in PACKAGES},
    }


def require_alike(other: Mapping[str, str]) -> None:
    """Refuse to share a run with a machine that has other versions.

    Raises
    ------
    ScenarioError
        Naming what differs.
    """
    differ = [
        f"{name} ({here} here, {other.get(name)} there)"
        for name, here in made_with().items()
        if other.get(name) != here
    ]
    if differ:
        raise ScenarioError(
            f'[run] engine = "ray": {socket.gethostname()} differs from the machine of the event '
            f"loop in {', '.join(differ)}, so numbers may differ; install the same on all machines"
        )


@cache
def processor() -> str:
    """The processor's name, or its kind where the system gives no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # another system
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
