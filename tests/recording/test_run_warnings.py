import pytest

from netsim.recording.run_warnings import queued_share


@pytest.mark.parametrize(
    ("in_flight", "ended", "woke", "share"),
    [
        (0, 100, 50, 0.0),
        (20, 80, 50, 0.0),  # 10 nodes with 2 messages a wake-up: 20 are those of the last ones
        (40, 60, 50, 0.0),  # two wake-ups' worth, no more
        (41, 59, 50, 0.41),
        (0, 0, 0, 0.0),
        (30, 70, 0, 0.0),  # no clock wakes nodes: how much is asked for at a time is not known
    ],
)
def test_messages_queue_where_more_are_on_their_way_than_two_wakeups_send(
    in_flight, ended, woke, share
):
    assert queued_share(in_flight, ended, woke, nodes=10) == pytest.approx(share)
