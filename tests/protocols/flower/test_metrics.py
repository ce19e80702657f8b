"""Numbers that strategies report are recorded, whichever library they are of."""

from fractions import Fraction

import numpy as np
import pytest
import torch

pytest.importorskip("flwr")

from flwr.server.history import History

from netsim.protocols.flower.metrics import Names, listen_to_strategies, numbers_of
from netsim.protocols.flower.virtual_time import Changes

NUMBERS = [
    2, 2.0, Fraction(2), np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.uint8(2),
    np.array(2.0), np.array(2), torch.tensor(2.0), torch.tensor(2), torch.tensor(2.0).bfloat16(),
]  # fmt: skip
NO_NUMBERS = [True, np.bool_(True), torch.tensor(True), "2", b"2", None, [], ["2"], np.ones(1), 2j]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_whatever_is_a_number_is_recorded(number):
    found = numbers_of({"loss": number})
    assert found == {"loss": 2.0}
    assert type(found["loss"]) is float


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_not(value):
    assert numbers_of({"loss": value}) == {}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_losses_of_a_legacy_strategy_are_told_in_whatever_precision(number):
    changes, told = Changes(), []
    listen_to_strategies(changes, Names(), lambda *one: told.append(one), told.append)
    try:
        History().add_loss_centralized(server_round=1, loss=number)
        History().add_metrics_distributed(1, {"accuracy": number})
    finally:
        changes.close()
    assert told == [("flower_server_loss", 2.0), ("flower_evaluate_accuracy", 2.0)]
