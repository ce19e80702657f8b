"""A compiled kernel for the tests, and the same training in plain PyTorch."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.backends.native import build
from netsim.backends.native.data import Data, Rows, Steps
from netsim.backends.native.feature_training import FeatureTraining
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.library import Library, LibraryMissingError, load_library
from netsim.backends.native.records import Loss
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer

SAMPLES = 60


@pytest.fixture(scope="session")
def library():
    """The library of this installation; where there is none, one that is built for the tests."""
    try:
        return load_library()
    except LibraryMissingError:
        folder = Path(tempfile.gettempdir()) / f"netsim-native-{build.fingerprint()}"
        try:
            if not (folder / build.library_name()).exists():
                build.build(folder)
            return Library(folder / build.library_name())
        except (build.BuildError, LibraryMissingError) as error:
            pytest.skip(f"the native kernel could not be built: {error}")


@pytest.fixture(params=["avx512", "avx2", "neon", "plain"])
def variant(request, library):
    """Every instruction set, one after the other."""
    if request.param not in [v.name for v in library.variants]:
        pytest.skip(f"this machine does not run {request.param}")
    return request.param


def cross_entropy(module, x, y):
    return F.cross_entropy(module(x), y)


class Case:
    """Models of one architecture that start apart, samples, and minibatches of many sizes."""

    def __init__(self, library, make, shape, classes, n=3, S=3, B=7, dtype=torch.float64, **given):
        torch.manual_seed(0)
        self.library, self.shape, self.dtype, self.n = library, shape, dtype, n
        modules = [make() for _ in range(n)]
        self.architecture = Architecture("m", modules[0], torch.device("cpu"), dtype, classes)
        rows = [Architecture("m", m, torch.device("cpu"), dtype, classes).row() for m in modules]
        self.rows = torch.stack(rows)
        self.module = self.architecture.module
        self.classes = classes
        self.x = given.get("x", torch.randn(SAMPLES, *shape, dtype=torch.float64).to(dtype))
        self.y = torch.randint(classes, (SAMPLES,))
        rng = np.random.default_rng(1)
        self.index = rng.integers(SAMPLES, size=(n, S, B))
        self.sizes = rng.integers(2, B + 1, size=(n, S)) if B > 2 else np.full((n, S), B)
        self.sizes[:, 0] = B
        self.counts = np.array([S - (k % 2) for k in range(n)])
        self.rates = 0.05 / (1 + np.arange(n))
        self.steps = Steps(self.index, self.sizes, self.counts)
        self.seeds = rng.integers(1 << 30, size=(n, S))

    def kernel(self, variant=None, **options):
        return Kernel(
            self.module, self.shape, self.dtype, variant=variant, library=self.library, **options
        )

    def state_size(self, optimizer):
        return optimizers.state_size(optimizer.kind, self.architecture.num_parameters)

    def masks(self, kernel):
        """Draw the masks of torch for each minibatch after seeding."""
        n, S, B = self.index.shape
        per = kernel.graph.mask_values * B
        found = torch.zeros(n, S, per, dtype=self.dtype)
        for i in range(n):
            for s in range(S):
                generator, at = torch.Generator().manual_seed(int(self.seeds[i, s])), 0
                for shape, p in kernel.mask_shapes:
                    mask = torch.empty(int(self.sizes[i, s]), *shape, dtype=self.dtype)
                    mask.bernoulli_(1 - p, generator=generator).div_(1 - p)
                    found[i, s, at : at + mask.numel()] = mask.reshape(-1)
                    at += mask.numel()
        return found

    def train(self, kernel, optimizer=None, loss=Loss.CROSS_ENTROPY, y=None, **given):
        """Rows, states and sums after training by the kernel."""
        optimizer = optimizer or Optimizer("sgd", 0.0, 0.9)
        out = torch.full_like(self.rows, 7.0)
        states = torch.full((self.n, self.state_size(optimizer)), 7.0, dtype=self.dtype)
        if kernel.mask_shapes:
            given["masks"] = self.masks(kernel)
        sums = kernel.train(
            Data(self.x, self.y if y is None else y),
            Rows(self.rows),
            Rows(out),
            self.steps,
            optimizer,
            self.rates,
            loss=loss,
            states_out=Rows(states),
            **given,
        )
        return out, states, sums

    def train_plain(
        self, optimizer=None, loss=cross_entropy, states=None, anchors=None, strength=0.0, y=None
    ):
        """Rows and states after the same training with autograd and the project's optimisers."""
        optimizer, y = optimizer or Optimizer("sgd", 0.0, 0.9), self.y if y is None else y
        after, found = [], []
        for i in range(self.n):
            row = self.rows[i].clone()
            state = torch.zeros(self.state_size(optimizer), dtype=self.dtype)
            if states is not None:
                state.copy_(states[i])
            model = self.architecture.bind(row, training=True)
            parts = list(model.parameters())
            flat = [p.detach().view(-1) for p in parts]
            for s in range(self.counts[i]):
                rows = torch.from_numpy(self.index[i, s, : self.sizes[i, s]])
                torch.manual_seed(int(self.seeds[i, s]))
                value = loss(model, self.x[rows], y[rows])
                gradients = torch.autograd.grad(value, parts, allow_unused=True)
                gradients = [
                    torch.zeros_like(f) if g is None else g.reshape(-1)
                    for g, f in zip(gradients, flat, strict=True)
                ]
                if anchors is not None:
                    near = torch.split(anchors[i], [f.numel() for f in flat])
                    gradients = [
                        g + strength * (f - a)
                        for g, f, a in zip(gradients, flat, near, strict=True)
                    ]
                optimizers.step(optimizer, self.rates[i], flat, gradients, state)
            after.append(row)
            found.append(state)
        return torch.stack(after), torch.stack(found)


@pytest.fixture
def case(library):
    """Make a `Case`."""

    def make(*args, **given):
        return Case(library, *args, **given)

    return make


def lenet():
    return nn.Sequential(
        nn.Conv2d(3, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 30),
        nn.ReLU(),
        nn.Linear(30, 10),
    )


@pytest.fixture
def small_lenet(case):
    """A network of convolutions on images of 16 x 16."""

    def make(**given):
        return case(lenet, (3, 16, 16), 10, **given)

    return make


@pytest.fixture
def by_pytorch(monkeypatch):
    """The numbers of jobs that trained by PyTorch's gradients of a loss."""
    seen, run = [], FeatureTraining.run
    monkeypatch.setattr(
        FeatureTraining, "run", lambda self, jobs: (run(self, jobs), seen.append(len(jobs)))[0]
    )
    return seen
