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
    SERVER,
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.thinned(6)
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


PRINTED = {"largest_step": 1e9}


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


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, STACKED])
@pytest.mark.parametrize(("graph", "receivers"), [("random", 1), ("random", 2), ("exponential", 1)])
def test_sgp(play, world, graph, receivers):
    algorithm = {"kind": "sgp", "graph": graph, "receivers": receivers, **PRINTED}
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


def test_sgp_bounds_its_steps(play):
    """As above with steps of 2 eta at most: they are of z, which is x / w."""
    run = play({"kind": "sgp"}, **WORLD | {"horizon_s": 299.0})
    given = Given(run)
    z, w = [given.initial for _ in range(NODES)], np.ones(NODES)
    bounded = 0
    for t in range(5):
        bounded += (1 / w > 2).sum()
        steps = [RATE * min(1 / w[i], 2.0) for i in range(NODES)]
        z = [z[i] - steps[i] * gradient(z[i], given.batches(i, t, 1)[0]) for i in range(NODES)]
        p = column_stochastic(run, "random", 1, t) * w
        w = p.sum(1)
        z = [sum(p[i, j] / w[i] * z[j] for j in range(NODES)) for i in range(NODES)]
    assert difference(shown(run, "mixed"), z) < 1e-12
    assert bounded > 0


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, STACKED])
def test_dfedpgp(play, world):
    run = play({"kind": "dfedpgp", "head_steps": 2, "local_steps": 3, **PRINTED}, **world)
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


@pytest.mark.slow
@pytest.mark.parametrize("world", [UNEVEN, STACKED])
@pytest.mark.parametrize("gossip_steps", [1, 3])
def test_dfedsam(play, world, gossip_steps):
    algorithm = {"kind": "dfedsam", "rho": 0.3, "local_steps": 2, "gossip_steps": gossip_steps}
    run = play(algorithm, **world)
    given = Given(run)
    w = metropolis([node.neighbours for node in run.nodes])
    mixing = np.linalg.matrix_power(w, gossip_steps)
    z = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        for i in range(NODES):
            for batch in given.batches(i, 2 * t, 2):
                g = gradient(z[i], batch)
                z[i] = z[i] - RATE * gradient(z[i] + 0.3 * g / g.norm(), batch)
        z = [sum(mixing[i, j] * z[j] for j in range(NODES)) for i in range(NODES)]
    assert difference(shown(run, "mixed"), z) < 1e-12


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [UNEVEN, STACKED])
def test_deprl(play, world):
    run = play({"kind": "deprl", "head_steps": 3, "base_learning_rate": 0.05}, **world)
    given = Given(run)
    p = metropolis([node.neighbours for node in run.nodes])
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        for i in range(NODES):
            for batch in given.batches(i, 4 * t, 3):
                x[i] = torch.cat([x[i][BASE], (x[i] - RATE * gradient(x[i], batch))[HEAD]])
            (batch,) = given.batches(i, 4 * t + 3, 1)
            x[i] = torch.cat([(x[i] - 0.05 * gradient(x[i], batch))[BASE], x[i][HEAD]])
        phi = [sum(p[i, j] * x[j][BASE] for j in range(NODES)) for i in range(NODES)]
        x = [torch.cat([phi[i], x[i][HEAD]]) for i in range(NODES)]
    assert difference(shown(run, "mixed"), x) < 1e-12


def choices(run, i, count, among):
    """The first of each draw from peers that may become fewer: `among(k)` those of draw k."""
    first, found = 0, []
    for k in range(count):
        peers = among(k)
        keys = Given(run).draws(i, "receiver", first, len(peers))
        first += len(peers)
        found.append(peers[int(np.argmin(keys))])
    return found


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, STACKED])
def test_pens(play, world):
    """Both stages: three rounds of comparing pairs of models, two among those found."""
    select, rounds = 6, 9
    algorithm = {"kind": "pens", "sampled": 2, "kept": 1, "selection_rounds": select}
    run = play(algorithm | {"local_steps": 2}, **world | {"horizon_s": 539.0})
    given = Given(run)
    x = [given.initial for _ in range(NODES)]
    others = [run.nodes[i].neighbours for i in range(NODES)]
    found = list(others)
    waiting = [[] for _ in range(NODES)]
    sampled, kept = np.zeros((NODES, NODES)), np.zeros((NODES, NODES))
    for t in range(rounds):
        x = [sgd(x[i], given.batches(i, 2 * t, 2)) for i in range(NODES)]
        to = [
            choices(run, i, t + 1, lambda k, i=i, now=found: others[i] if k < select else now[i])[t]
            for i in range(NODES)
        ]
        came = [[(j, x[j]) for j in range(NODES) if to[j] == i] for i in range(NODES)]
        for i in range(NODES):
            if t >= select:
                good = [row for j, row in came[i] if j in found[i]]
                x[i] = (x[i] + sum(good)) / (1 + len(good))
                continue
            waiting[i] += came[i]
            while len(waiting[i]) >= 2:
                pair, waiting[i] = waiting[i][:2], waiting[i][2:]
                losses = [cross_entropy(row, *given.split(i, "train")) for _, row in pair]
                best = int(losses[1] < losses[0])
                for k, (j, _) in enumerate(pair):
                    sampled[i, j] += 1
                    kept[i, j] += k == best
                x[i] = (x[i] + pair[best][1]) / 2
        if t == select - 1:
            found = [
                tuple(j for j in others[i] if kept[i, j] > sampled[i, j] / 2) or others[i]
                for i in range(NODES)
            ]
    assert difference(shown(run, "mixed"), x) < 1e-12
    assert any(len(found[i]) < NODES - 1 for i in range(NODES))


def low_rank(run, row, factors, rank=2, alpha=3.0):
    """W_0 + (alpha / r) B A of both layers; factors A_1 B_1 A_2 B_2 in a row."""
    sizes = [(12, 64), (10, 12)]
    pieces = torch.split(factors, [s for o, n in sizes for s in (rank * n, o * rank)])
    w1, b1, w2, b2 = torch.split(row, [12 * 64, 12, 10 * 12, 10])
    found = []
    for w, (o, n), a, b in zip((w1, w2), sizes, pieces[::2], pieces[1::2], strict=True):
        found.append(w + alpha / rank * (b.view(o, rank) @ a.view(rank, n)).flatten())
    return torch.cat([found[0], b1, found[1], b2])


@pytest.mark.thinned(12)
@pytest.mark.parametrize("world", [UNEVEN, STACKED])
def test_dec_lora(play, tmp_path, world):
    algorithm = {"kind": "dec_lora", "rank": 2, "alpha": 3.0, "local_steps": 3}
    run = play(algorithm, tmp_path, **world)
    given = Given(run)
    w = metropolis([node.neighbours for node in run.nodes])
    (u,) = run.world.streams.uniforms("common/factors", counters=range(1))
    generator = torch.Generator().manual_seed(int(u * 2**31))
    first = []
    for o, n in ((12, 64), (10, 12)):
        a = torch.rand(2 * n, generator=generator, dtype=torch.float64)
        first += [(2 * a - 1) / n**0.5, torch.zeros(o * 2, dtype=torch.float64)]
    factors = [torch.cat(first) for _ in range(NODES)]

    def loss(row, x, y):
        return cross_entropy(low_rank(run, given.initial, row), x, y)

    for t in range(ROUNDS):
        factors = [sgd(factors[i], given.batches(i, 3 * t, 3), loss) for i in range(NODES)]
        factors = [sum(w[i, j] * factors[j] for j in range(NODES)) for i in range(NODES)]
    expected = [low_rank(run, given.initial, row) for row in factors]
    assert difference(shown(run, "mixed"), expected) < 1e-12
    log = pd.read_parquet(tmp_path / "messages")
    assert set(log.bits) == {32 * (2 * (12 + 64) + 2 * (10 + 12)) + 32}


def kept_entries(density):
    """Erdos-Renyi-Kernel numbers of the two matrices: start, stop, entries kept."""
    sizes, sums = (12 * 64, 10 * 12), (12 + 64, 10 + 12)
    scale = density * sum(sizes) / sum(sums)
    return [(0, 768, round(scale * sums[0])), (780, 900, round(scale * sums[1]))]


@pytest.mark.slow
@pytest.mark.parametrize("world", [UNEVEN, STACKED])
def test_dispfl(play, tmp_path, world):
    density, alpha_0, rounds = 0.4, 0.3, 20
    algorithm = {"kind": "dispfl", "density": density, "prune": alpha_0, "anneal_rounds": rounds}
    run = play(algorithm | {"local_steps": 3}, tmp_path, **world)
    given, layers = Given(run), kept_entries(density)
    w, m = [], []
    for i in range(NODES):
        seed = int(given.draws(i, "mask", 0, 1)[0] * 2**31)
        generator, mask = torch.Generator().manual_seed(seed), torch.ones(910).double()
        for start, stop, kept in layers:
            order = torch.randperm(stop - start, generator=generator)
            mask[start:stop] = 0
            mask[start + order[:kept]] = 1
        w.append(given.initial * mask)
        m.append(mask)
    first = [mask.clone() for mask in m]
    for t in range(ROUNDS):
        near = [(i, *run.nodes[i].neighbours) for i in range(NODES)]
        total, count = ([sum(v[j] for j in near[i]) for i in range(NODES)] for v in (w, m))
        w = [total[i] / count[i].clamp(min=1) * m[i] for i in range(NODES)]
        for i in range(NODES):
            for batch in given.batches(i, 3 * t, 3):
                w[i] = w[i] - RATE * m[i] * gradient(w[i], batch)
        trained = [row.clone() for row in w]
        for i in range(NODES):
            g = gradient(w[i], given.batches(i, t, 1, "probe")[0])
            share = alpha_0 / 2 * (1 + np.cos(np.pi * t / rounds))
            for start, stop, kept in layers:
                moved = int(share * kept)
                inside = [k for k in range(start, stop) if m[i][k]]
                outside = [k for k in range(start, stop) if not m[i][k]]
                m[i][sorted(inside, key=lambda k: abs(float(w[i][k])))[:moved]] = 0
                m[i][sorted(outside, key=lambda k: -abs(float(g[k])))[:moved]] = 1
            w[i] = w[i] * m[i]
    assert difference(shown(run, "trained"), trained) < 1e-12
    assert all(float((a - b).abs().sum()) > 0 for a, b in zip(first, m, strict=True))
    log = pd.read_parquet(tmp_path / "messages")
    whole = 910 - 768 - 120
    assert set(log.bits) == {32 * (sum(kept for *_, kept in layers) + whole) + 768 + 120}


@pytest.mark.slow
@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [RING, STACKED])
def test_divshare(play, tmp_path, world):
    """Fragments of a round, in the order in which each node draws them, averaged one by one."""
    n, size = 4, 910
    algorithm = {"kind": "divshare", "fraction": 0.25, "receivers": 2, "local_steps": 2}
    run = play(algorithm, tmp_path, **world)
    given = Given(run)
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        x = [sgd(x[i], given.batches(i, 2 * t, 2)) for i in range(NODES)]
        total, count = [row.clone() for row in x], [torch.ones(size).double() for _ in x]
        for i in range(NODES):
            order = np.argsort(given.draws(i, "order", n * t, n), kind="stable")
            to = drawn(run, i, "receivers", n * (t + 1))[n * t :]
            for number, receivers in zip(order, to, strict=True):
                for j in receivers[:2]:
                    for k in range(int(number), size, n):
                        total[j][k] += x[i][k]
                        count[j][k] += 1
        x = [total[i] / count[i] for i in range(NODES)]
    assert difference(shown(run, "mixed"), x) < 1e-12
    log = pd.read_parquet(tmp_path / "messages")
    assert set(log.bits) == {32 * (-(-size // n)) + 32, 32 * (size // n) + 32}
    assert log[log["round"] == 1].bits.sum() == 2 * NODES * (32 * size + 32 * n)


def pushes(folder):
    """(wake-up number, worker) of all pushes, in the order in which they came to the server."""
    log = pd.read_parquet(folder / "messages")
    log = log[log.kind.astype(str) == "Push"].sort_values("t_done_s", kind="stable")
    return list(zip(log["round"] - 1, log.src, log.t_done_s, strict=True))


def pulls(folder):
    """{(wake-up number, worker): time at which the server answered}."""
    log = pd.read_parquet(folder / "messages")
    log = log[log.kind.astype(str) == "Pull"]
    return {(n - 1, i): t for n, i, t in zip(log["round"], log.src, log.t_done_s, strict=True)}


ANSWERED = SERVER | {"exchange": CLOCKS["exchange"], "link": {"latency_s": 0.37}}
POLYNOMIAL = {"kind": "polynomial", "a": 0.5}


@pytest.mark.parametrize("unit", ["versions", "seconds"])
@pytest.mark.parametrize("kind", ["fedasync", "fedbuff"])
@pytest.mark.slow
def test_a_server_takes_models_as_they_come(play, tmp_path, kind, unit):
    """Both Algorithms 1 in the order of the events: workers pull at x_tau, and push to x_t."""
    staleness = POLYNOMIAL | {"unit": unit}
    own = {"alpha": 0.5, "strength": 0.3} if kind == "fedasync" else {"buffer": 3}
    own |= {"server_learning_rate": 0.7} if kind == "fedbuff" else {}
    run = play(
        {"kind": kind, "local_steps": 2, "staleness": staleness, **own}, tmp_path, **ANSWERED
    )
    given = Given(run)
    asked = sorted((t, 0, key) for key, t in pulls(tmp_path).items())
    came = [(t, 1, (n, i)) for n, i, t in pushes(tmp_path)]
    x, version, made_s, buffer, ages = given.initial, 0, [0.0], [], []
    pulled, count = {}, [0] * NODES
    for t, is_push, (n, i) in sorted(asked + came, key=lambda event: event[:2]):
        if not is_push:
            pulled[n, i] = x, version
            continue
        start, tau = pulled[n, i]
        trained = start
        for batch in given.batches(i, count[i], 2):
            g = gradient(trained, batch) + own.get("strength", 0.0) * (trained - start)
            trained = trained - RATE * g
        count[i] += 2
        ages.append(version - tau)
        s = (1 + (t - made_s[tau] if unit == "seconds" else version - tau)) ** -0.5
        if kind == "fedasync":
            x = (1 - 0.5 * s) * x + 0.5 * s * trained
        else:
            buffer.append(s * (trained - start))
            if len(buffer) < 3:
                continue
            x, buffer = x + 0.7 * sum(buffer) / 3, []
        version += 1
        made_s.append(t)
    last = {i: pulled[max(key for key in pulled if key[1] == i)][0] for i in range(NODES)}
    received = {i: t for (_, i), t in sorted(pulls(tmp_path).items(), key=lambda one: one[1])}
    done = [i for i in range(NODES) if received[i] + 0.37 <= 179.0]
    found = shown(run, "mixed")
    assert difference([found[i] for i in done], [last[i] for i in done]) < 1e-12
    assert len(done) > 2
    assert max(ages) > 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["fedasync", "fedbuff"])
def test_nodes_that_are_their_own_servers(play, kind):
    """In rounds, neighbours' models one after the other by id; s is 1."""
    own = {"alpha": 0.5} if kind == "fedasync" else {"buffer": 2}
    run = play({"kind": kind, "local_steps": 2, **own}, **RING)
    given = Given(run)
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        sent = [sgd(x[i], given.batches(i, 2 * t, 2)) for i in range(NODES)]
        for i in range(NODES):
            x[i] = sent[i]
            near = [sent[j] for j in run.nodes[i].neighbours]
            if kind == "fedasync":
                for row in near:
                    x[i] = 0.5 * x[i] + 0.5 * row
            else:
                x[i] = (x[i] + sum(near)) / 3
    assert difference(shown(run, "mixed"), x) < 1e-12
