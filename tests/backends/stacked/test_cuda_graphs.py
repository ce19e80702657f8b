"""Graphs of steps, played on a CPU: widths that are powers of two, and steps that are replayed.

A CUDA graph runs the same kernels on the same memory again, and no Python. So does `Recorded`: it
keeps the operations of a step with the tensors that they read and wrote, and repeats them.
"""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from netsim.backends.stacked import convolution, cuda_graphs

WAITS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::is_nonzero"}
"""Operations whose result a CPU needs: a graph can't hold them."""


DEVICES = "cuda", "cpu"


class Recorder(TorchDispatchMode):
    """Recorder of every operation."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.name().split(".")[0] not in WAITS, f"{func} waits for the GPU"
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result


def is_part(result, of):
    storages = {t.untyped_storage().data_ptr() for t in [of, *tree_leaves(result)]}
    return len(storages) == 1


class Recorded:
    """As `netsim.backends.stacked.cuda_graphs.replayed`, without a GPU."""

    made = 0

    def __init__(self, step, changes):
        type(self).made += 1
        before = [t.clone() for t in changes]
        for _ in range(2):
            step()
        with Recorder() as recorder:
            step()
        self.calls = recorder.calls
        for tensor, old in zip(changes, before, strict=True):
            tensor.copy_(old)

    @torch.inference_mode()
    def __call__(self):
        for func, args, kwargs, result in self.calls:
            if func.is_view and is_part(result, args[0]):  # a reshape may be a copy
                continue
            again = func(*args, **kwargs)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """All that depends on the device, but for the device; how many graphs were made."""
    monkeypatch.setattr(cuda_graphs, "is_captured", lambda a: not a.is_random)
    monkeypatch.setattr(cuda_graphs, "replayed", Recorded)
    monkeypatch.setattr(Recorded, "made", 0)
    make = convolution.StackedConv2d.__init__

    def by_patches(self, *args):
        make(self, *args)
        self.by_patches = self.groups == 1 and self.dilation == (1, 1)

    monkeypatch.setattr(convolution.StackedConv2d, "__init__", by_patches)
    return lambda: Recorded.made


class Shortcut(nn.Module):
    """No chain: autograd runs backwards through it."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.GroupNorm(3, 12))
        self.again, self.head = nn.Linear(12, 12), nn.Linear(12, 10)

    def forward(self, x):
        x = self.features(x)
        return self.head(torch.relu(x + self.again(torch.relu(x))))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.Dropout(0.3))
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        return self.head(self.features(x))


OPTIMIZERS = {
    "sgd": {"weight_decay": 0.01},
    "momentum": {"momentum": 0.9},
    "clipped": {"momentum": 0.9, "clip_norm": 0.3},
    "adam": {"optimizer": "adam", "learning_rate": 0.01},
}


def life(node, keep):
    """Numbers of steps that differ, states carried on, an anchor."""
    theta, state = node.initial(), None
    for k in range(3):
        trained = yield node.train(theta, steps=1 + (node.id + k) % 4, optimizer=state)
        theta, state = trained.theta, trained.optimizer
    keep("state", state)
    near = yield node.train(theta, steps=2, anchor=(node.initial(), 0.3))
    keep("theta", near.theta)


@pytest.mark.thinned(18)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("module", [None, Shortcut, Images, Dropping])
def test_steps_that_are_replayed_are_the_steps(
    module, optimizer, build, play, assert_equal_values, as_on_a_gpu
):
    built = build(
        module and module(),
        nodes={"count": 7},
        training={"learning_rate": 0.1, **OPTIMIZERS[optimizer]},
    )
    alone = play(built, life, "sequential")
    stacked = play(built, life)
    assert not stacked.backend.one_by_one
    assert (as_on_a_gpu() > 3) == (module is not Dropping)
    assert_equal_values(alone, stacked, 1e-9 if optimizer == "adam" else 1e-12)


@pytest.mark.parametrize(
    ("active", "capacity", "width"), [(2, 64, 2), (3, 64, 4), (33, 64, 64), (5, 6, 6), (64, 64, 64)]
)
def test_widths_of_graphs_are_powers_of_two_up_to_the_room(active, capacity, width):
    assert cuda_graphs.captured_width(active, capacity) == width


def test_graphs_are_captured_only_on_a_gpu_and_if_asked_for(monkeypatch):
    on_gpu, on_cpu = (SimpleNamespace(device=torch.device(d), is_random=False) for d in DEVICES)
    assert not cuda_graphs.is_captured(on_gpu)
    monkeypatch.setenv("NETSIM_CUDA_GRAPHS", "1")
    assert cuda_graphs.is_captured(on_gpu)
    assert not cuda_graphs.is_captured(on_cpu)
    assert not cuda_graphs.is_captured(SimpleNamespace(device=on_gpu.device, is_random=True))
