"""Whole runs of MAPL against a plain transcription of its round, and over links that lose."""

import copy
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim import engine, world
from netsim.api import VIEW_DRAWS, Augmentation, two_views
from netsim.learning.jobs import BatchKey
from netsim.learning.shards import Batch
from netsim.scenario import from_dict

from .weights import logged

NODES, ROUNDS, WARMUP, LATENT, CLASSES = 6, 5, 1, 5, 10
RATE, DECAY = 0.005, 1e-3
"""Without decay the bias before a batch normalisation would have no gradient but rounding noise of
some 1e-15, of which Adam makes steps of RATE * 1e-15 / 1e-8."""
TABLES = {
    "seed": 2,
    "horizon_s": ROUNDS - 0.1,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {
        "kind": "digits",
        "partition": {
            "kind": "mapl_scenario",
            "scenario": 4,
            "train_min": 2,
            "train_max": 6,
            "stride": 6,
            "test_samples": 4,
        },
    },
    "model": [
        {"kind": "mapl", "backbone": {"kind": "mlp", "hidden": [12, LATENT]}, "projection": 7},
        {"kind": "mapl", "backbone": {"kind": "iot_mlp", "hidden": LATENT}, "projection": 9},
    ],
    "compute": {"kind": "fixed", "step_s": 0.01},
    "training": {
        "optimizer": "adam",
        "learning_rate": RATE,
        "beta1": 0.5,
        "weight_decay": DECAY,
        "batch_size": 16,
        "dtype": "float64",
        "common_initial": False,
    },
    "metrics": {"every_s": ROUNDS - 0.1, "weights": False},
}
MAPL = {"kind": "mapl", "warmup_rounds": WARMUP}
ALIKE = {"model": TABLES["model"][1]}


class Net(nn.Module):
    """The two networks above, tensors in the order of a row of the simulator."""

    def __init__(self, normalised, projection):
        super().__init__()
        if normalised:
            backbone = [nn.BatchNorm1d(64), nn.Linear(64, LATENT)]
        else:
            backbone = [nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, LATENT)]
        self.backbone = nn.Sequential(nn.Flatten(), *backbone)
        self.classifier = nn.Linear(LATENT, CLASSES)
        self.projection = nn.Sequential(
            nn.Linear(LATENT, projection),
            nn.BatchNorm1d(projection),
            nn.ReLU(),
            nn.Linear(projection, LATENT),
        )
        self.double()

    def forward(self, x):
        latent = self.backbone(x)
        return self.projection(latent), self.classifier(latent.relu())

    def tensors(self):
        statistics = [b for b in self.buffers() if b.is_floating_point()]
        return [p.data for p in self.parameters()] + statistics

    def read(self, row):
        for mine, part in zip(
            self.tensors(), row.split([t.numel() for t in self.tensors()]), strict=True
        ):
            mine.copy_(part.view_as(mine))

    def row(self):
        return torch.cat([t.reshape(-1) for t in self.tensors()])


@dataclass
class Played:
    rows: list = field(default_factory=list)
    prototypes: list = field(default_factory=list)
    w: list = field(default_factory=list)  # of every round: (N, N)


def losses(z, logits, prototypes, labels, tau):
    """The four terms, one row at a time."""
    n, count = len(labels), len(prototypes)
    z = torch.stack([row / row.norm() for row in z])
    contrast = attract = apart = 0.0
    for a in range(n):
        closeness = torch.exp(z @ z[a] / tau)
        every = closeness.sum() - closeness[a]
        alike = closeness[labels == labels[a]].sum() - closeness[a]
        contrast = contrast - torch.log(alike / every) / n
        closeness = torch.exp(prototypes @ z[a])
        attract = attract - torch.log(closeness[labels[a]] / closeness.sum()) / n
    for c in range(count):
        closeness = torch.exp(prototypes @ prototypes[c] / tau)
        apart = apart + (closeness.sum() - closeness[c]) / count
    return contrast + attract + apart + F.cross_entropy(logits, labels)


def projected(v):
    """Onto the simplex: drop the smallest until what is left is positive."""
    kept = list(range(len(v)))
    while True:
        theta = (sum(v[j] for j in kept) - 1) / len(kept)
        if all(v[j] > theta for j in kept):
            return [v[j] - theta if j in kept else 0.0 for j in range(len(v))]
        kept = [j for j in kept if v[j] > theta]


def cosines(a, b):
    return sum(float(x @ y / (x.norm() * y.norm())) for x, y in zip(a, b, strict=True)) / len(a)


def transcription(given, alone=False, plus=False, heads="all", steps=1, tau=100.0):
    """The round as the authors' code has it, on a full mesh, or with nobody to hear."""
    N = NODES
    nets, P, w = [], [], np.full((N, N), 1 / N)
    for i in range(N):
        nets.append(copy.deepcopy(given.nets[i]))
        nets[i].read(given.initial[i])
        P.append(torch.tensor(given.prototypes[i]).view(CLASSES, LATENT))
    played, taken = Played(), [0] * N
    sizes = np.array(given.sizes) / sum(given.sizes)
    for r in range(ROUNDS):
        for i in range(N):  # PML
            own = P[i].clone().requires_grad_()
            optimizer = torch.optim.Adam(
                [*nets[i].parameters(), own], lr=RATE, betas=(0.5, 0.999), weight_decay=DECAY
            )
            nets[i].train()
            for _ in range(given.batches[i]):
                x, y = given.views(i, taken[i])
                taken[i] += 1
                optimizer.zero_grad()
                losses(*nets[i](x), own, y, tau).backward()
                optimizer.step()
            P[i] = own.detach()
        if r >= WARMUP and not alone:  # CGL
            W = [net.classifier.weight.detach() for net in nets]
            before = w.copy()
            for i in range(N):
                mesh = [j for j in range(N) if j != i and (heads == "all" or before[i, j] > 0)]
                s = {j: cosines(W[i], W[j]) for j in mesh}
                top = max(s.values(), default=1.0)
                s = {j: v / top if top > 0 else v for j, v in s.items()} | {i: 1.0}
                m, v = dict.fromkeys(s, 0.0), dict.fromkeys(s, 0.0)
                for k in range(1, steps + 1):
                    norm = float(np.sqrt((w[i] ** 2).sum()))
                    moved = dict.fromkeys(s, 0.0)
                    for j in s:
                        g = -0.5 * s[j] * sizes[j] + 0.1 * 0.5 * w[i, j] / norm
                        m[j] = 0.5 * m[j] + 0.5 * g
                        v[j] = 0.999 * v[j] + 0.001 * g * g
                        step = (m[j] / (1 - 0.5**k)) / ((v[j] / (1 - 0.999**k)) ** 0.5 + 1e-8)
                        moved[j] = w[i, j] - 0.1 * step
                    members = sorted(s)
                    w[i, members] = projected([moved[j] for j in members])
        sent = [p.clone() for p in P]
        for i in range(N):
            P[i] = sent[i] if alone else sum(w[i, j] * sent[j] for j in range(N))
        if plus:
            parts = [[p.data.clone() for p in net.backbone.parameters()] for net in nets]
            for i in range(N):
                for at, p in enumerate(nets[i].backbone.parameters()):
                    p.data.copy_(sum(w[i, j] * parts[j][at] for j in range(N)))
        played.w.append(w.copy())
        played.prototypes = sent
    played.rows = [net.row() for net in nets]
    return played


@dataclass
class Given:
    """The draws of a run."""

    nets: list
    initial: list
    prototypes: list
    sizes: list
    batches: list
    views: object


def given(run, how=None):
    world = run.world
    shards, streams = world.shards, world.streams

    def views(i, number):
        rows = shards.batch_rows(BatchKey(i, "train", number))
        x = torch.tensor(world.samples.x[rows]).double()
        y = torch.tensor(world.samples.y[rows])
        if how is None:
            return torch.cat([x, x]), y.repeat(2)
        counters = np.arange(len(rows) * 2 * VIEW_DRAWS)
        u = streams.uniforms("augment/train", i, number, counters=counters)
        u = torch.from_numpy(u.reshape(len(rows), -1))
        return two_views(Batch(x, y, u, world.samples.scale), how), y.repeat(2)

    mixed = len(run.world.scenario.model) == 2
    kinds = [(i % 2 == 1, 9 if i % 2 else 7) if mixed else (True, 9) for i in range(NODES)]
    counts = range(CLASSES * LATENT)
    draws = [streams.uniforms("node/prototypes", i, counters=counts) for i in range(NODES)]
    return Given(
        nets=[Net(*kind) for kind in kinds],
        initial=world.initial,
        prototypes=[(2 * u - 1) / LATENT**0.5 for u in draws],
        sizes=[len(rows.train) for rows in shards.rows],
        batches=[shards.batches_per_epoch(i) for i in range(NODES)],
        views=views,
    )


def rows_of_w(run, rounds=ROUNDS):
    """Logged weights (rounds, N, N), in the order of ids."""
    rows = [[] for _ in range(NODES)]
    for _, node, ids, weights in logged(run, "learned"):
        row = np.zeros(NODES)
        row[list(ids)] = weights
        rows[node].append(row)
    return np.array([r[:rounds] for r in rows]).transpose(1, 0, 2)


def same(run, models, expected):
    assert np.array_equal(rows_of_w(run) > 0, np.array(expected.w) > 0)  # the graph itself
    np.testing.assert_allclose(rows_of_w(run), expected.w, rtol=0, atol=1e-9)
    for mine, theirs in zip(models(run), expected.rows, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=0, atol=1e-9)


NEUTRAL = {
    "crop_min": 1.0, "crop_ratio": 1.0, "flip": 0.0, "jitter": 0.0, "grayscale": 0.0,
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("tables", "params", "reading"),
    [
        ({}, {}, {}),
        ({}, {"heads": "active"}, {"heads": "active"}),
        ({}, {"graph_steps": 3, "temperature": 0.5}, {"steps": 3, "tau": 0.5}),
        (ALIKE, {"mix_backbones": True}, {"plus": True}),
        ({"link": {"loss": 1.0}}, {}, {"alone": True}),
    ],
    ids=["mixed", "active-heads", "three-steps", "mapl-plus", "nobody-heard"],
)
@pytest.mark.slow
def test_a_run_is_the_authors_round_in_plain_loops(play, models, tables, params, reading):
    run = play(MAPL | {"augmentation": NEUTRAL} | params, **(TABLES | tables))
    same(run, models, transcription(given(run), **reading))


@pytest.mark.slow
def test_so_is_one_with_random_views(play, models):
    run = play(MAPL, **TABLES)
    same(run, models, transcription(given(run, Augmentation())))


@pytest.mark.slow
def test_the_runs_above_meet_what_they_are_to_show(play):
    """Edges go, stay and come back: the graph is not the full mesh, nor one that only shrinks."""
    run = play(MAPL | {"augmentation": NEUTRAL}, **TABLES)
    active = rows_of_w(run) > 0
    counts = active.sum((1, 2))
    assert list(counts[:WARMUP]) == [NODES**2] * WARMUP
    assert NODES < counts[-1] < NODES**2
    sizes = given(run).sizes
    assert len(set(sizes)) > 1
    returned = (~active[:-1] & active[1:]).sum()
    assert returned > 0


# -- what goes over the air ------------------------------------------------------------------------


def messages(folder):
    log = pd.read_parquet(folder / "messages").astype({"kind": str, "outcome": str})
    return log.sort_values("t_sent_s", kind="stable")


@pytest.mark.slow
def test_prototypes_cross_active_edges_only_and_each_change_is_told_once(play, tmp_path):
    run = play(MAPL | {"augmentation": NEUTRAL}, tmp_path / "run", **TABLES)
    log = messages(tmp_path / "run")
    active = rows_of_w(run) > 0
    off = ~np.eye(NODES, dtype=bool)
    for r in range(ROUNDS):
        now = log[log["round"] == r + 1]
        edges = {(i, j) for i, j in zip(*np.nonzero(active[r] & off), strict=True)}
        sent = now[now.kind == "Prototypes"]
        assert sorted(zip(sent.dst, sent.src, strict=True)) == sorted(edges)
        before = active[r - 1] if r else np.ones((NODES, NODES), dtype=bool)
        changed = {(i, j) for i, j in zip(*np.nonzero(before != active[r]), strict=True) if i != j}
        told = now[now.kind == "Edge"]
        assert sorted(zip(told.src, told.dst, strict=True)) == sorted(changed)
        heads = now[now.kind == "Head"]
        assert len(heads) == (NODES * (NODES - 1) if r >= WARMUP else 0)
    bits = log.groupby("kind").bits.unique()
    assert list(bits["Prototypes"]) == [CLASSES * LATENT * 32]
    assert list(bits["Head"]) == [CLASSES * LATENT * 32 + 32]


@pytest.mark.slow
def test_heads_can_stay_on_active_edges_too(play, tmp_path):
    run = play(MAPL | {"augmentation": NEUTRAL, "heads": "active"}, tmp_path / "run", **TABLES)
    log = messages(tmp_path / "run")
    active = rows_of_w(run) > 0
    off = ~np.eye(NODES, dtype=bool)
    for r in range(WARMUP, ROUNDS):
        heads = log[(log["round"] == r + 1) & (log.kind == "Head")]
        edges = {(i, j) for i, j in zip(*np.nonzero(active[r - 1] & off), strict=True)}
        assert sorted(zip(heads.dst, heads.src, strict=True)) == sorted(edges)
    assert not (~active[:-1] & active[1:]).any()  # nothing pruned comes back


@pytest.mark.slow
def test_mapl_plus_sends_the_backbone_along(play, tmp_path):
    play(MAPL | {"mix_backbones": True}, tmp_path / "run", **(TABLES | ALIKE))
    log = messages(tmp_path / "run")
    backbone = 2 * 64 + 64 * LATENT + LATENT
    assert set(log[log.kind == "Prototypes"].bits) == {(CLASSES * LATENT + backbone) * 32}


LOSSY = {"link": {"loss": 0.4, "latency_s": 0.02}}
POISSON = {"exchange": {"schedule": "poisson", "rate_hz": 1.5}, "link": {"latency_s": 0.3}}
PERIODIC = {"exchange": {"schedule": "periodic", "period_s": 0.7}, "link": {"loss": 0.4}}
STAR = {"exchange": {"schedule": "star", "slot_s": 0.03, "slots_per_exchange": 4}}
RING = {"topology": {"kind": "ring"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "absent"),
    [
        (LOSSY, "renormalise"),
        (LOSSY, "self"),
        (LOSSY, "last"),
        (POISSON, "last"),
        (PERIODIC, "self"),
        (STAR, "renormalise"),
        (RING, "renormalise"),
    ],
    ids=["lossy", "lossy-self", "lossy-last", "poisson", "periodic-lossy", "star", "ring"],
)
def test_it_plays_over_links_that_lose_and_without_rounds(play, models, absent, tables):
    run = play(MAPL | {"absent": absent, "max_age_s": 2.0}, **(TABLES | tables))
    assert len(logged(run, "learned")) > 10
    for _, node, ids, weights in logged(run, "learned"):
        assert list(ids) == [node, *run.nodes[node].peers]
        assert sum(weights) == pytest.approx(1.0, abs=1e-9)
        assert min(weights) >= 0
    assert any(min(weights) == 0 for *_, weights in logged(run, "learned"))
    assert all(torch.isfinite(row).all() for row in models(run))


@pytest.mark.slow
def test_a_deadline_that_cuts_rounds_short_leaves_late_messages_to_the_next(play):
    run = play(
        MAPL | {"absent": "last"},
        **(TABLES | {"link": {"latency_s": 0.15}, "horizon_s": 2.0})
        | {"exchange": {"schedule": "rounds", "interval_s": 0.2, "deadline_s": 0.2}},
    )
    assert run.counts["messages_unread"] == 0
    assert any(min(weights) == 0 for *_, weights in logged(run, "learned"))


def test_timing_only_plays_with_every_edge_active():
    scenario = from_dict(TABLES | {"name": "t", "algorithm": MAPL})
    summary = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)
    swaps = ROUNDS + (ROUNDS - WARMUP)
    assert summary["messages"]["sent"] == swaps * NODES * (NODES - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "switch",
    [{"contrast": False}, {"uniformity": False}, {"similarity": False}, {"confidence": False},
     {"norm": "l1"}],
    ids=lambda switch: next(iter(switch)),
)  # fmt: skip
def test_every_ablation_changes_what_is_learned(play, switch):
    neutral = MAPL | {"augmentation": NEUTRAL}
    whole, without = (play(neutral | given, **TABLES) for given in ({}, switch))
    if "contrast" in switch or "uniformity" in switch:
        of = [run.parts[0].publishing.published["trained"].ref.tensor() for run in (whole, without)]
        assert float((of[0] - of[1]).abs().max()) > 1e-6
    else:
        assert not np.allclose(rows_of_w(whole), rows_of_w(without))
