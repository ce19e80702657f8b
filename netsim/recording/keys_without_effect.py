"""Sentences on swept keys that change no number of some methods' runs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from netsim.recording import checksums, run_folder

_NOT_COMPARED = ("wall_s", "engine", "warnings")
"""Keys of `summary.json` with times of computing, and words."""

_OF_LEARNING = ("training", "model", "data", "task")
"""Tables that also matter to a method that sends nothing, and of which `--timing-only` plays no
more than sizes and durations."""

_OF_NO_RESULT = ("name", "paper", "run")
"""Tables and keys on which no result depends."""


def unmoved_in(points: Mapping[str, Mapping[str, Any]], runs: Sequence[Path]) -> list[str]:
    """Sentences on swept keys that make no difference to some methods, without a full stop.

    A method is left out where nothing else is to be expected: one that sends nothing, of keys of
    the network; the others, of a key of one method; all, of keys of learning in runs without any
    (`--timing-only`). Nothing is said of a key before all its values have been compared.

    `points`: by label, which is the point's folder, the swept keys and their values. `runs`:
    folders `LABEL/seed-N/METHOD` that have ended.
    """
    digests: dict[str, dict[tuple[str, str], bytes]] = defaultdict(dict)
    senders, learners = set(), set()
    for run in runs:
        summary = run_folder.summary(run)
        place = run.parent.parent.name, run.parent.name
        digests[run.name][place] = _digest(summary, _tables(run))
        if summary.get("messages", {}).get("sent"):
            senders.add(run.name)
        if run_folder.environment(run).get("timing_only") is not True:
            learners.add(run.name)
    sentences = []
    for key in dict.fromkeys(key for values in points.values() for key in values):
        same = [
            method
            for method, of in digests.items()
            if _concerns(key, method, method in senders, method in learners)
            and _is_unmoved(key, points, of)
        ]
        if same:
            sentences.append(
                f"no number of {', '.join(same)} changes with {key}, times of computing aside"
            )
    return sentences


def _tables(run: Path) -> dict[str, str]:
    """Digests of the tables of a run by their files; none of the nodes, which repeats settings."""
    if not (run / checksums.NAME).is_file():
        return {}
    known = checksums.read(run)
    return {name: digest for name, digest in known.items() if Path(name).parent != Path()}


def _digest(summary: Mapping[str, Any], tables: Mapping[str, str]) -> bytes:
    kept = {key: value for key, value in summary.items() if key not in _NOT_COMPARED}
    return sha256(json.dumps([kept, tables], sort_keys=True).encode()).digest()


def _concerns(key: str, method: str, sends: bool, learns: bool) -> bool:
    """Return whether a key might be expected to make a difference to a method."""
    table, _, rest = key.partition(".")
    if table == "algorithm":
        name, _, own = rest.partition(".")
        return name == method and (learns or own.partition(".")[0] not in _OF_LEARNING)
    if table in _OF_NO_RESULT:
        return False
    return learns if table in _OF_LEARNING else sends


def _is_unmoved(
    key: str, points: Mapping[str, Mapping[str, Any]], digests: Mapping[tuple[str, str], bytes]
) -> bool:
    """Return whether runs that differ in a key alone are equal, and every value is in some.

    `digests`: by label and seed.
    """
    beside: dict[str, dict[str, bytes]] = defaultdict(dict)
    for (label, seed), digest in digests.items():
        values = points.get(label, {})
        if key in values:
            others = {name: value for name, value in values.items() if name != key}
            beside[_text([others, seed])][_text(values[key])] = digest
    several = [group for group in beside.values() if len(group) > 1]
    compared = {value for group in several for value in group}
    every = {_text(values[key]) for values in points.values() if key in values}
    return compared == every and all(len(set(group.values())) == 1 for group in several)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
