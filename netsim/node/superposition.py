"""Reception of rows that were sent over the air at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from netsim.errors import ProtocolError
from netsim.learning.refs import Ref
from netsim.messaging.message import Received
from netsim.messaging.over_the_air import Energies, HeardEnergy, OverTheAir, Superposed
from netsim.rng import Streams

_ALL_SHARES = HeardEnergy((0, 0), 1.0, 1, ((1.0,),))
"""Energies that came over a wire, as numbers."""

_BY_WIRE = Superposed((0, 0), 0.0, 1, ((True,),))
"""A row that came over a wire: whole, without noise."""


def sum_superposed(
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
    if all(isinstance(one.msg, Energies) for one in received.values()):
        return _sum_energies(compute, seed, received)
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


def _sum_energies(
    compute: Callable[..., Any], seed: int, received: Mapping[int, Received[Any]]
) -> tuple[Ref, Ref]:
    """Energies of a frame or several, and how many senders were heard."""
    rows: dict[tuple[int, int], list[Ref]] = {}
    how: dict[tuple[int, int], list[Any]] = {}
    for sender in sorted(received):
        one = received[sender]
        came = one.arrived if isinstance(one.arrived, HeardEnergy) else None
        weight = 1.0 if came is None else 1.0 / one.msg.reference_snr
        snr, symbols, gains = (came or _ALL_SHARES)[1:]
        frame = (came or _ALL_SHARES).frame
        rows.setdefault(frame, []).append(one.msg.row)
        how.setdefault(frame, []).append((snr, symbols, gains, None if came is None else weight))
    first = next(iter(received.values())).msg.row
    total, count = compute(
        sum_of_energies, list(rows.values()), list(how.items()), seed, like=(first, first)
    )
    return total, count


def sum_of_energies(rows: list[list[Tensor]], how: list[Any], seed: int) -> tuple[Tensor, Tensor]:
    """Received energies over the noise, over the energy of a frame at the reference SNR.

    With p_jm what sender j puts into symbol m of M, S_j its mean SNR, g_jm the power gain of its
    fading there, phi a phase, uniform and independent for each symbol and sender, and n the
    receiver noise, complex normal of variance 1,

        y_m = sum over j of sqrt(M p_jm S_j g_jm) exp(i phi_jm) + n_m
        r_m = (|y_m|^2 - 1) / (M S_ref),    E r_m = sum over j of S_j / S_ref p_jm

    Parameters
    ----------
    rows : list of list of (M,) tensor
        p, by frame and sender.
    how : list of tuple
        By frame: its key, and by sender S_j, symbols on a resource block in a coherence block,
        gains by coherence and resource block, and 1 / S_ref (None: over a wire, r = p).
    seed : int

    Returns
    -------
    r, count : (M,) tensor
        And how many senders there were.
    """
    total, count = torch.zeros_like(rows[0][0]), torch.zeros_like(rows[0][0])
    for of_frame, (frame, senders) in zip(rows, how, strict=True):
        count = count + len(of_frame)
        if senders[0][3] is None:
            total = total + sum(of_frame)
            continue
        size = total.numel()
        rng = Streams(seed).generator("energy frame", *frame)
        y = torch.from_numpy(rng.standard_normal((2, size))) * 0.5**0.5
        entries = torch.arange(size)
        for row, (snr, symbols, gains, _) in zip(of_frame, senders, strict=True):
            table = torch.tensor(gains, dtype=torch.float64)
            blocks, wide = table.shape
            g = table[(entries // (wide * symbols)).clamp_max(blocks - 1), entries % wide]
            amplitude = (size * snr * g * row.detach().to("cpu", torch.float64)).clamp_min(0).sqrt()
            phase = torch.from_numpy(rng.uniform(0.0, 2.0 * torch.pi, size))
            y = y + amplitude * torch.stack([phase.cos(), phase.sin()])
        energy = (y.square().sum(0) - 1.0) * (senders[0][3] / size)
        total = total + energy.to(total)
    return total, count


def sum_of_frames(rows: list[list[Tensor]], how: list[Any], seed: int) -> tuple[Tensor, Tensor]:
    """Noisy sums of rows, and the number of rows in each entry.

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
