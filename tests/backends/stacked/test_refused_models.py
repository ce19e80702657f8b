"""Models that have no stacked form are refused with the reason, whatever it is."""

import copy

import pytest
import torch
from torch import nn

from netsim.backends.stacked.equivalence_check import build
from netsim.backends.stacked.stacked_module import UnstackableError
from netsim.learning.architecture import Architecture

IMAGES, CLASSES, SAMPLES = (4, 7, 9), 5, 4


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


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(252, CLASSES))
        self.head = nn.Linear(CLASSES, CLASSES)
        self.middle = nn.Linear(CLASSES, CLASSES)
        self.middle.weight = self.head.weight

    def forward(self, x):
        return self.head(self.middle(self.features(x)))


class Centred(nn.Module):
    """Layer whose output for a sample depends on the others beside it."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Flatten(), nn.Linear(252, CLASSES)

    def forward(self, x):
        x = self.features(x)
        return self.head(x - x.mean(0))


class ByHand(nn.Module):
    """Uses the numbers of a layer, not the layer."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Flatten(), nn.Linear(252, CLASSES)

    def forward(self, x):
        return nn.functional.linear(self.features(x), self.head.weight, self.head.bias)


class Counting(nn.Module):
    """Layer that counts the samples of a minibatch."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Flatten(), nn.Linear(252, CLASSES)

    def forward(self, x):
        assert len(x) <= SAMPLES, "no more than it was made for"
        return self.head(self.features(x))


class Sequences(nn.Module):
    """Each row of an image is a sample of its own to the batch normalisation."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.BatchNorm1d(9), nn.Linear(252, CLASSES)

    def forward(self, x):
        return self.head(self.features(x.reshape(-1, 9)).view(len(x), -1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.GRU(63, 4, batch_first=True), nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.head(self.features(x.flatten(2))[0].mean(1))


class OwnDropout(nn.Dropout):
    """Another class, which might draw in other ways."""


class ByFunction(nn.Module):
    """Model that draws without a layer that says so."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Flatten(), nn.Linear(252, CLASSES)

    def forward(self, x):
        return self.head(nn.functional.dropout(self.features(x), 0.5, self.training))


def classifier(*layers):
    return lambda: Classifier(IMAGES, *copy.deepcopy(layers))


REFUSED = {
    "a layer of another sort": (classifier(nn.PReLU(4)), "features.0.weight"),
    "a recurrent layer": (Recurrent, "features.weight_ih_l0"),
    "parameters that layers share": (Tied, "middle.weight|share parameters"),
    "samples that depend on each other": (Centred, "differ from single models"),
    "the numbers of a layer in use": (ByHand, "weight"),
    "a number of samples in use": (Counting, "no more than it was made for"),
    "samples of several rows, normalised": (Sequences, "size|shape"),
    "a cumulative mean": (classifier(nn.BatchNorm2d(4, momentum=None)), "cumulative"),
    "padding by reflection": (
        classifier(nn.Conv2d(4, 3, 3, 1, 1, padding_mode="reflect")),
        "zeros",
    ),
    "padding by name": (classifier(nn.Conv2d(4, 3, 3, padding="same")), "zeros"),
    "channels dropped, hardly ever": (classifier(nn.Dropout2d(1e-9)), "Dropout2d"),
    "dropout of one's own": (classifier(OwnDropout(1e-9)), "OwnDropout"),
    "dropout by function": (ByFunction, "differ from single models"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_is_no_row_of_known_layers_is_refused(name):
    make, reason = REFUSED[name]
    architecture = Architecture("custom", make(), torch.device("cpu"), torch.float64, CLASSES)
    draws = torch.Generator().manual_seed(7)
    images = torch.randn(12, *IMAGES, generator=draws, dtype=torch.float64)
    with pytest.raises(UnstackableError, match=reason):
        build(architecture, images)
