"""Whole runs of L2C and meta-L2C against Algorithm 1, written down in plain PyTorch.

The transcription lets autograd find its way through the aggregation, uses torch's Adam, and takes
from a run what Algorithm 1 is given: the initial model, each node's samples and the order in which
it takes them, and, from the message log, which updates and encoder pieces came through.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from algorithms._encoder import Form, drawn_encoder, layers_of
from netsim.learning.jobs import BatchKey

from .weights import logged

NODES, ROUNDS, PRUNED_AFTER, KEPT, EPOCHS = 5, 6, 3, 2, 2
INPUTS, HIDDEN, CLASSES = 64, 6, 10
SETTING = {"prune_after": PRUNED_AFTER, "kept_peers": KEPT, "local_epochs": EPOCHS}
WORLD = {
    "seed": 2,
    "horizon_s": (ROUNDS - 0.5) * 1000.0,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 1000.0},
    "data": {
        "kind": "digits",
        "validation": 0.25,
        "partition": {"kind": "iid", "train_samples": 28, "test_samples": 20},
    },
    "model": {"kind": "mlp", "hidden": [HIDDEN]},
    "training": {
        "learning_rate": 0.1,
        "batch_size": 10,
        "dtype": "float64",
        "weight_decay": 0.0005,
    },
}


# -- Algorithm 1 ---------------------------------------------------------------------------------


def local_steps(run, i, theta, drawn):
    """S steps of SGD on the node's own minibatches."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(INPUTS, HIDDEN), nn.ReLU())
    model = model.append(nn.Linear(HIDDEN, CLASSES)).double()
    nn.utils.vector_to_parameters(theta.clone(), model.parameters())
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.0005)
    for _ in range(EPOCHS * run.learning.shards.batches_per_epoch(i)):
        x, y = samples(run, run.learning.shards.batch_rows(BatchKey(i, "train", drawn[i])))
        drawn[i] += 1
        sgd.zero_grad()
        F.cross_entropy(model(x), y).backward()
        sgd.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def samples(run, rows):
    data = run.world.samples
    return torch.tensor(data.x[rows]).double(), torch.tensor(data.y[rows])


def unpacked(theta):
    w1, b1, w2, b2 = torch.split(theta, [HIDDEN * INPUTS, HIDDEN, CLASSES * HIDDEN, CLASSES])
    return w1.view(HIDDEN, INPUTS), b1, w2.view(CLASSES, HIDDEN), b2


def validation_loss(run, i, theta):
    x, y = samples(run, run.learning.shards.rows[i].validation)
    w1, b1, w2, b2 = unpacked(theta)
    return F.cross_entropy((x.flatten(1) @ w1.T + b1).relu() @ w2.T + b2, y)


class Logits:
    """L2C: a logit a peer, each with an Adam of its own: that of an absent peer is left alone."""

    def __init__(self, run, i):
        self.alpha = [
            torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(NODES)
        ]
        self.adam = [torch.optim.Adam([a], lr=0.1, weight_decay=0.01) for a in self.alpha]

    def logits(self, i, ids, changes):
        return torch.stack([self.alpha[j] for j in ids])

    def step(self, loss, ids):
        for a in self.alpha:
            a.grad = None
        loss.backward()
        for j in ids:
            self.adam[j].step()


class Encoder:
    """Meta-L2C: inner products of embeddings by a network for each layer."""

    def __init__(self, run, i):
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Linear(size, 10), nn.ReLU(), nn.Linear(10, 5)).double()
            for size in (INPUTS, HIDDEN)
        )
        theta = run.nodes[i].initial()
        seed = int(run.world.streams.uniform("common/encoder", 0) * 2**53)
        form = Form(layers_of(theta), "relu", normalise=False)
        self.set(drawn_encoder(theta.tensor(), form, seed))
        self.adam = torch.optim.Adam(self.parts.parameters(), lr=0.1, weight_decay=0.01)

    def set(self, phi):
        nn.utils.vector_to_parameters(phi.clone(), self.parts.parameters())

    def get(self):
        return nn.utils.parameters_to_vector(self.parts.parameters()).detach().clone()

    def logits(self, i, ids, changes):
        def embedding(change):
            w1, _, w2, _ = unpacked(change)
            codes = [part(w) for part, w in zip(self.parts, (w1, w2), strict=True)]
            return torch.cat([code.flatten() for code in codes])

        own = embedding(changes[i])
        return torch.stack([own @ embedding(changes[j]) for j in ids])

    def step(self, loss, ids):
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()


@dataclass
class Played:
    theta: list
    weigh: list
    kept: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    absent_when_pruned: int = 0
    rings_closed: list = field(default_factory=list)


def algorithm_1(run, method, hears, gets_mean, absent="renormalise", steps=1):
    """`hears(t, i, j)`: j's update reaches i in round t; `gets_mean(t, i)`: i's ring closes."""
    first = run.world.initial[0]
    theta = [first.clone() for _ in range(NODES)]
    weigh = [method(run, i) for i in range(NODES)]
    members = [[j for j in range(NODES) if j != i] for i in range(NODES)]
    latest = [{} for _ in range(NODES)]
    drawn, played = [0] * NODES, Played(theta, weigh)
    for t in range(1, ROUNDS + 1):
        half = [local_steps(run, i, theta[i], drawn) for i in range(NODES)]
        sent = [(theta[i] - half[i], half[i] - first) for i in range(NODES)]
        mixed = []
        for i in range(NODES):
            present = [j for j in members[i] if hears(t, i, j)]
            latest[i] |= {j: sent[j] for j in [i, *present]}
            changes = {j: change for j, (_, change) in latest[i].items()}
            if absent == "last":
                present = [j for j in members[i] if j in latest[i]]
            ids = [i, *(members[i] if absent == "self" else present)]
            if method is Encoder:
                ids = [j for j in ids if j in latest[i]]
            deltas = {j: latest[i][j if j in present else i][0] for j in ids}
            with torch.no_grad():
                known = [j for j in members[i] if method is Logits or j in latest[i]]
                ranks = dict(zip(known, weigh[i].logits(i, known, changes), strict=True))
            for step in range(steps):
                logits = weigh[i].logits(i, ids, changes)
                # The weight of an absent peer is not a thing to learn from its stand-in.
                learns = torch.tensor([j == i or j in present for j in ids])
                w = torch.softmax(torch.where(learns, logits, logits.detach()), 0)
                new = theta[i] - sum(w[k] * deltas[j] for k, j in enumerate(ids))
                if step == 0:
                    mixed.append(new.detach())
                    played.weights.append((i, dict(zip(ids, w.tolist(), strict=True))))
                weigh[i].step(validation_loss(run, i, new), [i, *present])
            if t == PRUNED_AFTER:
                order = sorted(members[i], key=lambda j: -ranks.get(j, -np.inf))
                played.absent_when_pruned += sum(not hears(t, i, j) for j in members[i])
                played.kept.append(sorted(order[:KEPT]))
        if t == PRUNED_AFTER:
            members = played.kept
        if method is Encoder:
            mean = sum(w.get() for w in weigh) / NODES
            closed = [i for i in range(NODES) if gets_mean(t, i)]
            played.rings_closed.append(closed)
            for i in closed:
                weigh[i].set(mean)
        theta[:] = mixed
    return played


# -- runs ----------------------------------------------------------------------------------------


def read(folder):
    return pd.read_parquet(folder / "messages")


def transcribed(run, folder, kind, **reading):
    """Algorithm 1 with the losses of a run."""
    log = read(folder)
    log = log[log.outcome == "delivered"]
    updates, pieces = log[log.kind == "Update"], log[log.kind == "Piece"]
    heard = set(zip(updates["round"], updates.dst, updates.src, strict=True))
    got = pieces.groupby(["round", "dst"]).size().to_dict()
    return algorithm_1(
        run,
        {"l2c": Logits, "meta_l2c": Encoder}[kind],
        lambda t, i, j: (t, i, j) in heard,
        lambda t, i: got.get((t, i), 0) == 2 * (NODES - 1),
        **reading,
    )


def senders_in_the_last_round(log):
    last = log[(log.kind == "Update") & (log["round"] == ROUNDS)]
    return [sorted(last[last.dst == i].src) for i in range(NODES)]


def assert_alike(mine, theirs):
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
@pytest.mark.parametrize("steps", [1, 3])
def test_over_ideal_links_a_run_is_algorithm_1(play, models, tmp_path, kind, steps):
    run = play({"kind": kind, **SETTING, "mixing_steps": steps}, tmp_path / "run", **WORLD)
    expected = transcribed(run, tmp_path / "run", kind, steps=steps)
    assert senders_in_the_last_round(read(tmp_path / "run")) == expected.kept
    assert_alike(models(run), expected.theta)
    if kind == "meta_l2c":
        encoders = [node.publishing.kept_values()["encoder"] for node in run.parts]
        assert_alike(map(torch.from_numpy, encoders), [w.get() for w in expected.weigh])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
@pytest.mark.parametrize("absent", ["renormalise", "self", "last"])
def test_over_lossy_links_it_is_algorithm_1_with_absent_peers(play, models, tmp_path, kind, absent):
    # With more loss no ring of 40 messages would close; seed 5 has rings that close for some nodes.
    lossy = {"link": {"loss": 0.33 if kind == "l2c" else 0.05}, "seed": 5}
    run = play({"kind": kind, **SETTING, "absent": absent}, tmp_path / "run", **(WORLD | lossy))
    expected = transcribed(run, tmp_path / "run", kind, absent=absent)
    assert expected.absent_when_pruned > 0
    senders = senders_in_the_last_round(read(tmp_path / "run"))
    assert all(set(s) >= set(kept) for s, kept in zip(senders, expected.kept, strict=True))
    assert_alike(models(run), expected.theta)
    if kind == "meta_l2c":
        encoders = [node.publishing.kept_values()["encoder"] for node in run.parts]
        assert_alike(map(torch.from_numpy, encoders), [w.get() for w in expected.weigh])
        assert any(0 < len(closed) < NODES for closed in expected.rings_closed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["l2c", "meta_l2c"])
def test_the_weights_logged_are_those_of_algorithm_1(play, tmp_path, kind):
    run = play({"kind": kind, **SETTING}, tmp_path / "run", **WORLD)
    expected = transcribed(run, tmp_path / "run", kind)
    due = [(node, ids, weights) for _, node, ids, weights in logged(run, "learned")]
    mixed = [(node, ids, w.tensor().tolist()) for node, ids, w in due if not isinstance(w, tuple)]
    assert len(mixed) == len(expected.weights)
    for (node, ids, w), (i, theirs) in zip(mixed, expected.weights, strict=True):
        assert node == i
        assert dict(zip(ids, w, strict=True)) == pytest.approx(theirs, abs=1e-9)
    removed = [
        (i, [j for j in range(NODES) if j not in (i, *kept)])
        for i, kept in enumerate(expected.kept)
    ]
    zeroed = [(node, list(ids)) for node, ids, w in due if isinstance(w, tuple) and not any(w)]
    assert zeroed == removed
