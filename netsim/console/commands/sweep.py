"""The options of `netsim sweep` as the `[sweep]` table that they stand for."""

from collections.abc import Iterable
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import summary_fields
from netsim.scenario.draft import parse_value, said, split_values
from netsim.scenario.sweep import MOST_RUNS


def options(
    over: Iterable[str],
    draw: Iterable[str],
    seeds: str | None,
    show: str | None,
    **given: Any,
) -> dict[str, Any]:
    """The `[sweep]` table that a command line describes.

    Parameters
    ----------
    over : iterable of str
        `key.path=value,value`.
    draw : iterable of str
        `key.path=low:high[:log]` or `key.path=value,value`.
    seeds : str or None
        `0:5` or `0,3,7`.
    show : str or None
        Names of measures, separated by commas.
    **given
        Other keys of the table; None leaves a key unsaid.

    Raises
    ------
    ScenarioError
        Naming every option that is malformed.
    """
    table: dict[str, Any] = {}
    problems: list[str] = []
    for text in over:
        key, _, values = text.partition("=")
        if not values:
            problems.append(f"{said('--over', text)}: is not of the form key.path=value,value")
        if key in table.get("over", {}):
            problems.append(
                f"{said('--over', text)}: {one_line(key[:60])} is there already; list all its "
                "values at once"
            )
        table.setdefault("over", {})[key] = split_values(values)
    for text in draw:
        key, _, span = text.partition("=")
        if key in table.get("draw", {}):
            problems.append(
                f"{said('--draw', text)}: {one_line(key[:60])} is there already; say all of it at "
                "once"
            )
        low, _, rest = span.partition(":")
        high, _, log = rest.partition(":")
        if "," in span:
            table.setdefault("draw", {})[key] = split_values(span)
        elif not (low and high) or log not in ("", "log"):
            problems.append(
                f"{said('--draw', text)}: is not of the form key.path=low:high[:log] or =a,b,c"
            )
        else:
            limits = {"low": parse_value(low), "high": parse_value(high), "log": log == "log"}
            table.setdefault("draw", {})[key] = limits
    try:
        if seeds is not None:
            table["seeds"] = _seeds(seeds)
    except ScenarioError as error:
        problems.append(f"{said('--seeds', seeds or '')}: {error}")
    except ValueError:
        problems.append(
            f"{said('--seeds', seeds or '')}: is neither a range such as 0:5 nor a list such as "
            "0,3,7"
        )
    try:
        if show is not None:
            table["show"] = measures_named(show)
    except ScenarioError as error:
        problems.append(str(error))
    if problems:
        raise ScenarioError("\n".join(problems))
    return table | {key: value for key, value in given.items() if value is not None}


def _seeds(text: str) -> list[int]:
    if ":" in text:
        low, high = (int(end) for end in text.split(":"))
        if not 0 <= low < high:
            raise ValueError
        if high - low > MOST_RUNS:
            raise ScenarioError(f"has {high - low:,} seeds; at most {MOST_RUNS:,} are possible")
        return list(range(low, high))
    return [int(seed) for seed in text.split(",")]


def measures_named(text: str) -> list[str]:
    """The measures that `--show` names.

    Raises
    ------
    ScenarioError
    """
    try:
        return [summary_fields.named(name.strip()) for name in text.split(",")]
    except ValueError as error:
        raise ScenarioError(f"{said('--show', text)}: {one_line(error)}") from None


def part(text: str | None) -> tuple[int, int] | None:
    """The part of a sweep that `--only` names: `3/8`.

    Raises
    ------
    ScenarioError
    """
    if text is None:
        return None
    which, _, parts = text.partition("/")
    numbers = len(text) < 20 and which.isdecimal() and parts.isdecimal()
    if not (numbers and 1 <= int(which) <= int(parts)):
        raise ScenarioError(
            f"{said('--only', text)}: is not of the form I/N with I from 1 to N, such as 3/8: "
            "every eighth run, beginning with the third"
        )
    return int(which), int(parts)
