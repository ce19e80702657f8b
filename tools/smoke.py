"""Try distributions as a newcomer would: `python tools/smoke.py dist [--sdist] [PIP OPTIONS]`.

Makes a fresh virtual environment, lets pip choose what fits this machine, plays the quickstart in
an empty folder, and prints the seconds. `--kernel WHEEL` only loads the kernel of one wheel and
calls it: where PyTorch has no wheels, nothing else of netsim runs. Needs Python alone, from 3.8 on.
"""

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

SCENARIO = "quickstart"
DISTRIBUTION = "netsim-dfl"


class SmokeError(Exception):
    """A distribution does not work here; says what was expected and what was found."""


def main() -> None:
    """Try a folder of distributions, or a wheel's kernel; exits with 1 if it does not work."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("path", type=Path, help="a folder of distributions; with --kernel, a wheel")
    parser.add_argument("--kernel", action="store_true", help="only load the kernel of a wheel")
    parser.add_argument("--sdist", action="store_true", help="install from source")
    chosen, of_pip = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            said = (
                kernel(chosen.path, Path(scratch))
                if chosen.kernel
                else quickstart(chosen.path, Path(scratch), chosen.sdist, of_pip)
            )
        except SmokeError as error:
            sys.exit(f"{chosen.path}: {error}")
    system = f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())}".strip()
    print(f"{system}, Python {platform.python_version()}: {said}")


def quickstart(folder: Path, scratch: Path, from_source: bool, of_pip: list) -> str:
    """Install what fits this machine and play the quickstart.

    Parameters
    ----------
    folder : Path
        Of the distributions, all of one version.
    scratch : Path
        An empty folder.
    from_source : bool
        Take the source distribution.
    of_pip : list of str
        Further options of `pip install`.

    Returns
    -------
    str
        What was installed, and how long it took.

    Raises
    ------
    SmokeError
    """
    (version,) = {path.name.split("-")[1] for path in folder.glob("netsim_dfl-*.whl")}
    venv.create(scratch / "venv", with_pip=True)
    programs = scratch / "venv" / ("Scripts" if os.name == "nt" else "bin")
    taken = "--no-binary" if from_source else "--only-binary"
    options = ["--find-links", str(folder.resolve()), f"{taken}={DISTRIBUTION}", *of_pip]
    start = time.monotonic()
    run([programs / "python", "-m", "pip", "install", *options, f"{DISTRIBUTION}=={version}"])
    installed = time.monotonic()
    empty = scratch / "empty"
    empty.mkdir()
    told = run([programs / "netsim", "--version"], empty).strip()
    expect(told == f"netsim {version}", f"--version says {told!r}, not {version}")
    run([programs / "netsim", "run", SCENARIO], empty)
    played = time.monotonic()
    runs = empty / "runs" / SCENARIO
    expect((runs / "report.html").stat().st_size > 10_000, "there is no page of the run")
    environment = json.loads(next(runs.glob("*/environment.json")).read_text(encoding="utf-8"))
    summary = json.loads(next(runs.glob("*/summary.json")).read_text(encoding="utf-8"))
    native = environment["native_kernel"]
    ways = set(summary["engine"]["ways"].values())
    expect(not native.startswith("none"), f"the kernel is not used: {native}")
    expect(any(way.startswith("native") for way in ways), f"the kernel is not used: {ways}")
    return (
        f"netsim {version}, kernel {native}, PyTorch {environment['packages']['torch']}; "
        f"pip install {installed - start:.0f} s, {SCENARIO} {played - installed:.0f} s"
    )


def kernel(wheel: Path, scratch: Path) -> str:
    """Load the kernel of a wheel, and compare what it computes with a plain loop.

    Parameters
    ----------
    wheel : Path
    scratch : Path
        An empty folder.

    Returns
    -------
    str
        Its instruction sets that this machine runs.

    Raises
    ------
    SmokeError
    """
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch)
    folder = scratch / "netsim" / "backends" / "native"
    (path,) = folder.glob("_kernel.*")
    library = ctypes.CDLL(str(path))
    library.netsim_sources.restype = library.netsim_variant.restype = ctypes.c_char_p
    # By name, from the wheel: importing netsim would take PyTorch.
    wanted = run([sys.executable, "-c", "import build; print(build.fingerprint())"], folder).strip()
    sources = library.netsim_sources().decode()
    expect(sources == wanted, f"the kernel is one of other sources, {sources}")
    names, number = [], 0
    while library.netsim_variant(ctypes.c_int64(number)):
        if library.netsim_variant_runs(ctypes.c_int64(number)):
            names.append(library.netsim_variant(ctypes.c_int64(number)).decode())
        number += 1
    expect("plain" in names, f"it has {names}")
    for scalar in (ctypes.c_float, ctypes.c_double):
        crops(library, scalar)
    return f"{path.name} of {wheel.name} runs {', '.join(names)}; images are moved as they should"


def crops(library: ctypes.CDLL, scalar: type, size: int = 5, pad: int = 2) -> None:
    """Have one image moved to each place and mirrored, and compare pixel by pixel.

    Parameters
    ----------
    library : ctypes.CDLL
    scalar : type
        `c_float` or `c_double`.
    size : int
        Pixels of a side.
    pad : int
        Most pixels by which it is moved.
    """
    places = 2 * pad + 1
    for case in range(places * places * 2):
        down, across, mirrored = case // (2 * places), case // 2 % places, case % 2
        image = [float(k) for k in range(size * size)]
        draws = [(down + 0.5) / places, (across + 0.5) / places, 0.25 if mirrored else 0.75]
        given = [(scalar * len(x))(*x) for x in (image, draws, [-1.0], [0.0] * size * size)]
        sizes = [ctypes.c_int64(n) for n in (1, 1, size, size, pad, ctypes.sizeof(scalar))]
        library.netsim_crop_and_flip(*given, *sizes)
        wanted = []
        for row in range(down - pad, down - pad + size):
            line = [
                image[row * size + k] if 0 <= row < size and 0 <= k < size else -1.0
                for k in range(across - pad, across - pad + size)
            ]
            wanted += line[::-1] if mirrored else line
        expect(list(given[3]) == wanted, f"an image moved is {list(given[3])}, not {wanted}")


def run(command: list, folder: Path = Path()) -> str:
    """Output of a command."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NETSIM"))}
    words = [str(word) for word in command]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(words, cwd=folder, env=clean, text=True, **both)
    expect(done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(holds: bool, otherwise: str) -> None:
    """Raise SmokeError unless something holds."""
    if not holds:
        raise SmokeError(otherwise)


if __name__ == "__main__":
    main()
