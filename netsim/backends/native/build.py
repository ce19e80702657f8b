"""Compiles the kernel: `python -m netsim.backends.native.build [--to FOLDER]`.

It compiles one unit for each pair of instruction set and scalar type, several at a time, and links
them into one library. The compiler is the one named in `CXX`, else Zig's from the package
`ziglang`, else g++ or clang++.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCES = HERE / "src"
ACTIVATIONS = sorted((SOURCES / "activations").glob("*.h"))
"""One file per activation; its place in this list is its number in the kernel."""

FLAGS = (
    *("-std=c++17", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wno-psabi", "-Wno-unknown-pragmas"),
)
"""No fast mathematics: NaN must stay NaN, and sums keep their order."""


class Variant(NamedTuple):
    """An instruction set: width and number of its vector registers, flags that select it."""

    name: str
    vector_bytes: int
    registers: int
    flags: tuple[str, ...]


X86 = (
    Variant("avx512", 64, 32, ("-march=x86-64-v4", "-mprefer-vector-width=512")),
    Variant("avx2", 32, 16, ("-march=x86-64-v3",)),
    Variant("plain", 16, 16, ("-march=x86-64",)),
)
ARM = (Variant("neon", 16, 32, ()), Variant("plain", 16, 16, ()))
OTHER = (Variant("plain", 16, 16, ()),)


_ZIG_LEVELS = {
    f"-march=x86-64{level}": f"-march=x86_64{level.replace('-', '_')}"
    for level in ("", "-v3", "-v4")
}
"""Zig spells the levels of x86-64 its own way."""


class BuildError(Exception):
    """The kernel can't be compiled; says why."""


def library_name() -> str:
    """File name of the library on this platform."""
    endings = {"Windows": ".dll", "Darwin": ".dylib"}
    return "_kernel" + endings.get(platform.system(), ".so")


def fingerprint() -> str:
    """Fingerprint of the sources and of how they are compiled."""
    digest = hashlib.sha256(repr((FLAGS, X86, ARM)).encode())
    for path in sorted(SOURCES.rglob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def is_built(folder: Path = HERE) -> bool:
    """Return whether a folder has the library, built from the present sources (by fingerprint)."""
    path = folder / library_name()
    return path.exists() and fingerprint().encode() in path.read_bytes()


def compilers() -> list[list[str]]:
    """Command lines of the compilers at hand, the best first."""
    found = []
    if "CXX" in os.environ:
        found.append(os.environ["CXX"].split())
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "c++"])
    found += [[path] for name in ("g++", "clang++") if (path := shutil.which(name))]
    return found


def activation_list() -> str:
    """Return the header that includes the activations, and lists their structs by file name."""
    included = "".join(f'#include "activations/{path.name}"\n' for path in ACTIVATIONS)
    structs = (path.stem.title().replace("_", "") for path in ACTIVATIONS)
    return f"{included}#define NETSIM_ACTIVATIONS(F) {' '.join(f'F({s})' for s in structs)}\n"


def variants(machine: str) -> tuple[Variant, ...]:
    """The instruction sets of a kind of processor."""
    machine = machine.lower()
    if machine in ("x86_64", "amd64"):
        return X86
    return ARM if machine in ("aarch64", "arm64") else OTHER


def build(
    folder: Path = HERE,
    compiler: Sequence[str] | None = None,
    target: str | None = None,
    extra: Sequence[str] = (),
    workers: int | None = None,
) -> Path:
    """Compile the library into a folder.

    Parameters
    ----------
    folder : Path
    compiler : sequence of str, optional
        Its command line; without, the first of `compilers()`.
    target : str, optional
        Another platform, by Zig's name for it, such as `aarch64-macos` (Zig only).
    extra : sequence of str
        Further flags, such as `-fsanitize=address`.
    workers : int, optional
        Units compiled at a time; without, one a core.

    Returns
    -------
    Path
        Of the library.

    Raises
    ------
    BuildError
        If there is no compiler, or it fails.
    """
    if compiler is None:
        found = compilers()
        if not found:
            raise BuildError(
                "no C++ compiler: install the package ziglang, or g++ or clang++, or set CXX"
            )
        compiler = found[0]
        if target is not None and "ziglang" not in compiler and "CXX" not in os.environ:
            raise BuildError(
                f"{' '.join(compiler)} does not compile for {target}: install the package "
                "ziglang, which has the system libraries of every platform"
            )
    machine, name = platform.machine(), library_name()
    flags = [*FLAGS, f'-DNETSIM_SOURCES="{fingerprint()}"', *extra]
    if target is not None:
        machine = target.split("-")[0]
        name = "_kernel" + next(
            (
                ending
                for ending, part in ((".dll", "windows"), (".dylib", "macos"))
                if part in target
            ),
            ".so",
        )
        flags += ["-target", target]
    if "windows" not in (target or platform.system().lower()):
        flags.append("-fPIC")
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "activations.h").write_text(activation_list())
        flags += [f"-I{scratch}", f"-I{SOURCES}"]
        run = partial(_run, cache=f"{scratch}/cache")
        commands, objects = [], []
        for variant in variants(machine):
            for scalar in ("double", "float"):
                to = f"{scratch}/{variant.name}_{scalar}.o"
                defined = {
                    "VARIANT": variant.name,
                    "VECTOR_BYTES": variant.vector_bytes,
                    "REGISTERS": variant.registers,
                    "SCALAR": scalar,
                }
                given = [f"-DNETSIM_{k}={v}" for k, v in defined.items()]
                source = str(SOURCES / "kernel.cpp")
                chosen = variant.flags
                if "ziglang" in compiler:
                    chosen = tuple(_ZIG_LEVELS.get(f, f) for f in chosen)
                commands.append([*compiler, *flags, *chosen, *given, "-c", source, "-o", to])
                objects.append(to)
        to = f"{scratch}/dispatch.o"
        commands.append([*compiler, *flags, "-c", str(SOURCES / "dispatch.cpp"), "-o", to])
        objects.append(to)
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            for _ in pool.map(run, commands):
                pass
        linked = f"{scratch}/{name}"
        if "ziglang" in compiler:
            # As C: the kernel needs nothing of C++'s library, which Zig would compile for a minute.
            compiler = ["cc" if part == "c++" else part for part in compiler]
        aimed = [] if target is None else ["-target", target]
        bare = [] if name.endswith(".dylib") else ["-s"]  # without symbols for debugging
        run([*compiler, *aimed, *extra, *bare, "-shared", *objects, "-o", linked])
        folder.mkdir(parents=True, exist_ok=True)
        # Moved there whole: another process may be loading the old one.
        unfinished = folder / f"{name}.{os.getpid()}"
        shutil.copyfile(linked, unfinished)
        unfinished.replace(folder / name)
    return folder / name


def _run(command: Sequence[str], cache: str) -> None:
    """Run a compiler; what Zig keeps from one time to the next goes with the scratch folder."""
    variables = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    except OSError as error:
        raise BuildError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stderr[-4000:]}")


def main() -> None:
    """Build for this machine, or for another platform with Zig."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--to", type=Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--target", help="another platform, by Zig's name, such as aarch64-macos")
    chosen = parser.parse_args()
    try:
        sys.stdout.write(f"{build(chosen.to, target=chosen.target)}\n")
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
