"""Links between places: what is near, what is left out, what motion changes."""

import dataclasses
import itertools
import math
import tracemalloc

import numpy as np
import pytest

from netsim.channels.mac import Medium
from netsim.errors import ScenarioError
from netsim.links.radio.phy.background import Interferer
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.mean_snr import EVERY_PAIR_UP_TO, IidMeanSnr, PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, db_to_linear
from netsim.world import coverage

STILL = {"kind": "none"}
SHADOWED = {"kind": "log_normal", "sigma_db": 6.0, "decorrelation_m": 20.0}
STREAMS = Streams(4)


class Lines:
    """Nodes on straight lines, there and back within a minute."""

    def __init__(self, start_m, velocity_m_per_s):
        self.start_m, self.velocity_m_per_s = np.array(start_m), np.array(velocity_m_per_s)
        self.fastest_m_per_s = float(np.hypot(*self.velocity_m_per_s.T).max())
        self.asked = 0

    def at(self, nodes, time_ns):
        self.asked += len(nodes)
        s = 30.0 - abs(30.0 - time_ns / NS_PER_S % 60.0)
        ids = np.asarray(nodes)
        return self.start_m[ids] + self.velocity_m_per_s[ids] * s


def scattered(nodes, side_m):
    return side_m * (np.random.Generator(np.random.Philox(nodes)).random((nodes, 2)) - 0.5)


def channel(radio, positions, track=None, range_m=None, nodes=None):
    threshold = db_to_linear(radio.threshold_db)
    powers = (radio.tx_power_dbm,) * len(positions)
    if range_m is None:
        range_m = coverage.range_m(radio, radio.tx_power_dbm, threshold)
    means = PlacedMeanSnr(radio, powers, positions, STREAMS, range_m, track)
    budget = LinkBudget(means, threshold, (0.1,) * len(positions), range_m)
    return RadioChannel(radio, budget, lambda node, time_ns: (0, 0), STREAMS)


@pytest.mark.slow
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("shadowing", [{"kind": "none"}, SHADOWED])
def test_who_is_near_is_found_without_looking_at_everybody(moving, shadowing):
    """2,000 nodes: what the k-d tree finds is what looking at every pair finds."""
    nodes, times = 2000, (0, 3 * NS_PER_S, 17 * NS_PER_S, 1)
    at = scattered(nodes, 2000.0)
    track = Lines(at, scattered(nodes, 6.0)) if moving else None
    radio = Radio(tx_power_dbm=0.0, shadowing=shadowing)
    near = channel(radio, at, track)
    everyone = channel(radio, at, track, range_m=math.inf)
    others = {i: tuple(j for j in range(nodes) if j != i) for i in range(0, nodes, 97)}
    left_out = 0
    for t, (i, peers) in itertools.product(times, others.items()):
        reach, all_reach = near.in_reach(i, peers, t), everyone.in_reach(i, peers, t)
        assert reach == all_reach
        assert reach == [j for j in reach if near.snr(i, j, t) >= db_to_linear(5.0)]
        known = near._mean_snr.snr(i, peers, t)
        whole = everyone._mean_snr.snr(i, peers, t)
        left_out += int((known == 0).sum())
        assert (known[known > 0] == whole[known > 0]).all()
        assert not np.setdiff1d(
            np.array(peers)[known > 0], near._mean_snr.nodes_in_range(i, peers, t)
        ).size
    assert left_out > 0.8 * len(times) * len(others) * nodes
    assert near._budget.as_dict()["pairs_left_out"] > 0.8 * nodes * (nodes - 1) / 2


def test_pairs_left_out_are_counted():
    nodes = EVERY_PAIR_UP_TO + 1
    at = np.stack([10.0 * np.arange(nodes), np.zeros(nodes)], axis=1)
    means = PlacedMeanSnr(Radio(), (20.0,) * nodes, at, STREAMS, 25.0)
    assert means.pairs_left_out == nodes * (nodes - 1) // 2 - (nodes - 1) - (nodes - 2)
    assert means.nodes_in_range(500, range(nodes), 0) == [498, 499, 501, 502]
    assert means.nodes_in_range(500, (3, 501, 700), 0) == [501]
    assert means.pair_snr(500, 502, 0) > 0.0 == means.pair_snr(500, 503, 0)


def test_with_few_nodes_nothing_is_left_out():
    at = scattered(EVERY_PAIR_UP_TO, 1e6)
    means = PlacedMeanSnr(Radio(), (20.0,) * len(at), at, STREAMS, 25.0)
    others = range(1, len(at))
    assert means.pairs_left_out == 0
    assert means.nodes_in_range(0, others, 0) is others
    assert (means.snr(0, others, 0) > 0).all()


@pytest.mark.slow
def test_ten_thousand_nodes_take_no_table_of_pairs():
    nodes = 10_000
    at = scattered(nodes, 5000.0)
    track = Lines(at, scattered(nodes, 4.0))
    tracemalloc.start()
    here = channel(Radio(tx_power_dbm=0.0), at, track)
    for i in range(0, nodes, 50):
        around = here._mean_snr._around(i, 0)
        here.in_reach(i, around, i * 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # a byte a pair would be 100 MB
    track.asked = 0
    for i in range(0, nodes, 50):
        here.in_reach(i, here._mean_snr._around(i, 0), 40_000_000)
    assert track.asked < 200 * 100


def test_a_mean_is_that_of_the_formula():
    at = np.array([[0.0, 0.0], [30.0, 40.0]])
    here = channel(Radio(fading=STILL, tx_power_dbm=10.0), at)
    radio = here._radio
    loss_db = radio.path_loss.loss_db(50.0, radio.carrier_hz)
    assert here.snr(0, 1, 0) == pytest.approx(db_to_linear(10.0 - loss_db - radio.noise_dbm))
    assert channel(radio, np.zeros((2, 2))).snr(0, 1, 0) == pytest.approx(
        db_to_linear(10.0 - radio.path_loss.loss_db(1.0, radio.carrier_hz) - radio.noise_dbm)
    )


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "tables",
    [
        {"fading": {"kind": "rayleigh", "coherence_s": 0.3}},
        {"fading": STILL},
        {"fading": {"kind": "rician", "doppler_hz": 2.0, "process": "sum_of_sinusoids"}},
        {"fading": {"kind": "rayleigh", "hold": "exchange"}},
        {
            "fading": {"kind": "rayleigh", "coherence_s": 0.3},
            "rate": {"kind": "shannon_gap", "min_rate_bps": 1e3, "csi_delay_s": 0.1},
        },
    ],
    ids=["blocks", "still", "sinusoids", "exchange", "late"],
)
@pytest.mark.parametrize("shadowing", [{"kind": "none"}, SHADOWED])
def test_stretches_follow_a_node_that_moves(tables, shadowing):
    """Each block has the SNR of its start, and the SNR stays as long as it lasts."""
    track = Lines([[0.0, 0.0], [40.0, 0.0]], [[0.0, 0.0], [2.0, 1.0]])
    here = channel(Radio(shadowing=shadowing, **tables), track.start_m, track)
    at_ns, snrs = 1_234_567_890, []
    for block in itertools.islice(here.blocks(0, 1, at_ns, 12_000), 300):
        assert block.snr == here.snr(0, 1, at_ns)
        snrs.append(block.snr)
        until_ns = here._holds_until_ns(0, 1, at_ns, here._mean_snr.pair_snr(0, 1, at_ns), None)
        assert at_ns < until_ns <= at_ns + block.length_ns
        assert here.snr(0, 1, until_ns - 1) == block.snr
        if block.attempts:  # the last attempt begins before the channel changes
            assert at_ns + (block.attempts - 1) * block.attempt_ns < until_ns
        at_ns += block.length_ns
    assert len(set(snrs)) > 50


def test_a_node_that_stands_still_has_stretches_without_end():
    at = np.array([[0.0, 0.0], [40.0, 0.0]])
    for track in (None, Lines(at, np.zeros((2, 2)))):
        (only,) = channel(Radio(fading=STILL), at, track).blocks(0, 1, 0, 12_000)
        assert (only.length_ns, only.attempts) == (None, None)


def test_nobody_moves_far_between_two_looks():
    track = Lines([[0.0, 0.0], [40.0, 0.0]], [[0.0, 0.0], [5.0, 0.0]])
    for shadowing, most_m in (({"kind": "none"}, 1.0), (SHADOWED | {"decorrelation_m": 3.0}, 0.3)):
        means = channel(Radio(shadowing=shadowing), track.start_m, track)._mean_snr
        step_ns = means.holds_until_ns(0, 1, 0)
        assert step_ns * 5.0 / NS_PER_S == pytest.approx(most_m)


def test_who_is_far_away_is_not_looked_at_step_by_step():
    """Two nodes 10 km apart with a range of some 100 m: the next look is when they could meet."""
    nodes = EVERY_PAIR_UP_TO + 1
    at = np.zeros((nodes, 2))
    at[0] = (10_000.0, 0.0)
    here = channel(Radio(tx_power_dbm=0.0), at, Lines(at, np.full((nodes, 2), 1.0)))
    first = next(iter(here.blocks(0, 1, 0, 12_000)))
    assert (first.snr, first.per) == (0.0, 1.0)
    closing_s = (10_000.0 - here._budget.range_m) / (2 * math.sqrt(2.0))
    assert first.length_ns / NS_PER_S == pytest.approx(closing_s, rel=1e-2)
    assert first.length_ns / NS_PER_S <= closing_s + 1.0


def test_a_still_pair_out_of_range_has_one_stretch_and_nothing_gets_through():
    nodes = EVERY_PAIR_UP_TO + 1
    at = np.zeros((nodes, 2))
    at[0] = (10_000.0, 0.0)
    (only,) = channel(Radio(tx_power_dbm=0.0), at).blocks(0, 1, 0, 12_000)
    assert (only.snr, only.per, only.length_ns) == (0.0, 1.0, None)


def test_motion_without_a_decorrelation_distance_is_refused():
    track = Lines([[0.0, 0.0], [40.0, 0.0]], [[0.0, 0.0], [5.0, 0.0]])
    radio = Radio(shadowing={"kind": "log_normal", "sigma_db": 6.0})
    channel(radio, track.start_m)
    with pytest.raises(ScenarioError, match="decorrelation_m"):
        channel(radio, track.start_m, track)


def test_alike_links_are_shadowed_by_pair():
    radio = Radio(shadowing=SHADOWED)
    means = IidMeanSnr(radio, (10.0, 10.0, 13.0), STREAMS)
    assert means.pair_snr(0, 1, 0) == means.pair_snr(1, 0, 0)
    assert means.pair_snr(2, 0, 0) == pytest.approx(db_to_linear(3.0) * means.pair_snr(0, 2, 0))
    assert len({means.pair_snr(0, 1, 0), means.pair_snr(0, 2, 0), means.pair_snr(1, 2, 0)}) == 3
    many = IidMeanSnr(radio, (10.0,) * 5000, STREAMS).snr(0, range(1, 5000), 0)
    shadow_db = 10.0 - 10 * np.log10(many)
    assert abs(shadow_db.mean()) < 4 * 6.0 / math.sqrt(5000)
    assert abs(shadow_db.std() - 6.0) < 4 * 6.0 / math.sqrt(10_000)


# -- how far -------------------------------------------------------------------------------------


def range_of(**tables):
    radio = Radio(**tables)
    return coverage.range_m(radio, radio.tx_power_dbm, db_to_linear(radio.threshold_db)), radio


def mean_snr_db(radio, distance_m, u=0.0):
    loss_db = radio.path_loss.loss_db(distance_m, radio.carrier_hz, u)
    return radio.tx_power_dbm - loss_db - radio.noise_dbm


def test_range_without_fading_is_where_the_mean_is_the_threshold():
    far_m, radio = range_of(fading=STILL)
    assert 0.0 <= 5.0 - mean_snr_db(radio, far_m) < 0.21


def test_range_of_a_shadowed_link():
    """Q(x) = 1e-6 at x = 4.7534."""
    far_m, radio = range_of(fading=STILL, shadowing=SHADOWED)
    assert 0.0 < 5.0 - mean_snr_db(radio, far_m) - 4.7534 * 6.0 < 0.25


def test_range_of_a_rate_that_needs_less_than_the_threshold():
    rate = {"kind": "lte_cqi"}
    far_m, radio = range_of(fading=STILL, rate=rate, packet_error={"kind": "rate_outage"})
    assert 0.0 <= -6.7 - mean_snr_db(radio, far_m) < 0.21
    cut_m, _ = range_of(fading=STILL, rate={"kind": "shannon_gap", "min_rate_bps": 1e9})
    assert cut_m == range_of(fading=STILL)[0]  # in reach by the threshold all the same


def test_range_counts_attempts_that_are_combined():
    alone_m, _ = range_of(fading=STILL, arq={"kind": "hole", "max_attempts": 4})
    four_m, _ = range_of(fading=STILL, arq={"kind": "harq_chase", "max_attempts": 4})
    assert four_m == pytest.approx(alone_m * 4 ** (1 / 3), rel=0.01)


def test_range_counts_chance_of_sight():
    """UMi: sight has a probability of 18 / d, so that the range is that of sight."""
    far_m, radio = range_of(path_loss={"kind": "umi"}, fading=STILL)
    assert 0.0 <= 5.0 - mean_snr_db(radio, far_m) < 0.21
    dark_m, radio = range_of(path_loss={"kind": "umi", "sight": "never"}, fading=STILL)
    assert 0.0 <= 5.0 - mean_snr_db(radio, dark_m, 1.0) < 0.21
    assert dark_m < far_m


def test_a_loss_that_ignores_the_channel_has_no_range():
    assert range_of(packet_error={"kind": "fixed", "loss": 0.5})[0] == math.inf
    at = scattered(EVERY_PAIR_UP_TO + 1, 1e7)
    here = channel(Radio(packet_error={"kind": "fixed", "loss": 0.5}), at)
    assert here._budget.as_dict() == {"range_m": math.inf, "pairs_left_out": 0}


def test_a_hopeless_radio_has_a_range_of_a_metre():
    assert range_of(tx_power_dbm=-300.0)[0] == 1.0


# -- ends of the scale ---------------------------------------------------------------------------


@pytest.mark.parametrize("rate", ["fixed", "shannon_gap", "ofdm_80211", "lte_cqi"])
@pytest.mark.parametrize("rule", ["outage", "rate_outage", "logistic", "uncoded_qam16"])
@pytest.mark.parametrize("hold", ["coherence", "exchange"])
@pytest.mark.parametrize("mean_db", [-5000.0, 5000.0])
def test_no_and_endless_snr_are_defined(rate, rule, hold, mean_db):
    keys = {"fixed": {"rate_bps": 1e6}, "shannon_gap": {"min_rate_bps": 1e6}}.get(rate, {})
    radio = Radio(
        rate={"kind": rate, **keys},
        packet_error={"kind": rule},
        fading={"kind": "rayleigh", "hold": hold},
    )
    means = IidMeanSnr(radio, (mean_db, mean_db), STREAMS)
    here = RadioChannel(radio, LinkBudget(means, 1.0, (0.1, 0.1)), lambda i, t: (0, 0), STREAMS)
    first = next(iter(here.blocks(0, 1, 0, 12_000)))
    assert first.snr == (0.0 if mean_db < 0 else math.inf)
    assert first.per == (1.0 if mean_db < 0 else 0.0)
    assert math.isfinite(first.attempt_ns)
    assert here.in_reach(0, [1], 0) == ([] if mean_db < 0 else [1])
    if mean_db > 0 and rate == "shannon_gap":
        assert first.attempt_ns == 0.0
        assert first.attempts is None


def test_other_senders_raise_the_noise_of_choice_and_of_decoding():
    radio = Radio(
        fading=STILL,
        rate={"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1.0},
        packet_error={"kind": "rate_outage"},
    )
    means = IidMeanSnr(radio, (10.0, 10.0), STREAMS)
    here = RadioChannel(radio, LinkBudget(means, 1.0, (0.1, 0.1)), lambda i, t: (0, 0), STREAMS)
    (alone,) = here.blocks(0, 1, 0, 20_000)
    nine_noises = [Interferer(0, 0.9, 0)]
    (loud,) = here.blocks(0, 1, 0, 20_000, None, Medium(2.0, 5.0, 0.25), None, nine_noises)
    assert loud.snr == pytest.approx(1.0)
    assert (alone.per, loud.per) == (0.0, 0.25)
    assert loud.attempt_ns == pytest.approx(2.0 * 1e6 + 5.0)  # 1 bit/s/Hz
    assert alone.attempt_ns == pytest.approx(1e6 / math.log2(11.0))


def test_a_budget_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        channel(Radio(), np.zeros((2, 2)))._budget.threshold = 1.0
