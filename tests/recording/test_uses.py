"""Fates of messages that brought values: the first word is the last."""

from types import SimpleNamespace

import pytest

from netsim.recording import run_folder
from netsim.recording.recorder import Recorder
from netsim.recording.uses import Fates, Uses

S = 1_000_000_000


def arrived(uses: Uses, *receivers: int, row: int = 0, now_ns: int = S) -> Fates:
    fates = Fates(uses, 0, "Model", 0)
    fates.arrive(receivers or (1,), row, now_ns)
    return fates


def read(uses: Uses, fates: Fates, now_ns: int, *weights: float, node: int = 1) -> None:
    value = SimpleNamespace(bringer=fates)
    uses.read(node, [value] * max(len(weights), 1), now_ns, "mix", weights)


@pytest.mark.parametrize("was_handed", [False, True])
def test_too_old_is_what_no_algorithm_got_in_time(was_handed):
    """A message that an algorithm got fresh and left aside is not used, however old it becomes."""
    uses = Recorder(None).uses
    uses.ages.limit_ns = 5 * S
    fates = arrived(uses)
    if was_handed:
        fates.handed_ns[1] = 2 * S
    fates.became(1, "too_old")
    uses.end(10 * S)
    assert dict(uses.counts) == {"not_used" if was_handed else "too_old": 1}


def test_a_use_is_final_and_counts_once():
    uses = Recorder(None).uses
    fates = arrived(uses)
    read(uses, fates, 2 * S, 0.0)
    read(uses, fates, 3 * S, 0.5, 0.5)
    read(uses, fates, 4 * S, 0.25)
    fates.settle(1, "superseded")
    uses.end(10 * S)
    assert uses.summary()["used"] == uses.summary()["arrived"] == 1
    assert uses.summary()["mean_age_s"] == 3.0


def test_a_gap_without_arrivals_is_no_warning():
    """One message in, used at once; then silence: nobody missed anything."""
    uses = Recorder(None).uses
    read(uses, arrived(uses), S, 0.5)
    uses.end(100 * S)
    assert uses.warnings(100 * S) == []


def test_receivers_of_one_message_have_fates_of_their_own_in_the_order_of_coming(tmp_path):
    """Rows 0 to 2 of one message and 3 of another: a use, a late one, two that nobody reads."""
    recorder = Recorder(tmp_path)
    uses = recorder.uses
    one = arrived(uses, 1, 2)
    other = arrived(uses, 1, row=2)
    one.arrive((3,), 3, 4 * S)
    one.came_late(2)
    read(uses, one, 5 * S, 0.5, node=3)
    uses.end(9 * S)
    recorder.close()
    rows = run_folder.read(tmp_path, "uses")
    seen = (rows[name] for name in ("message", "dst", "fate", "t_arrived_s"))
    assert list(zip(*seen, strict=True)) == [
        (3, 3, "used", 4.0), (0, 1, "unread", 1.0), (1, 2, "late", 1.0), (2, 1, "unread", 1.0)
    ]  # fmt: skip
    assert one.open == other.open == {}
