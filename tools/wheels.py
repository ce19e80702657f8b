"""Make the wheels of all platforms: `python tools/wheels.py --to dist [--only TAG ...]`.

One machine is enough: Zig's compiler has the system libraries of every platform
(`pip install hatchling ziglang`).
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
"""Platforms by the tag in the wheel's name, and as Zig calls them."""


def main() -> None:
    """Make the wheels, one after another."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--only", choices=TARGETS, nargs="+", default=list(TARGETS), metavar="TAG")
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    for tag in chosen.only:
        environment = {**os.environ, "NETSIM_WHEEL": f"{tag}:{TARGETS[tag]}"}
        environment.pop("CXX", None)  # another compiler does not know Zig's targets
        folder = str(chosen.to.resolve())
        if subprocess.run([*command, "-d", folder], cwd=ROOT, env=environment).returncode:
            sys.exit(f"{tag}: there is no wheel, for the reason above")


if __name__ == "__main__":
    main()
