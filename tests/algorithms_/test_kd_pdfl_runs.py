"""Whole runs against KD-PDFL's Algorithm 1, written down slot by slot in plain PyTorch.

The transcription uses no part of the simulator. It is given as data: the initial model, each
node's samples and the order in which it takes them, the star of each exchange, who is in reach.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.learning.jobs import BatchKey

from .weights import logged

NODES, SLOTS, EVERY = 8, 49, 4  # the steps of slot 50 have not ended at the horizon, 50.5 s
REACHABLE = 3.0
IDEAL = {"link": {"latency_s": 0.0}}
FADING = {
    "radio": {
        "reachable": REACHABLE,
        "fading": {"kind": "rayleigh", "hold": "exchange"},
        "rate": {"kind": "fixed", "rate_bps": 1e12},
    }
}
MODES = {"mu1": 1.0, "mu2": 0.3, "c_base": 60.0}


def network(inputs, hidden, classes):
    return nn.Sequential(
        nn.Flatten(),
        nn.BatchNorm1d(inputs),
        nn.Linear(inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    ).double()


def tensors(model):
    """Weights, then running statistics: the order of a row of the simulator."""
    return [p.data for p in model.parameters()] + [model[1].running_mean, model[1].running_var]


def write(model, values):
    for mine, new in zip(tensors(model), values, strict=True):
        mine.copy_(new)


def unpacked(row, model):
    sizes = [t.numel() for t in tensors(model)]
    parts = torch.split(row, sizes)
    return [p.view_as(t) for p, t in zip(parts, tensors(model), strict=True)]


def flat(model):
    return torch.cat([t.reshape(-1) for t in tensors(model)])


def outputs(model, x, form):
    with torch.no_grad():
        logits = model.eval()(x)
    return logits.softmax(1).numpy() if form == "softmax" else logits.numpy()


def weighted_sum(models, shares):
    return [
        sum(share * t for share, t in zip(shares, parts, strict=True))
        for parts in zip(*(tensors(m) for m in models), strict=True)
    ]


@dataclass
class Played:
    models: list[nn.Module]
    stars: list[int] = field(default_factory=list)
    heard: list[list[int]] = field(default_factory=list)
    in_reach: list[list[int]] = field(default_factory=list)
    w: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class Setting:
    """Everything that Algorithm 1 takes as given."""

    slots: int
    exchange_every: int
    learning_rate: float
    initial: torch.Tensor
    inputs: int
    hidden: int
    classes: int
    sizes: list[int]
    batch: Callable  # (node, stream, number) -> x, y
    star: Callable  # exchange number -> node
    reach: Callable  # (exchange number, star) -> ascending nodes


def algorithm_1(
    given,
    mu1=1.0,
    mu2=0.5,
    c_base=300.0,
    delta=1e-6,
    step="elementwise",
    form="softmax",
    broadcast="overwrite",
    plain_mean=False,
):
    """Algorithm 1; `plain_mean` replaces lines 6 to 13 by the mean of all models at hand."""
    M = len(given.sizes)
    model = network(given.inputs, given.hidden, given.classes)
    write(model, unpacked(given.initial, model))
    theta = [copy.deepcopy(model) for _ in range(M)]
    w = np.full((M, M), 1.0 / M)
    np.fill_diagonal(w, 0.0)
    footprints = [{} for _ in range(M)]
    trained, probed = [0] * M, [0] * M
    played = Played(theta)
    for t in range(1, given.slots + 1):
        if t % given.exchange_every == 0:
            n = t // given.exchange_every
            i = given.star(n)
            in_reach = given.reach(n, i)
            received = {j: copy.deepcopy(theta[j]) for j in in_reach}
            for j, footprint in footprints[i].items():
                received.setdefault(j, footprint)
            N = sorted(received)
            if N and plain_mean:
                everybody = [theta[i], *(received[j] for j in N)]
                write(theta[i], weighted_sum(everybody, [1 / len(everybody)] * len(everybody)))
            elif N:
                x, _ = given.batch(i, "probe", probed[i])
                probed[i] += 1
                own = outputs(theta[i], x, form)
                degree = w[i].sum()
                h = []
                for j in N:
                    difference = own - outputs(received[j], x, form)
                    d = sum(float(np.dot(row, row)) for row in difference) / len(difference)
                    h.append(mu1 * d + mu2 * (-1.0 / (degree + delta)))
                length = float(np.sqrt(sum(value**2 for value in h)))
                for j, value in zip(N, h, strict=True):
                    size = abs(value) if step == "elementwise" else length
                    move = value / size if size > 0 else 0.0
                    w[i, j] = max(0.0, w[i, j] - move)
                c = min(given.sizes[i] / c_base, 1 / (len(N) + 1))
                total = sum(w[i, j] for j in N)
                if total > 0:
                    shares = [c] + [(1 - c) * w[i, j] / total for j in N]
                    mixed = weighted_sum([theta[i], *(received[j] for j in N)], shares)
                    write(theta[i], mixed)
            played.stars.append(i)
            played.in_reach.append(in_reach)
            played.heard.append(N)
            played.w.append(w[i].copy())
        elif t % given.exchange_every == 1:
            if t == 1:
                continue  # no exchange has been before the first slot
            i = played.stars[-1]
            for j in played.in_reach[-1]:
                if broadcast == "overwrite":
                    write(theta[j], tensors(theta[i]))
                else:
                    footprints[j][i] = copy.deepcopy(theta[i])
        else:
            for i in range(M):
                x, y = given.batch(i, "train", trained[i])
                trained[i] += 1
                loss = F.cross_entropy(theta[i].train()(x), y)
                theta[i].zero_grad()
                loss.backward()
                with torch.no_grad():
                    for p in theta[i].parameters():
                        p -= given.learning_rate * p.grad
    return played


def setting(simulation):
    """The draws of a run as Algorithm 1's givens."""
    world = simulation.world
    streams, shards = world.streams, world.shards

    def batch(node, stream, number):
        rows = shards.batch_rows(BatchKey(node, stream, number))
        return torch.tensor(world.samples.x[rows]).double(), torch.tensor(world.samples.y[rows])

    def star(n):
        return int(streams.uniform("star", n) * NODES)

    def reach(n, i):
        """Rayleigh: the power gain is exponential; the mean SNR is the same for every pair."""
        others = [j for j in range(NODES) if j != i]
        if world.budget is None:
            return others
        threshold = math.log((NODES - 1) / REACHABLE)
        gains = {j: streams.exponential("fading", min(i, j), max(i, j), i, n) for j in others}
        return [j for j in others if gains[j] >= threshold]

    return Setting(
        slots=SLOTS,
        exchange_every=EVERY,
        learning_rate=0.2,
        initial=world.initial[0],
        inputs=64,
        hidden=16,
        classes=10,
        sizes=[len(rows.train) for rows in shards.rows],
        batch=batch,
        star=star,
        reach=reach,
    )


def who_heard_whom(folder: Path):
    """Per exchange: the star, the peers whose models it got, the peers that got its model."""
    log = pd.read_parquet(folder / "messages")
    log = log[(log.kind == "Model") & (log.outcome == "delivered")]
    exchanges = []
    for _, rows in log.groupby((log.t_sent_s // EVERY).astype(int)):
        replies = rows[rows.t_sent_s % EVERY < 1]
        news = rows[rows.t_sent_s % EVERY >= 1]
        exchanges.append((set(replies.dst), sorted(replies.src), set(news.src), sorted(news.dst)))
    return exchanges


@pytest.mark.slow
@pytest.mark.parametrize("network", [IDEAL, FADING], ids=["ideal", "fading"])
@pytest.mark.parametrize(
    ("params", "reading"),
    [
        ({}, {}),
        ({"broadcast": "cache"}, {"broadcast": "cache"}),
        ({"step": "norm"}, {"step": "norm"}),
        ({"outputs": "logits"}, {"form": "logits"}),
        ({"step": "norm", "broadcast": "cache"}, {"step": "norm", "broadcast": "cache"}),
    ],
    ids=["printed", "cache", "norm", "logits", "norm-cache"],
)
def test_a_run_is_algorithm_1_slot_by_slot(play, models, tmp_path, network, params, reading):
    run = play({"kind": "kd_pdfl", **MODES, **params}, tmp_path / "run", **network)
    expected = algorithm_1(setting(run), **MODES, **reading)

    exchanges = who_heard_whom(tmp_path / "run")
    meetings = zip(expected.stars, expected.in_reach, strict=True)
    assert exchanges == [({i}, N, {i}, N) for i, N in meetings if N][: len(exchanges)]
    assert len(exchanges) == sum(bool(N) for N in expected.in_reach)

    weights = [(node, ref.tensor().numpy()) for _, node, _, ref in logged(run, "learned")]
    mixed = [k for k, N in enumerate(expected.heard) if N]
    assert [node for node, _ in weights] == [expected.stars[k] for k in mixed]
    for (_, w), k in zip(weights, mixed, strict=True):
        np.testing.assert_allclose(w, expected.w[k], rtol=0, atol=1e-9)

    for mine, theirs in zip(models(run), expected.models, strict=True):
        np.testing.assert_allclose(mine.numpy(), flat(theirs).numpy(), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_runs_above_meet_what_they_are_to_show(play, tmp_path):
    """N_i varies, some weights fall to 0 and some do not, both arms of c_i are taken."""
    run = play({"kind": "kd_pdfl", **MODES}, **FADING)
    expected = algorithm_1(setting(run), **MODES)
    assert len({len(N) for N in expected.in_reach}) >= 3
    heard = [w[N] for w, N in zip(expected.w, expected.heard, strict=True)]
    assert any((w == 0).any() and (w > 0).any() for w in heard)
    by_size = {
        run.world.shards.train_size(i) / 60 < 1 / (len(N) + 1)
        for i, N in zip(expected.stars, expected.heard, strict=True)
    }
    assert by_size == {True, False}


@pytest.mark.slow
@pytest.mark.thinned(6)
@pytest.mark.parametrize("network", [IDEAL, FADING], ids=["ideal", "fading"])
@pytest.mark.parametrize("broadcast", ["overwrite", "cache"])
def test_without_mu_and_with_much_data_it_is_fedavg(play, models, network, broadcast):
    shared = {"broadcast": broadcast}
    kd = play({"kind": "kd_pdfl", "mu1": 0.0, "mu2": 0.0, "c_base": 1.0, **shared}, **network)
    mean = play({"kind": "fedavg", **shared}, **network)
    expected = algorithm_1(setting(kd), plain_mean=True, **shared)
    for a, b, c in zip(models(kd), models(mean), expected.models, strict=True):
        np.testing.assert_allclose(a.numpy(), flat(c).numpy(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(b.numpy(), flat(c).numpy(), rtol=0, atol=1e-9)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("absent", ["renormalise", "self", "last"])
def test_it_is_fedavg_where_messages_get_lost_too(play, models, absent):
    """Half of all messages are lost, the same ones in both runs."""
    lossy = {"link": {"loss": 0.5}}
    kd = play({"kind": "kd_pdfl", "mu1": 0.0, "mu2": 0.0, "c_base": 1.0, "absent": absent}, **lossy)
    mean = play({"kind": "fedavg", "absent": absent}, **lossy)
    for a, b in zip(models(kd), models(mean), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_run_measures_what_its_last_models_score(play, tmp_path):
    run = play({"kind": "kd_pdfl", **MODES}, **FADING)
    expected = algorithm_1(setting(run), **MODES)
    samples = run.world.samples
    scores = []
    for model, rows in zip(expected.models, run.world.shards.rows, strict=True):
        x = torch.tensor(samples.x[rows.test]).double()
        with torch.no_grad():
            guesses = model.eval()(x).argmax(1).numpy()
        scores.append((guesses == samples.y[rows.test]).mean())
    assert run.score == pytest.approx(np.mean(scores), abs=1e-12)
