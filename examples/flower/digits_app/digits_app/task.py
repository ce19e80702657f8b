"""Data, model and training: nothing here knows of netsim."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional


def load_data(partition: int, partitions: int):
    """(images, labels) for training and for testing of one client; 7 in 10 are sorted by label."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(order) * 7 // 10
    skewed = order[:cut][np.argsort(y[order[:cut]], kind="stable")]
    rows = np.concatenate(
        [np.array_split(part, partitions)[partition] for part in (skewed, order[cut:])]
    )
    rows = np.random.default_rng(partition).permutation(rows)
    images = torch.tensor(x[rows] / 16, dtype=torch.float32)
    labels = torch.tensor(y[rows])
    cut = len(rows) * 8 // 10
    return (images[:cut], labels[:cut]), (images[cut:], labels[cut:])


def load_test_data(partitions: int):
    """(images, labels) for testing of all clients together."""
    parts = [load_data(partition, partitions)[1] for partition in range(partitions)]
    return tuple(torch.cat(columns) for columns in zip(*parts, strict=True))


def make_model() -> nn.Module:
    """A perceptron of one hidden layer."""
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def train(model, data, epochs, batch_size, learning_rate, proximal, seed) -> float:
    """Train a model in place; its last loss."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    start = [p.detach().clone() for p in model.parameters()]
    images, labels = data
    loss = torch.tensor(0.0)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images[rows]), labels[rows])
            for p, q in zip(model.parameters(), start, strict=True):
                loss = loss + proximal / 2 * (p - q).square().sum()
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, data) -> tuple[float, float]:
    """Loss and accuracy."""
    images, labels = data
    outputs = model(images)
    right = (outputs.argmax(1) == labels).float().mean().item()
    return functional.cross_entropy(outputs, labels).item(), right
