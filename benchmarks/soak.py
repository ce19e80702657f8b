"""Measure memory while one process plays run after run.

    python benchmarks/soak.py [--minutes M] [--scenarios N] [--json FILE]

Plays the first N valid scenarios of `tests.conformance.random_scenarios` (every kind of radio,
link, schedule and algorithm) again and again, each into a run folder that is then removed, with
all invariants checked. Each time all have been played it prints how much memory the process holds,
how many objects, threads and open files. Exits with 1 if a run fails, or if the rounds of the last
third hold more than those of the second by 2 %, or a file or thread more.
"""

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from _timing import save

sys.path.insert(0, str(Path(__file__).parents[1]))

from netsim import engine
from netsim.errors import NetsimError, ScenarioError
from netsim.scenario import from_dict
from netsim.world import builder
from tests.conformance.random_scenarios import UNFIT, tables

MOST_GROWTH = 0.02
LEAST_ROUNDS = 6


def main(arguments: list[str] | None = None) -> int:
    """Play until the time is up; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--scenarios", type=int, default=100, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rounds there, too")
    given = parser.parse_args(arguments)
    began_s, rounds, ends = time.monotonic(), [], Counter[str]()
    print(
        f"{'round':>6}{'minutes':>9}{'runs':>7}{'MiB':>8}{'objects':>10}{'files':>7}{'threads':>9}"
    )
    while time.monotonic() - began_s < 60.0 * given.minutes or len(rounds) < LEAST_ROUNDS:
        for seed in range(given.scenarios):
            ends[played(seed)] += 1
        mib = resident_mib()  # before garbage is looked for, which runs do not wait for
        gc.collect()
        row = {
            "minutes": (time.monotonic() - began_s) / 60.0,
            "runs": ends["played"],
            "mib": mib,
            "objects": len(gc.get_objects()),
            "files": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
        }
        rounds.append(row)
        print(
            f"{len(rounds):6}{row['minutes']:9.1f}{row['runs']:7}{row['mib']:8.0f}"
            f"{row['objects']:10}{row['files']:7}{row['threads']:9}",
            flush=True,
        )
    third = len(rounds) // 3
    before, after = rounds[third : 2 * third], rounds[-third:]
    grown = {key: median(after, key) / median(before, key) - 1.0 for key in ("mib", "objects")}
    more = {key: median(after, key) - median(before, key) for key in ("files", "threads")}
    print(
        f"{ends['played']} runs, {ends['refused']} refused, {ends['failed']} failed; from the "
        f"second third to the last: memory {grown['mib']:+.2%}, objects {grown['objects']:+.2%}, "
        f"files {more['files']:+.0f}, threads {more['threads']:+.0f}"
    )
    if given.json is not None:
        save(given.json, {"rounds": rounds, "ends": ends, "grown": grown, "more": more})
    flat = max(grown.values()) <= MOST_GROWTH and max(more.values()) <= 0
    return 0 if flat and not ends["failed"] else 1


def played(seed: int) -> str:
    """Play one scenario; how it ended."""
    try:
        scenario = from_dict(tables(seed))
        built = builder.build(scenario)
    except ScenarioError:
        return "refused"
    with tempfile.TemporaryDirectory() as folder:
        try:
            engine.play(built, scenario.algorithm[0], Path(folder) / "run", check=True)
        except NetsimError as error:
            if any(text in str(error) for text in UNFIT):
                return "refused"
            print(f"seed {seed}: {error}", flush=True)
            return "failed"
    return "played"


def resident_mib() -> float:
    """The memory that this process holds."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines)["VmRSS"].split()[0]) / 1024


def median(rounds: list[dict[str, Any]], key: str) -> float:
    """Over some rounds."""
    return statistics.median(row[key] for row in rounds)


if __name__ == "__main__":
    sys.exit(main())
