"""The backbones of MAPL and its network; counts from algorithms' papers, re-derived where short."""

import pytest
import torch
from torch import nn

from netsim.errors import ScenarioError
from netsim.learning.architecture import build_architecture
from netsim.models.alexnet_small import AlexNetSmall
from netsim.models.googlenet import GoogLeNet
from netsim.models.lenet import LeNet
from netsim.models.mapl import Mapl
from netsim.models.mlp import Mlp
from netsim.models.resnet18 import ResNet18
from netsim.models.shufflenet_v2 import ShuffleNetV2, Unit

BACKBONES = [ResNet18(), ShuffleNetV2(), GoogLeNet(), AlexNetSmall()]


def size(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "colour", "grey"),
    [
        (ResNet18(), 11_439_168, 11_432_896),
        (ShuffleNetV2(), 1_778_404, 1_777_972),
        (GoogLeNet(), 6_124_704, 6_118_432),
        (AlexNetSmall(), 1_813_632, 1_812_480),
    ],
)
def test_backbones_have_the_published_sizes(model, colour, grey):
    assert size(model.build((3, 32, 32), 10).features) == colour
    assert size(model.build((1, 28, 28), 10).features) == grey


def test_projection_and_classifier_have_the_published_sizes():
    """512 x 4096 + 4096, batch norm 2 x 4096, 4096 x 512 + 512; 512 x 10 + 10."""
    network = Mapl(backbone="shufflenet_v2").build((3, 32, 32), 10)
    assert size(network.projection) == 4_207_104
    assert size(network.head) == 5_130
    assert size(network) == 1_778_404 + 4_207_104 + 5_130


@pytest.mark.slow
@pytest.mark.parametrize("model", BACKBONES)
def test_the_latent_size_is_a_parameter(model):
    network = model.model_copy(update={"latent": 24}).build((3, 32, 32), 10).eval()
    x = torch.rand(2, 3, 32, 32)
    assert network.features(x).shape == (2, 24)
    assert network(x).shape == (2, 10)


@pytest.mark.parametrize("model", BACKBONES)
def test_tables_are_refused_with_a_remedy(model):
    with pytest.raises(ScenarioError, match=r"needs images .* shape \(296,\)"):
        model.build((296,), 9)


def test_too_small_images_are_refused_with_a_remedy():
    with pytest.raises(ScenarioError, match=r"at least 15 x 15 pixels, the data has 8 x 14"):
        GoogLeNet().build((1, 8, 14), 10)
    GoogLeNet().build((1, 15, 15), 10).eval()(torch.rand(1, 1, 15, 15))


def test_a_unit_of_shufflenet_shuffles_its_two_halves():
    """Channel 2 k of the result comes from the half that is kept, channel 2 k + 1 from the other:
    what two groups of channels become when they are shuffled."""
    unit = Unit(8, 8).eval()
    x = torch.rand(2, 8, 5, 5)
    with torch.no_grad():
        y = unit(x)
        assert torch.equal(y[:, 0::2], x[:, :4])
        assert torch.equal(y[:, 1::2], unit.branch(x[:, 4:]))


def test_resnet_keeps_the_variance_of_what_convolutions_give_back():
    """Initial weights have deviation sqrt(2 / (outputs * k * k)), the published rule."""
    torch.manual_seed(0)
    last = [m for m in ResNet18().build((3, 32, 32), 10).modules() if isinstance(m, nn.Conv2d)][-2]
    assert last.weight.shape == (512, 512, 3, 3)
    # 2.36 million draws: the deviation's relative error is 1 / sqrt(2 n) = 0.0005, six of them
    assert last.weight.std().item() == pytest.approx((2 / (512 * 9)) ** 0.5, rel=0.003)


def test_googlenet_draws_small_weights():
    torch.manual_seed(0)
    weights = [m for m in GoogLeNet().build((3, 32, 32), 10).modules() if isinstance(m, nn.Conv2d)]
    every = torch.cat([w.weight.flatten() for w in weights])
    # 5.6 million draws: relative error 0.0003
    assert every.std().item() == pytest.approx(0.01, rel=0.002)


def test_one_pass_gives_projections_and_the_logits_of_the_network():
    network = Mapl(backbone={"kind": "mlp", "hidden": [16, 6]}, projection=9).build((1, 8, 8), 10)
    network.eval()
    x = torch.rand(5, 1, 8, 8)
    z, logits = network.project(x)
    linear = [m for m in network.features.modules() if isinstance(m, nn.Linear)]
    latent = linear[1](torch.relu(linear[0](x.flatten(1))))  # no ReLU behind the last one
    assert torch.equal(z, network.projection(latent))
    assert torch.equal(logits, network(x))
    assert torch.equal(logits, network.head(torch.relu(latent)))


def test_any_model_with_a_last_activation_can_be_a_backbone():
    for backbone in ("lenet", {"kind": "mlp", "hidden": [12]}, LeNet(hidden=(30, 20))):
        network = Mapl(backbone=backbone, projection=7).build((1, 28, 28), 4)
        assert network(torch.rand(3, 1, 28, 28)).shape == (3, 4)
    with pytest.raises(ScenarioError, match="do not end in a ReLU"):
        Mapl(backbone=Mlp(hidden=())).build((1, 28, 28), 4)


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        ("resnet", 'did you mean "resnet18"'),
        ("mapl", '"mapl" is no model that can be a backbone'),
        (3, "must be a model's name or its table"),
        ({"hidden": [3]}, "must be a model's name or its table"),
        ({"kind": "mlp", "hiden": [3]}, "hiden"),
    ],
)
def test_what_is_no_backbone_is_refused(backbone, message):
    with pytest.raises(ValueError, match=message):
        Mapl(backbone=backbone)


def test_backbone_head_and_classifier_weights_are_column_ranges():
    """Algorithms address `backbone` (what MAPL+ mixes) and `head.weight` (what MAPL compares)."""
    network = Mapl(backbone="alexnet_small", projection=8).build((3, 32, 32), 10)
    layout = build_architecture("mapl", network, torch.device("cpu"), torch.float32, 10)
    assert layout.columns("backbone") == ((0, 1_813_632),)
    assert layout.columns("head.weight") == ((1_813_632, 1_813_632 + 5_120),)
