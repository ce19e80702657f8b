"""Break folders of runs in many ways, give each to every command, and count what came of it.

    python benchmarks/hostile_runs.py [--folders 2000] [--seed 0]

A run that has ended, one that was broken off and a sweep are copied and changed: values, types,
words, ids and columns of tables, JSON, scenarios, bytes, links and pipes in the place of files,
texts that do something where they are executed. Prints how many were played, what went wrong with
which, and the peak of memory. Exit code 1 if anything did.
"""

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.hostile.run_folders import Readers, copied, folders, played_case

MOST_MIB = 1024
"""Most that a folder may add to the memory of a process that has played runs."""


def memory_mib(field: str) -> int:
    """Memory of this process by Linux: `VmRSS` now, `VmHWM` at its peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(dict(line.split(":", 1) for line in lines)[field].split()[0]) >> 10


def main() -> int:
    """Run the command line; gives the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folders", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    wrong: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    started = time.process_time()
    most = 0
    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        good = folders(top)
        (top / "work").mkdir()
        readers = Readers(top / "work")
        for name in good:  # imports and caches are not what a folder costs
            readers.play(partial(copied, good[name], readers.place), name, random.Random(0))
        held = memory_mib("VmRSS")
        for number in range(given.seed, given.seed + given.folders):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            kind, told, found = played_case(readers, good, number)
            kinds[kind] += 1
            if not sum(kinds.values()) % 50:
                print(f"{sum(kinds.values())} folders, {sum(wrong.values())} faults", flush=True)
            most = max(most, memory_mib("VmHWM") - held)
            for what in found:
                wrong[what.partition(" at ")[0][:160]] += 1
                print(f"{number} ({kind}; {'; '.join(told)}): {what}", flush=True)
    counted = ", ".join(f"{count} of {kind}" for kind, count in kinds.items())
    hangs = sum(count for what, count in wrong.items() if what.endswith("hangs"))
    run = sum(count for what, count in wrong.items() if what.endswith("executed"))
    print(
        f"{sum(kinds.values())} folders ({counted}), every command: "
        f"{sum(wrong.values()) - hangs - run} internal errors, {run} executed payloads, {hangs} "
        f"hangs, at most {most} MiB of {MOST_MIB} more, {time.process_time() - started:.0f} CPU s"
    )
    return int(bool(wrong) or most > MOST_MIB)


if __name__ == "__main__":
    sys.exit(main())
