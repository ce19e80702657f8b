"""Numbers that Flower reports, as metrics of the run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from flwr.server.history import History
from flwr.serverapp.strategy.result import Result

from netsim.errors import ProtocolError
from netsim.node.publishing_verbs import MOST_RECORDED
from netsim.protocols.flower.virtual_time import Changes

PREFIX = "flower_"

Numbers = float | list[float]

Tell = Callable[[str, Numbers], None]
"""Takes a name and a number, or several."""


class Names:
    """Names of recorded numbers, made of those that the app has."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, str]] = {}

    def __call__(self, part: str, key: str) -> str:
        """`flower_PART_KEY`, of letters, digits and underscores.

        Raises
        ------
        ProtocolError
            If another name of the app's becomes the same.
        """
        name = PREFIX + re.sub(r"\W", "_", f"{part}_{key}" if part else key, flags=re.ASCII)
        if self._given.setdefault(name, (part, key)) != (part, key):
            was = "_".join(filter(None, self._given[name]))
            raise ProtocolError(
                f'the app reports "{was}" and "{"_".join(filter(None, (part, key)))}", which both '
                f"become {name}; rename one of them"
            )
        return name


def numbers_of(record: Mapping[str, Any]) -> dict[str, Numbers]:
    """The numbers of a MetricRecord, or of a dict of a legacy strategy; lists of them as lists.

    Those of NumPy and PyTorch are numbers, too, of whatever precision; truth values are none.
    """
    found = {str(key): _numbers_of(value) for key, value in record.items()}
    return {key: numbers for key, numbers in found.items() if numbers is not None}


def unrecorded_keys(record: Mapping[str, Any]) -> list[str]:
    """The keys of a record whose lists are too long, or empty, to be recorded."""
    return [
        str(key)
        for key, value in record.items()
        if isinstance(value, list | tuple) and not 1 <= len(value) <= MOST_RECORDED
    ]


def not_recorded(name: str) -> str:
    """Say that a list is not recorded, as what a node warns of."""
    return (
        f"the app reports {name} as a list of more than {MOST_RECORDED} numbers or none, which is "
        "not recorded; report its mean or a part of it"
    )


def numbers_of_all(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Numbers]:
    """The numbers of several records; a key that more than one has stands behind its record's name.

    Parameters
    ----------
    records : mapping of str to mapping
        By their names in a reply.
    """
    each = {name: numbers_of(record) for name, record in records.items()}
    often = Counter(key for numbers in each.values() for key in numbers)
    return {
        key if often[key] == 1 else f"{name}.{key}": value
        for name, numbers in each.items()
        for key, value in numbers.items()
    }


def _numbers_of(value: Any) -> Numbers | None:
    if isinstance(value, list | tuple):
        numbers = [_number_of(one) for one in value]
        known = [one for one in numbers if one is not None]
        return known if 1 <= len(known) == len(numbers) <= MOST_RECORDED else None
    return _number_of(value)


def _number_of(value: Any) -> float | None:
    """A number, or the one in an array or tensor without axes; None for what is none."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if is_number else None


class Recording(dict[int, Any]):
    """A strategy's metrics by round, each told when it is set."""

    def __init__(self, part: str, tell: Callable[[str, Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._part, self._tell = part, tell

    def __setitem__(self, number: int, record: Any) -> None:
        super().__setitem__(number, record)
        self._tell(self._part, record)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def listen_to_strategies(
    changes: Changes, names: Names, tell: Tell, leave_out: Callable[[str], None]
) -> None:
    """Tell each number that a strategy puts into Flower's `Result`, or a legacy one's `History`.

    Parameters
    ----------
    changes : Changes
        Through which Flower's classes are changed.
    names : Names
    tell : callable
        Called as `tell(name, number)`.
    leave_out : callable
        Called with the name of what can't be recorded.
    """

    def tell_all(part: str, record: Mapping[str, Any]) -> None:
        for key, value in numbers_of(record).items():
            tell(names(part, key), value)
        for key in unrecorded_keys(record):
            leave_out(f"{part}_{key}")

    begin = Result.__init__

    def begun(result: Any, *given: Any, **named: Any) -> None:
        begin(result, *given, **named)
        result.train_metrics_clientapp = Recording("train", tell_all)
        result.evaluate_metrics_clientapp = Recording("evaluate", tell_all)
        result.evaluate_metrics_serverapp = Recording("server", tell_all)

    changes.set(Result, "__init__", begun)
    for method, part in (
        ("add_loss_distributed", "evaluate"),
        ("add_loss_centralized", "server"),
        ("add_metrics_distributed_fit", "train"),
        ("add_metrics_distributed", "evaluate"),
        ("add_metrics_centralized", "server"),
    ):
        changes.set(History, method, _also_told(getattr(History, method), part, tell_all))


def _also_told(
    add: Callable[..., None], part: str, tell_all: Callable[[str, Mapping[str, Any]], None]
) -> Callable[..., None]:
    def added(history: Any, server_round: int, value: Any = None, **named: Any) -> None:
        value = next(iter(named.values()), value)
        add(history, server_round, value)
        tell_all(part, value if isinstance(value, Mapping) else {"loss": value})

    return added
