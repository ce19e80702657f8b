"""Play sweeps, each in a folder of its own, seed after seed, and note their times."""

import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netsim
from netsim import NetsimError
from papers.results.records import commit
from papers.sweep_pages.sources import kept_seeds, scenario_of

LEDGER = "played.jsonl"


def play(names: Sequence[str], runs: Path) -> int:
    """Play what is missing of some sweeps, with one thread; 1 if a run failed.

    Seeds whose numbers are kept are not played again.

    Parameters
    ----------
    names : sequence of str
        Of scenarios with the same number of seeds.
    runs : Path
        The folder of all sweeps.
    """
    runs.mkdir(parents=True, exist_ok=True)
    failed = 0
    for part, parts in _parts(names):
        for name in names:
            if netsim.load(scenario_of(name)).sweep.seeds[part - 1] in kept_seeds(name):
                continue
            begun_s, problem = time.process_time(), ""
            try:
                one = netsim.load(scenario_of(name), run__threads=1)
                netsim.sweep(one, out=runs / name, only=(part, parts), jobs=1)
            except NetsimError as error:
                problem, failed = str(error), 1
            line = {
                "sweep": name,
                "commit": commit(),
                "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "cpu_s": round(time.process_time() - begun_s, 1),
            }
            with (runs / LEDGER).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{name}, {part}/{parts}: {problem or line['cpu_s']}", flush=True)
    return failed


def _parts(names: Sequence[str]) -> list[tuple[int, int]]:
    """Parts of a sweep that are a seed each: points come before seeds in its order."""
    seeds = max(len(netsim.load(scenario_of(name)).sweep.seeds) for name in names)
    return [(part + 1, seeds) for part in range(seeds)]


def ledger(runs: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the notes of each sweep."""
    found: dict[str, list[dict[str, Any]]] = {}
    for text in (runs / LEDGER).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        found.setdefault(line["sweep"], []).append(line)
    return found
