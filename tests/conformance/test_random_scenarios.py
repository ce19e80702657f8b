"""Random valid scenarios break no invariant; `random_scenarios.py` plays as many as one likes."""

import pytest

from netsim.errors import ProtocolError

from .random_scenarios import DECLARED, UNFIT, play, scenarios


def played(first: int, wanted: int) -> int:
    """Play so many; how many messages were sent."""
    messages = 0
    for _, scenario, built in scenarios(first):
        timing_only = wanted % 2 == 1 and not DECLARED[scenario.algorithm[0].kind].needs_values
        try:
            messages += play(scenario, built, timing_only)["messages"]["sent"]
        except ProtocolError as error:
            if any(text in str(error) for text in UNFIT):
                continue
            raise
        wanted -= 1
        if wanted == 0:
            break
    return messages


@pytest.mark.slow
def test_a_few_random_scenarios_break_no_invariant():
    assert played(4, 2) > 10


@pytest.mark.slow
def test_random_scenarios_break_no_invariant():
    assert played(100, 24) > 500
