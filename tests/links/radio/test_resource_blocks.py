"""Messages over resource blocks that fade each for itself."""

import math

import pytest
from pydantic import ValidationError

from netsim.channels.effective_snr import beta_of
from netsim.channels.fading.frequency_selective import FrequencySelective
from netsim.channels.rate.lte_cqi import LteCqi
from netsim.channels.rate.shannon_gap import ShannonGap
from netsim.links.radio.phy.resource_blocks import ResourceBlocks
from netsim.links.radio.table import Radio
from netsim.rng import Streams

MS = 1_000_000
SELECTIVE = {"kind": "frequency_selective", "coherence_s": 1e-3}


def lost(ether, fading, fidelity="message", n=4_000):
    radio = {
        "arq": {"kind": "none"},
        "fading": fading,
        "packet_error": {"kind": "outage"},
        "threshold_db": 5.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=10.0)
    for k in range(n):
        e.send(0, 1, 1_000, at_ns=k * 10 * MS)
    return sum(x.lost for x in e.run()) / n


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_one_block_has_the_outage_of_rayleigh(ether, fidelity):
    """1 - exp(-10^.5 / 10) = .271107."""
    got = lost(ether, {**SELECTIVE, "resource_blocks": 1}, fidelity)
    assert got == pytest.approx(0.271107, abs=4 * math.sqrt(0.2711 * 0.7289 / 4_000))


@pytest.mark.slow
def test_many_independent_blocks_have_no_outage_or_nothing_else(ether):
    """beta ln(1 + 10 / beta) is 1.8 dB at beta = .5 and 9.4 dB at 34.28; the threshold is 5 dB."""
    many = {**SELECTIVE, "profile": "independent", "resource_blocks": 275}
    assert lost(ether, {**many, "beta": 0.5}, n=200) == 1.0
    assert lost(ether, {**many, "beta": 34.28}, n=200) == 0.0


def test_a_rate_is_chosen_by_its_own_effective_snr():
    fading = FrequencySelective(resource_blocks=2, profile="independent")
    blocks = ResourceBlocks(fading, LteCqi(), 1e6, Streams(1))
    for snr in ([0.5, 3.0], [10.0, 10.0], [2.0, 300.0], [1e3, 1e3]):
        chosen = blocks.rate_bps(snr)
        usable = [
            efficiency * 1e6
            for efficiency, least_db in LteCqi.table
            if float(blocks.snr(snr, efficiency * 1e6)) >= 10 ** (least_db / 10)
        ]
        assert chosen == pytest.approx(max(usable))
    assert blocks.rate_bps([1e-3, 1e-3]) == 0.0
    assert blocks.rate_bps(10.0) == LteCqi().bits_per_s(10.0, 1e6)
    assert beta_of(chosen / 1e6) == 34.28


def test_a_shannon_rate_is_the_mean_over_the_blocks():
    rate = ShannonGap(gap_db=3.0, min_rate_bps=1.0)
    blocks = ResourceBlocks(FrequencySelective(), rate, 1e6, Streams(1))
    snr = [0.1, 2.0, 50.0]
    want = sum(rate.bits_per_s(s, 1e6) for s in snr) / 3
    assert blocks.rate_bps(snr) == pytest.approx(want)


def test_broadcasts_and_reach_use_one_snr_a_pair(ether):
    radio = {"fading": {**SELECTIVE, "resource_blocks": 12}, "threshold_db": 5.0}
    radio["packet_error"] = {"kind": "outage"}
    e = ether(radio, mean_snr=10.0, nodes=6)
    channel, others = e.air._channel, range(1, 6)
    want = [j for j in others if channel.snr(0, j, 0) >= 10**0.5]
    assert e.air.in_reach(0, list(others)) == want
    e.send(0, list(others), 1_000)
    assert {x.dst for x in e.run() if x.outcome == "delivered"} == set(want)


def test_what_the_model_lacks_is_refused():
    with pytest.raises(ValidationError, match="whole band"):
        Radio(fading=SELECTIVE, mac={"kind": "shared"})
    with pytest.raises(ValidationError, match="no formula"):
        Radio(fading=SELECTIVE, reachable=3.0)
