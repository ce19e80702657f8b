"""Checks of the numbers that an algorithm gives to verbs: times, counts, nodes.

A time below 0 would turn the clock back, and a count with a fraction be read in two ways; no verb
plays what it can't play as it is written.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.messaging.message import Message


def require_time(verb: str, key: str, seconds: float) -> None:
    """Refuse a time that is negative or nan.

    Parameters
    ----------
    verb, key : str
        What the message names.
    seconds : float
        Virtual time [s]; `math.inf` is one.

    Raises
    ------
    ProtocolError
    """
    if not seconds >= 0.0:
        raise ProtocolError(f"{verb}: {key} = {seconds!r}: must be 0 s or more{calling_line()}")


def require_duration(verb: str, key: str, seconds: float) -> None:
    """Refuse a time that is negative, nan or infinite.

    Parameters
    ----------
    verb, key : str
        What the message names.
    seconds : float
        Virtual time [s].

    Raises
    ------
    ProtocolError
    """
    if not 0.0 <= seconds < math.inf:
        raise ProtocolError(
            f"{verb}: {key} = {seconds!r}: must be 0 s or more, and finite{calling_line()}"
        )


def require_count(verb: str, key: str, count: Any, least: int) -> None:
    """Refuse a value that is no whole number, or too low.

    Parameters
    ----------
    verb, key : str
        What the message names.
    count : object
    least : int

    Raises
    ------
    ProtocolError
    """
    is_whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not is_whole or count < least:
        raise ProtocolError(
            f"{verb}: {key} = {count!r}: must be a whole number of at least {least}{calling_line()}"
        )


def require_real(verb: str, key: str, number: Any) -> float:
    """Give a finite number as a `float`, whichever of Python's, NumPy's or PyTorch's it is.

    Parameters
    ----------
    verb, key : str
        What the message names.
    number : object

    Raises
    ------
    ProtocolError
    """
    if isinstance(number, torch.Tensor) and number.numel() == 1:
        number = number.item()
    is_real = isinstance(number, int | float | np.integer | np.floating)
    if not is_real or isinstance(number, bool) or not math.isfinite(number):
        raise ProtocolError(f"{verb}: {key} = {number!r}: must be a finite number{calling_line()}")
    return float(number)


def require_kind(verb: str, key: str, kind: Any, exact: bool = True) -> None:
    """Refuse what is no class of messages: nothing of it would ever come.

    Parameters
    ----------
    verb, key : str
        What the message names.
    kind : object
    exact : bool
        Whether messages must be of this very class, so that `Message` itself is none.

    Raises
    ------
    ProtocolError
    """
    is_kind = isinstance(kind, type) and issubclass(kind, Message)
    if not is_kind or (exact and kind is Message):
        raise ProtocolError(
            f"{verb}: {key} = {kind!r}: must be a message class, as Model in class Model(Message)"
            f"{calling_line()}"
        )


def require_nodes(verb: str, key: str, ids: Iterable[Any], num_nodes: int, me: int) -> None:
    """Refuse ids that belong to no node, and the node's own.

    Parameters
    ----------
    verb, key : str
        What the message names.
    ids : iterable of int
    num_nodes : int
    me : int
        The node's own id; -1: it may be among them.

    Raises
    ------
    ProtocolError
    """
    for one in ids:
        if one == me or not 0 <= one < num_nodes:
            which = "the node's own" if one == me else f"no node: there are 0 to {num_nodes - 1}"
            raise ProtocolError(f"{verb}: {key} has {one!r}, which is {which}{calling_line()}")
