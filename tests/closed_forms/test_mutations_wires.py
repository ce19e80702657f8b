"""Wrong models of wires, each caught by a check of `wire_checks`."""

import pytest

from netsim.channels.block import ChannelBlock
from netsim.channels.bursts import Bursts
from netsim.links.wired import bottleneck, plan
from netsim.links.wired.capacity import PiecewiseCapacity
from netsim.links.wired.wire import WiredLink
from netsim.units import NS_PER_S

from . import wire_checks as checks

pytestmark = pytest.mark.closed_forms


@pytest.fixture
def caught():
    return pytest.raises(AssertionError)


def test_good_and_bad_swapped(monkeypatch, caught):
    """A library names its parameters the other way round."""
    stays = Bursts.state_stays

    def swapped(self, rng):
        other = Bursts.model_construct(
            p_good_to_bad=self.p_bad_to_good,
            p_bad_to_good=self.p_good_to_bad,
            loss_good=self.loss_good,
            loss_bad=self.loss_bad,
        )
        return stays(other, rng)

    monkeypatch.setattr(Bursts, "state_stays", swapped)
    with caught:
        checks.check_bursts(messages=200)


@pytest.mark.slow
def test_bursts_as_independent_losses_of_the_same_mean(monkeypatch, caught):
    """Their mean is right, their variance and what gets through whole are not."""

    def independent(self, arq, rng, packets, segments, want_mask=False):
        return arq.transfer(rng, packets, [ChannelBlock(None, self.mean_loss)], want_mask)

    monkeypatch.setattr(Bursts, "transfer", independent)
    with caught:
        checks.check_bursts(messages=1000)
    with pytest.raises(AssertionError):
        checks.check_all_delivered(Bursts(), 2700)


@pytest.mark.slow
def test_bursts_that_always_start_in_the_good_state(monkeypatch, caught):
    stays = Bursts.state_stays

    class Sure:
        """Generator whose first uniform is never under a share."""

        def __init__(self, rng):
            self.geometric, self.random = rng.geometric, lambda: 1.0

    monkeypatch.setattr(Bursts, "state_stays", lambda self, rng: stays(self, Sure(rng)))
    bursts = Bursts(p_good_to_bad=0.05, p_bad_to_good=0.1, loss_good=0.01, loss_bad=0.3)
    with caught:
        checks.check_all_delivered(bursts, 20)


def test_propagation_that_blocks_the_next_message(monkeypatch, caught):
    """The wire is free again only when the last message has arrived."""
    fate = WiredLink._sample_fate

    def blocking(self, tx):
        wait_ns, airtime_ns, report = fate(self, tx)
        self._free_ns[tx.src, tx.dst] = self.env.now + wait_ns
        return wait_ns, airtime_ns, report

    monkeypatch.setattr(WiredLink, "_sample_fate", blocking)
    with caught:
        checks.check_propagation_does_not_block({"rate_bps": 1e6})


@pytest.mark.slow
def test_a_queue_that_forgets_who_is_before(monkeypatch, caught):
    """Every message has the wire to itself."""
    fate = WiredLink._sample_fate

    def alone(self, tx):
        self._free_ns.clear()
        return fate(self, tx)

    monkeypatch.setattr(WiredLink, "_sample_fate", alone)
    with caught:
        checks.check_mean_sojourn({"rate_bps": checks.BPS}, checks.same_sizes(), 3.4667)


def test_equal_split_in_place_of_max_min(monkeypatch, caught):
    """Give a flow's unused share at its narrowest point to nobody."""

    def equal(paths, capacity):
        crowd = {r: sum(r in path for path in paths.values()) for r in capacity}
        return {f: min(capacity[r] / crowd[r] for r in path) for f, path in paths.items()}

    monkeypatch.setattr(bottleneck, "max_min", equal)
    with caught:
        checks.check_max_min()


@pytest.mark.slow
def test_an_uplink_that_nobody_shares(monkeypatch, caught):
    def unshared(paths, capacity):
        return {f: min(capacity[r] for r in path) for f, path in paths.items()}

    monkeypatch.setattr(bottleneck, "max_min", unshared)
    with caught:
        checks.check_mean_sojourn({"uplink_bps": checks.BPS}, checks.two_sizes(), 5.3333)


@pytest.mark.parametrize(("forwarding", "seconds"), [("pipelined", 1.6212), ("stored", 4.86)])
def test_hops_after_the_first_for_free(monkeypatch, caught, tmp_path, forwarding, seconds):
    new_way = plan.Wiring._new_route

    def first_only(self, src, dst):
        way = new_way(self, src, dst)
        return plan.Route(way.bottlenecks[:1], (), way.latency_ns)

    monkeypatch.setattr(plan.Wiring, "_new_route", first_only)
    with caught:
        checks.check_three_hops(tmp_path, forwarding, "max_min", seconds)


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_the_capacity_at_the_start_for_the_whole_message(monkeypatch, caught, tmp_path, sharing):
    at = PiecewiseCapacity.at

    def frozen(self, time_ns):
        return at(self, time_ns)[0], None

    def finish(self, time_ns, bits):
        return time_ns + round(bits / at(self, time_ns)[0] * NS_PER_S)

    monkeypatch.setattr(PiecewiseCapacity, "at", frozen)
    monkeypatch.setattr(PiecewiseCapacity, "finish_ns", finish)
    with caught:
        checks.check_integral(tmp_path, sharing)
