"""Models of one's own on inputs of whole numbers."""

import numpy as np
import pytest
from torch import nn

import netsim
from netsim import world


class OneHot(nn.Module):
    """A model that takes whole numbers, and has no embedding."""

    def __init__(self, num_classes):
        super().__init__()
        self.head = nn.Linear(3 * 7, num_classes)

    def forward(self, x):
        return self.head(nn.functional.one_hot(x, 7).flatten(1).to(self.head.weight.dtype))


class Summed(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.table, self.head = nn.EmbeddingBag(7, 4), nn.Linear(4, num_classes)

    def forward(self, x):
        return self.head(self.table(x))


class Dense(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.head = nn.Linear(3, num_classes)

    def forward(self, x):
        return self.head(x)


@pytest.mark.parametrize("model", [OneHot, Summed])
def test_a_model_takes_whole_numbers_by_whatever_layer(model, small, tmp_path):
    tokens = np.arange(60).reshape(20, 3) % 7
    data = (tokens, np.arange(20) % 2)
    own = small.replace(data=data, data__partition=None, model=model, run__backend="sequential")
    run = netsim.run(own, algorithms=["local"], out=tmp_path / "run")
    assert np.isfinite(run.summary["accuracy"]).all()
    with pytest.raises(netsim.ScenarioError, match=r"no whole numbers.*or give floating-point"):
        world.build(own.replace(model=Dense).tables)
