import math
from typing import NamedTuple

import pandas as pd
import pytest

from netsim.api import Model, Received, StarExchange, StarParams
from netsim.protocols.star import models_to_mix

IN_REACH = [1, 2, 3]


class Named(NamedTuple):
    """Stand-in for a Ref."""

    name: str


def received(sender, name, sent_s=0.0):
    return Received(Model(Named(name)), sender, sent_s, 0.0, 1)


ANSWERS = {3: received(3, "new 3", 99.9), 1: received(1, "new 1", 99.9)}
FOOTPRINTS = {
    1: received(1, "old 1", 50.0),
    2: received(2, "old 2", 50.0),
    7: received(7, "old 7", 90.0),
}


@pytest.mark.parametrize(
    ("params", "models", "missing"),
    [
        ({}, ["new 1", "new 3"], []),
        ({"absent": "self"}, ["new 1", "new 3"], [2]),
        ({"absent": "last"}, ["new 1", "old 2", "new 3"], []),
        ({"broadcast": "cache"}, ["new 1", "old 2", "new 3", "old 7"], []),
        ({"broadcast": "cache", "max_age_s": 20.0}, ["new 1", "new 3", "old 7"], []),
        ({"absent": "last", "max_age_s": 20.0}, ["new 1", "new 3"], []),
        ({"broadcast": "cache", "absent": "self"}, ["new 1", "old 2", "new 3", "old 7"], []),
        ({"absent": "self", "max_age_s": 0.01}, [], [1, 2, 3]),
    ],
)
def test_what_a_star_mixes(params, models, missing):
    taken, max_age_s = StarParams(**params), params.get("max_age_s", math.inf)
    heard = models_to_mix(taken, FOOTPRINTS, IN_REACH, ANSWERS, 100.0, max_age_s)
    assert [theta.name for theta in heard.thetas] == models
    assert heard.peers == [int(name.split()[1]) for name in models]
    assert heard.missing == missing


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["local", "fedavg", "kd_pdfl"])
def test_nobody_trains_in_exchange_slots(play, kind):
    """Of slots 1 to 50, 2 mod 4 and 3 mod 4 are for training: 13 and 12."""
    run = play({"kind": kind})
    assert [node.processor.local_steps for node in run.parts] == [25] * 8


@pytest.mark.thinned(2)
@pytest.mark.parametrize("link", [{"link": {}}, {"link": {"latency_s": 0.01}}])
def test_nodes_other_than_the_star_train_in_exchange_slots_if_told_to(play, link):
    run = play({"kind": "fedavg", "uninvolved_train": True}, **link)
    stars = [int(run.world.streams.uniform("star", n) * 8) for n in range(1, 13)]
    assert [50 - n.processor.local_steps for n in run.parts] == [
        2 * stars.count(i) for i in range(8)
    ]


@pytest.mark.slow
def test_fedavg_plus_is_fedavg_until_it_switches(play, models):
    plain = models(play({"kind": "fedavg"}))
    late = models(play({"kind": "fedavg_plus", "switch_s": 1000.0}))
    early = models(play({"kind": "fedavg_plus", "switch_s": 20.0}))
    assert all(a.equal(b) for a, b in zip(plain, late, strict=True))
    assert not any(a.equal(b) for a, b in zip(plain, early, strict=True))


@pytest.mark.slow
def test_a_reptile_step_of_one_at_the_old_rate_is_fedavg(play, models):
    plain = models(play({"kind": "fedavg"}))
    switched = {"switch_s": 1e-9, "epsilon": 1.0, "fine_tune_learning_rate": 0.2}
    plus = models(play({"kind": "fedavg_plus", **switched}))
    for a, b in zip(plain, plus, strict=True):
        assert float((a - b).abs().max()) < 1e-9


def test_two_models_an_exchange_and_peer(play, tmp_path):
    """2 |N_i| models an exchange: 12 exchanges of 7 peers, all of them floats of the same size."""
    play({"kind": "kd_pdfl"}, tmp_path / "run")
    log = pd.read_parquet(tmp_path / "run" / "messages")
    models = log[log.kind == "Model"]
    assert len(models) == 12 * 2 * 7
    # BatchNorm 64 + 64, layers 65 * 16 and 17 * 10, running mean and variance 64 + 64.
    assert set(models.bits) == {32 * (128 + 1040 + 170 + 128)}


class ScriptedNode:
    """A star whose process is driven by hand."""

    slots_per_exchange, now_s, max_age_s = 4, 0.0, math.inf

    def __init__(self):
        self.sent = []

    def hold(self, theta):
        return ScriptedModel()

    def broadcast(self, msg, to):
        self.sent.append((msg.theta.name, to))
        return "broadcast"

    def __getattr__(self, verb):
        return lambda *args, **kwargs: verb


class ScriptedModel:
    theta = Named("own")

    def settled(self):
        return "settled"

    def replace(self, theta):
        self.theta = theta


class ScriptedStar(StarExchange):
    def combine(self, heard):
        return Named("mixed")


def test_a_star_broadcasts_what_it_mixed_even_if_another_stars_model_has_come_meanwhile():
    """Exchanges overlap where one lasts longer than the interval between them."""
    node = ScriptedNode()
    exchange = ScriptedStar(node, StarParams())
    star = exchange.on_wakeup()
    script = [(None, "wakeup"), (None, "settled"), (None, "reachable"), ([1, 3], "ask")]
    for answer, verb in script:
        assert star.send(answer) == verb
    assert star.send(ANSWERS) == "tick"
    exchange.model.replace(Named("another star's"))  # what `on_model` does
    assert star.send(9) == "broadcast"
    assert node.sent == [("mixed", [3, 1])]
