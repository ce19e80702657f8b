"""SPARQ-SGD against Algorithm 1, written down in plain PyTorch."""

import pandas as pd
import pytest
import torch

from .transcription import (
    LOSSY,
    NODES,
    RATE,
    RING,
    ROUNDS,
    STACKED,
    UNEVEN,
    WORLD,
    Given,
    difference,
    metropolis,
    sgd,
    shown,
)

ALGORITHM = {"kind": "sparq_sgd", "local_steps": 3, "gamma": 0.6, "threshold": 20.0}
FOUR_BITS = {"kind": "uniform", "bits": 4}
WORLDS = {"peers": WORLD, "ring": RING, "uneven": UNEVEN, "stacked": STACKED}


def four_bits(x):
    step = (x.max() - x.min()) / 15
    return x.min() + step * torch.round((x - x.min()) / step)


def transcribed(run, compress, threshold, growth=0.0, rounds=ROUNDS):
    """Models after all rounds, and who sent in each."""
    given, gamma = Given(run), run.entry.params.gamma
    neighbours = [node.neighbours for node in run.nodes]
    w = metropolis(neighbours)
    x = [given.initial for _ in range(NODES)]
    known = [given.initial for _ in range(NODES)]
    senders = []
    for t in range(rounds):
        x = [sgd(x[i], given.batches(i, 3 * t, 3)) for i in range(NODES)]
        c = threshold * (3 * (t + 1)) ** growth
        sends = [float((x[i] - known[i]).square().sum()) > c * RATE**2 for i in range(NODES)]
        known = [
            known[i] + compress(x[i] - known[i]) if sends[i] else known[i] for i in range(NODES)
        ]
        x = [
            x[i] + gamma * sum(w[i, j] * (known[j] - known[i]) for j in neighbours[i])
            for i in range(NODES)
        ]
        senders.append({i for i in range(NODES) if sends[i]})
    return x, senders


@pytest.mark.thinned(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("compression", [None, FOUR_BITS])
def test_algorithm_1(play, tmp_path, world, compression):
    algorithm = ALGORITHM | ({} if compression is None else {"compression": compression})
    run = play(algorithm, tmp_path, **WORLDS[world])
    compress = four_bits if compression else lambda x: x
    expected, senders = transcribed(run, compress, 20.0)
    assert difference(shown(run, "mixed"), expected) < 1e-12
    log = pd.read_parquet(tmp_path / "messages")
    assert [set(log[log["round"] == t + 1].src) for t in range(ROUNDS)] == senders
    size = len(expected[0])
    each = 4 * size + 2 * 32 if compression else 32 * size
    assert set(log.bits) == {each + 64}


@pytest.mark.slow
def test_a_threshold_keeps_nodes_silent(play, tmp_path):
    """Some nodes send and some do not: the threshold of the test above decides something."""
    run = play(ALGORITHM, tmp_path, **WORLD)
    _, senders = transcribed(run, lambda x: x, 20.0)
    assert 0 < sum(map(len, senders)) < NODES * ROUNDS


@pytest.mark.slow
def test_a_threshold_may_grow(play):
    run = play(ALGORITHM | {"threshold": 2.0, "growth": 0.9}, **WORLD)
    expected, senders = transcribed(run, lambda x: x, 2.0, 0.9)
    assert difference(shown(run, "mixed"), expected) < 1e-12
    assert 0 < sum(map(len, senders)) < NODES * ROUNDS


@pytest.mark.slow
def test_without_threshold_and_compression_it_is_gossip(play):
    plain = {"kind": "sparq_sgd", "local_steps": 3, "threshold": 0.0}
    run = play(plain, **UNEVEN)
    other = play({"kind": "dfedavgm", "local_steps": 3}, **UNEVEN)
    assert difference(shown(run, "mixed"), shown(other, "mixed")) < 1e-12


def states(run):
    """Return the state of each node, out of its waiting process."""
    found = {}
    for i, processes in enumerate(run._processes):
        guarded = dict(processes)["on_round"]._generator.gi_frame.f_locals["generator"]
        found[i] = guarded.gi_frame.f_locals["self"]
    return found


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "exchange",
    [
        {"schedule": "rounds", "interval_s": 10.0},
        {"schedule": "poisson", "rate_hz": 0.2},
    ],
)
def test_what_was_lost_is_asked_for(play, tmp_path, exchange):
    """Over lossy links, two nodes with the same number know the same of a third."""
    compression = {"compression": {"kind": "qsgd"}}
    algorithm = ALGORITHM | {"threshold": 0.0, "timeout_s": 0.2, **compression}
    run = play(algorithm, tmp_path, **LOSSY | {"exchange": exchange})
    log = pd.read_parquet(tmp_path / "messages")
    assert {"Change", "Missed", "Known"} <= set(log.kind)
    known = states(run)
    by_number = {}
    for state in known.values():
        for j, copy in state.copies.items():
            by_number.setdefault((j, copy.number), []).append(copy.x.tensor())
            assert copy.number <= known[j].own.number
    assert sum(len(rows) > 1 for rows in by_number.values()) > 2
    for (j, number), rows in by_number.items():
        if number == known[j].own.number:
            rows.append(known[j].own.x.tensor())
        assert difference(rows, [rows[0]] * len(rows)) < 1e-12
    assert max(number for _, number in by_number) > 3
