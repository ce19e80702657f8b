"""Attacks: who is malicious follows from the seed; forgeries are pure."""

import numpy as np
import torch

from netsim.attacks import Attack
from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require


def check(attack: Attack, case: ComponentCase) -> None:
    """Check that forged values keep shape and type, and that flipped labels are labels."""
    some = attack.malicious(range(10), Streams(0))
    require(some <= set(range(10)), f"malicious names nodes that it was not given: {sorted(some)}")
    require(some == attack.malicious(range(10), Streams(0)), "asked twice, others are malicious")
    labels = np.arange(10, dtype=np.int64)
    flipped = attack.relabelled(labels, 10)
    require(flipped.shape == labels.shape, "relabelled must give one label a sample")
    require(((flipped >= 0) & (flipped < 10)).all(), "relabelled gives labels that there are not")
    forge = attack.forgery()
    if forge is None:
        return
    require("<locals>" not in forge.__qualname__, "forgery must be a function of its module")
    values = torch.arange(1.0, 21.0, dtype=torch.float64)
    before = values.clone()
    lie = forge(values, 7, 3, 0)
    require(torch.equal(values, before), "forgery must leave the values as they are")
    require(lie.shape == values.shape, f"forged values have the shape {tuple(lie.shape)}")
    require(lie.dtype == values.dtype, f"forged values are {lie.dtype}")
    require(torch.equal(lie, forge(values, 7, 3, 0)), "forged twice, the values are others")
