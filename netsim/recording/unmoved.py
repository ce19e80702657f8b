"""Sentences on swept keys that change no number of some methods' runs."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from netsim.recording.summary import load

_NOT_COMPARED = ("wall_s", "engine", "warnings")
"""Keys of `summary.json` with times of computing, and words."""

_OF_LEARNING = ("training", "model", "data", "task")
"""Tables that also matter to a method that sends nothing."""


def unmoved_in(points: Mapping[str, Mapping[str, Any]], runs: Sequence[Path]) -> list[str]:
    """Sentences on swept keys that make no difference to some methods, without a full stop.

    A method is left out where nothing else is to be expected: one that sends nothing, of keys of
    the network, and the others, of a key of one method.

    Parameters
    ----------
    points : mapping of str to mapping
        By label, which is the point's folder, the swept keys and their values.
    runs : sequence of Path
        Folders `LABEL/seed-N/METHOD` that have ended.
    """
    digests: dict[str, dict[tuple[str, str], bytes]] = defaultdict(dict)
    senders = set()
    for run in runs:
        summary = load(run)
        place = run.parent.parent.name, run.parent.name
        digests[run.name][place] = _digest(summary)
        if summary.get("messages", {}).get("sent"):
            senders.add(run.name)
    found = []
    for key in dict.fromkeys(key for values in points.values() for key in values):
        same = [
            method
            for method, of in digests.items()
            if _concerns(key, method, method in senders) and _is_unmoved(key, points, of)
        ]
        if same:
            found.append(
                f"no number of {', '.join(same)} changes with {key}, times of computing aside"
            )
    return found


def _digest(summary: Mapping[str, Any]) -> bytes:
    kept = {key: value for key, value in summary.items() if key not in _NOT_COMPARED}
    return sha256(json.dumps(kept, sort_keys=True).encode()).digest()


def _concerns(key: str, method: str, sends: bool) -> bool:
    """Return whether a key might be expected to make a difference to a method."""
    table, _, rest = key.partition(".")
    if table == "algorithm":
        return rest.partition(".")[0] == method
    return sends or table in _OF_LEARNING


def _is_unmoved(
    key: str,
    points: Mapping[str, Mapping[str, Any]],
    digests: Mapping[tuple[str, str], bytes],
) -> bool:
    """Return whether runs that differ in a key alone are equal, and there are some.

    Parameters
    ----------
    key : str
    points : mapping of str to mapping
        As of `unmoved_in`.
    digests : mapping of (str, str) to bytes
        By label and seed.
    """
    beside: dict[str, list[bytes]] = defaultdict(list)
    for (label, seed), digest in digests.items():
        values = points.get(label, {})
        if key in values:
            others = {name: value for name, value in values.items() if name != key}
            beside[json.dumps([others, seed], sort_keys=True, default=str)].append(digest)
    several: Iterable[list[bytes]] = [group for group in beside.values() if len(group) > 1]
    return bool(several) and all(len(set(group)) == 1 for group in several)
