"""Seeds of random layers: a minibatch's masks follow from its name, however jobs are grouped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from netsim.learning.global_draws import ALONE
from netsim.learning.jobs import BatchKey
from netsim.rng import Streams


def mask_seed(streams: Streams, key: BatchKey) -> int:
    """Seed of the masks that belong to one minibatch."""
    return streams.key(f"mask/{key.stream}", key.shard, key.counter) & 0x7FFFFFFFFFFFFFFF


def generator(device: torch.device, seed: int) -> torch.Generator:
    """A generator that gives the numbers that a layer draws within `seeded(device, seed)`."""
    return torch.Generator(device).manual_seed(seed)


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's global generator for a while; its earlier state comes back afterwards."""
    with ALONE, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
