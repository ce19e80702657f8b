"""Buffers of whole numbers and truth values, and how a row of real numbers holds them exactly."""

import torch
from torch import Tensor, nn

LIMB_BITS = 22
"""Bits of a whole number in one entry of a row: float32 holds 24 exactly."""

PLAIN_BATCH_NORM = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
"""Layers whose counter of batches is read only if they have no momentum."""


def unread_counters(module: nn.Module) -> set[str]:
    """The names of BatchNorm's counters of batches that nothing reads."""
    return {
        f"{name}.num_batches_tracked" if name else "num_batches_tracked"
        for name, layer in module.named_modules()
        if type(layer) in PLAIN_BATCH_NORM and layer.momentum is not None
    }


def whole_buffers(module: nn.Module) -> dict[str, Tensor]:
    """The buffers of whole numbers and truth values that a forward pass may read, by name."""
    unread = unread_counters(module)
    found = {n: b for n, b in module.named_buffers() if not b.is_floating_point()}
    return {n: b for n, b in found.items() if n not in unread}


def entries_of(dtype: torch.dtype) -> int:
    """Number of entries of a row that one whole number takes."""
    bits = 1 if dtype is torch.bool else torch.iinfo(dtype).bits
    return -(-bits // LIMB_BITS)


def encode_whole(whole: Tensor, dtype: torch.dtype) -> Tensor:
    """Encode whole numbers as entries of a row: their bits in portions of `LIMB_BITS`."""
    values = whole.detach().reshape(-1, 1).to(torch.int64)
    count = entries_of(whole.dtype)
    shifts = LIMB_BITS * torch.arange(count, device=whole.device)
    return ((values >> shifts) & ((1 << LIMB_BITS) - 1)).to(dtype).reshape(-1)


def decode_whole(entries: Tensor, like: Tensor) -> Tensor:
    """Decode entries of a row to whole numbers."""
    count, most = entries_of(like.dtype), (1 << LIMB_BITS) - 1
    limbs = entries.nan_to_num(0.0, 0.0, 0.0).round().clamp(0, most).to(torch.int64)
    shifts = LIMB_BITS * torch.arange(count, device=like.device)
    values = (limbs.reshape(-1, count) << shifts).sum(1)
    if like.dtype is torch.bool:
        return (values != 0).view(like.shape)
    bits = torch.iinfo(like.dtype).bits
    if bits < 64:  # the sign is in the highest bit of what was written
        values &= (1 << bits) - 1
        if torch.iinfo(like.dtype).min < 0:
            values -= (values >> (bits - 1)) << bits
    return values.to(like.dtype).view(like.shape)
