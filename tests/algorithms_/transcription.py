"""Inputs of transcriptions of published algorithms, and the plain PyTorch that they share.

They use no part of the simulator: the initial model, each node's samples and the order in which it
takes them are data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from netsim.api import Batch, crop_and_flip
from netsim.learning.jobs import BatchKey
from netsim.learning.refs import Ref

NODES, ROUNDS, RATE, HIDDEN = 5, 3, 0.2, 12
WORLD: dict[str, Any] = {
    "horizon_s": 179.0,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 60.0},
    "model": {"kind": "mlp", "hidden": [HIDDEN]},
    "training": {"learning_rate": RATE, "batch_size": 10, "dtype": "float64"},
    "metrics": {"every_s": 179.0, "weights": False},
    "data": {
        "kind": "digits",
        "validation": 0.3,
        "partition": {
            "kind": "class_mix",
            "alpha": 0.3,
            "train_min": 25,
            "train_max": 60,
            "test_samples": 10,
        },
    },
}
CLIENTS = [{"name": "clients", "count": NODES}, {"name": "server", "count": 1, "role": "server"}]
SERVER = WORLD | {"nodes": {"count": NODES + 1, "groups": CLIENTS}, "topology": {"kind": "hub"}}
RING = WORLD | {"topology": {"kind": "ring"}}
LOSSY = WORLD | {"link": {"loss": 0.4, "latency_s": 0.01}}
UNEVEN = WORLD | {"topology": {"kind": "erdos_renyi", "probability": 0.5}}
STACKED = WORLD | {"run": {"device": "cpu", "backend": "stacked"}}
WORLDS = {"peers": WORLD, "server": SERVER, "stacked": STACKED}
BASE, HEAD = slice(0, HIDDEN * 65), slice(HIDDEN * 65, None)


@dataclass
class Given:
    """Data and draws of a run, nothing that was computed."""

    run: Any

    @property
    def initial(self):
        return self.run.world.initial[0].clone()

    @property
    def sizes(self):
        return [len(self.run.world.shards.rows[i].train) for i in range(NODES)]

    def samples(self, rows):
        samples = self.run.world.samples
        return torch.tensor(samples.x[rows]).double().flatten(1), torch.tensor(samples.y[rows])

    def split(self, i, name):
        return self.samples(getattr(self.run.world.shards.rows[i], name))

    def batches(self, i, first, count, stream="train"):
        shards = self.run.world.shards
        keys = [BatchKey(i, stream, b) for b in range(first, first + count)]
        return [self.samples(shards.batch_rows(key)) for key in keys]

    def epoch(self, i, t, epochs=1, stream="train"):
        per_epoch = -(-self.sizes[i] // 10)
        if self.sizes[i] % 10 == 1:
            per_epoch -= 1
        return self.batches(i, t * epochs * per_epoch, epochs * per_epoch, stream)

    def augmented_epoch(self, i, t):
        """Batches cropped and mirrored by the engine's draws, three a sample."""
        shards, samples = self.run.world.shards, self.run.world.samples
        count = len(self.epoch(i, 0))
        for number in range(t * count, (t + 1) * count):
            rows = shards.batch_rows(BatchKey(i, "train", number))
            counters = np.arange(3 * len(rows))
            u = self.run.world.streams.uniforms("augment/train", i, number, counters=counters)
            images, y = torch.tensor(samples.x[rows]).double(), torch.tensor(samples.y[rows])
            batch = Batch(images, y, torch.tensor(u).view(-1, 3), samples.scale)
            yield crop_and_flip(batch).flatten(1), y

    def draws(self, i, purpose, first, count):
        streams = self.run.world.streams
        return streams.uniforms(f"node/{purpose}", i, counters=range(first, first + count))


def layers(row):
    w1, b1, w2, b2 = torch.split(row, [HIDDEN * 64, HIDDEN, 10 * HIDDEN, 10])
    return w1.view(HIDDEN, 64), b1, w2.view(10, HIDDEN), b2


def features(row, x):
    w1, b1, _, _ = layers(row)
    return torch.relu(x @ w1.T + b1)


def logits(row, x):
    _, _, w2, b2 = layers(row)
    return features(row, x) @ w2.T + b2


def cross_entropy(row, x, y):
    return F.cross_entropy(logits(row, x), y)


def gradient(row, batch, loss=cross_entropy):
    row = row.detach().requires_grad_()
    (found,) = torch.autograd.grad(loss(row, *batch), row)
    return found


def sgd(row, batches, loss=cross_entropy, rate=RATE, momentum=0.0):
    velocity = torch.zeros_like(row)
    for batch in batches:
        velocity = momentum * velocity + gradient(row, batch, loss)
        row = row - rate * velocity
    return row


def mean(rows, weights):
    return sum(p * row for p, row in zip(weights, rows, strict=True)) / sum(weights)


def metropolis(neighbours):
    w = np.zeros((NODES, NODES))
    for i, own in enumerate(neighbours):
        for j in own:
            w[i, j] = 1 / (1 + max(len(own), len(neighbours[j])))
        w[i, i] = 1 - w[i].sum()
    assert np.allclose(w.sum(0), 1)
    assert np.allclose(w, w.T)
    return w


def shown(run, stage):
    return [node.publishing.published[stage].ref.tensor() for node in run.parts[:NODES]]


def difference(rows, expected):
    """Largest difference of any parameter of any node."""
    pairs = zip(rows, expected, strict=True)
    return max(float((mine - theirs).abs().max()) for mine, theirs in pairs)


def predictions(run, i, x, stage):
    """A node's logits (n, 10) of samples x (n, 64), as an evaluation asks for them."""
    publication = run.parts[i].publishing.published[stage]
    model = publication.ref.architecture.bind(publication.ref.tensor())
    given = [g.tensor() if isinstance(g, Ref) else g for g in publication.given]
    with torch.no_grad():
        return publication.predict(model, x.view(-1, 1, 8, 8), *given)
