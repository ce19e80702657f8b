"""Fates of messages that brought values: the first word is the last."""

import pytest

from netsim.messaging.message import Envelope
from netsim.recording.recorder import Recorder
from netsim.recording.uses import Arrival, Uses

S = 1_000_000_000


def arrived(uses: Uses, message: int = 0) -> Envelope:
    envelope = Envelope(None, 0, 8, 1, 0)
    envelope.arrivals[1] = Arrival(uses, message, 0, 1, "Model", 0, S)
    return envelope


@pytest.mark.parametrize("was_handed", [False, True])
def test_too_old_is_what_no_algorithm_got_in_time(was_handed):
    """A message that an algorithm got fresh and left aside is not used, however old it becomes."""
    uses = Recorder(None).uses
    uses.limit_ns = 5 * S
    envelope = arrived(uses)
    if was_handed:
        envelope.arrivals[1].handed_ns = 2 * S
    envelope.became(1, "too_old")
    uses.end(10 * S)
    assert dict(uses.counts) == {"not_used" if was_handed else "too_old": 1}


def test_a_use_is_final_and_counts_once():
    uses = Recorder(None).uses
    arrival = arrived(uses).arrivals[1]
    arrival.used(3 * S, "mix", 0.5)
    arrival.used(4 * S, "mix", 0.25)
    arrival.settled("superseded")
    uses.end(10 * S)
    assert uses.summary()["used"] == uses.summary()["arrived"] == 1
    assert uses.summary()["mean_age_s"] == 3.0


def test_a_gap_without_arrivals_is_no_warning():
    """One message in, used at once; then silence: nobody missed anything."""
    uses = Recorder(None).uses
    arrived(uses).arrivals[1].used(S, "mix", 0.5)
    uses.end(100 * S)
    assert uses.warnings(100 * S) == []
