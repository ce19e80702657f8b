"""Bursty loss: segments, folding, one rule of loss, the radio's segments."""

import itertools

import numpy as np
import pytest

from netsim.channels.arq.hole import Hole
from netsim.channels.arq.none import NoArq
from netsim.channels.arq.unlimited import Unlimited
from netsim.channels.block import ChannelBlock
from netsim.channels.bursts import Bursts
from netsim.links.wired.wire import Wire


def test_a_chain_must_change_and_loss_has_one_rule():
    with pytest.raises(ValueError, match="it would never change"):
        Bursts(p_good_to_bad=0.0, p_bad_to_good=0.0)
    with pytest.raises(ValueError, match="loss and bursts both say which packets are lost"):
        Wire(loss=0.1, bursts=Bursts())


def test_without_bad_times_the_losses_of_the_good_state_are_all():
    bursts = Bursts(p_good_to_bad=0.0, p_bad_to_good=0.5, loss_good=0.0)
    rng = np.random.default_rng(0)
    found = bursts.transfer(NoArq(), rng, 1000, [ChannelBlock(None, 0.0)])
    assert found.complete
    assert found.attempts == [1000]


def test_attempts_are_told_by_segment_of_the_link():
    rng = np.random.default_rng(0)
    bursts = Bursts(p_good_to_bad=0.2, p_bad_to_good=0.4)
    segments = [
        ChannelBlock(70, 0.1),
        ChannelBlock(0, 0.5),
        ChannelBlock(50, 1.0),
        ChannelBlock(None, 0.0),
    ]
    found = bursts.transfer(Unlimited(), rng, 100, segments)
    assert found.attempts[:3] == [70, 0, 50]
    assert len(found.attempts) == 4
    assert found.complete


@pytest.mark.slow
@pytest.mark.parametrize("arq", [NoArq(), Hole(max_attempts=3), Unlimited()], ids=lambda a: a.kind)
def test_a_message_fares_as_attempt_by_attempt(arq):
    """Two samples of attempts and losses, 4,000 messages each: means within 4 standard errors."""
    bursts = Bursts(p_good_to_bad=0.1, p_bad_to_good=0.3, loss_good=0.05, loss_bad=0.9)
    limit = {"none": 1, "hole": 3, "unlimited": 10**9}[arq.kind]
    rng = np.random.default_rng(1)
    sampled, played = [], []
    for _ in range(4000):
        found = bursts.transfer(arq, rng, 20, [ChannelBlock(None, 0.0)])
        sampled.append((sum(found.attempts), found.lost))
        bad, attempts, lost = rng.random() < bursts.share_bad, 0, 0
        for _ in range(20):
            for attempt in range(limit):
                fails = rng.random() < (bursts.loss_bad if bad else bursts.loss_good)
                attempts += 1
                leaves = bursts.p_bad_to_good if bad else bursts.p_good_to_bad
                bad = bad != (rng.random() < leaves)
                if not fails:
                    break
                lost += attempt + 1 == limit
        played.append((attempts, lost))
    for one, other in zip(np.array(sampled).T, np.array(played).T, strict=True):
        error = np.sqrt((one.var() + other.var()) / 4000) + 1e-12
        assert abs(one.mean() - other.mean()) < 4 * error
        spread = np.sqrt(2 / 4000) * other.var() * 3  # of a variance; kurtosis allowed for
        assert abs(one.var() - other.var()) < 4 * spread + 1e-12


def test_blocks_of_a_radio_channel_are_cut_where_the_state_changes():
    bursts = Bursts(p_good_to_bad=0.1, p_bad_to_good=0.3, loss_good=0.0, loss_bad=0.5)
    given = [
        ChannelBlock(50, 0.2, 9.0, 1000.0, 50_000),
        ChannelBlock(0, 1.0, 0.1, 0.0, 7_000),
        ChannelBlock(None, 0.2, 9.0, 700.0),
    ]
    cut = list(itertools.islice(bursts.split_blocks(given, np.random.default_rng(0)), 2000))
    first = [s for s in cut if s.attempt_ns == 1000.0]
    assert sum(s.attempts for s in first) == 50
    assert sum(s.length_ns for s in first) == 50_000
    assert cut[len(first)] is given[1]
    # attempts in the bad state: a quarter, with losses of 1 - 0.8 * 0.5
    tail = cut[len(first) + 1 :]
    assert sorted({round(s.per, 12) for s in tail}) == [0.2, 0.6]
    bad = sum(s.attempts for s in tail if s.per > 0.5) / sum(s.attempts for s in tail)
    assert abs(bad - 0.25) < 0.04
    steady = Bursts(p_good_to_bad=0.0, p_bad_to_good=1.0)
    kept = list(steady.split_blocks(given, np.random.default_rng(0)))
    assert [(s.attempts, s.length_ns) for s in kept] == [(50, 50_000), (0, 7_000), (None, None)]
    assert [s.per for s in kept] == pytest.approx([0.2, 1.0, 0.2])


def test_a_partial_message_knows_which_packets_arrived():
    rng = np.random.default_rng(0)
    found = Bursts(p_good_to_bad=0.1).transfer(NoArq(), rng, 500, [ChannelBlock(None, 0.0)], True)
    assert (~found.arrived).sum() == found.lost > 0
