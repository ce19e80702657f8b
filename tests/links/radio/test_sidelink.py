"""NR sidelink mode 2 and duty cycles: reservations against closed forms and by the slot."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.mac.aloha import Aloha
from netsim.channels.mac.nr_sidelink_mode2 import NrSidelinkMode2
from netsim.rng import Streams

MS, S = 1_000_000, 1_000_000_000


def rule(**keys):
    """Five slots of 20 ms a period."""
    return NrSidelinkMode2(slot_s=0.02, **{"subchannels": 4} | keys)


def reservations(mac, nodes, heard_dbm=-60.0, seed=0):
    levels = np.broadcast_to(np.asarray(heard_dbm, dtype=float), (nodes, nodes))
    return mac.reservations(nodes, Streams(seed), lambda src, time_ns: levels[src])


def played(held, nodes, periods, period_ns=100 * MS):
    """(period, slot, sub-channel) of every node that sends once a period, as (node, period, 2)."""
    mine = [held.begins_ns(i, 0.0, 1.0) for i in range(nodes)]
    found = np.empty((nodes, periods, 2), dtype=int)
    for number in range(periods):
        for i in sorted(range(nodes), key=lambda i: (mine[i], i)):
            at_ns = mine[i]
            found[i, number] = at_ns // (20 * MS) - 5 * number, held.begun(i, round(at_ns))
        mine = [held.begins_ns(i, (number + 1) * period_ns, 1.0) for i in range(nodes)]
    return found


@pytest.mark.slow
def test_two_that_pick_blindly_collide_once_in_so_many_resources():
    """1/N for N = 5 slots of 4 sub-channels."""
    pairs = 4_000
    held = reservations(rule(), 2 * pairs)
    picked = []
    for i in range(2 * pairs):
        slot = held.begins_ns(i, 0.0, 1.0) // (20 * MS)
        picked.append((slot, held._held[i].channel))
    same = np.mean([one == other for one, other in zip(picked[::2], picked[1::2], strict=True)])
    assert len(set(picked)) == 20
    assert same == pytest.approx(1 / 20, abs=4 * math.sqrt(0.05 * 0.95 / pairs))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("period_s", "least", "most"), [(0.1, 5, 15), (0.05, 10, 30), (1.0, 5, 15)]
)
def test_counters_are_uniform(period_s, least, most):
    """5 to 15, times 100 ms over shorter periods (TS 38.321, 5.22.1.1)."""
    mac = NrSidelinkMode2(period_s=period_s)
    found = [mac.counter(draw) for draw in (np.arange(99_000) + 0.5) / 99_000]
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == list(range(least, most + 1))
    assert np.ptp(counts) <= 1


@pytest.mark.parametrize("period_s", [0.01, 0.05, 1e-9])
def test_a_period_is_a_whole_number_of_slots(period_s):
    """Slots of 20 ms."""
    with pytest.raises(ValidationError, match="whole number of slots"):
        rule(period_s=period_s)


@pytest.mark.parametrize("threshold_dbm", [-200.0, 200.0])
def test_any_threshold_leaves_something_to_pick(threshold_dbm):
    """All of the five slots are taken by others, at -60 dBm."""
    held = reservations(rule(subchannels=1, rsrp_threshold_dbm=threshold_dbm), 6)
    picked = played(held, 6, 4)
    assert ((picked[:, :, 0] >= 0) & (picked[:, :, 0] < 5)).all()


@pytest.mark.parametrize("threshold_dbm", [-1e300, 1e300, -201.0])
def test_no_threshold_is_out_of_reach(threshold_dbm):
    with pytest.raises(ValidationError, match="rsrp_threshold_dbm"):
        rule(rsrp_threshold_dbm=threshold_dbm)


@pytest.mark.parametrize("keep", [0.0, 0.6])
def test_a_resource_is_kept_for_its_counter_and_by_chance_for_longer(keep):
    """Ten packets on average, 10 / (1 - p) with renewals; never again the slot it was deaf in."""
    found = played(reservations(rule(keep_probability=keep), 1), 1, 8_000)[0]
    changes = np.flatnonzero((np.diff(found, axis=0) != 0).any(axis=1)) + 1
    lengths = np.diff(changes)
    mean = 10 / (1 - keep)
    sd = math.sqrt(10 / (1 - keep) + 100 * keep / (1 - keep) ** 2)
    assert lengths.mean() == pytest.approx(mean, abs=4 * sd / math.sqrt(len(lengths)))
    if keep == 0.0:
        assert sorted(set(lengths.tolist())) == list(range(5, 16))
        assert (found[changes, 0] != found[changes - 1, 0]).all()


def test_who_hears_all_takes_what_is_free():
    """Ten that come one after the other have ten of twenty resources; those out of reach do not."""
    held, blind = (reservations(rule(), 10, level) for level in (-60.0, -130.0))
    for air, free in ((held, True), (blind, False)):
        picked = []
        for i in range(10):
            at_ns = air.begins_ns(i, (i + 1) * 100 * MS, 1.0)
            picked.append((at_ns // (20 * MS) % 5, air.begun(i, round(at_ns))))
            for j in range(i):  # the others go on
                air.begun(j, round(air.begins_ns(j, (i + 2) * 100 * MS - 1, 1.0)))
        if free:
            assert len(set(picked)) >= 9  # two may have been in one slot, deaf for each other


@pytest.mark.slow
def test_a_fifth_of_all_is_always_left_and_the_weakest_go_first():
    """19 of 20 are reserved, five of them weakly: the threshold rises until four are free."""
    mac = rule(subchannels=20, rsrp_threshold_dbm=-110.0)
    mac = mac.model_copy(update={"period_s": 0.02})  # one slot, twenty sub-channels
    levels = np.full((20, 20), -60.0)
    levels[:5] = -100.0
    weak = set()
    for seed in range(200):
        held = reservations(mac, 20, levels, seed)
        for i in range(19):
            held.begins_ns(i, 0.0, 1.0)
            held._held[i].channel = i
            held.begun(i, 0)
        held.begins_ns(19, 1.0, 1.0)
        weak.add(held._held[19].channel)
    assert weak == {0, 1, 2, 3, 4, 19}


def together(periods, seed=0):
    """Share of periods in which two that hear each other send in one slot."""
    found = played(reservations(rule(), 2, seed=seed), 2, periods)
    return (found[0, :, 0] == found[1, :, 0]).mean()


@pytest.mark.slow
def test_two_are_deaf_for_each_other_as_often_as_a_chain_says():
    """Compare with a chain: a sender avoids its own slot, and the other's resource if it heard it.

    From one slot they always part; apart, the other's slot is taken with q = 3 / (20 - 4 - 1); of
    equal epochs q / (1 + q) = 1/6 are spent in one slot.
    """
    q = 3 / 15
    share, epochs = q / (1 + q), 10_000 / 5
    spread = math.sqrt(share * (1 - share) / epochs * (1 + 1 / 12))
    assert together(10_000) == pytest.approx(share, abs=4 * spread)


@pytest.mark.slow
def test_on_the_air_two_lose_what_they_send_in_one_slot(ether):
    """Broadcasts of a packet a period each; without noise nothing else is lost."""
    periods = 1_000
    e = ether({"mac": rule().model_dump(), "arq": {"kind": "none"}})
    for number in range(periods):
        for i in range(2):
            e.send(i, [1 - i], 1_000, at_ns=number * 100 * MS + 1)
    ended = e.run()
    lost = np.mean([x.lost for x in ended])
    share = 1 / 6
    assert len(ended) == 2 * periods
    assert lost == pytest.approx(share, abs=4 * math.sqrt(share * 5 / 6 / (periods / 5)))
    assert max(x.at_ns - x.sent_ns for x in ended) <= 110 * MS + 20 * MS


def by_the_slot(senders, periods, slots, channels, seed):
    """Vehicles that all hear each other, slot by slot: share of receptions lost.

    Written anew: a calendar of who announced which slot and sub-channel for the next period.
    """
    rng = np.random.default_rng(seed)
    when = rng.integers(0, slots, senders)
    where, left = rng.integers(0, channels, senders), rng.integers(5, 16, senders)
    announced = [{} for _ in range(senders)]  # of others, as each has heard it: who -> resource
    fresh = [False] * senders
    lost = sent = 0
    for _ in range(periods):
        order = np.zeros(senders, dtype=int)
        for i in range(senders):
            if fresh[i]:  # of the period before: all that it heard but in its own slot
                taken = {at for j, at in announced[i].items() if j != i}
                open_ = [
                    (s, c)
                    for s in range(slots)
                    for c in range(channels)
                    if (s, c) not in taken and s != when[i]
                ]
                order[i] = 1
                when[i], where[i] = open_[rng.integers(len(open_))]
                left[i], fresh[i] = rng.integers(5, 16), False
        heard = [{} for _ in range(senders)]
        for i in range(senders):
            left[i] -= 1
            fresh[i] = left[i] == 0
        for i in range(senders):
            for j in range(senders):
                if i == j:
                    continue
                sent += 1
                clash = any(
                    k not in (i, j) and when[k] == when[i] and where[k] == where[i]
                    for k in range(senders)
                )
                if when[i] == when[j] or clash:
                    lost += 1
                elif not fresh[i]:
                    heard[j][i] = (when[i], where[i])
        announced = heard
    return lost / sent


@pytest.mark.slow
def test_six_lose_as_many_as_slot_by_slot(ether):
    """Ten slots of three sub-channels; SNR 20 dB, so that equal powers in one resource are lost."""
    senders, periods = 6, 1_200
    mac = NrSidelinkMode2(slot_s=0.01, subchannels=3)
    keys = {"mac": mac.model_dump(), "arq": {"kind": "none"}, "packet_error": {"kind": "outage"}}
    e = ether(keys, nodes=senders)
    for number in range(periods):
        for i in range(senders):
            others = [j for j in range(senders) if j != i]
            e.send(i, others, 1_000, at_ns=number * 100 * MS + 1)
    ended = e.run()
    found = np.mean([x.lost for x in ended])
    want = np.mean([by_the_slot(senders, periods, 10, 3, seed) for seed in range(3)])
    assert found == pytest.approx(want, rel=0.1)


def test_powers_in_one_resource_are_noise_where_they_are_heard(ether):
    """Two far apart take one resource, and each one's neighbour hears its own sender."""
    snr = np.full((4, 4), 1e-3)
    snr[0, 1] = snr[1, 0] = snr[2, 3] = snr[3, 2] = 100.0
    mac = NrSidelinkMode2(slot_s=0.1, subchannels=1)
    keys = {"mac": mac.model_dump(), "arq": {"kind": "none"}, "packet_error": {"kind": "outage"}}
    for others, lost in ((1e-3, 0), (50.0, 1)):
        here = snr.copy()
        here[0, 3] = here[2, 1] = others
        e = ether(keys, mean_snr=here, nodes=4)
        e.send(0, 1, 1_000)
        e.send(2, 3, 1_000)
        assert [x.lost for x in e.run()] == [lost, lost]


# -- duty cycles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01])
def test_a_sender_is_silent_for_as_long_as_regulation_says(ether, share):
    """Between two packets of a millisecond at least T (1/d - 1), over messages, too."""
    mac = {"kind": "aloha", "attempt_rate": 1e6, "max_duty_cycle": share}
    e = ether({"mac": mac, "arq": {"kind": "none"}})
    for _ in range(10):
        e.send(0, 1, 4_000)
    ended = e.run()
    cycles = 39 / share  # of forty packets, the last one without its silence
    assert ended[-1].at_ns / MS == pytest.approx(cycles + 1, rel=1e-3)
    assert e.recorder.airtime_ns == pytest.approx(40 * MS)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("keys", [{"slotted": False}, {"slotted": True}])
@pytest.mark.parametrize("share", [0.6, 0.2])
def test_aloha_under_a_duty_cycle_has_its_throughput(ether, keys, share):
    n, packets = 5, 1_500
    mac = Aloha(attempt_rate=0.5, max_duty_cycle=share, **keys)
    e = ether({"mac": mac.model_dump(), "arq": {"kind": "none"}}, nodes=n + 1)
    for i in range(n):
        e.send(i, n, packets * 1_000, at_ns=1, parts=True)
    through = np.mean([1 - x.lost / packets for x in e.run()])
    want = 1 - mac.medium(n, n).collision
    assert through == pytest.approx(want, abs=4 * math.sqrt(want * (1 - want) / (n * packets)))
