"""Bandwidth traces: rates over time by name, and packet opportunities (Mahimahi)."""

import math
from typing import NamedTuple

import numpy as np

from netsim.traces.files import Text, is_comment, no_column, number
from netsim.units import to_ns

OPPORTUNITY_BITS = 12_000
"""A Mahimahi line stands for one packet of 1,500 bytes (Netravali et al., USENIX ATC 2015)."""
_MOST_BINS = 1e7


class Pieces(NamedTuple):
    """A rate that is piecewise constant.

    Attributes
    ----------
    starts_ns : list of int
        When each piece starts; the first is 0.
    bps : list of float
        Rate of each piece [bit/s].
    length_ns : int
        Time from 0 to the end of the last piece.
    """

    starts_ns: list[int]
    bps: list[float]
    length_ns: int


def read_bandwidth(text: Text, bin_s: float) -> dict[str, Pieces]:
    """Read the traces in a file.

    Parameters
    ----------
    text : Text
        CSV with a header naming the columns `time_s`, `mbps` and, if there are several traces,
        `trace`: a rate holds until the next row's time, the last one for as long as the one
        before. Or Mahimahi's format: each line is the time in ms of an opportunity to send a
        packet.
    bin_s : float
        Opportunities are counted over bins of this length [s].

    Returns
    -------
    dict of str to Pieces
        By name; a file with one trace may have the name "".

    Raises
    ------
    DataError
        Naming line, column and value.
    """
    lines = [
        (at, line.strip())
        for at, line in enumerate(text.content.splitlines(), start=1)
        if not is_comment(line)
    ]
    if not lines:
        raise text.wrong("holds no trace")
    if all(number(line) is not None for _, line in lines[:2]):
        return {"": _opportunities(text, lines, bin_s)}
    return _rates(text, lines)


def _opportunities(text: Text, lines: list[tuple[int, str]], bin_s: float) -> Pieces:
    times = []
    last = 0.0
    for at, word in lines:
        value = number(word)
        if value is None or not 0 <= value < math.inf:
            raise text.wrong(f'column 1 is "{word}", not a time in ms of at least 0', at)
        if value < last:
            raise text.wrong(f"{word} ms comes after {last:g} ms; times must not fall", at)
        last = value
        times.append(value)
    needed = (times[-1] + 1.0) / 1e3 / bin_s
    if needed > _MOST_BINS:
        raise text.wrong(
            f"needs {needed:.4g} bins of bin_s = {bin_s:g}, at most {_MOST_BINS:g} are possible; "
            "set a longer bin_s"
        )
    bins = max(1, math.ceil(needed))
    counts = np.bincount((np.array(times) / 1e3 / bin_s).astype(np.int64), minlength=bins)
    starts = [to_ns(k * bin_s) for k in range(len(counts))]
    bps = [float(count) * OPPORTUNITY_BITS / bin_s for count in counts]
    return Pieces(starts, bps, to_ns(len(counts) * bin_s))


def _rates(text: Text, lines: list[tuple[int, str]]) -> dict[str, Pieces]:
    at, header = lines[0]
    names = [name.strip().strip('"') for name in header.split(",")]
    for name in ("time_s", "mbps"):
        if name not in names:
            said = no_column(name, names, ("time_s", "mbps"))
            raise text.wrong(f"{said}; and trace, where it holds several", at)
    place = {name: names.index(name) for name in ("trace", "time_s", "mbps") if name in names}
    found: dict[str, tuple[list[float], list[float]]] = {}
    for at, line in lines[1:]:
        words = line.split(",")
        if len(words) != len(names):
            raise text.wrong(f"has {len(words)} columns, the header {len(names)}", at)
        time_s, mbps = number(words[place["time_s"]]), number(words[place["mbps"]])
        if time_s is None or not math.isfinite(time_s):
            raise text.wrong(f'column time_s is "{words[place["time_s"]]}", not a time', at)
        if mbps is None or not 0 <= mbps < math.inf:
            raise text.wrong(
                f'column mbps is "{words[place["mbps"]]}"; a capacity must be a number of at '
                "least 0",
                at,
            )
        times, rates = found.setdefault(words[place["trace"]] if "trace" in place else "", ([], []))
        if times and to_ns(time_s - times[0]) <= to_ns(times[-1] - times[0]):
            raise text.wrong(
                f"column time_s is {time_s:g}, after {times[-1]:g}; sort the rows of a trace by "
                "time, one a time",
                at,
            )
        times.append(time_s)
        rates.append(mbps * 1e6)
    if not found:
        raise text.wrong("holds no trace, only a header")
    return {name: _pieces(times, rates) for name, (times, rates) in found.items()}


def _pieces(times: list[float], bps: list[float]) -> Pieces:
    last_s = times[-1] - times[-2] if len(times) > 1 else 1.0
    starts = [to_ns(time_s - times[0]) for time_s in times]
    return Pieces(starts, bps, to_ns(times[-1] - times[0] + last_s))
