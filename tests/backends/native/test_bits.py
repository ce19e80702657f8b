"""No bit of a result depends on how jobs were grouped, ordered or shared by threads."""

import mmap

import numpy as np
import pytest
import torch
from torch import nn

from netsim.backends.native.data import Data, Rows, Steps
from netsim.learning.jobs import Optimizer
from netsim.models.l2c_miniimagenet_cnn import L2cMiniimagenetCnn
from netsim.models.lenet import LeNet

OPTIMIZERS = [Optimizer("sgd", 0.0, 0.9), Optimizer("adam", 0.0, clip_norm=1.0)]


def padded_net():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Conv2d(4, 5, 3, stride=2, padding=1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(80, 4),
    )


def tiled_net():
    return nn.Sequential(
        nn.Conv2d(3, 16, 2, stride=2),
        nn.Conv2d(16, 20, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(20, 17, 3),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(68, 4),
    )


NETWORKS = {
    "tiles": tiled_net,
    "lenet": lambda: LeNet().build((3, 16, 16), 4),
    "padded": padded_net,
    "groups": lambda: L2cMiniimagenetCnn().build((3, 16, 16), 4),
}


def trained(made, kernel, optimizer, jobs):
    """Rows after training of some of the nodes in one call, in this order."""
    jobs = np.array(jobs)
    out = torch.zeros_like(made.rows)
    steps = Steps(made.index[jobs], made.sizes[jobs], made.counts[jobs])
    where = Rows(made.rows, jobs), Rows(out, jobs)
    kernel.train(Data(made.x, made.y), *where, steps, optimizer, made.rates[jobs])
    return out


@pytest.mark.thinned(16)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["sgd", "adam"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_grouping_order_and_threads(case, variant, optimizer, network, dtype):
    made = case(NETWORKS[network], (3, 16, 16), 4, n=7, dtype=dtype)
    made.rows[3, 5] = torch.nan  # a node that has diverged leaves the others alone
    together = trained(made, made.kernel(variant), optimizer, range(7))
    assert torch.isfinite(together[[0, 1, 2, 4, 5, 6]]).all()
    assert together[3].isnan().any()
    kernel = made.kernel(variant)
    alone = sum(trained(made, kernel, optimizer, [i]).nan_to_num() for i in range(7))
    assert torch.equal(together.nan_to_num(), alone)
    for threads in (2, 3):
        shared = trained(
            made, made.kernel(variant, threads=threads), optimizer, [6, 3, 0, 5, 1, 4, 2]
        )
        assert torch.equal(together.nan_to_num(), shared.nan_to_num())


def test_looking_in_between_changes_nothing(small_lenet, variant):
    made, optimizer = small_lenet(), OPTIMIZERS[0]
    expected = trained(made, made.kernel(variant), optimizer, range(3))
    kernel, data = made.kernel(variant), Data(made.x, made.y)
    for size in (1, 7, 40):
        kernel.losses(data, Rows(made.rows), np.arange(size)[None])
        kernel.gradients(data, Rows(made.rows), Rows(made.rows.clone()), made.index[:, 0, :size])
        assert torch.equal(trained(made, kernel, optimizer, range(3)), expected)


def test_rows_may_be_written_where_they_are_read(small_lenet, variant):
    made, optimizer = small_lenet(), OPTIMIZERS[0]
    expected = trained(made, made.kernel(variant), optimizer, range(3))
    rows = Rows(made.rows)
    data = Data(made.x, made.y)
    made.kernel(variant).train(data, rows, rows, made.steps, optimizer, made.rates)
    assert torch.equal(made.rows, expected)


def at_the_end_of_memory(tensor):
    """A copy of a tensor that ends where a page that nobody may touch begins."""
    libc = pytest.importorskip("ctypes").CDLL(None)
    size = tensor.numel() * tensor.element_size()
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, room + mmap.PAGESIZE)
    whole = np.frombuffer(pages, dtype=np.uint8)
    assert not libc.mprotect(
        pytest.importorskip("ctypes").c_void_p(whole.ctypes.data + room), mmap.PAGESIZE, 0
    )
    copy = torch.from_numpy(whole[room - size : room]).view(tensor.dtype).view(tensor.shape)
    copy.copy_(tensor)
    return copy


@pytest.mark.thinned(9)
@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="pages can't be guarded here")
@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_is_read_or_written_behind_a_buffer(case, variant, network):
    made = case(NETWORKS[network], (3, 16, 16), 4, n=3, dtype=torch.float32)
    optimizer = OPTIMIZERS[1]
    expected = trained(made, made.kernel(variant), optimizer, range(3))
    x, y = at_the_end_of_memory(made.x), at_the_end_of_memory(made.y)
    rows, out = at_the_end_of_memory(made.rows), at_the_end_of_memory(made.rows)
    states = at_the_end_of_memory(torch.zeros(3, made.state_size(optimizer)))
    anchors = at_the_end_of_memory(made.rows[:, : made.architecture.num_parameters])
    made.kernel(variant).train(
        Data(x, y),
        Rows(rows),
        Rows(out),
        made.steps,
        optimizer,
        made.rates,
        states=Rows(states),
        states_out=Rows(states),
        anchors=Rows(anchors),
    )
    assert torch.equal(out, expected)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("network", NETWORKS)
def test_sets_of_samples_that_are_looked_at(case, variant, network):
    """However they are shared, cut and ordered: the same bits as each model's own pass."""
    made = case(NETWORKS[network], (3, 16, 16), 4, n=4, dtype=torch.float32)
    data, shared = Data(made.x, made.y), np.arange(60)[::-1].copy()
    shared = np.tile(shared, 10)  # more than one core takes at once
    sets = [shared, shared, np.arange(7), np.arange(1), shared, np.arange(30, 60), np.arange(7)]
    model = np.array([2, 0, 2, 1, 3, 0, 2])
    kernel = made.kernel(variant)
    expected = [
        kernel.outputs(data, Rows(made.rows, np.array([k])), rows[None])[0]
        for k, rows in zip(model, sets, strict=True)
    ]
    for threads in (1, 3):
        found = made.kernel(variant, threads=threads).outputs_each(
            data, Rows(made.rows, model), sets
        )
        assert all(map(torch.equal, found, expected))
    assert kernel.outputs_each(data, Rows(made.rows, model[:0]), []) == []
