"""Wires against queueing theory, fair sharing, integrals, and Markov chains of loss."""

import math

import pytest

from netsim.channels.bursts import Bursts
from netsim.links.wired.max_min import max_min

from . import wire_checks as checks
from .wire_checks import BPS, exponential_sizes, same_sizes, two_sizes

pytestmark = pytest.mark.closed_forms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wire", "sizes", "mean_s"),
    [
        ({"rate_bps": BPS}, exponential_sizes, 5.3333),  # S / (1 - rho)
        ({"rate_bps": BPS}, same_sizes, 3.4667),  # S (1 + rho / (2 (1 - rho)))
        ({"uplink_bps": BPS, "sharing": "fifo"}, exponential_sizes, 5.3333),
        # shared: S / (1 - rho), whatever the law of the sizes
        ({"uplink_bps": BPS}, exponential_sizes, 5.3333),
        ({"uplink_bps": BPS}, two_sizes, 5.3333),
        ({"uplink_bps": BPS}, same_sizes, 5.3333),
    ],
    ids=["M/M/1", "M/D/1", "M/M/1 uplink", "M/M/1-PS", "M/G/1-PS", "M/D/1-PS"],
)
def test_mean_time_in_the_system(wire, sizes, mean_s):
    checks.check_mean_sojourn(wire, sizes(), mean_s)


@pytest.mark.slow
def test_m_m_1_sojourns_are_exponential():
    """P(T > t) = exp(-t (1 - rho) / S)."""
    times = checks.sojourns_s({"rate_bps": BPS}, exponential_sizes(40_000))  # for a rare tail
    for t in (2.0, 5.3333, 12.0):
        checks.within_error((times > t).astype(float), math.exp(-t * 0.3 / 1.6))


@pytest.mark.parametrize(
    "wire", [{"rate_bps": 1e6}, {"uplink_bps": 1e6, "sharing": "fifo"}], ids=["pair", "uplink"]
)
def test_propagation_does_not_block(wire):
    checks.check_propagation_does_not_block(wire)


def test_max_min_rates():
    rates = max_min({"A": ["a"], "AB": ["a", "b"], "B": ["b"]}, {"a": 10.0, "b": 4.0})
    assert rates == {"A": 8.0, "AB": 2.0, "B": 2.0}
    checks.check_max_min()


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
@pytest.mark.parametrize(("forwarding", "seconds"), [("pipelined", 1.6212), ("stored", 4.86)])
def test_three_hops(tmp_path, forwarding, sharing, seconds):
    """(M + h - 1) t against h M t."""
    checks.check_three_hops(tmp_path, forwarding, sharing, seconds)


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_a_message_ends_where_the_integral_of_the_capacity_is_its_size(tmp_path, sharing):
    checks.check_integral(tmp_path, sharing)


@pytest.mark.slow
def test_bursts_of_loss():
    assert Bursts().mean_loss == pytest.approx(0.00990099, abs=1e-8)
    assert checks.variance_of_losses(Bursts(), 2700) == pytest.approx(235.21, abs=0.005)
    assert checks.all_delivered(Bursts(), 2700) == pytest.approx(4.5e-3, abs=5e-5)
    checks.check_bursts()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bursts", "packets"),
    [
        (Bursts(), 2700),
        (Bursts(), 100),
        (Bursts(p_good_to_bad=0.05, p_bad_to_good=0.1, loss_good=0.01, loss_bad=0.3), 20),
    ],
)
def test_all_packets_get_through(bursts, packets):
    checks.check_all_delivered(bursts, packets)
