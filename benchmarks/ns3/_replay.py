"""Play in ns-3 the files of `netsim export RUN --for ns3`, and compare message by message."""

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _programs import Ns3, numbers
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Replay:
    """An exported run.

    Attributes
    ----------
    folder : Path
    name : str
    program : {"adhoc", "star"}
    arguments : dict
        Of the program.
    differs : tuple of str
        What ns-3 plays otherwise.
    t_s, delay_s : (M,) float64
        When each message was sent, and how long it took in netsim.
    delivered : (M,) bool
        Whether it arrived whole in netsim.
    """

    folder: Path
    name: str
    program: str
    arguments: dict[str, Any]
    differs: tuple[str, ...]
    t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    delivered: NDArray[np.bool_]


def read(folder: Path) -> Replay:
    """Read an exported run.

    Raises
    ------
    ValueError
        If it is none; with the line, if one is not understood.
    """
    try:
        about = json.loads((folder / "replay.json").read_text(encoding="utf-8"))
        lines = (folder / "messages.txt").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(
            f"{folder}: not written by netsim export RUN --for ns3: {error.strerror}: "
            f"{Path(error.filename).name}"
        ) from None
    sent, done, delivered = [], [], []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        words = line.split()
        try:
            t_s, _, _, _, t_done_s, outcome = words
            sent.append(float(t_s))
            done.append(float(t_done_s))
        except ValueError:
            raise ValueError(
                f"{folder / 'messages.txt'}:{number}: {line!r}: must be t_s src dst bytes t_done_s "
                "outcome"
            ) from None
        delivered.append(outcome == "delivered")
    return Replay(
        folder, about["name"], about["program"], about["arguments"], tuple(about["differs"]),
        np.array(sent), np.array(done) - np.array(sent), np.array(delivered),
    )  # fmt: skip


def play(ns3: Ns3, replay: Replay, seed: int) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Play it in ns-3.

    Returns
    -------
    delay_s : (M,) float64
        NaN where a message did not arrive whole.
    totals : dict of str to float
        What the program prints; `cpu_s` is that of its events.
    """
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "done.txt"
        told = {"folder": replay.folder.resolve(), "out": out, "seed": seed}
        totals = numbers(ns3.call(replay.program, replay.arguments | told))
        done_s = np.loadtxt(out, usecols=0, ndmin=1)
    return np.where(done_s >= 0, done_s - replay.t_s, np.nan), totals


def side_by_side(replay: Replay, ns3_delay_s: NDArray[np.float64]) -> dict[str, float]:
    """Numbers of both; delays are those of messages that arrived in both.

    Returns
    -------
    dict of str to float
        `messages`, `same fate`, as `netsim X` and `ns-3 X`: delivered, mean s, p95 s; and `ratio`
        of the means, netsim's over ns-3's.
    """
    arrived = np.isfinite(ns3_delay_s)
    both = arrived & replay.delivered
    found = {
        "messages": float(len(arrived)),
        "same fate": float((arrived == replay.delivered).mean()),
    }
    sides = {
        "netsim": (replay.delivered, replay.delay_s),
        "ns-3": (arrived, ns3_delay_s),
    }
    for side, (fate, delay_s) in sides.items():
        found[f"{side} delivered"] = float(fate.mean())
        found[f"{side} mean s"] = float(delay_s[both].mean()) if both.any() else math.nan
        found[f"{side} p95 s"] = float(np.percentile(delay_s[both], 95)) if both.any() else math.nan
    found["ratio"] = found["netsim mean s"] / found["ns-3 mean s"]
    return found


def mean_se(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN of a single value."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    squares = sum((x - mean) ** 2 for x in values)
    return mean, math.sqrt(squares / (len(values) - 1) / len(values))
