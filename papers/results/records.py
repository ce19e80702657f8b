"""Files beside a table's runs: their players, and their estimated times."""

import json
import math
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim import ScenarioError
from papers.results.files import write_text
from papers.results.tables import ROOT, PaperTable

LEDGER, ESTIMATES = "played.jsonl", "estimates.json"


def append(table: PaperTable, runs: Path, line: Mapping[str, Any]) -> None:
    """Add a line to the ledger, after the end of one that was broken off."""
    with (runs / table.name / LEDGER).open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + json.dumps(line).encode() + b"\n")


def ledger(table: PaperTable, runs: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of `played.jsonl` by run; what is no line of it, or was broken off, is left out."""
    path = runs / table.name / LEDGER
    found: dict[str, list[dict[str, Any]]] = {}
    if path.is_file():
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and _seconds(line.get("cpu_s")):
                line.setdefault("commit", "")
                found.setdefault(str(line.get("run")), []).append(line)
    return found


def _seconds(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def commit() -> str:
    """The commit of this checkout, with `+` where files differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "netsim", "algorithms")
    return git("rev-parse", "--short=9", "HEAD") + ("+" if changed else "")


def keep_estimates(table: PaperTable, runs: Path, estimates: Mapping[str, float]) -> None:
    """Keep CPU seconds by cell, as `playing.estimate_key` calls them."""
    path = runs / table.name / ESTIMATES
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(estimates, indent=1, sort_keys=True))


def kept_estimates(table: PaperTable, runs: Path) -> dict[str, float]:
    """Return the estimates that `keep_estimates` has kept.

    Raises
    ------
    ScenarioError
        If the file is damaged.
    """
    path = runs / table.name / ESTIMATES
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(map(_seconds, found.values())):
        told = "is no list of estimates; delete it and let them be timed again"
        raise ScenarioError(f"{path}: {told} (python -m papers.results estimate {table.name})")
    return found
