"""Asynchronous and decentralised methods against their pseudocode, written down in plain PyTorch.

The transcriptions use no part of the simulator. They are given as data: the initial model, each
node's samples and the order in which it takes them, whom it draws, and when it wakes.
"""

import numpy as np
import pandas as pd
import pytest
import torch

from .transcription import (
    BASE,
    HEAD,
    NODES,
    RATE,
    RING,
    ROUNDS,
    STACKED,
    UNEVEN,
    WORLD,
    Given,
    cross_entropy,
    difference,
    gradient,
    metropolis,
    sgd,
    shown,
)

CLOCKS = WORLD | {"exchange": {"schedule": "periodic", "period_s": 7.0, "slot_s": 1.0}}
"""Each node wakes every 7 s, at a phase of its own; a local step takes 1 s."""


def drawn(run, i, purpose, calls):
    """The peers of node i in the order of each of so many draws, as `node.permutation` has it."""
    peers = run.nodes[i].neighbours
    found = []
    for k in range(calls):
        keys = Given(run).draws(i, purpose, k * len(peers), len(peers))
        found.append([peers[a] for a in np.argsort(keys, kind="stable")])
    return found


def woken(folder):
    """(time, node) of all wake-ups, in order."""
    wakes = pd.read_parquet(folder / "wakes")
    woke = wakes[wakes.what.astype(str) == "woke"]
    return sorted(zip(woke.t_s, woke.node, strict=True))


@pytest.mark.parametrize("world", [CLOCKS, CLOCKS | {"topology": {"kind": "ring"}}])
def test_ad_psgd(play, tmp_path, world):
    """Lines 2 to 4, in the order of the events: a step that began before others' averages."""
    run = play({"kind": "ad_psgd"}, tmp_path, **world)
    given = Given(run)
    wakes = woken(tmp_path)
    events = [(t, 0, i) for t, i in wakes] + [(t + 1.0, 1, i) for t, i in wakes if t + 1.0 <= 179.0]
    x = [given.initial for _ in range(NODES)]
    older, count, between = {}, [0] * NODES, 0
    for _, ends, i in sorted(events):
        if not ends:
            older[i] = x[i]
            j = drawn(run, i, "neighbour", count[i] + 1)[-1][0]
            x[i] = x[j] = (x[i] + x[j]) / 2
            older[i] = older[i], x[i]
            continue
        began, averaged = older.pop(i)
        between += x[i] is not averaged
        x[i] = x[i] - RATE * gradient(began, given.batches(i, count[i], 1)[0])
        count[i] += 1
    assert difference(shown(run, "mixed"), x) < 1e-12
    assert between > 3  # the gradient was taken at an older model than the node's last average


@pytest.mark.parametrize("world", [UNEVEN, STACKED])
@pytest.mark.parametrize("influence", ["equal", "sizes"])
def test_swift_in_rounds(play, world, influence):
    """Algorithm 1 with every node active at once, s = 1: models are mixed in every other one."""
    algorithm = {"kind": "swift", "influence": influence, "exchange_every": 2}
    run = play(algorithm, **world | {"horizon_s": 299.0})
    given = Given(run)
    neighbours = [node.neighbours for node in run.nodes]
    p = given.sizes if influence == "sizes" else [1] * NODES
    w = np.zeros((NODES, NODES))
    for i in range(NODES):
        for j in neighbours[i]:
            ours, theirs = (p[k] + sum(p[m] for m in neighbours[k]) for k in (i, j))
            w[i, j] = p[j] / max(ours, theirs)
        w[i, i] = 1 - w[i].sum()
    expected = np.diag(p) @ w
    assert np.allclose(expected, expected.T)  # p_i w_ij = p_j w_ji
    assert (w.diagonal() > 0).all()
    x = [given.initial for _ in range(NODES)]
    first = True
    for t in range(5):
        steps = [RATE * gradient(x[i], given.batches(i, t, 1)[0]) for i in range(NODES)]
        if t % 2:
            mixing = w.copy()
            if first and influence == "sizes":  # s_i is known once all p_j have come
                guessed = [p[k] * (1 + len(neighbours[k])) for k in range(NODES)]
                mixing = np.zeros((NODES, NODES))
                for i in range(NODES):
                    known = p[i] + sum(p[j] for j in neighbours[i])
                    for j in neighbours[i]:
                        mixing[i, j] = p[j] / max(known, guessed[j])
                    mixing[i, i] = 1 - mixing[i].sum()
            first = False
            x = [sum(mixing[i, j] * x[j] for j in range(NODES)) - steps[i] for i in range(NODES)]
        else:
            x = [x[i] - steps[i] for i in range(NODES)]
    assert difference(shown(run, "mixed"), x) < 1e-12


def test_swift_waits_for_nobody(play, tmp_path):
    """In the order of the events: each node mixes what it was sent last, however old."""
    run = play({"kind": "swift"}, tmp_path, **CLOCKS)
    given = Given(run)
    x = [given.initial for _ in range(NODES)]
    held = [{} for _ in range(NODES)]
    count = [0] * NODES
    for t, i in woken(tmp_path):
        others = [j for j in range(NODES) if j != i]
        for j in others:
            held[j][i] = x[i]
        if t + 1.0 > 179.0:
            continue
        own = 1 - len(held[i]) / NODES
        mixed = own * x[i] + sum(held[i].values()) / NODES
        x[i] = mixed - RATE * gradient(x[i], given.batches(i, count[i], 1)[0])
        count[i] += 1
    assert difference(shown(run, "mixed"), x) < 1e-12


@pytest.mark.parametrize("world", [WORLD, RING, STACKED])
def test_epidemic_learning(play, world):
    run = play({"kind": "epidemic", "receivers": 2, "local_steps": 2}, **world)
    given = Given(run)
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        x = [sgd(x[i], given.batches(i, 2 * t, 2)) for i in range(NODES)]
        to = [drawn(run, i, "receivers", t + 1)[t][:2] for i in range(NODES)]
        came = [[x[j] for j in range(NODES) if i in to[j]] for i in range(NODES)]
        x = [(x[i] + sum(came[i])) / (1 + len(came[i])) for i in range(NODES)]
    assert difference(shown(run, "mixed"), x) < 1e-12


def column_stochastic(run, graph, receivers, t):
    """P of round t: node j keeps P_jj and pushes P_ij to i."""
    p = np.zeros((NODES, NODES))
    for j in range(NODES):
        if graph == "random":
            to = drawn(run, j, "receivers", t + 1)[t][:receivers]
        else:
            to = [(j + [1, 2, 4][t % 3]) % NODES]
        for i in (j, *to):
            p[i, j] = 1 / (1 + len(to))
    assert np.allclose(p.sum(0), 1)
    return p


@pytest.mark.parametrize("world", [WORLD, STACKED])
@pytest.mark.parametrize(("graph", "receivers"), [("random", 1), ("random", 2), ("exponential", 1)])
def test_sgp(play, world, graph, receivers):
    algorithm = {"kind": "sgp", "graph": graph, "receivers": receivers}
    run = play(algorithm, **world | {"horizon_s": 299.0})
    given = Given(run)
    x, w = [given.initial for _ in range(NODES)], np.ones(NODES)
    for t in range(5):
        z = [x[i] / w[i] for i in range(NODES)]
        half = [x[i] - RATE * gradient(z[i], given.batches(i, t, 1)[0]) for i in range(NODES)]
        p = column_stochastic(run, graph, receivers, t)
        x = [sum(p[i, j] * half[j] for j in range(NODES)) for i in range(NODES)]
        w = p @ w
    assert difference(shown(run, "mixed"), [x[i] / w[i] for i in range(NODES)]) < 1e-12
    assert graph == "exponential" or w.std() > 0.1


@pytest.mark.parametrize("world", [WORLD, STACKED])
def test_dfedpgp(play, world):
    run = play({"kind": "dfedpgp", "head_steps": 2, "local_steps": 3}, **world)
    given = Given(run)
    u, v = ([given.initial[part] for _ in range(NODES)] for part in (BASE, HEAD))
    mu = np.ones(NODES)
    for t in range(ROUNDS):
        for i in range(NODES):
            for batch in given.batches(i, 5 * t, 2):
                v[i] = v[i] - RATE * gradient(torch.cat([u[i] / mu[i], v[i]]), batch)[HEAD]
            for batch in given.batches(i, 5 * t + 2, 3):
                u[i] = u[i] - RATE * gradient(torch.cat([u[i] / mu[i], v[i]]), batch)[BASE]
        p = column_stochastic(run, "random", 1, t)
        u = [sum(p[i, j] * u[j] for j in range(NODES)) for i in range(NODES)]
        mu = p @ mu
    expected = [torch.cat([u[i] / mu[i], v[i]]) for i in range(NODES)]
    assert difference(shown(run, "mixed"), expected) < 1e-12
    assert mu.std() > 0.1
