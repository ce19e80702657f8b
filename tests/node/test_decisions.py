"""Decisions that a method leaves to an agent: spaces, policies, and who is asked when."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim import api
from netsim.errors import ProtocolError, UnsuitableError
from netsim.node.decisions import Decides, Decision, Decisions, Totals
from netsim.protocols.policies.greedy import GreedyPolicy
from netsim.protocols.policies.round_robin import RoundRobinPolicy

NOTHING = Totals(0.0, 0.0, 0.0, 0.0, 1.0)
SPACES = [
    api.Numbers((2, 3), -1.0, 4.0),
    api.Choice(5),
    api.Choices((2, 7, 1)),
    api.Subset(6),
    api.Best(6, 2),
    api.Shares(4),
]


@pytest.mark.parametrize(
    ("space", "value", "found"),
    [
        (api.Numbers((2,), 0.0, 1.0), [0, 1], [0.0, 1.0]),
        (api.Choice(3), np.int64(2), 2),
        (api.Choices((2, 3)), np.array([1, 2]), (1, 2)),
        (api.Subset(4), [0, 1, 0, 1], (1, 3)),
        (api.Subset(3), np.zeros(3, dtype=np.int8), ()),
        (api.Best(4, 2), [0.3, 0.9, 0.3, 0.1], (0, 1)),
        (api.Shares(2), [1.0, 0.25], [0.8, 0.2]),
        (api.Shares(2), [0.0, 0.0], [0.5, 0.5]),
    ],
)
def test_methods_get_actions_in_one_form(space, value, found):
    assert np.array_equal(space.checked(value), found)


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (api.Numbers((2,), 0.0, 1.0), [0.0, 1.5]),
        (api.Numbers((2,), 0.0, 1.0), [0.0, np.nan]),
        (api.Numbers((2,)), [0.0]),
        (api.Choice(3), 3),
        (api.Choice(3), -1),
        (api.Choice(3), 0.5),
        (api.Choice(3), [1]),
        (api.Choices((2, 3)), [2, 0]),
        (api.Subset(3), [0, 2, 0]),
        (api.Subset(3), [0, 1]),
        (api.Best(3, 1), [0.0, 2.0, 0.0]),
        (api.Shares(2), [-0.1, 1.0]),
        (api.Choice(3), None),
        (api.Numbers((1,)), ["a"]),
    ],
)
def test_other_actions_are_refused(space, value):
    asked = Decisions(Decides((0,), {}, space, lambda _: value), None, lambda: NOTHING)
    with pytest.raises(ProtocolError, match="the agent's action"):
        asked.ask(0, {}, lambda n: [0.0] * n)


@given(st.sampled_from(SPACES), st.lists(st.floats(0, 1, exclude_max=True), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_random_decisions_are_in_every_space(space, draws):
    decision = Decision(0, {}, space, NOTHING, 0, lambda n: draws[:n])
    space.checked(api.RandomPolicy().choose(decision))
    space_of_nothing = space.unknown_value()
    assert space_of_nothing is not None


def decide(policy, space, count=0, **observation):
    observation = {name: np.array(each, dtype=float) for name, each in observation.items()}
    decision = Decision(0, observation, space, NOTHING, count, lambda n: [0.5] * n)
    return space.checked(policy.choose(decision))


def test_round_robin_serves_all_before_one_again():
    turns = [decide(RoundRobinPolicy(), api.Best(5, 2), count) for count in range(5)]
    assert sorted(sum(turns, ())) == sorted([*range(5), *range(5)])
    assert [decide(RoundRobinPolicy(), api.Choice(3), c) for c in range(4)] == [0, 1, 2, 0]
    assert decide(RoundRobinPolicy(), api.Subset(3), 4) == (1,)
    with pytest.raises(UnsuitableError, match="round_robin"):
        decide(RoundRobinPolicy(), api.Numbers((2,), 0.0, 1.0))


def test_greedy_takes_the_best_by_one_observation():
    lowest = GreedyPolicy(by="cost", lowest=True)
    assert decide(lowest, api.Best(3, 2), cost=[3.0, 1.0, 2.0]) == (1, 2)
    assert decide(GreedyPolicy(by="rate"), api.Choice(3), rate=[1.0, 5.0, 5.0]) == 1
    assert list(decide(GreedyPolicy(by="rate"), api.Shares(2), rate=[1.0, 2.0])) == [0.0, 1.0]
    with pytest.raises(UnsuitableError, match="must be one of cost"):
        decide(GreedyPolicy(by="rate"), api.Choice(1), cost=[1.0])
    with pytest.raises(UnsuitableError, match="3 numbers are needed"):
        decide(lowest, api.Choice(3), cost=[1.0])


def test_an_agent_is_asked_in_place_of_the_policy():
    decides = Decides((2,), {"x": api.Numbers(())}, api.Choice(9), lambda _: 1)
    seen = []

    def agent(decision):
        seen.append((decision.node, float(decision.observation["x"]), decision.count))
        return 7

    asked = Decisions(decides, agent, lambda: NOTHING)
    assert [asked.ask(2, {"x": k}, lambda n: []) for k in range(2)] == [7, 7]
    assert seen == [(2, 0.0, 0), (2, 1.0, 1)]
    assert Decisions(decides, None, lambda: NOTHING).ask(2, {"x": 0}, lambda n: []) == 1


@pytest.mark.parametrize(
    ("node", "observation", "said"),
    [
        (1, {"x": 0.0}, "node 1 is none of the declared deciders"),
        (2, {}, "has nothing; declared is x"),
        (2, {"x": 0.0, "y": 0.0}, "has x, y; declared is x"),
        (2, {"x": [0.0]}, "observation x: has shape"),
    ],
)
def test_what_is_asked_is_as_declared(node, observation, said):
    decides = Decides((2,), {"x": api.Numbers(())}, api.Choice(9), lambda _: 1)
    with pytest.raises(ProtocolError, match=said):
        Decisions(decides, None, lambda: NOTHING).ask(node, observation, lambda n: [])


def test_a_method_that_has_declared_nothing_can_not_ask(build, play):
    def process(node):
        yield node.decide({})

    with pytest.raises(ProtocolError, match="has not declared what it asks"):
        play(build(), process)


def test_a_reward_is_of_known_totals():
    with pytest.raises(ProtocolError, match="must be one of time_s, energy_j"):
        Decides((0,), {}, api.Choice(1), lambda _: 0, reward={"speed": 1.0})
