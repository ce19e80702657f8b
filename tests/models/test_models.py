import numpy as np
import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from netsim.errors import ScenarioError
from netsim.models import ModelKind
from netsim.models.emnist_cnn import EmnistCnn
from netsim.models.iot_mlp import IotMlp
from netsim.models.lenet import LeNet
from netsim.models.matrix_factorization import MatrixFactorization
from netsim.models.mlp import Mlp
from netsim.models.text_cnn import TextCnn
from netsim.registry import family

TOKEN_MODELS = {"transformer"}
"""Models of sequences of whole numbers; `test_transformer.py` has their tests."""

FAMILY = {k: v for k, v in family("netsim.models").items() if k not in TOKEN_MODELS}
MNIST, CIFAR = (1, 28, 28), (3, 32, 32)


def size(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("model", "shape", "classes", "parameters"),
    [
        (IotMlp(), (296,), 9, 39_769),
        (EmnistCnn(), MNIST, 47, 970_847),
        (LeNet(), CIFAR, 10, 62_006),
        (LeNet(), CIFAR, 100, 69_656),
        (LeNet(), (1, 32, 32), 10, 61_706),
        (LeNet(), MNIST, 10, 44_426),
        (LeNet(channels=(4, 12), hidden=(120, 100)), MNIST, 10, 37_586),
        (LeNet(channels=(4, 12), hidden=(120, 100)), MNIST, 62, 42_838),
        (TextCnn(), (100,), 10, 310_510 + 256 * 20_000),
        (MatrixFactorization(), (2,), 10, 20 * (610 + 9_724) + 21 * 10),
        (Mlp(), (1, 8, 8), 10, 65 * 64 + 65 * 10),
        (Mlp(hidden=()), (1, 8, 8), 10, 65 * 10),
        (Mlp(hidden=(32, 16)), (20,), 3, 21 * 32 + 33 * 16 + 17 * 3),
    ],
)
def test_parameter_counts_are_exact(model, shape, classes, parameters):
    assert size(model.build(shape, classes)) == parameters


def test_the_base_of_lenet_is_what_fedrep_sends():
    assert size(LeNet().build(CIFAR, 10).features) == 61_156


@pytest.mark.parametrize("kind", sorted(family("netsim.models")))
def test_a_model_with_entries_by_number_refuses_numbers_without_one(kind):
    model = family("netsim.models")[kind]()
    with torch.device("meta"):
        network = model.build((100,) if kind in TOKEN_MODELS else MNIST, 7)
    if any(isinstance(module, torch.nn.Embedding) for module in network.modules()):
        with pytest.raises(ScenarioError, match=rf'kind = "{kind}": .* to 1e\+06; set'):
            model.require_inputs(np.array([[0, 10**6]]), 7)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("kind", sorted(FAMILY))
def test_a_network_is_its_head_on_its_features(kind):
    assert issubclass(FAMILY[kind], ModelKind)
    network = FAMILY[kind]().build(MNIST, 7).eval()
    x = torch.linspace(-1, 1, 4 * 28 * 28).reshape(4, *MNIST)
    logits = network(x)
    assert logits.shape == (4, 7)
    assert torch.equal(logits, network.head(network.features(x)))
    assert isinstance(network.head, torch.nn.Linear)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", sorted(FAMILY))
def test_the_whole_state_is_real(kind):
    assert all(v.is_floating_point() for v in FAMILY[kind]().build(MNIST, 7).state_dict().values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(FAMILY))
@pytest.mark.parametrize("training", [False, True])
def test_stacked_models_give_what_each_gives_alone(kind, training):
    """In float64, where the order of sums moves a logit of order 1 by about 1e-15.

    Dropout stays off: its masks are the engine's draws.
    """
    networks = [FAMILY[kind]().build(MNIST, 7).double().train(training) for _ in range(3)]
    for module in (m for network in networks for m in network.modules()):
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    x = torch.linspace(-1, 1, 3 * 4 * 28 * 28, dtype=torch.float64).reshape(3, 4, *MNIST)
    parameters, buffers = stack_module_state(networks)

    def call(own_parameters, own_buffers, own_x):
        return functional_call(networks[0], (own_parameters, own_buffers), (own_x,))

    stacked = vmap(call)(parameters, buffers, x)
    for one, network, own_x in zip(stacked, networks, x, strict=True):
        assert torch.allclose(one, network(own_x), atol=1e-12)
    for name, values in buffers.items():  # running statistics moved alike
        for one, network in zip(values, networks, strict=True):
            assert torch.allclose(one, network.get_buffer(name), atol=1e-12)


@pytest.mark.parametrize("model", [EmnistCnn(), LeNet()])
def test_inputs_that_do_not_fit_are_refused_with_a_remedy(model):
    with pytest.raises(ScenarioError, match=r"needs images .* shape \(296,\)"):
        model.build((296,), 9)
    with pytest.raises(ScenarioError, match=r"at least 16 x 16 pixels, the data has 8 x 8"):
        model.build((1, 8, 8), 10)
    model.build((1, 16, 16), 10)


def test_a_text_cnn_takes_the_largest_value_of_each_filter_over_time():
    network = TextCnn(vocabulary=5, width=3, filters=2, kernels=(1, 2)).build((4,), 3)
    words = network.features.words.weight
    assert float(words.detach().std()) < 0.12  # U(-0.1, 0.1) has 0.058
    text = torch.tensor([[0.0, 4.0, 2.0, 2.0]])
    single, double = (branch[0] for branch in network.features.branches)
    own = words[text[0].long()]
    over_one = (own @ single.weight[:, 0, 0].T + single.bias).relu().amax(0)
    pairs = torch.stack([own[k : k + 2].flatten() for k in range(3)])
    over_two = (pairs @ double.weight[:, 0].flatten(1).T + double.bias).relu().amax(0)
    assert torch.allclose(network.features(text)[0], torch.cat([over_one, over_two]), atol=1e-6)
    with pytest.raises(ScenarioError, match="texts of at least 5 words"):
        TextCnn().build((4,), 3)


def test_a_factorization_multiplies_a_users_and_an_items_vector():
    network = MatrixFactorization(users=3, items=4, width=2).build((2,), 5)
    users, items = network.features.users.weight, network.features.items.weight
    found = network.features(torch.tensor([[2.0, 3.0], [0.0, 1.0]]))
    assert torch.equal(found, torch.stack([users[2] * items[3], users[0] * items[1]]))
    with pytest.raises(ScenarioError, match="a user and an item"):
        MatrixFactorization().build((1,), 5)
