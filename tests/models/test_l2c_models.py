"""Parameter counts are those of the paper's networks; derivations beside them."""

import pytest
from pydantic import ValidationError

from netsim.errors import ScenarioError
from netsim.models.l2c_cifar_cnn import L2cCifarCnn
from netsim.models.l2c_miniimagenet_cnn import L2cMiniimagenetCnn

CIFAR, MINIIMAGENET = (3, 32, 32), (3, 84, 84)


@pytest.mark.parametrize(
    ("model", "shape", "classes", "parameters"),
    [
        # 32 (75 + 1) + 64 (800 + 1) + 512 (64 * 8 * 8 + 1) + 10 (512 + 1)
        (L2cCifarCnn(), CIFAR, 10, 2_156_490),
        (L2cCifarCnn(), CIFAR, 100, 2_202_660),
        # without padding 5 x 5 values are left of each channel: 512 (64 * 5 * 5 + 1)
        (L2cCifarCnn(padding=False), CIFAR, 10, 878_538),
        (L2cCifarCnn(padding=False), CIFAR, 100, 924_708),
        # 32 (27 + 1) + 3 * 32 (288 + 1) + 4 * 64 + 100 (32 * 5 * 5 + 1)
        (L2cMiniimagenetCnn(), MINIIMAGENET, 100, 108_996),
        (L2cMiniimagenetCnn(filters=64), MINIIMAGENET, 100, 273_188),
    ],
)
def test_parameter_counts_are_exact(model, shape, classes, parameters):
    assert sum(p.numel() for p in model.build(shape, classes).parameters()) == parameters


@pytest.mark.parametrize("model", [L2cCifarCnn(), L2cCifarCnn(padding=False), L2cMiniimagenetCnn()])
def test_inputs_that_do_not_fit_are_refused_with_a_remedy(model):
    with pytest.raises(ScenarioError, match=r"needs images .* shape \(296,\)"):
        model.build((296,), 9)
    with pytest.raises(ScenarioError, match=r"at least 16 x 16 pixels, the data has 8 x 8"):
        model.build((1, 8, 8), 10)
    model.build((1, 16, 16), 10)


def test_groups_must_divide_the_filters():
    with pytest.raises(ValidationError, match="groups = 8 does not divide filters = 30"):
        L2cMiniimagenetCnn(filters=30)
