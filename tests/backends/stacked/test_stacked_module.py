"""The stacked form of a model: lane by lane what the model itself gives, in float64."""

import copy

import pytest
import torch
from torch import nn

from netsim.backends.stacked.convolution import StackedConv2d
from netsim.backends.stacked.equivalence_check import build
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.learning.global_draws import generator, seeded
from netsim.registry import family

CPU = torch.device("cpu")
WIDTH, SAMPLES, CLASSES = 3, 4, 5
COUNTS = (4, 2, 3)
SMALL = {
    "hidden": 9,
    "latent": 6,
    "projection": 7,
    "backbone": {"kind": "mlp", "hidden": [6]},
    "vocabulary": 11,
    "width": 8,
}
"""Values of parameters, where a model has them, that make it small."""

TOKENS = (6,)
"""The shape of inputs that are whole numbers."""

SHAPES = ((3, 16, 16), (3, 84, 84), (1, 8, 8), TOKENS)


def small(kind):
    """A model of the family, small, on the first inputs that it takes: (module, shape)."""
    keys = {}
    for name in kind.model_fields.keys() & SMALL.keys():
        several = "tuple" in str(kind.model_fields[name].annotation)
        keys[name] = [SMALL[name], 7] if several else SMALL[name]
    for shape in SHAPES:
        try:
            torch.manual_seed(0)
            module = kind(**keys).build(shape, CLASSES)
            module.double()
        except (ScenarioError, RuntimeError, ValueError):
            continue
        return module, shape
    raise AssertionError(f"no inputs tried suit {kind.__name__}")


class Classifier(nn.Module):
    """Layers, then a linear layer over whatever they leave."""

    def __init__(self, shape, *layers):
        super().__init__()
        self.features = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            width = self.features.eval()(torch.zeros(2, *shape)).shape[1]
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.features(x))


def architecture_of(module):
    return Architecture("custom", module, CPU, torch.float64, CLASSES)


def inputs(shape, samples=WIDTH * SAMPLES):
    draws = torch.Generator().manual_seed(7)
    if shape == TOKENS:
        return torch.randint(0, CLASSES, (samples, *shape), generator=draws)
    return torch.randn(samples, *shape, generator=draws, dtype=torch.float64)


def rows_of(architecture, width=WIDTH):
    """Rows near the model's own, another one each lane; a shift keeps variances positive."""
    draws = torch.Generator().manual_seed(8)
    row = architecture.row()
    noise = torch.rand(width, len(row), generator=draws, dtype=row.dtype)
    return row * (0.9 + 0.2 * noise) + 0.05 * noise


def agree(a, b, most):
    scale = b.abs().max().clamp(min=1.0)
    torch.testing.assert_close(a / scale, b / scale, rtol=0, atol=most)


def over_positions(weights, y):
    """Weights (n, L) of all positions of outputs (n, ..., L)."""
    return weights.view(len(y), *[1] * (y.dim() - 2), -1).expand_as(y)


def assert_lanes_are_models(form, x, training, counts=None, most=1e-11):
    """Outputs, gradients and buffers of lanes and of the models that they stand for."""
    architecture, lanes = form.architecture, form.lanes
    rows = rows_of(architecture)
    alone = rows.clone()
    sinks = torch.full_like(rows[:, : architecture.num_parameters], 0.25)
    kept = torch.ones(WIDTH, SAMPLES, dtype=rows.dtype)
    lanes.mask = lanes.counts = None
    lanes.sizes = counts or ()
    if counts is not None:
        lanes.counts = torch.tensor(counts, dtype=rows.dtype)
        lanes.mask = kept = (torch.arange(SAMPLES) < lanes.counts.unsqueeze(1)).to(rows.dtype)
    lanes.generators = [generator(CPU, i) for i in range(WIDTH)]
    lanes.decay = 0.5
    form.bind(rows, architecture.parameters_in(sinks), training)
    weights = inputs((CLASSES,)).view(WIDTH, SAMPLES, CLASSES) * kept.unsqueeze(-1)
    seen = []

    def gradient_of(y):
        seen.append(y.clone())
        return over_positions(weights.view(-1, CLASSES), y).clone()

    form.differentiate(x, gradient_of)
    y = seen[0].view(WIDTH, SAMPLES, *seen[0].shape[1:])
    for i in range(WIDTH):
        n = SAMPLES if counts is None else counts[i]
        gradient = torch.full_like(sinks[i], 0.125)  # half of what was there
        model = architecture.bind(alone[i], gradient, training)
        with seeded(CPU, i):
            expected = model(x[i * SAMPLES : i * SAMPLES + n])
        expected.backward(over_positions(weights[i, :n], expected))
        agree(y[i, :n], expected.detach(), most)
        agree(sinks[i], gradient, most)
        agree(rows[i], alone[i], most)
    with torch.no_grad():
        again = form.outputs(x) if not (training and architecture.is_random) else seen[0]
    agree(again.view_as(y)[0, :1], y[0, :1], 1.0)  # it runs; in training, statistics moved on


MODELS = family("netsim.models")
LARGE = 500_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_every_model_of_the_family_has_a_form_that_is_the_model(kind):
    module, shape = small(kind)
    x = inputs(shape)
    form = build(architecture_of(module), x)
    both = [(False, None), (True, COUNTS)]
    is_large = form.architecture.num_parameters > LARGE  # its layers are all below, each four ways
    for training, counts in both if is_large else [*both, (False, COUNTS), (True, None)]:
        assert_lanes_are_models(form, x, training, counts, 1e-9)


IMAGES, WORDS = (4, 7, 9), (6,)
LAYERS = {
    "strides and padding": [nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.ReLU()],
    "oblong filters": [nn.Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(0, 2), bias=False)],
    "strides beyond the filter": [nn.Conv2d(4, 3, 2, stride=3)],
    "two convolutions": [nn.Conv2d(4, 5, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 3, 2)],
    "groups": [nn.Conv2d(4, 8, 3, groups=2), nn.Conv2d(8, 8, 3, groups=8, padding=1)],
    "holes": [nn.Conv2d(4, 3, 3, dilation=2)],
    "batch statistics": [nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()],
    "batch statistics, neither scale nor shift": [nn.BatchNorm2d(4, affine=False), nn.ReLU()],
    "batch statistics that are not kept": [nn.BatchNorm2d(4, track_running_stats=False)],
    "batch statistics of sequences": [nn.Flatten(2), nn.BatchNorm1d(4)],
    "batch statistics of vectors": [nn.Flatten(), nn.Linear(252, 8, bias=False), nn.BatchNorm1d(8)],
    "group normalisation": [nn.GroupNorm(2, 4), nn.Tanh()],
    "group normalisation alone": [nn.GroupNorm(2, 4, affine=False)],
    "layer normalisation of images": [nn.LayerNorm((4, 7, 9))],
    "layer normalisation of rows": [nn.LayerNorm(9, bias=False), nn.ReLU()],
    "layer normalisation alone": [nn.LayerNorm(9, elementwise_affine=False)],
    "a linear layer over rows": [nn.Linear(9, 3), nn.ReLU()],
    "dropout": [nn.Flatten(), nn.Linear(252, 8), nn.Dropout(0.4)],
    "dropout of a convolution": [nn.Conv2d(4, 5, 3), nn.Dropout(0.3), nn.ReLU(), nn.Dropout(0.2)],
    "everything dropped": [nn.Conv2d(4, 5, 3), nn.Dropout(1.0)],
    "nothing dropped": [nn.Conv2d(4, 5, 3), nn.Dropout(0.0)],
    "overwriting activations": [nn.Conv2d(4, 5, 3), nn.ReLU(inplace=True), nn.Flatten()],
}


def has_patches(layer):
    """Return whether a GPU would run it as a matrix product of patches."""
    return isinstance(layer, nn.Conv2d) and layer.groups == 1 and layer.dilation == (1, 1)


PATCHES = [n for n, layers in LAYERS.items() if any(map(has_patches, layers))]


@pytest.mark.thinned(16)
@pytest.mark.parametrize("counts", [None, COUNTS], ids=["full", "ragged"])
@pytest.mark.parametrize(
    ("name", "by_patches"), [(n, False) for n in LAYERS] + [(n, True) for n in PATCHES]
)
def test_a_layer_over_many_lanes_is_each_lanes_layer(name, counts, by_patches):
    torch.manual_seed(1)
    layers = copy.deepcopy(LAYERS[name])
    form = build(architecture_of(Classifier(IMAGES, *layers)), inputs(IMAGES))
    for layer in form.module.modules():
        if isinstance(layer, StackedConv2d):
            layer.by_patches = by_patches
    for training in (False, True):
        assert_lanes_are_models(form, inputs(IMAGES), training, counts)


class Reader(nn.Module):
    """Words to vectors, then their mean."""

    def __init__(self, padding=None):
        super().__init__()
        self.features = nn.Embedding(11, 4, padding_idx=padding)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.head(self.features(x).mean(1))


@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("counts", [None, COUNTS], ids=["full", "ragged"])
def test_words_of_many_lanes_are_looked_up_in_each_lanes_table(padding, counts):
    draws = torch.Generator().manual_seed(2)
    words = torch.randint(0, 11, (WIDTH * SAMPLES, *WORDS), generator=draws)
    form = build(architecture_of(Reader(padding)), words)
    for training in (False, True):
        assert_lanes_are_models(form, words, training, counts)


class Shortcut(nn.Module):
    """A layer that is run twice, and one that is left out every time."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(252, 8))
        self.again, self.unused, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, CLASSES)

    def forward(self, x):
        x = self.features(x)
        return self.head(x + self.again(torch.relu(self.again(x))))


def test_layers_may_be_run_twice_or_not_at_all():
    form = build(architecture_of(Shortcut()), inputs(IMAGES))
    assert form.chain is None
    for counts in (None, COUNTS):
        assert_lanes_are_models(form, inputs(IMAGES), True, counts)
