"""Every way in which a message can end is counted as itself wherever fates are shown."""

import math

import pytest

from netsim.recording.schema import ARRIVED, OUTCOMES
from netsim.views import network_cost, outcomes
from netsim.views.explaining.causes.starved import WHY
from netsim.views.gathering.comparison import Spread
from netsim.views.network_cost import CAUSES, World
from netsim.views.render import colours

LOST = [outcome for outcome in OUTCOMES if outcome not in ARRIVED]


@pytest.mark.parametrize("outcome", LOST)
def test_each_cause_has_words_a_colour_and_a_reason(outcome):
    assert {CAUSES[outcome], outcome} <= colours.FATES.keys()
    assert outcome in WHY


@pytest.mark.parametrize("outcome", LOST)
def test_what_was_lost_is_never_counted_as_arrived(outcome):
    """Three arrive, two of which a job reads; four are lost."""
    summary = {
        "outcomes": {"Model": {"delivered": 3, outcome: 4}},
        "uses": {"arrived": 3, "used": 2},
    }
    found = +outcomes.fates_of(summary)
    assert found == {outcomes.USED: 2, outcomes.UNUSED: 1, CAUSES[outcome]: 4}


class Played:
    """The run of a world that was measured or not."""

    def __init__(self, sent, by_outcome, **delay):
        self.measured, self.main = {}, None
        self.summary = {"messages": {"sent": sent}, "outcomes": {"M": by_outcome}, "delay": delay}


def test_the_shares_of_a_sentence_add_up():
    by_outcome = {"delivered": 1} | dict.fromkeys(LOST, 1)
    world = World("w", {}, Played(1 + len(LOST), by_outcome))
    every = network_cost.NetworkCost([[world]]).fates(CAUSES).values()
    assert math.isclose(sum(world.share(*of) for of in every), 1.0)


@pytest.mark.parametrize(
    ("delay_s", "said", "cell"),
    [(0.0, "0", "0.00"), (0.0042, "0.0042", "0.00420"), (0.62, "0.62", "0.62"),
     (123.4, "123", "123.40")],
)  # fmt: skip
def test_delays_of_any_size_are_numbers_that_say_something(delay_s, said, cell):
    assert (network_cost._rough(delay_s), network_cost._delay(delay_s)) == (said, cell)


def test_a_difference_of_models_that_are_not_finite_is_none(monkeypatch):
    worlds = [World(name, {}, Played(0, {})) for name in "ab"]
    monkeypatch.setattr(network_cost, "paired_nodes", lambda *_: Spread(math.nan, None, 3))
    assert network_cost.difference(*worlds) is None
