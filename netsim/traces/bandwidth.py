"""Bandwidth traces: tables of rates, Pensieve's, Sabre's, and Mahimahi's opportunities."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from netsim.traces.csv_columns import BITS_PER_S, SECONDS, Columns
from netsim.traces.files import (
    Text,
    is_comment,
    parse_number,
    parsed_json,
    quote,
    whole_number,
)
from netsim.traces.moments import require_seconds
from netsim.traces.remarks import note_commented, note_remark
from netsim.units import is_number, to_ns

OPPORTUNITY_BITS = 12_000
"""A Mahimahi line stands for one packet of 1,500 bytes (Netravali et al., USENIX ATC 2015)."""
_MS = 1_000_000
_MOST_BINS = 1e7
_LATEST_MS = 10**11
_PERIOD = ("duration_ms", "bandwidth_kbps")
"""Keys that are read of a period of Sabre's."""


class Pieces(NamedTuple):
    """A rate that is piecewise constant.

    Attributes
    ----------
    first_s : float
        Time of the file at which the first piece starts.
    starts_ns : list of int
        When each piece starts; the first is 0.
    bps : list of float
        Rate of each piece [bit/s].
    length_ns : int
        Time from 0 to the end of the last piece.
    held_bps : float
        Rate from there on, where it does not start anew.
    """

    first_s: float
    starts_ns: list[int]
    bps: list[float]
    length_ns: int
    held_bps: float


def read_bandwidth(text: Text, bin_s: float | None) -> dict[str, Pieces]:
    """Read the traces in a file.

    Parameters
    ----------
    text : Text
        A table whose header names a time (`time_s`, `timestamp_ms`), a rate (`mbps`,
        `bandwidth_kbps`) and, if there are several traces, `trace`: a rate holds until the next
        row's time, the last one for as long as the one before. Pensieve's two columns, s and
        Mbit/s: a rate holds until its row's time, from the row before on, as its simulator plays
        it. Sabre's JSON, periods with `duration_ms` and `bandwidth_kbps`. Or Mahimahi's format:
        each line is the time in ms of an opportunity to send a packet, and the last is the period.
    bin_s : float or None
        Opportunities are averaged over so long [s]; None: over the ms before each, which is as
        fine as they are written.

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
        raise text.error("holds no trace")
    note_commented(text)
    if lines[0][1][0] in "[{":
        return {"": _read_periods(text)}
    words = lines[0][1].split()
    if all(parse_number(word) is not None for word in words):
        if len(words) == 1:
            return {"": _read_opportunities(text, lines, bin_s)}
        if len(words) == 2:
            return {"": _read_cooked(text, lines)}
        raise text.error(
            f"has {len(words)} columns without a header; Mahimahi's has one, Pensieve's two, and a "
            "table begins with the names time_s and mbps",
            lines[0][0],
        )
    return _rates(text)


def _read_opportunities(text: Text, lines: list[tuple[int, str]], bin_s: float | None) -> Pieces:
    times = []
    last = 0
    for at, word in lines:
        value = whole_number(word)
        if value is None or value > _LATEST_MS:
            raise text.error(
                f"column 1 is {quote(word)}, not a time in ms: a whole number of at least 0",
                at,
            )
        if value < last:
            raise text.error(f"{value} ms comes after {last} ms; times must not fall", at)
        last = value
        times.append(value)
    if not last:
        raise text.error("its last time is 0 ms, and that is the period after which it starts anew")
    if bin_s is not None and last / 1e3 / bin_s > _MOST_BINS:
        raise text.error(
            f"needs {last / 1e3 / bin_s:.4g} bins of bin_s = {bin_s:g}, at most {_MOST_BINS:g} are "
            "possible; leave bin_s out"
        )
    # An opportunity is what the ms before it has carried; one at 0 is that of the period's end.
    at_ms, counts = np.unique(np.where(np.array(times) == 0, last, times), return_counts=True)
    gap_ms = last - (int(at_ms[-2]) if len(at_ms) > 1 else 0)
    held_bps = float(counts[-1]) * OPPORTUNITY_BITS * 1e3 / gap_ms
    if bin_s is None:
        starts, rates = [0], [0.0]
        for ms, count in zip(at_ms.tolist(), counts.tolist(), strict=True):
            _add_piece(starts, rates, (ms - 1) * _MS, count * OPPORTUNITY_BITS * 1e3)
            if ms < last:
                _add_piece(starts, rates, ms * _MS, 0.0)
        return Pieces(0.0, *_without_repeats(starts, rates), last * _MS, held_bps)
    edges = [min(to_ns(k * bin_s), last * _MS) for k in range(math.ceil(last / 1e3 / bin_s) + 1)]
    edges = sorted({*edges, last * _MS})
    carried = np.append(0, np.cumsum(counts)) * float(OPPORTUNITY_BITS)
    # Within the ms before an opportunity its packet is on the way.
    knots_ns = np.ravel(np.stack([(at_ms - 1) * _MS, at_ms * _MS], axis=1))
    bits = np.interp(edges, knots_ns, np.ravel(np.stack([carried[:-1], carried[1:]], axis=1)))
    means = [
        (after - before) * 1e9 / (end - start)
        for (start, end), (before, after) in zip(
            pairwise(edges), pairwise(bits.tolist()), strict=True
        )
    ]
    return Pieces(0.0, edges[:-1], means, last * _MS, held_bps)


def _add_piece(starts: list[int], rates: list[float], start_ns: int, bps: float) -> None:
    """A piece from an instant on, in place of one that starts there."""
    if starts[-1] == start_ns:
        rates[-1] = bps
    else:
        starts.append(start_ns)
        rates.append(bps)


def _without_repeats(starts: list[int], rates: list[float]) -> tuple[list[int], list[float]]:
    kept = [0, *(k for k in range(1, len(rates)) if rates[k] != rates[k - 1])]
    return [starts[k] for k in kept], [rates[k] for k in kept]


def _read_cooked(text: Text, lines: list[tuple[int, str]]) -> Pieces:
    """Pensieve's `cooked_traces`: in its simulator a row's rate holds up to the row's time."""
    times, bps = list[float](), list[float]()
    for at, line in lines:
        words = line.split()
        if len(words) != 2:
            raise text.error(
                f"has {len(words)} columns, the first line 2: a time in s and a rate in Mbit/s", at
            )
        time_s = require_seconds(text, words[0], at, "column 1")
        times.append(_require_later(text, times, time_s, at, "column 1"))
        bps.append(1e6 * _rate(text, words[1], at, "column 2"))
    if len(times) < 2:
        raise text.error(
            "holds one row of a time and a rate, which lasts for no time; a rate holds from the "
            "row before to its own"
        )
    starts = [to_ns(time_s - times[0]) for time_s in times]
    return Pieces(times[0], starts[:-1], bps[1:], starts[-1], bps[-1])


def _read_periods(text: Text) -> Pieces:
    """Sabre's networks: a list of periods, which starts anew at its end."""
    try:
        found = parsed_json(text.content)
    except (ValueError, RecursionError) as error:
        raise text.error(
            f"can't be read as JSON ({error}); Sabre's traces are lists of periods"
        ) from None
    if not isinstance(found, list) or not found:
        raise text.error("is JSON, and no list of periods with duration_ms and bandwidth_kbps")
    starts, bps, left_out, now_s = [0], list[float](), set[str](), 0.0
    for k, period in enumerate(found, start=1):
        if not isinstance(period, dict):
            raise text.error(f"period {k} is no object with duration_ms and bandwidth_kbps")
        lasts_ms, kbps = (_of_period(text, k, period, key) for key in _PERIOD)
        left_out |= {str(key) for key in period} - set(_PERIOD)
        now_s += lasts_ms / 1e3
        if to_ns(now_s) <= starts[-1]:
            raise text.error(
                f"period {k}: duration_ms is {lasts_ms:g}, less than 1 ns; take the period out"
            )
        starts.append(to_ns(now_s))
        bps.append(kbps * 1e3)
    if left_out:
        names = ", ".join(map(quote, sorted(left_out)[:5]))
        note_remark(f"{text.where}: left aside of its periods: {names}; set [link] latency_s")
    return Pieces(0.0, starts[:-1], bps, starts[-1], bps[-1])


def _of_period(text: Text, k: int, period: dict[str, Any], key: str) -> float:
    value = period.get(key)
    if is_number(value) and 0 <= value <= 1e300:
        return float(value)
    state = "is missing" if key not in period else f"is {quote(repr(value))}"
    raise text.error(f"period {k}: {key} {state}; it must be a number of at least 0")


def _rates(text: Text) -> dict[str, Pieces]:
    rows = Columns(text)
    rows.note_unread()
    time, rate = (
        rows.find("time_s", SECONDS, ("t", "timestamp")),
        rows.find("mbps", BITS_PER_S, ("rate", "bandwidth", "throughput", "capacity")),
    )
    if len(rows) == 0:
        raise text.error("holds no trace, only a header")
    times = rows.times(time, rows.factor(time, SECONDS))
    bps = rows.numbers(rate) * rows.factor(rate, BITS_PER_S)
    rows.require(bps >= 0, f"{rate}, a capacity, must be a number of at least 0", rate)
    names = rows.texts("trace") if "trace" in rows else [""] * len(rows)
    found: dict[str, tuple[list[float], list[float]]] = {}
    cells = zip(names, times.tolist(), bps.tolist(), strict=True)
    for row, (name, time_s, of_row) in enumerate(cells):
        mine, rates = found.setdefault(name, ([], []))
        mine.append(_require_later(text, mine, time_s, rows.line(row), f"column {time}"))
        rates.append(of_row)
    return {name: _make_pieces(mine, rates) for name, (mine, rates) in found.items()}


def _require_later(text: Text, before: list[float], time_s: float, at: int, column: str) -> float:
    if before and to_ns(time_s - before[0]) <= to_ns(before[-1] - before[0]):
        raise text.error(
            f"{column} is {time_s:.12g} s, after {before[-1]:.12g} s; sort the rows of a trace by "
            "time, one a time",
            at,
        )
    return time_s


def _rate(text: Text, word: str, at: int, column: str) -> float:
    value = parse_number(word)
    if value is None or not 0 <= value < math.inf:
        raise text.error(
            f"{column} is {quote(word)}; a capacity must be a number of at least 0", at
        )
    return value


def _make_pieces(times: list[float], bps: list[float]) -> Pieces:
    last_s = times[-1] - times[-2] if len(times) > 1 else 1.0
    starts = [to_ns(time_s - times[0]) for time_s in times]
    return Pieces(times[0], starts, bps, to_ns(times[-1] - times[0] + last_s), bps[-1])
