"""Thirteen baselines beside each other: lines, tests, accuracy in the small scenarios."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.engine import runner
from netsim.recording import run_folder
from netsim.scenario import load

ROOT = Path(__file__).resolve().parents[1]

TRANSCRIBED = {
    "apfl": ("test_algorithm_1",),
    "per_fedavg": ("test_algorithm_1",),
    "fedrep": ("test_algorithm_1",),
    "knn_per": ("test_predictions",),
    "cfl": ("test_cfl",),
    "pfedme": ("test_algorithm_1",),
    "fedamp": ("test_fedamp", "test_heurfedamp"),
    "pfedhn": ("test_pfedhn",),
    "fedrod": ("test_both_heads",),
    "sfl": ("test_sfl", "test_sfl_by_similarity", "test_sfl_with_a_learned_graph"),
    "flt": ("test_flt",),
    "pfedsim": ("test_pfedsim",),
    "cga": ("test_cga",),
}
"""Methods, and the tests in `tests/algorithms_/` that hold whole runs against the paper."""

SCENARIOS = {"small_baselines": ("cga",), "small_baselines_server": None, "async_baselines": None}
"""Scenarios, and the methods to play in them; None: all that it has."""


def lines(out: Path) -> tuple[list[str], float]:
    """The table, and the CPU seconds that its runs took.

    Parameters
    ----------
    out : Path
        The folder of the runs; those that it holds are not played again.
    """
    found = {name: accuracies(name, kinds, out / name) for name, kinds in SCENARIOS.items()}
    peers, server, radio = (f["accuracy"] for f in found.values())
    rounds = {**peers, **server}
    table = ["| Method | lines | transcription | rounds | radio |", "|---|---|---|---|---|"]
    for kind, tests in TRANSCRIBED.items():
        size = len((ROOT / "algorithms" / f"{kind}.py").read_text(encoding="utf-8").splitlines())
        test = ROOT / "tests" / "algorithms_" / f"test_{kind}.py"
        missing = [t for t in tests if f"def {t}(" not in test.read_text(encoding="utf-8")]
        if missing:
            raise LookupError(f"{test}: has no {', '.join(missing)}")
        where = f"`{test.name}`: " + ", ".join(f"`{t}`" for t in tests)
        names = sorted(name for name, k in kinds_of(found).items() if k == kind)
        for name in names:
            cells = [f"{100 * a[name]:.1f}" if name in a else "-" for a in (rounds, radio)]
            table.append(f"| {name} | {size} | {where} | {' | '.join(cells)} |")
    return table, sum(f["cpu_s"] for f in found.values())


def kinds_of(found: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The method of each entry that was played."""
    kinds: dict[str, str] = {}
    for f in found.values():
        kinds |= f["kinds"]
    return kinds


def accuracies(name: str, kinds: tuple[str, ...] | None, folder: Path) -> dict[str, Any]:
    """Accuracy of each entry at the end, mean over nodes; the entries' methods; CPU time."""
    kept = folder / "found.json"
    if kept.is_file():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    whole, start = load(name), time.process_time()
    entries = tuple(e for e in whole.algorithm if e.kind in (kinds or TRANSCRIBED))

    def made() -> Path:
        folder.mkdir(parents=True)
        return folder

    played = whole.model_copy(update={"algorithm": entries})
    folders = runner.play(played, made, name, sub_folders=True)
    found = {
        "accuracy": {f.name: run_folder.summary(f)["accuracy"]["mean"] for f in folders},
        "kinds": {entry.name: entry.kind for entry in entries},
        "cpu_s": time.process_time() - start,
    }
    kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found
