"""Whole runs of DPFL against Algorithm 1 in plain PyTorch, and what the link log shows of them."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim import engine, world
from netsim.api import Downloads
from netsim.learning.jobs import BatchKey
from netsim.scenario import from_dict

from .weights import logged

NODES, ROUNDS, HIDDEN, RATE, MOMENTUM, DECAY = 5, 7, 6, 0.3, 0.5, 0.9
BETA = 3.0  # uneven parts that still have something to teach each other
FEW = {"initial_epochs": 3, "local_epochs": 1}
WORLD = {
    "horizon_s": 6.5,
    "nodes": {"count": NODES},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {
        "kind": "digits",
        "validation": 0.4,
        "partition": {"kind": "dirichlet", "alpha": BETA, "min_samples": 20},
        "test_fraction": 0.8,
    },
    "model": {"kind": "mlp", "hidden": [HIDDEN]},
    "compute": {"kind": "fixed", "step_s": 1e-3},
    "training": {
        "learning_rate": RATE,
        "batch_size": 10,
        "momentum": MOMENTUM,
        "dtype": "float64",
    },
    "metrics": {"every_s": 100.0, "weights": False},
    "link": {"latency_s": 0.0},
}
LOSSY = {"link": {"loss": 0.3, "latency_s": 0.01}}
POISSON = {"exchange": {"schedule": "poisson", "rate_hz": 1.0}}
RADIO = {
    "link": None,
    "radio": {
        "reachable": 2.5,
        "fading": {"kind": "rayleigh", "coherence_s": 0.1},
        "rate": {"kind": "fixed", "rate_bps": 2e6},
    },
}


def dpfl(**params):
    return {"kind": "dpfl", "poll_s": 0.01, **FEW, **params}


@pytest.fixture
def run(play, tmp_path):
    """Play DPFL; the simulation and its message log."""

    folders = (tmp_path / f"run-{n}" for n in itertools.count())

    def one(params, **tables):
        merged = {k: v for k, v in (WORLD | tables).items() if v is not None}
        folder = next(folders)
        simulation = play(params, folder, **merged)
        log = pd.read_parquet(folder / "messages").astype({"kind": str, "outcome": str})
        return simulation, log

    return one


# -- Algorithm 1, nothing of the simulator but its data and its draws --------------------------


class Transcription:
    def __init__(self, simulation, budgets, lost=None):
        world = simulation.world
        self.world, self.streams, self.shards = world, world.streams, simulation.learning.shards
        self.budgets, self.lost = budgets, lost or {}
        self.p = [self.shards.train_size(k) for k in range(NODES)]
        self.nets = [network() for _ in range(NODES)]
        for net in self.nets:
            write(net, world.initial[0])
        self.optimizers = [self.fresh_optimizer(k) for k in range(NODES)]
        self.batches, self.drawn = [0] * NODES, [0] * NODES

    def fresh_optimizer(self, k):
        return torch.optim.SGD(self.nets[k].parameters(), lr=RATE, momentum=MOMENTUM)

    def samples(self, rows):
        samples = self.world.samples
        return torch.tensor(samples.x[rows]).double(), torch.tensor(samples.y[rows])

    def train(self, k, epochs):
        for _ in range(epochs * self.shards.batches_per_epoch(k)):
            x, y = self.samples(self.shards.batch_rows(BatchKey(k, "train", self.batches[k])))
            self.batches[k] += 1
            self.optimizers[k].zero_grad()
            F.cross_entropy(self.nets[k](x), y).backward()
            self.optimizers[k].step()

    def reward(self, k, rows, ids):
        net = network()
        write(net, sum(self.p[i] * rows[i] for i in ids) / sum(self.p[i] for i in ids))
        x, y = self.samples(self.shards.rows[k].validation)
        with torch.no_grad():
            return -float(F.cross_entropy(net(x), y))

    def shuffled(self, k, candidates):
        """The candidates in random order, each with its coin."""
        counters = range(self.drawn[k], self.drawn[k] + len(candidates))
        self.drawn[k] += len(candidates)
        keys = [self.streams.uniform("node/order", k, n) for n in counters]
        coins = [self.streams.uniform("node/coin", k, n) for n in counters]
        order = [j for _, j in sorted(zip(keys, candidates, strict=True))]
        return list(zip(order, coins, strict=True))

    def ggc(self, k, offered, rows):
        """Algorithm 2; the budget is the largest size of X."""
        X, Y = {k}, {k} | {j for j, _ in offered}
        for j, u in offered:
            if self.budgets[k] is not None and len(X) == self.budgets[k]:
                break
            a = max(self.reward(k, rows, X | {j}) - self.reward(k, rows, X), 0)
            b = max(self.reward(k, rows, Y - {j}) - self.reward(k, rows, Y), 0)
            if u < (1 if a == b == 0 else a / (a + b)):
                X.add(j)
            else:
                Y.remove(j)
        return X - {k}

    def mean(self, k, C, rows):
        ids = sorted(C | {k})
        return sum(self.p[i] * rows[i] for i in ids) / sum(self.p[i] for i in ids)

    def play(self, rounds, initial_epochs=3, epochs=1, period=1, silent=False, fresh=False):
        nodes = range(NODES)
        for k in nodes:
            self.train(k, initial_epochs)
        rows = [flat(net) for net in self.nets]
        self.omega = []
        for k in nodes:
            offered = self.shuffled(k, [j for j in nodes if j != k])
            if self.budgets[k] == 1:
                self.drawn[k] = 0  # nothing was drawn
            offered = [(j, u) for j, u in offered if j not in self.lost.get(k, ())]
            self.omega.append(self.ggc(k, offered, rows))
        for k in nodes:
            write(self.nets[k], self.mean(k, self.omega[k], rows))
        self.chosen, C = [], [set()] * NODES
        for t in range(rounds):
            for k in nodes:
                if fresh:
                    self.optimizers[k] = self.fresh_optimizer(k)
                self.optimizers[k].param_groups[0]["lr"] = RATE * DECAY ** (t // 2)
                self.train(k, epochs)
            rows = [flat(net) for net in self.nets]
            if t % period == 0:
                C = [self.ggc(k, self.shuffled(k, sorted(self.omega[k])), rows) for k in nodes]
            if t % period == 0 or not silent:
                self.chosen.append(C)
                for k in nodes:
                    write(self.nets[k], self.mean(k, C[k], rows))
        self.trained = rows
        return [flat(net) for net in self.nets]


def network():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10)
    ).double()


def flat(net):
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


def write(net, row):
    torch.nn.utils.vector_to_parameters(row.clone(), net.parameters())


def selections(simulation):
    """{node: [set chosen, ...]} from the logged weights."""
    chosen = {k: [] for k in range(NODES)}
    for _, node, ids, weights in logged(simulation):
        shares = weights.tensor().tolist()
        chosen[node].append({j for j, w in zip(ids, shares, strict=True) if w > 0} - {node})
    return chosen


def assert_same(simulation, expected, models):
    chosen = selections(simulation)
    for k, node in enumerate(simulation.parts):
        assert chosen[k] == [C[k] for C in expected.chosen]
        for stage, rows in (("mixed", models), ("trained", expected.trained)):
            mine = node.publishing.published[stage].ref.tensor()
            np.testing.assert_allclose(mine.numpy(), rows[k].numpy(), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "budgets", "reading"),
    [
        ({}, [None] * 5, {}),
        ({"budget": 3}, [3] * 5, {}),
        ({"budget": 3, "budget_counts_self": False}, [4] * 5, {}),
        ({"budget": [1, 2, 3, 4, 5]}, [1, 2, 3, 4, 5], {}),
        ({"period": 2}, [None] * 5, {"period": 2}),
        ({"period": 3, "between": "silent"}, [None] * 5, {"period": 3, "silent": True}),
        ({"optimizer": "fresh"}, [None] * 5, {"fresh": True}),
    ],
    ids=["unlimited", "budget", "Eq-3", "budgets", "period", "silent", "fresh"],
)
def test_a_run_is_algorithm_1(run, params, budgets, reading):
    simulation, _ = run(dpfl(decay=DECAY, decay_every=2, **params))
    expected = Transcription(simulation, budgets)
    models = expected.play(ROUNDS, **reading)
    assert simulation.barrier.round == ROUNDS
    assert_same(simulation, expected, models)


@pytest.mark.slow
def test_the_runs_above_meet_what_they_are_to_show(run):
    """Sets differ between nodes and rounds, are neither empty nor full, and budgets bind."""
    simulation, _ = run(dpfl(decay=DECAY, decay_every=2))
    expected = Transcription(simulation, [None] * NODES)
    expected.play(ROUNDS)
    sizes = {len(omega) for omega in expected.omega}
    assert len(sizes) > 1
    assert max(sizes) > 2  # so that a budget of 3, k counted, binds
    assert any(C[k] != expected.omega[k] for C in expected.chosen for k in range(NODES))
    assert any(C[k] for C in expected.chosen for k in range(NODES))


@pytest.mark.slow
def test_a_candidate_lost_in_either_pass_leaves_both(run, monkeypatch):
    """Node 0 loses 2 in the first pass, 3 in the second; node 4 loses 1 in the second."""
    lost_at = {(0, 2): 1, (0, 3): 2, (4, 1): 2}
    asked = {}
    whole = Downloads.batch

    def losing(self, peers):
        models, lost, rest = yield from whole(self, peers)
        for j in list(models):
            pair = (self._node.id, j)
            asked[pair] = asked.get(pair, 0) + 1
            if asked[pair] == lost_at.get(pair):
                del models[j]
                lost = [*lost, j]
        return models, lost, rest

    monkeypatch.setattr(Downloads, "batch", losing)
    simulation, _ = run(dpfl(decay=DECAY, decay_every=2, budget=4, latecomers="out"))
    expected = Transcription(simulation, [4] * NODES, lost={0: {2, 3}, 4: {1}})
    assert_same(simulation, expected, expected.play(ROUNDS))


@pytest.mark.slow
def test_neighbours_that_never_answer_are_warned_of(run, monkeypatch):
    """Node 0 never gets an answer of node 2: it says so, whether it asks again or not."""
    whole = Downloads.there, Downloads.sizes

    def without(found):
        def deaf(self, peers):
            answers = yield from found(self, peers)
            return {j: n for j, n in answers.items() if (self._node.id, j) != (0, 2)}

        return deaf

    for name, found in zip(("there", "sizes"), whole, strict=True):
        monkeypatch.setattr(Downloads, name, without(found))
    for latecomers in ("join", "out"):
        simulation, _ = run(dpfl(latecomers=latecomers))
        told = " ".join(simulation.recorder.warnings.all())
        assert "goes without 1 of" in told, latecomers


@pytest.mark.slow
def test_candidates_whose_models_came_too_late_are_asked_again(run):
    """No model comes within the time-outs of the passes; all nodes are candidates later."""
    slow = {"link": {"rate_bps": 5e4, "latency_s": 0.0}, "exchange": {"schedule": "periodic"}}
    slow["exchange"]["period_s"] = 5.0
    simulation, log = run(dpfl(timeout_s=0.1, tries=2), horizon_s=40.0, **slow)
    assert log[log.kind == "Model"].t_done_s.min() > 0.1 * 2
    pairs = set(zip(*log[log.kind == "Update"][["src", "dst"]].to_numpy().T, strict=True))
    assert len(pairs) == NODES * (NODES - 1)
    assert simulation.recorder.uses.counts["used"] > len(pairs)


# -- budgets, from the message log -------------------------------------------------------------


@pytest.fixture
def dropped(monkeypatch):
    """{node: [times at which it drops what it holds]}: before another batch and at the end."""
    times = {}
    make_room = Downloads.leave_room_for

    def noted(self, models):
        mine = times.setdefault(self._node.id, [])
        mine.append(self._node.now_s)
        yield from make_room(self, models)
        mine.append(self._node.now_s)  # models of peers given up, if any came meanwhile

    monkeypatch.setattr(Downloads, "leave_room_for", noted)
    return times


def most_at_once(log, node, dropped_s):
    """Most models on their way to a node or held by it, from the log and the batches' times.

    What happens at one instant: models come, the batch is dropped, the next ones are sent.
    """
    rows = log[(log.kind == "Model") & (log.dst == node)]
    events = [
        (t, 0, "come" if outcome == "delivered" else "lost")
        for t, outcome in zip(rows.t_done_s, rows.outcome, strict=True)
    ]
    events += [(t, 1, "dropped") for t in dropped_s]
    events += [(t, 2, "sent") for t in rows.t_sent_s]
    on_the_way = held = most = 0
    for _, _, what in sorted(events):
        on_the_way += {"sent": 1, "dropped": 0}.get(what, -1)
        held = 0 if what == "dropped" else held + (what == "come")
        most = max(most, on_the_way + held)
    return most


MANY = {"horizon_s": 30.0, "nodes": {"count": 7}}
PATIENT = {"timeout_s": 0.4, "tries": 4, "candidates": "peers"}
# A model takes 1.47 s: too long for 4 tries of 0.4 s if the first request is lost, and sometimes
# because another message has to be sent first.
SLOW = {"link": {"latency_s": 0.003, "rate_bps": 1e4, "loss": 0.1}}


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "counts_self"), [(2, False), (3, True)])
@pytest.mark.parametrize("network", [LOSSY, SLOW, RADIO], ids=["lossy", "late", "radio"])
def test_no_node_holds_or_downloads_more_than_its_budget(
    run, dropped, network, budget, counts_self
):
    params = dpfl(budget=budget, budget_counts_self=counts_self, **PATIENT)
    _, log = run(params, **MANY, **network, **POISSON)
    largest = budget - counts_self
    assert max(most_at_once(log, k, dropped[k]) for k in range(7)) == budget
    for k in range(7):
        assert log[(log.kind == "Update") & (log.dst == k)].src.nunique() <= largest
    assert (log.kind == "Update").any()


@pytest.mark.slow
def test_models_do_come_late_in_the_slow_network(run, dropped):
    """Some are on their way while their receiver goes on without them, and arrive later."""
    _, log = run(dpfl(budget=3, **PATIENT), **MANY, **SLOW, **POISSON)
    models = log[(log.kind == "Model") & (log.outcome == "delivered")]
    assert any(
        row.t_sent_s < time < row.t_done_s
        for row in models.itertuples()
        for time in dropped[row.dst]
    )


@pytest.mark.slow
def test_the_passes_download_each_candidate_twice_at_most(run):
    _, log = run(dpfl())
    assert (log[log.kind == "Model"].groupby("dst").size() == 2 * (NODES - 1)).all()
    _, log = run(dpfl(budget=2))
    downloads = log[log.kind == "Model"].groupby("dst").size()
    assert (downloads <= 2 * (NODES - 1)).all()
    assert (downloads < 2 * (NODES - 1)).any()  # the budget ends the second pass


# -- networks that lose, delay and sleep -------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("absent", ["renormalise", "self", "last"])
@pytest.mark.parametrize(
    "network",
    [LOSSY, LOSSY | POISSON, RADIO | POISSON],
    ids=["lossy-rounds", "lossy-poisson", "radio-poisson"],
)
def test_it_goes_on_where_messages_get_lost(run, network, absent):
    params = dpfl(absent=absent, max_age_s=5.0, budget=4, period=2, timeout_s=0.1)
    simulation, log = run(params, horizon_s=15.0, **network)
    rounds = log[log.kind == "Update"].groupby("src")["round"].nunique()
    assert (log.outcome != "delivered").any()
    assert (rounds > 4).sum() >= NODES - 1  # one that nobody chose sends nothing
    for node in simulation.parts:
        assert node.publishing.published["mixed"].ref.tensor().isfinite().all()
        assert node.wakeups.round > 4
    for _, _, _, weights in logged(simulation):
        assert weights.tensor().sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_the_candidates_are_those_in_reach(run):
    """Half a node is in reach of another on average; all neighbours if the parameters say so."""
    network = RADIO["radio"] | {
        "reachable": 0.5,
        "fading": {"kind": "rayleigh", "coherence_s": 1e3},
    }
    _, near = run(dpfl(), **(RADIO | {"radio": network}))
    _, all_of_them = run(dpfl(candidates="peers"), **(RADIO | {"radio": network}))
    hellos = near[near.kind == "Hello"].groupby("src").dst.nunique()
    assert hellos.sum() < NODES * (NODES - 1) / 2
    asked = all_of_them[all_of_them.kind == "Hello"].groupby("src").dst.nunique()
    assert (asked == NODES - 1).all()


@pytest.mark.slow
def test_subscriptions_are_repeated_until_acknowledged(run):
    _, log = run(dpfl(timeout_s=0.05, tries=1), horizon_s=20.0, **LOSSY)
    asked = log[log.kind == "Subscribe"].groupby(["src", "dst"]).size()
    answered = log[(log.kind == "Subscribed") & (log.outcome == "delivered")]
    assert asked.max() > 1
    assert set(zip(answered.dst, answered.src, strict=True)) == set(asked.index)
    last_asked = log[log.kind == "Subscribe"].groupby(["src", "dst"]).t_sent_s.max()
    first_answer = answered.groupby(["dst", "src"]).t_done_s.min()
    assert (last_asked <= first_answer.reindex(last_asked.index)).all()


@pytest.mark.slow
def test_a_slower_node_is_waited_for(run):
    groups = [{"name": "slow", "count": 1, "speed": 0.01}]
    simulation, log = run(
        dpfl(timeout_s=0.05, tries=2), horizon_s=60.0, nodes={"count": NODES, "groups": groups}
    )
    assert (log[log.kind == "Model"].groupby("src").size() == 2 * (NODES - 1)).all()
    assert simulation.barrier.round > 1


def test_the_network_plays_without_learning(tmp_path):
    """As if the first candidates of each batch were chosen until the budget is used up."""
    scenario = from_dict(WORLD | {"algorithm": [dpfl(budget=3)]})
    engine.play(world.build(scenario), scenario.algorithm[0], tmp_path, timing_only=True)
    log = pd.read_parquet(tmp_path / "messages")
    assert (log[log.kind == "Subscribe"].groupby("src").dst.nunique() == 2).all()
    assert (log.kind == "Update").sum() == 2 * NODES * ROUNDS


@pytest.mark.slow
def test_nodes_that_flip_their_labels_keep_to_themselves(run):
    """Honest nodes give them less than a tenth; 4 of 9 others at random would be 44 %."""
    attacked = {"attack": {"kind": "label_flip", "fraction": 0.4}, "nodes": {"count": 10}}
    simulation, _ = run(dpfl(initial_epochs=10, local_epochs=2), **attacked)
    malicious = simulation.world.malicious
    to_flippers = [
        sum(
            w for j, w in zip(ids[1:], weights.tensor().tolist()[1:], strict=True) if j in malicious
        )
        for _, node, ids, weights in logged(simulation)
        if node not in malicious
    ]
    assert len(malicious) == 4
    assert np.mean(to_flippers) < 0.1
