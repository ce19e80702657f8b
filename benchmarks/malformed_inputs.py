"""Give netsim thousands of malformed inputs and count what became of them.

    python benchmarks/malformed_inputs.py [--inputs 20000] [--processes 40]

Prints a table: for each kind of input how many were drawn, refused and read, how long the slowest
took; then tracebacks, hangs over 10 s and the peak of memory. Most are given to netsim's functions
in this process, some to its command line in processes of their own. Exit code 1 if anything but a
refusal or a reading came of any.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.hostile.inputs import KINDS, Hang, guarded, refused

MOST_MIB = 2048


def own_peak_kib() -> int:
    """Most memory that this process has had; `ru_maxrss` counts that of who started it, too."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0])


def main() -> int:
    """Run the command line; gives the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=40, help="how many through processes")
    parser.add_argument("--kind", help="only this one")
    parser.add_argument("--seed", type=int, default=0)
    given_ = parser.parse_args()
    kinds = [given_.kind] if given_.kind else list(KINDS)
    each = -(-(given_.inputs - given_.processes) // len(kinds))
    faults: Counter[str] = Counter()
    print(f"{'kind':24}{'inputs':>8}{'refused':>9}{'read':>7}{'slowest':>10}")
    total = 0
    for name in kinds:
        counts, slowest = played(name, each, given_.seed, faults)
        total += sum(counts.values())
        print(
            f"{name:24}{sum(counts.values()):8}{counts['refused']:9}{counts['read']:7}"
            f"{slowest:8.2f} s",
            flush=True,
        )
    codes = through_processes(given_.processes, given_.seed, faults)
    total += sum(codes.values())
    print(f"{'netsim validate, compare':24}{sum(codes.values()):8}{codes[2]:9}{codes[0]:7}")
    peak = max(own_peak_kib(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    hangs = sum(count for what, count in faults.items() if what.endswith("Hang"))
    print(
        f"{total} inputs, {sum(faults.values()) - hangs} tracebacks, {hangs} hangs, "
        f"peak {peak >> 10} MiB of {MOST_MIB}, {time.process_time():.0f} CPU s"
    )
    for what, count in faults.items():
        print(f"  {count} x {what}")
    return int(bool(faults) or peak >> 10 > MOST_MIB)


def played(name: str, inputs: int, first: int, faults: Counter[str]) -> tuple[Counter[str], float]:
    """Draw inputs of one kind and play each in an empty folder."""
    kind, counts, slowest = KINDS[name], Counter[str](), 0.0

    @seed(first)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kind.cases)
    def play(case: object) -> None:
        nonlocal slowest
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            try:
                with guarded():
                    said = refused(kind.play, case, Path(folder))
                counts["refused" if said else "read"] += 1
            except (Exception, Hang) as error:
                counts["fault"] += 1
                at = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{name}: {type(error).__name__}"
                if faults[what] < 3:
                    print(f"  {name}: {type(error).__name__}: {str(error)[:150]}", file=sys.stderr)
                    print(f"    at {at.filename}:{at.lineno}; {str(case)[:300]!r}", file=sys.stderr)
                faults[what] += 1
            slowest = max(slowest, time.perf_counter() - started)

    play()
    return counts, slowest


def through_processes(inputs: int, first: int, faults: Counter[str]) -> Counter[int]:
    """Give files to the command line, each in a process of its own; exit codes."""
    draw, codes = random.Random(first), Counter[int]()
    for number in range(inputs):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "s.toml"
            good = b'horizon_s = 1\n[nodes]\ncount = 3\n[data]\nkind = "digits"\n'
            file.write_bytes(
                bytes(draw.choices(good + bytes(range(256)), k=draw.randrange(1, 400)))
            )
            command = ["validate", str(file)] if number % 2 else ["compare", folder]
            try:
                ended = subprocess.run(
                    [sys.executable, "-P", "-m", "netsim", *command],
                    capture_output=True,
                    timeout=180,
                    check=False,
                    env={**os.environ, "COLUMNS": "200"},
                )
            except subprocess.TimeoutExpired:
                faults["process: Hang"] += 1
                continue
            codes[ended.returncode] += 1
            if ended.returncode not in (0, 2) or b"Traceback" in ended.stderr:
                faults[f"process: exit code {ended.returncode}"] += 1
    return codes


if __name__ == "__main__":
    sys.exit(main())
