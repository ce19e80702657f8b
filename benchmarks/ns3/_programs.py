"""ns-3's side: finds the `ns3` wheel and a compiler, builds the C++ programs here, calls them."""

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE / "build"

MODULES = {
    "link": ("wifi", "mobility", "propagation", "network", "core"),
    "dcf": ("wifi", "mobility", "propagation", "network", "core"),
    "adhoc": ("wifi", "mobility", "propagation", "network", "core"),
    "star": ("applications", "internet-apps", "traffic-control", "point-to-point", "internet",
             "network", "core"),
}  # fmt: skip
"""Programs, and the libraries of ns-3 that they need."""


class MissingError(Exception):
    """Something that is needed is not here; the message says what, in a sentence."""


@dataclass(frozen=True)
class Ns3:
    """An unpacked wheel of ns-3, and what compiles against it.

    Attributes
    ----------
    folder : Path
        With `include` and `lib64`.
    prefix : str
        Of its libraries' names, e.g. "ns3.44".
    compiler : str
    """

    folder: Path
    prefix: str
    compiler: str

    def program(self, name: str) -> Path:
        """A program of `MODULES`, compiled if that has not been done.

        Raises
        ------
        RuntimeError
            If it does not compile.
        """
        sources = (HERE / f"{name}.cc", HERE / "wifi.h")
        key = hashlib.sha256(f"{self.folder} {self.prefix} {self.compiler}".encode())
        for source in sources:
            key.update(source.read_bytes())
        built = BUILD / f"{name}-{key.hexdigest()[:12]}"
        if not built.exists():
            BUILD.mkdir(exist_ok=True)
            part, lib = built.with_suffix(f".{os.getpid()}"), self.folder / "lib64"
            libraries = [f"-l{self.prefix}-{module}" for module in MODULES[name]]
            done = subprocess.run(
                [self.compiler, "-O2", "-std=c++20", f"-I{self.folder / 'include'}",
                 str(sources[0]), "-o", str(part), f"-L{lib}", *libraries, f"-Wl,-rpath,{lib}"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"{sources[0].name} does not compile:\n{done.stderr[-3000:]}")
            part.replace(built)
        return built

    def call(self, name: str, arguments: dict[str, object]) -> str:
        """Run a program and return its output.

        Raises
        ------
        RuntimeError
            If it fails.
        """
        command = [
            str(self.program(name)),
            *(f"--{key}={value}" for key, value in arguments.items()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-3000:]}")
        return done.stdout


def find(folder: Path | None = None) -> Ns3:
    """ns-3 and a compiler.

    Parameters
    ----------
    folder : Path or None
        An unpacked wheel; None: the installed one.

    Raises
    ------
    MissingError
        If one of them is missing.
    """
    if folder is None:
        try:
            folder = Path(str(importlib.metadata.distribution("ns3").locate_file("ns3")))
        except importlib.metadata.PackageNotFoundError:
            raise MissingError(
                "ns-3 is not installed: pip install ns3==3.44.*, or name the folder of an unpacked "
                "wheel with --ns3."
            ) from None
    core = [*(folder / "lib64").glob("libns3.*-core.so")]
    if not core:
        raise MissingError(
            f"{folder} is not an unpacked wheel of ns-3: it has no lib64/libns3.*-core.so."
        )
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "clang++", "c++"]
    compiler = next((found for name in wanted if (found := shutil.which(name))), None)
    if compiler is None:
        raise MissingError(f"There is no C++ compiler ({', '.join(wanted)}); name one in CXX.")
    return Ns3(
        folder.resolve(), core[0].name.removeprefix("lib").removesuffix("-core.so"), compiler
    )


def numbers(line: str) -> dict[str, float]:
    """Names and numbers of a line that a program printed: `mbps 5.1 got 4357`."""
    return {name: float(x) for name, x in re.findall(r"([a-z_]+) ([-+\d.e]+)", line)}
