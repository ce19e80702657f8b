"""Whole runs of pFedGraph against Algorithm 1, written down in plain PyTorch.

The transcription solves each row of the graph by bisection, regularises through autograd and takes
from a run what Algorithm 1 is given: the initial model, each client's samples and their order.
"""

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from algorithms.pfedgraph import Params
from netsim.learning.jobs import BatchKey

from .weights import logged

CLIENTS, ROUNDS, STEPS, LAM = 4, 3, 4, 0.5
WITH_SERVER = {
    "nodes": {
        "count": CLIENTS + 1,
        "groups": [
            {"name": "clients", "count": CLIENTS},
            {"name": "server", "count": 1, "role": "server"},
        ],
    },
    "topology": {"kind": "hub"},
}
WITHOUT = {"nodes": {"count": CLIENTS}, "topology": {"kind": "complete"}}
WORLD = {
    "horizon_s": 10.0 * ROUNDS - 1,
    "exchange": {"schedule": "rounds", "interval_s": 10.0},
    "data": {
        "kind": "digits",
        "validation": 0.2,
        "partition": {
            "kind": "class_mix",
            "alpha": 0.3,
            "train_min": 20,
            "train_max": 50,
            "test_samples": 30,
        },
    },
    "training": {
        "learning_rate": 0.1,
        "momentum": 0.9,
        "weight_decay": 0.001,
        "batch_size": 8,
        "dtype": "float64",
    },
    "metrics": {"every_s": 10.0, "weights": False},
}


def network():
    return nn.Sequential(
        nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10)
    ).double()


PARAMETERS = sum(p.numel() for p in network().parameters())
NORMALISATION = 2 * 64  # what the variant "fc" does not compare: BatchNorm's weights and biases


def unpack(row, model):
    """A row is the parameters, then running means and variances."""
    nn.utils.vector_to_parameters(row[:PARAMETERS].clone(), model.parameters())
    model[1].running_mean, model[1].running_var = row[PARAMETERS:].clone().split(64)


def pack(model):
    theta = nn.utils.parameters_to_vector(model.parameters()).detach()
    return torch.cat([theta, model[1].running_mean, model[1].running_var])


def nearness(flat, direction, metric):
    """Similarity that Eq. (3) makes larger, by the metric of Table 5."""
    if metric == "cosine":
        return F.cosine_similarity(flat, direction, dim=0) * direction.norm()
    if metric == "inner":
        return (flat * direction).sum()
    return -(flat - direction).abs().pow(int(metric[1])).sum()


def local_steps(run, i, row, drawn, direction, strength, metric):
    """tau steps of SGD with momentum, fresh every round, on H_i (Eq. 3)."""
    model = network().train()
    unpack(row, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.001)
    for _ in range(STEPS):
        index = torch.from_numpy(run.learning.shards.batch_rows(BatchKey(i, "train", drawn[i])))
        drawn[i] += 1
        loss = F.cross_entropy(model(run.learning.shards.x[index]), run.learning.shards.y[index])
        if direction is not None:
            flat = nn.utils.parameters_to_vector(model.parameters())
            loss = loss + strength * nearness(flat, direction, metric)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    return pack(model)


def simplex_row(s, p, alpha):
    """argmin ||x - p||^2 - alpha s.x on the simplex: max(0, v - shift), the shift by bisection."""
    v = p + alpha / 2 * s
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(v - low, 0)


def likeness(a, b, metric):
    if metric == "cosine":
        return a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)
    if metric == "inner":
        return (a @ b) / (a @ a)
    return 1 / (1 + (np.abs(a - b).sum() if metric == "l1" else np.sqrt(((a - b) ** 2).sum())))


def algorithm_1(
    run,
    fc=False,
    approx=False,
    sign="paper",
    alpha=1 / (0.08 * CLIENTS),
    forged=None,
    equal=False,
    metric="cosine",
    regulariser="cosine",
):
    """Algorithm 1; `forged(row, i, t)` is what client i uploads in round t in place of row.

    Without an alpha weights are by similarity alone.
    """
    strength = -LAM / 2 if sign == "paper" else LAM
    initial = run.world.initial[0]
    start = NORMALISATION if fc else 0
    theta, directions, drawn = [initial] * CLIENTS, [None] * CLIENTS, [0] * CLIENTS
    sizes = np.array([run.learning.shards.train_size(i) for i in range(CLIENTS)])
    graphs, trained = [], []
    for t in range(ROUNDS):
        trained = [
            local_steps(run, i, theta[i], drawn, directions[i], strength, regulariser)
            for i in range(CLIENTS)
        ]
        sent = [forged(row, i, t) if forged else row for i, row in enumerate(trained)]
        w = np.zeros((CLIENTS, CLIENTS))
        for i in range(CLIENTS):
            s = np.zeros(CLIENTS)
            for j in range(CLIENTS):
                a, b = ((row - initial)[start:PARAMETERS].numpy() for row in (sent[i], sent[j]))
                s[j] = likeness(a, b, metric)
                s[j] = 1.0 if s[j] > 0.9 else s[j]
            p = np.full(CLIENTS, 1 / CLIENTS) if equal else sizes / sizes.sum()
            positive = np.maximum(s, 0)
            w[i] = positive / positive.sum() if alpha is None else simplex_row(s, p, alpha)
        graphs.append(w)
        theta = [sum(w[i, j] * sent[j] for j in range(CLIENTS)) for i in range(CLIENTS)]
        for i in range(CLIENTS):
            if regulariser != "cosine":
                directions[i] = theta[i][:PARAMETERS]
            elif approx:
                directions[i] = theta[i][:PARAMETERS] / theta[i][:PARAMETERS].norm()
            else:
                parts = [row[:PARAMETERS] for row in sent]
                directions[i] = sum(w[i, j] * part / part.norm() for j, part in enumerate(parts))
    return graphs, trained, theta


def compare(run, expected):
    graphs, trained, mixed = expected
    for t, graph in enumerate(graphs):
        due = [(i, ids, ref) for at, i, ids, ref in logged(run) if at // 10**10 == t]
        assert sorted(i for i, _, _ in due) == list(range(CLIENTS))
        for i, ids, ref in due:
            assert list(ids) == list(range(CLIENTS))
            mine = ref.tensor().numpy()
            assert ((mine > 0) == (graph[i] > 1e-12)).all()
            np.testing.assert_allclose(mine, graph[i], rtol=0, atol=1e-9)
    for i in range(CLIENTS):
        published = run.parts[i].publishing.published
        for stage, rows in (("trained", trained), ("mixed", mixed)):
            torch.testing.assert_close(published[stage].ref.tensor(), rows[i], rtol=0, atol=1e-9)


ALGORITHM = {"kind": "pfedgraph", "steps": STEPS, "lam": LAM}


@pytest.mark.thinned(32)
@pytest.mark.parametrize("place", [WITH_SERVER, WITHOUT], ids=["server", "peers"])
@pytest.mark.parametrize(
    ("params", "reading"),
    [
        ({}, {}),
        ({"layers": "fc"}, {"fc": True}),
        ({"direction": "approx"}, {"approx": True}),
        ({"sign": "code"}, {"sign": "code"}),
        ({"alpha": 0.2, "layers": "fc", "direction": "approx"}, None),
        ({"sizes": "equal"}, {"equal": True}),
        ({"graph": "similarity"}, {"alpha": None}),
        ({"similarity": "inner", "regulariser": "inner"}, {"metric": "inner"}),
        ({"similarity": "l2", "regulariser": "l2"}, {"metric": "l2"}),
        ({"similarity": "l1", "regulariser": "l1"}, {"metric": "l1"}),
    ],
    ids=[
        "paper",
        "fc",
        "approx",
        "code-sign",
        "fc-approx-alpha",
        "equal-sizes",
        "similarity-alone",
        "inner",
        "l2",
        "l1",
    ],
)
def test_a_run_is_algorithm_1_round_by_round(play, place, params, reading):
    run = play({**ALGORITHM, **params}, **WORLD, **place)
    reading = {"alpha": 0.2, "fc": True, "approx": True} if reading is None else reading
    reading = reading | ({"regulariser": reading["metric"]} if "metric" in reading else {})
    compare(run, algorithm_1(run, **reading))


@pytest.mark.slow
def test_the_runs_above_meet_what_they_are_to_show(play):
    """Sizes differ, some weights are 0 and some are not, and every reading moves the models by
    far more than the tolerance."""
    run = play(ALGORITHM, **WORLD, **WITHOUT)
    assert len({run.learning.shards.train_size(i) for i in range(CLIENTS)}) > 1
    graphs, *_, mixed = algorithm_1(run)
    assert any((g == 0).any() for g in graphs)
    assert any(((g > 0) & (g < 1)).any() for g in graphs)
    readings = [{"fc": True}, {"approx": True}, {"sign": "code"}, {"equal": True}, {"alpha": None}]
    readings += [{"metric": m} for m in ("inner", "l2", "l1")]
    readings += [{"regulariser": m} for m in ("inner", "l2", "l1")]
    for reading in readings:
        *_, other = algorithm_1(run, **reading)
        assert max(float((a - b).abs().max()) for a, b in zip(mixed, other, strict=True)) > 1e-7


@pytest.mark.parametrize(
    "params",
    [
        {"graph": "similarity", "alpha": 1.0},
        {"graph": "similarity", "sizes": "equal"},
        {"regulariser": "l2", "direction": "approx"},
    ],
)
def test_what_another_switch_leaves_without_meaning_is_refused(params):
    with pytest.raises(ValueError, match=r"has no meaning with|direction is for"):
        Params(**params)


def test_without_alpha_and_lam_it_is_fedavg(play):
    run = play({**ALGORITHM, "alpha": 0.0, "lam": 0.0}, **WORLD, **WITH_SERVER)
    sizes = [run.learning.shards.train_size(i) for i in range(CLIENTS)]
    trained = [run.parts[i].publishing.published["trained"].ref.tensor() for i in range(CLIENTS)]
    mean = sum(n * row for n, row in zip(sizes, trained, strict=True)) / sum(sizes)
    for i in range(CLIENTS):
        mixed = run.parts[i].publishing.published["mixed"].ref.tensor()
        torch.testing.assert_close(mixed, mean, rtol=0, atol=1e-12)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("place", [WITH_SERVER, WITHOUT], ids=["server", "peers"])
def test_an_attackers_model_counts_as_it_was_sent(play, place):
    """Its own row, too, where there is a server; without one it knows its own model as it is."""
    attack = {"kind": "sign_flip", "fraction": 0.25}
    run = play(ALGORITHM, **WORLD, **place, attack=attack)
    (bad,) = run.world.malicious

    def forged(row, i, t):
        if i != bad:
            return row
        return torch.cat([-row[:PARAMETERS], row[PARAMETERS:]])

    graphs, trained, mixed = algorithm_1(run, forged=forged)
    if place is WITH_SERVER:
        compare(run, (graphs, trained, mixed))
    else:  # the attacker itself diverges from the transcription after its first mixing
        first = [(i, r) for at, i, _, r in logged(run) if at < 10**10]
        for i, ref in first:
            if i != bad:
                np.testing.assert_allclose(ref.tensor().numpy(), graphs[0][i], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("takes_answers", [True, False])
def test_who_flips_the_sign_of_an_answer_made_of_flipped_models_sends_a_good_one(
    play, takes_answers
):
    """Flippers are answered by each other's -theta, so every other -theta is near a trained model.

    This is the attack as published: the graph leaves them out in rounds 0, 2, 4, ... and comes to
    let them in between. Those who take no answer send -theta always and are always left out.
    """
    clients = 5
    world = WORLD | WITH_SERVER | {
        "horizon_s": 165.0,  # eight rounds of 20 s
        "data": {"kind": "digits", "validation": 0.2, "partition": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [64]},
        "training": WORLD["training"] | {"learning_rate": 0.05, "batch_size": 16},
        "nodes": {
            "count": clients + 1,
            "groups": [
                {"name": "clients", "count": clients},
                {"name": "server", "count": 1, "role": "server"},
            ],
        },
        "attack": {"kind": "sign_flip", "fraction": 0.4, "runs_algorithm": takes_answers},
    }  # fmt: skip
    run = play({"kind": "pfedgraph", "steps": 20}, **world)
    bad = sorted(run.world.malicious)
    assert len(bad) == 2
    rows = [(at, float(ref.tensor()[bad].sum())) for at, i, _, ref in logged(run) if i not in bad]
    times = sorted({at for at, _ in rows})
    on_them = np.array([max(given for at, given in rows if at == t) for t in times])
    assert len(on_them) == 8
    assert (on_them[::2] < 1e-9).all()
    if takes_answers:
        assert on_them[-1] > 0.2  # all alike would be 0.4
    else:
        assert (on_them < 1e-9).all()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("direction", ["exact", "approx"])
def test_what_is_sent_is_what_the_paper_counts(play, tmp_path, direction):
    """Up a model and a size, down theta~ and theta-, or theta~ alone."""
    values, buffers = PARAMETERS, 2 * 64
    up = 32 * (values + buffers) + 32
    for place in (WITH_SERVER, WITHOUT):
        folder = tmp_path / str(len(place["topology"]["kind"]))
        play({**ALGORITHM, "direction": direction}, folder, **WORLD, **place)
        log = pd.read_parquet(folder / "messages")
        assert set(log[log.kind == "Update"].bits) == {up}
        down = log[log.kind == "Personal"]
        if place is WITHOUT:
            assert len(log) == ROUNDS * CLIENTS * (CLIENTS - 1)
            assert down.empty
        else:
            assert len(log) == 2 * ROUNDS * CLIENTS
            extra = 32 * values if direction == "exact" else 0
            assert set(down.bits) == {32 * (values + buffers) + extra}


@pytest.mark.thinned(16)
@pytest.mark.parametrize("absent", ["renormalise", "self", "last"])
@pytest.mark.parametrize("place", [WITH_SERVER, WITHOUT], ids=["server", "peers"])
def test_where_messages_get_lost_weights_are_over_what_is_known(play, place, absent):
    lossy = {"link": {"loss": 0.4}, "horizon_s": 79.0}
    run = play({**ALGORITHM, "absent": absent}, **(WORLD | lossy), **place)
    numbers = [len(ids) for _, _, ids, _ in logged(run)]
    assert min(numbers) < CLIENTS
    seen = {}
    for _, i, ids, ref in logged(run):
        w = ref.tensor().numpy()
        assert w.sum() == pytest.approx(1.0)
        if absent == "self":
            missing = (CLIENTS - len(ids)) / (CLIENTS - 1)
            assert w[list(ids).index(i)] >= missing - 1e-12
        if absent == "last":
            assert set(ids) >= seen.get(i, set())
            seen[i] = set(ids)
    for i in range(CLIENTS):
        assert run.parts[i].publishing.published["trained"].ref.tensor().isfinite().all()


@pytest.mark.thinned(4)
@pytest.mark.parametrize("absent", ["renormalise", "last"])
@pytest.mark.parametrize("place", [WITH_SERVER, WITHOUT], ids=["server", "peers"])
def test_models_that_come_after_the_deadline_are_known_in_the_next_round(play, place, absent):
    exchange = {"schedule": "rounds", "interval_s": 10.0, "deadline_s": 10.0}
    late = {"link": {"latency_s": 9.9}, "exchange": exchange, "horizon_s": 49.0}
    run = play({**ALGORITHM, "absent": absent}, **(WORLD | late), **place)
    numbers = [len(ids) for _, _, ids, _ in logged(run)]
    if absent == "last":
        assert max(numbers) == CLIENTS
    elif place is WITHOUT:
        assert set(numbers) == {1}  # nobody's model is there in time but the own
    else:
        assert not numbers
    assert sum(node.inbox.unread_count() for node in run.parts) == 0


@pytest.mark.thinned(32)
@pytest.mark.parametrize("on_arrival", ["wait", "rebase", "discard_step"])
@pytest.mark.parametrize("schedule", ["poisson", "star"])
@pytest.mark.parametrize("place", [WITH_SERVER, WITHOUT], ids=["server", "peers"])
def test_it_runs_by_clocks_of_its_own(play, place, schedule, on_arrival):
    clocks = {
        "poisson": {"schedule": "poisson", "rate_hz": 0.1},
        "star": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 2},
    }
    radio = {"reachable": 2.5, "fading": {"kind": "rayleigh"}}
    tables = {"exchange": clocks[schedule], "radio": radio, "horizon_s": 100.0}
    tables["training"] = {**WORLD["training"], "on_arrival": on_arrival}
    run = play({**ALGORITHM, "max_age_s": 30.0}, **(WORLD | tables), **place)
    assert any(len(ids) > 1 for _, _, ids, _ in logged(run))
    stages = [set(run.parts[i].publishing.published) for i in range(CLIENTS)]
    assert {"trained", "mixed"} in stages
