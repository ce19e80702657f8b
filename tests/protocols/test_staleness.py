"""Weights by staleness: closed forms, and every method that mixes against them."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from netsim import engine, world
from netsim.errors import ProtocolError, ScenarioError
from netsim.protocols import discounts
from netsim.protocols.discounts import StalenessParams, discounted
from netsim.registry import family
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase
from netsim.testing.small_world import WORLDS

KINDS = family("netsim.protocols.staleness")
MODULES = kinds_of()
CASES = {name: AlgorithmCase(MODULES, name) for name in MODULES}
WITHOUT = {
    "bandwidth_allocation",
    "client_selection",
    "baa",
    "dfedpgp",
    "flower",
    "local",
    "ncota",
    "sgp",
}
"""Methods that mix no messages which have an age: sums over the air, and nothing at all."""
UNLOGGED = {"fedproto", "pfedhn"}
"""Methods whose messages are no shares of a mixture of models."""
FIRST = ("dpsgd",)
"""Methods that the fast suite plays."""
CLOCK = {"schedule": "periodic", "period_s": 5.0, "slot_s": 1.0}


@pytest.mark.parametrize(
    ("kind", "keys", "form"),
    [
        ("none", {}, lambda age: 1.0),
        ("constant", {"weight": 0.3}, lambda age: 0.3),
        ("polynomial", {"a": 0.7}, lambda age: 1.0 / (1.0 + age) ** 0.7),
        ("hinge", {"a": 2.0, "b": 3.0}, lambda age: 1.0 if age <= 3 else 1 / (2 * (age - 3) + 1)),
        ("exponential", {"a": 0.4}, lambda age: math.e ** (-0.4 * age)),
    ],
)
def test_a_kind_is_its_closed_form(kind, keys, form):
    s = KINDS[kind](**keys)
    for age in (0.0, 0.5, 1.0, 3.0, 3.5, 7.0, 100.0):
        assert s.factor(age) == pytest.approx(form(age), rel=1e-12)
        assert 0.0 <= s.factor(age) <= 1.0


def test_every_kind_is_tested_above():
    assert set(KINDS) == {"none", "constant", "polynomial", "hinge", "exponential"}


def a_node(ages):
    """A node that finds values as old as that; values are their places in `ages`."""
    return SimpleNamespace(age=lambda value, unit: ages[value.place])


def values(count, own=0):
    return [SimpleNamespace(place=k, bringer=None if k == own else "message") for k in range(count)]


def test_what_messages_lose_goes_to_the_node_itself():
    params = StalenessParams(staleness={"kind": "polynomial", "a": 1.0})
    w = discounted(a_node([0, 1, 3]), params, values(3), [0.2, 0.4, 0.4])
    assert w == pytest.approx([0.2 + 0.2 + 0.3, 0.2, 0.1])


def test_where_there_is_no_own_model_weights_keep_their_sum():
    params = StalenessParams(staleness={"kind": "polynomial", "a": 1.0})
    w = discounted(a_node([0, 1, 3]), params, values(3, own=None), [0.5, 0.25, 0.25], own=None)
    assert w == pytest.approx([0.5 / 0.6875, 0.125 / 0.6875, 0.0625 / 0.6875])


@pytest.mark.parametrize("later", [0.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("is_lazy", [False, True])
def test_shares_without_an_own_model_depend_on_differences_of_age_alone(later, is_lazy):
    """Of exp(-a age): w_i e^(-a (age_i - least)) over its sum, though e^(-1e4) is no number."""
    fades = StalenessParams(staleness={"kind": "exponential", "a": 1.0})
    ages, before = [2.0, 0.0, 1.0], [0.2, 0.3, 0.5]
    old = [later + age for age in ages]
    if is_lazy:  # what a run computes of weights that are a Ref
        kind = fades.staleness
        s, logs = (tuple(map(of, old)) for of in (kind.factor, kind.log_factor))
        found = discounts._rescaled(torch.tensor(before), s, logs)
    else:
        found = discounted(a_node(old), fades, values(3, own=None), before, own=None)
    left = [w * math.exp(-age) for w, age in zip(before, ages, strict=True)]
    expected = [w / sum(left) for w in left]
    assert [float(w) for w in found] == pytest.approx(expected, rel=1e-6)


def test_what_is_far_older_than_what_has_no_weight_still_counts():
    fades = StalenessParams(staleness={"kind": "exponential", "a": 1.0})
    found = discounted(a_node([0.0, 1e4]), fades, values(2, own=None), [0.0, 0.5], own=None)
    assert found == pytest.approx([0.0, 0.5])


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_knows_its_logarithm(kind):
    s = KINDS[kind](**({"a": 0.4} if kind == "exponential" else {}))
    for age in (0.0, 0.5, 7.0, 100.0):
        assert math.exp(s.log_factor(age)) == pytest.approx(s.factor(age), rel=1e-12)


def test_messages_of_which_nothing_is_left_are_refused():
    class Cut(KINDS["none"]):
        def factor(self, age):
            return float(age < 5)

    params = SimpleNamespace(staleness=Cut())
    with pytest.raises(ProtocolError, match="leaves nothing of any of the 2 messages"):
        discounted(a_node([6, 7]), params, values(2, own=None), [0.5, 0.5], own=None)


def test_where_nothing_is_lost_weights_are_the_same_object():
    weights = [0.1, 0.9]
    for staleness in ({"kind": "none"}, {"kind": "constant"}, {"kind": "hinge", "b": 5.0}):
        params = StalenessParams(staleness=staleness)
        assert discounted(a_node([0, 2]), params, values(2), weights) is weights


def test_which_methods_take_it():
    takes = {name for name, module in MODULES.items() if "staleness" in module.Params.model_fields}
    assert set(MODULES) - takes == WITHOUT


@pytest.mark.parametrize("kind", sorted(WITHOUT))
def test_a_method_without_it_refuses_it(kind):
    case = AlgorithmCase(MODULES, kind, {"staleness": {"kind": "hinge"}})
    with pytest.raises(ScenarioError, match="staleness"):
        case.scenario(case.schedules[0])


def play(out, kind, staleness, exchange=CLOCK, **tables):
    """Messages are 1.7 s on their way, so that everything that is mixed has an age."""
    params = {} if staleness is None else {"staleness": staleness}
    case = AlgorithmCase(MODULES, kind, params)
    if "pace" in case.module.Params.model_fields:
        params["pace"] = "rounds" if kind == "fedavg" else "slots"
    schedule = "rounds" if exchange["schedule"] == "rounds" else case.schedules[-1]
    link = {"latency_s": 1.7}
    changed = {"link": link, "horizon_s": 22.0, "exchange": exchange, **tables}
    made = AlgorithmCase(MODULES, kind, params, changed).scenario(schedule)
    summary = engine.play(world.build(made), made.algorithm[0], out, check=True)
    return summary, pd.read_parquet(out / "graph"), pd.read_parquet(out / "uses")


def schedule_of(kind):
    return CLOCK if "periodic" in CASES[kind].schedules else {"schedule": "rounds"}


def first_rows(graph, uses):
    """Rows of the first mixtures that anybody makes of messages: {(t_s, node): {peer: weight}}."""
    graph = graph[graph.what.astype(str) == "applied"]
    others = graph[(graph.peer != graph.node) & (graph.weight > 0)]
    heard_s = uses.groupby(["dst", "src"]).t_arrived_s.min()
    heard = [heard_s.get((row.node, row.peer), math.inf) <= row.t_s for row in others.itertuples()]
    first = graph[graph.t_s == others[heard].t_s.min()]
    rows = {}
    for row in first.itertuples():
        rows.setdefault((row.t_s, row.node), {})[row.peer] = row.weight
    return rows


@pytest.mark.parametrize(
    "kind",
    [
        name if name in FIRST else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(set(MODULES) - WITHOUT)
    ],
)
def test_a_method_weighs_old_messages_as_the_closed_form_says(tmp_path, kind):
    exchange = schedule_of(kind)
    without = {"kind": "none"} if kind in ("fedasync", "fedbuff") else None
    plain, before, _ = play(tmp_path / "plain", kind, without, exchange)
    same, _, _ = play(tmp_path / "same", kind, {"kind": "constant", "weight": 1.0}, exchange)
    assert same["parameters_sha256"] == plain["parameters_sha256"]
    staleness = {"kind": "polynomial", "a": 0.8, "unit": "seconds"}
    summary, after, uses = play(tmp_path / "discounted", kind, staleness, exchange)
    assert summary["parameters_sha256"] != plain["parameters_sha256"]
    assert summary["event_log_sha256"] == plain["event_log_sha256"] or CASES[kind].asks_for_numbers
    if kind in UNLOGGED:
        assert not len(after)
        return
    rows, now = first_rows(before, uses), first_rows(after, uses)
    assert rows.keys() == now.keys()
    discounts = []
    for (t_s, node), weights in rows.items():
        used = uses[(uses.dst == node) & (uses.t_arrived_s <= t_s)]
        for peer in weights.keys() - {node}:
            sent_s = used[used.src == peer].t_sent_s.max()
            mixed = used[(used.src == peer) & (used.t_sent_s == sent_s) & (used.used_by == "mix")]
            assert (mixed.t_used_s <= t_s).all(), "weighed before it was mixed"
            s = (1.0 + t_s - sent_s) ** -0.8
            if math.isnan(sent_s):  # SPARQ-SGD mixes the common initial model until it hears
                assert kind == "sparq_sgd"
                s = 1.0
            discounts.append(s)
            assert now[t_s, node][peer] == pytest.approx(s * weights[peer], rel=1e-5)
        assert sum(now[t_s, node].values()) == pytest.approx(sum(weights.values()), rel=1e-5)
    assert min(discounts) < 0.5


@pytest.mark.slow
def test_versions_are_wake_ups_of_the_node_that_mixes(tmp_path):
    """Models are 6 s on their way and nodes wake every 5 s on average."""
    staleness = {"kind": "exponential", "a": 1.0}
    changed = {"link": {"latency_s": 6.0}, "horizon_s": 60.0}
    clock = {"schedule": "poisson", "rate_hz": 0.2, "slot_s": 1.0}
    _, graph, uses = play(tmp_path / "run", "dpsgd", staleness, clock, **changed)
    wakes = pd.read_parquet(tmp_path / "run" / "wakes")
    woke = wakes[wakes.what.astype(str) == "woke"]
    degree = 1 / 5  # complete graph of five: W_ij = 1/5
    seen = set()
    for row in graph[(graph.peer != graph.node) & (graph.weight > 0)].itertuples():
        arrived = uses[(uses.dst == row.node) & (uses.src == row.peer)]
        sent_s = arrived[arrived.t_arrived_s <= row.t_s].t_sent_s.max()
        mine = woke[(woke.node == row.node) & (woke.t_s > sent_s) & (woke.t_s <= row.t_s)]
        seen.add(len(mine))
        assert row.weight == pytest.approx(degree * math.exp(-len(mine)), rel=1e-6)
    assert len(seen) > 3


@pytest.mark.slow
def test_a_message_of_the_same_round_has_age_zero(tmp_path):
    staleness = {"kind": "exponential", "a": 1.0}
    exchange = {"schedule": "rounds", "interval_s": 2.0}
    plain, _, _ = play(tmp_path / "plain", "fedavg", None, exchange)
    found, _, _ = play(tmp_path / "run", "fedavg", staleness, exchange)
    assert found["parameters_sha256"] == plain["parameters_sha256"]


def test_a_message_of_the_round_before_has_age_one(tmp_path):
    """Rounds end after 1 s, models come 1.7 s after they were sent: the last ones stand in."""
    exchange = {"schedule": "rounds", "interval_s": 2.0, "deadline_s": 1.0}
    params = {"staleness": {"kind": "exponential", "a": 1.0}, "absent": "last"}
    changed = {"link": {"latency_s": 1.7}, "horizon_s": 11.0, "exchange": exchange}
    made = AlgorithmCase(MODULES, "dpsgd", params, changed).scenario("rounds")
    engine.play(world.build(made), made.algorithm[0], tmp_path / "run")
    graph = pd.read_parquet(tmp_path / "run" / "graph")
    of_peers = graph[graph.peer != graph.node]
    assert len(of_peers) > 20
    assert of_peers.weight.tolist() == pytest.approx([0.2 / math.e] * len(of_peers))


@pytest.mark.slow
def test_a_server_divides_by_the_sum_and_counts_its_own_wake_ups(tmp_path):
    staleness = {"kind": "polynomial", "a": 1.0}
    changed = {**WORLDS["server"], "link": {"latency_s": 7.0}, "horizon_s": 40.0}
    _, graph, uses = play(tmp_path / "run", "fedavg", staleness, **changed)
    wakes = pd.read_parquet(tmp_path / "run" / "wakes")
    hub = 0
    woke = wakes[(wakes.node == hub) & (wakes.what.astype(str) == "woke")]
    checked = 0
    for t_s, rows in graph[graph.node == graph.node.min()].groupby("t_s"):
        ages = {}
        for j in rows.peer:
            arrived = uses[(uses.dst == hub) & (uses.src == j) & (uses.t_arrived_s <= t_s)]
            sent_s = arrived.t_sent_s.max()
            ages[j] = ((woke.t_s > sent_s) & (woke.t_s <= t_s)).sum()
        s = {j: 1.0 / (1.0 + age) for j, age in ages.items()}
        for row in rows.itertuples():
            assert row.weight == pytest.approx(s[row.peer] / sum(s.values()), rel=1e-6)
        checked += len(set(ages.values())) > 1
    assert checked
