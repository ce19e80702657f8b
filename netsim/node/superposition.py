"""What a receiver makes of rows that were sent over the air at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from netsim.errors import ProtocolError
from netsim.learning.refs import Ref
from netsim.messaging.message import Received
from netsim.messaging.over_the_air import OverTheAir, Superposed
from netsim.rng import Streams

_BY_WIRE = Superposed((0, 0), 0.0, 1, ((True,),))
"""A row that came over a wire: whole, without noise."""


def superposed(
    compute: Callable[..., Any], seed: int, received: Mapping[int, Received[Any]]
) -> tuple[Ref, Ref]:
    """See `Node.superposed`.

    Parameters
    ----------
    compute : callable
        The node's verb.
    seed : int
        The scenario's, from which receiver noise is drawn.
    received : mapping of int to Received

    Returns
    -------
    total, count : Ref
    """
    if not received:
        raise ProtocolError("superposed: nothing has been received")
    frames: dict[tuple[int, int], list[tuple[Ref, Superposed]]] = {}
    for sender in sorted(received):
        one = received[sender]
        if not isinstance(one.msg, OverTheAir):
            raise ProtocolError(f"superposed: a {type(one.msg).__name__} is no OverTheAir message")
        came = one.arrived if isinstance(one.arrived, Superposed) else _BY_WIRE
        frames.setdefault(came.frame, []).append((one.msg.row, came))
    first = next(iter(received.values())).msg.row
    rows = [[row for row, _ in group] for group in frames.values()]
    how = [
        (frame, group[0][1].noise, group[0][1].symbols, tuple(came.sent for _, came in group))
        for frame, group in frames.items()
    ]
    total, count = compute(sum_of_frames, rows, how, seed, like=(first, first))
    return total, count


def sum_of_frames(rows: list[list[Tensor]], how: list[Any], seed: int) -> tuple[Tensor, Tensor]:
    """Noisy sums of rows, and how many rows are in each entry.

    Parameters
    ----------
    rows : list of list of (D,) tensor
        By frame and sender.
    how : list of tuple
        By frame: its key, standard deviation of the noise over a symbol's amplitude, symbols on a
        resource block in a coherence block, and by sender the flags of `Superposed.sent`.
    seed : int

    Returns
    -------
    total, count : (D,) tensor
    """
    total, count = torch.zeros_like(rows[0][0]), torch.zeros_like(rows[0][0])
    for of_frame, (frame, noise, symbols, sent) in zip(rows, how, strict=True):
        entries = torch.arange(total.numel(), device=total.device)
        scale = torch.stack([row.square().mean().sqrt() for row in of_frame]).max()
        for row, flags in zip(of_frame, sent, strict=True):
            table = torch.tensor(flags, dtype=total.dtype, device=total.device)
            blocks, wide = table.shape
            mask = table[(entries // (wide * symbols)).clamp_max(blocks - 1), entries % wide]
            total = total + mask * row
            count = count + mask
        if noise > 0.0:
            rng = Streams(seed).generator("receiver noise", *frame)
            z = torch.from_numpy(rng.standard_normal(total.numel())).to(total)
            total = total + noise * scale * z
    return total, count
