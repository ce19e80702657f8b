"""Laws of wires by theory; `test_mutations_wires` tries them on broken wires.

Each check raises AssertionError where a model is wrong.
"""

import math

import numpy as np
import pytest

from netsim.channels.arq.none import NoArq
from netsim.channels.block import ChannelBlock
from netsim.channels.bursts import Bursts
from netsim.clock import Clock
from netsim.links.link import Transmission
from netsim.links.wired import plan
from netsim.links.wired.shared import SharedWiredLink
from netsim.links.wired.wire import Wire, WiredLink
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.rng import Streams

LOAD, SERVICE_S, BPS = 0.4375, 1.6, 1e6
MESSAGES = 20_000
LETTER = Message()


def ends_s(nodes, wire, sent, up_bps=None, down_bps=None):
    """Return the ends of messages (time in s, src, dst, bits) over a scenario's link."""
    none, streams, env = [None] * nodes, Streams(0), Clock()
    wire = Wire(**wire)
    made = plan.read_wiring(wire, up_bps or none, down_bps or none, [True] * nodes, streams, None)
    if made.is_plain:
        link = WiredLink(wire, nodes, env, Recorder(None), streams)
    else:
        link = SharedWiredLink(made, nodes, env, Recorder(None), streams)
    ends = [math.nan] * len(sent)

    def send(number, src, dst, bits):
        def done(tx, outcome, arrived):
            ends[number] = env.now / 1e9

        link.unicast(Transmission(Envelope(LETTER, src, bits, 1, env.now), dst, done))

    for number, (time_s, *what) in enumerate(sent):
        env.call_after(round(time_s * 1e9), send, number, *what)
    env.run()
    return ends


# -- queues --------------------------------------------------------------------------------------


def sojourns_s(wire, sizes_s):
    """Seconds in the system of Poisson arrivals of given sizes in seconds of service."""
    arrivals = np.cumsum(np.random.default_rng(0).exponential(1 / LOAD, len(sizes_s)))
    bits = np.maximum(1, np.rint(sizes_s * BPS)).astype(int).tolist()
    sent = [(time_s, 0, 1, b) for time_s, b in zip(arrivals.tolist(), bits, strict=True)]
    return np.array(ends_s(2, wire, sent)) - arrivals


def within_error(values, expected, batches=40):
    """The mean past the warm-up is as expected, to four standard errors from means of batches."""
    kept = values[len(values) // 10 :]
    means = np.array([b.mean() for b in np.array_split(kept, batches)])
    error = means.std(ddof=1) / math.sqrt(batches)
    assert abs(means.mean() - expected) < 4 * error, (means.mean(), expected, error)
    assert error < 0.1 * expected


def same_sizes():
    return np.full(MESSAGES, SERVICE_S)


def exponential_sizes(messages=MESSAGES):
    return np.random.default_rng(7).exponential(SERVICE_S, messages)


def two_sizes():
    """Three in four take 0.4 s, the others 5.2 s; 1.6 s on average."""
    return np.random.default_rng(7).choice([0.4, 5.2], MESSAGES, p=[0.75, 0.25])


def check_mean_sojourn(wire, sizes_s, mean_s):
    within_error(sojourns_s(wire, sizes_s), mean_s)


def check_propagation_does_not_block(wire):
    """Ten messages of 0.1 s back to back, 2 s of propagation: the last arrives after 1 + 2 s."""
    found = ends_s(2, wire | {"latency_s": 2.0}, [(0.0, 0, 1, 100_000)] * 10)
    assert sorted(found) == pytest.approx([2.0 + 0.1 * (k + 1) for k in range(10)], abs=1e-8)


# -- sharing, hops, traces -----------------------------------------------------------------------


def check_max_min():
    """Node 0 sends at 10 bit/s, node 3 receives at 4: shares of 8, 2 and 2 end together."""
    sent = [(0.0, 0, 1, 80), (0.0, 0, 3, 20), (0.0, 2, 3, 20)]
    up, down = [10.0, None, None, None], [None, None, None, 4.0]
    assert ends_s(4, {}, sent, up, down) == [10.0, 10.0, 10.0]


def check_three_hops(folder, forwarding, sharing, seconds):
    """2,700 packets of 0.6 ms."""
    (folder / "hops.txt").write_text("a b\nb c\nc d\n")
    line = {"path": str(folder / "hops.txt"), "routers": ["a", "d"], "rate_bps": 2e7}
    wire = {"backbone": line | {"latency_s": 0.0}, "packet_payload_bytes": 1500}
    wire |= {"forwarding": forwarding, "sharing": sharing}
    [found] = ends_s(2, wire, [(0.0, 0, 1, 2700 * 12_000)])
    assert found == pytest.approx(seconds, abs=1e-8)


def check_integral(folder, sharing="max_min"):
    """2 Mbit/s for 1 s, 0.5 for 2 s, 4 for 2 s, anew after 5 s.

    9.25 Mbit from 0.5 s on: 1 by 1 s, 1 more by 3 s, 8 more would be there by 5 s: the last 7.25
    take 1.8125 s. Another 20 Mbit at 10 s, a period of 11 Mbit: 9 are left at 15 s, 2 + 1 of them
    gone by 18 s, the last 6 take 1.5 s.
    """
    (folder / "t.csv").write_text("time_s,mbps\n0,2\n1,0.5\n3,4\n")
    wire = {"trace": {"uplink": str(folder / "t.csv")}, "sharing": sharing}
    sent = [(0.5, 0, 1, 9_250_000), (10.0, 0, 1, 20_000_000)]
    assert ends_s(2, wire, sent) == [4.8125, 19.5]


# -- bursts --------------------------------------------------------------------------------------


def variance_of_losses(bursts, packets):
    """M h (1 - h) + 2 sum over lags of (M - k) times the covariance, which falls as r^k."""
    difference = bursts.loss_bad - bursts.loss_good
    between = bursts.share_bad * (1 - bursts.share_bad) * difference**2
    r = 1 - bursts.p_good_to_bad - bursts.p_bad_to_good
    k = np.arange(1, packets)
    alone = packets * bursts.mean_loss * (1 - bursts.mean_loss)
    return alone + 2 * between * ((packets - k) * r**k).sum()


def all_delivered(bursts, packets):
    """pi D (P D)^(M-1) 1 with D the probabilities of getting through."""
    g, b = bursts.p_good_to_bad, bursts.p_bad_to_good
    p = np.array([[1 - g, g], [b, 1 - b]])
    d = np.diag([1 - bursts.loss_good, 1 - bursts.loss_bad])
    pi = np.array([1 - bursts.share_bad, bursts.share_bad])
    return float(pi @ d @ np.linalg.matrix_power(p @ d, packets - 1) @ np.ones(2))


def check_bursts(messages=4000):
    """Gilbert-Elliott as it comes, M = 2,700: mean .00990, bursts of 5, variance 235.21."""
    rng, steady = np.random.default_rng(0), [ChannelBlock(None, 0.0)]
    sent = [Bursts().transfer(NoArq(), rng, 2700, steady, True) for _ in range(messages)]
    lost = np.array([transfer.lost for transfer in sent])
    assert abs(lost.mean() / 2700 - 0.00990099) < 4 * math.sqrt(235.21 / messages) / 2700
    # the standard error of a variance, from the fourth moment of the sample
    fourth = ((lost - lost.mean()) ** 4).mean()
    assert abs(lost.var() - 235.21) < 4 * math.sqrt((fourth - lost.var() ** 2) / messages)
    lengths = np.concatenate([_runs_of_loss(transfer.arrived) for transfer in sent])
    # geometric with mean 5: sd sqrt(20); the ends of messages cut 1 in 500
    assert abs(lengths.mean() - 5) < 4 * math.sqrt(20 / len(lengths)) + 0.02


def _runs_of_loss(arrived):
    edges = np.diff(np.concatenate([[0], (~arrived).astype(int), [0]]))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def check_all_delivered(bursts, packets, messages=20_000):
    expected, rng = all_delivered(bursts, packets), np.random.default_rng(3)
    steady = [ChannelBlock(None, 0.0)]
    whole = sum(bursts.transfer(NoArq(), rng, packets, steady).complete for _ in range(messages))
    assert abs(whole / messages - expected) < 4 * math.sqrt(expected * (1 - expected) / messages)
