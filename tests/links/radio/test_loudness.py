"""Power of senders, asked for with lists and with arrays."""

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from netsim.links.radio.phy.loudness import Loudness
from netsim.links.radio.phy.mean_snr import IidMeanSnr, PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams

POWERS_DBM = (20.0, 17.0, 20.0, 23.0, 20.0, 14.0, 20.0)
AT_M = np.random.default_rng(3).uniform(0.0, 100.0, (len(POWERS_DBM), 2))


@pytest.mark.parametrize("count", [0, 1, 4, 6])
@pytest.mark.parametrize("per_exchange", [False, True])
@pytest.mark.parametrize(
    "means",
    [
        PlacedMeanSnr(Radio(), (20.0,) * len(AT_M), AT_M, Streams(5), math.inf),
        PlacedMeanSnr(Radio(), POWERS_DBM, AT_M, Streams(5), math.inf),
        IidMeanSnr(Radio(), POWERS_DBM, Streams(5)),
    ],
)
def test_arrays_say_what_lists_do(means, per_exchange, count):
    gains = SimpleNamespace(per_exchange=per_exchange, pair_gain=lambda i, j, _: 1.0 + 0.5 * i + j)
    loudness = Loudness(means, cast(Any, gains))
    others = np.arange(1, 1 + count)
    assert loudness.at_all(0, others, 0).tolist() == loudness.snr_at(0, others.tolist(), 0)
    assert loudness.of_all(0, others, 0).tolist() == loudness.snr_of(0, others.tolist(), 0)
