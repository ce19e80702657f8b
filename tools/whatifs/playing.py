"""Plays the sweeps of the what-ifs, each in a folder of its own, and notes what that took."""

import datetime
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.results.playing import commit

LEDGER = "played.jsonl"


def play(names: Sequence[str], runs: Path, more: Sequence[str] = ()) -> int:
    """Play what is missing of some sweeps; 1 if one of them failed.

    Parameters
    ----------
    names : sequence of str
        Of scenarios.
    runs : Path
        The folder of all sweeps.
    more : sequence of str
        Further options of `netsim sweep`.
    """
    failed = 0
    for name in names:
        options = ["--jobs", "1", "--set", "run.threads=1", "--out", str(runs / name), "--quiet", *more]
        before_s = _children_s()
        done = subprocess.run([sys.executable, "-m", "netsim", "sweep", name, *options])
        line = {
            "sweep": name,
            "commit": commit(),
            "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "cpu_s": round(_children_s() - before_s, 1),
        }
        with (runs / LEDGER).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        failed |= done.returncode
        print(f"{name}: {line['cpu_s']} s", flush=True)
    return int(failed != 0)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ledger(runs: Path) -> dict[str, list[dict[str, Any]]]:
    """What was noted of each sweep."""
    found: dict[str, list[dict[str, Any]]] = {}
    for text in (runs / LEDGER).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        found.setdefault(line["sweep"], []).append(line)
    return found
