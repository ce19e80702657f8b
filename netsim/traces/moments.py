"""Times in files: numbers of seconds, times of day, dates; and when of them a run begins."""

import math
import re
from datetime import UTC, datetime

from netsim.errors import DataError
from netsim.traces.files import Text, parse_number, quote
from netsim.traces.remarks import PlayedSpan, note_played

LATEST_S = 1e11
"""No time in seconds is later, not since 1970 either: what is counts ms, us or ns."""

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):([0-5]?\d):([0-5]?\d(?:\.\d*)?)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
HOW = "seconds, H:M:S, or a date such as 2024-05-01T12:00:00"


def parse_moment(word: str, unit_s: float = 1.0) -> float | None:
    """A word as a time in seconds, or None.

    Parameters
    ----------
    word : str
        A number; `[days:]H:M:S`; or a date of ISO 8601, in UTC unless it says otherwise, which
        counts from 1970.
    unit_s : float
        What a number counts in.
    """
    value = parse_number(word)
    if value is not None:
        return value * unit_s if math.isfinite(value) else None
    word = word.strip()
    clock = _CLOCK.fullmatch(word)
    if clock is not None:
        days, hours, minutes, seconds = clock.groups()
        return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
    if _DATE.match(word) is None:
        return None
    try:
        found = datetime.fromisoformat(word)
    except ValueError:
        return None
    aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return aware.timestamp()


def is_time_of_day(word: str) -> bool:
    """Return whether a word is a time of day, which begins anew at midnight."""
    return _CLOCK.fullmatch(word.strip()) is not None


def require_seconds(text: Text, word: str, at: int, what: str, unit_s: float = 1.0) -> float:
    """A word of a file as a time in seconds.

    Parameters
    ----------
    text : Text
        For errors.
    word : str
    at : int
        Its line.
    what : str
        The column, for errors.
    unit_s : float
        What a number counts in.

    Raises
    ------
    DataError
        If it is no time, or so late that it can't count seconds.
    """
    value = parse_moment(word, unit_s)
    if value is None:
        raise text.error(f"{what} is {quote(word)}, not a time in seconds; write {HOW}", at)
    if abs(value) > LATEST_S:
        raise text.error(
            f"{what} is {quote(word)}, too late for a time in seconds; it may count ms, us or ns: "
            "divide, or name the column so (t_ms)",
            at,
        )
    return value


def file_time_of_start(
    where: str,
    first_s: float,
    last_s: float,
    start_s: float | None,
    beyond: str,
    speedup: float = 1.0,
    repeats: bool = False,
    clear: bool = False,
) -> float:
    """Time in a file at which a run begins [s]: `start_s`, else the first row's; it is noted.

    Parameters
    ----------
    where : str
        The beginning of what is told of the file.
    first_s, last_s : float
        Times of its first and last row.
    start_s : float or None
        What the scenario says.
    beyond : str
        What is played after the last row, for remarks: a clause with a subject.
    speedup : float
        Seconds of the file in one of the run.
    repeats : bool
        Whether the file starts anew after its last row.
    clear : bool
        Whether there is no doubt that its first row is meant, which is then not remarked on.

    Raises
    ------
    DataError
        If times are before 0 and nothing says when the run starts.
    """
    if start_s is None and first_s < 0.0 and not clear:
        raise DataError(
            f"{where}: the time {first_s:.12g} s is before 0; times must be at least 0, unless "
            "start_s says at which of them the run starts"
        )
    begins_s = first_s if start_s is None else start_s
    said = start_s is not None
    note_played(PlayedSpan(where, first_s, last_s, begins_s, said, clear, beyond, speedup, repeats))
    return begins_s
