"""Time of commands from their start to their end, beside another checkout.

    python benchmarks/start.py --before PATH [--pairs 10] [--json FILE]

CPU time, user and system, of whole processes: a pair is one of each checkout, one after the other,
and which goes first alternates. Both have compiled files and data in their caches after a warm-up.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
COMMANDS = (
    "--version",
    "list algorithms",
    "list channels --keys",
    "list algorithms --keys",
    "validate quickstart --no-world",
    "validate quickstart",
    "run quickstart -q --set horizon_s=50 --out OUT",
    "run quickstart -q --out OUT",
)
LONG_S = 20.0
"""Commands that take longer have three pairs at most."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="another checkout")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default="", help="commands that hold this text")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(argv)
    found = []
    print("| `netsim ...` | before [s] | after [s] | of pairs, after / before | pairs |")
    print("|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as place:
        for command in COMMANDS:
            if asked.only in command:
                found.append(measured(command, asked.before.resolve(), asked.pairs, Path(place)))
                print(row(found[-1]), flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def measured(command: str, before: Path, pairs: int, place: Path) -> dict[str, object]:
    """CPU seconds of a command in both checkouts.

    Parameters
    ----------
    command : str
    before : Path
        The other checkout.
    pairs : int
    place : Path
        An empty folder, for caches and results.
    """
    warm_s = [cpu_s(command, checkout, place) for checkout in (before, HERE)]
    count = pairs if max(warm_s) < LONG_S else min(pairs, 3)
    seconds: dict[Path, list[float]] = {before: [], HERE: []}
    for number in range(count):
        for checkout in (before, HERE) if number % 2 else (HERE, before):
            seconds[checkout].append(cpu_s(command, checkout, place))
    return {"command": command, "before_s": seconds[before], "after_s": seconds[HERE]}


def cpu_s(command: str, checkout: Path, place: Path) -> float:
    """CPU seconds of one process that runs a command of a checkout.

    Parameters
    ----------
    command : str
    checkout, place : Path
    """
    env = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(place / "cache")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(dir=place) as out:
        arguments = command.replace("OUT", str(Path(out) / "run")).split()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "netsim", *arguments],
            cwd=out,  # where Python looks for packages first
            env=env,
            check=True,
            capture_output=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(found: dict[str, object]) -> str:
    """One command as a row: medians, and the median of the pairs' ratios with its range."""
    before, after = (list(map(float, found[key])) for key in ("before_s", "after_s"))  # type: ignore[call-overload]
    ratios = [b / a for a, b in zip(before, after, strict=True)]
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    command = str(found["command"]).replace(" --out OUT", "")
    medians = f"{statistics.median(before):.2f} | {statistics.median(after):.2f}"
    return f"| `{command}` | {medians} | {ratio} | {len(ratios)} |"


if __name__ == "__main__":
    main()
