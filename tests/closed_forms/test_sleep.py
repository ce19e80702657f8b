"""Duty-cycled radios against closed forms, and broken ones against the checks."""

import math

import numpy as np
import pytest

from netsim import engine, world
from netsim.channels.sleep import Rhythm
from netsim.channels.sleep.duty_cycle import DutyCycle
from netsim.clock import Clock
from netsim.links.link import Transmission
from netsim.links.radio.link import RadioLink
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.mean_snr import IidMeanSnr
from netsim.links.radio.table import Radio
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.scenario import from_dict

pytestmark = pytest.mark.closed_forms

MS, S = 1_000_000, 1_000_000_000
LAW = DutyCycle(period_s=0.1, awake_fraction=0.3)
PAIRS = 3_000


class Free:
    """A meter that counts nothing."""

    by_bits = listens = False

    def on_air(self, *_):
        pass

    count_reception = on_air


def sent(law, arq, fidelity="message"):
    """A message of one packet, 1 ms, from each even node to the next one; (outcome, seconds)."""
    nodes, streams, env, ended = 2 * PAIRS, Streams(0), Clock(), []
    radio = Radio.model_validate(
        {
            "fading": {"kind": "none"},
            "rate": {"kind": "fixed", "rate_bps": 1e6},
            "packet_payload_bytes": 125,
            "arq": arq,
            "ttl_s": 10.0,
            "fidelity": fidelity,
        }
    )
    budget = LinkBudget(IidMeanSnr(radio, (20.0,) * nodes, streams), 3.0, (0.1,) * nodes)
    rhythms = [law.rhythm(node, streams) for node in range(nodes)]
    recorder = Recorder(None)
    never = lambda *_: (0, 0)  # noqa: E731
    air = RadioLink(radio, budget, never, env, recorder, streams, Free(), rhythms=rhythms)

    def done(tx, outcome, arrived):
        ended.append((outcome, env.now / S))

    for src in range(0, nodes, 2):
        air.unicast(Transmission(Envelope(Message(), src, 1_000, 0, 0), src + 1, done))
    env.run()
    return ended


def share_delivered(ended):
    return sum(outcome == "delivered" for outcome, _ in ended) / PAIRS


def binomial_sd(p):
    return math.sqrt(p * (1.0 - p) / PAIRS)


def short_messages(law, fidelity="message"):
    """One that is sent once gets through with probability d."""
    got = share_delivered(sent(law, {"kind": "none"}, fidelity))
    assert abs(got - 0.3) < 4 * binomial_sd(0.3)


def repeated_messages(law, fidelity="message"):
    """One of R = 21 attempts, t = 1 ms apart, gets through with probability d + (R - 1) t / P."""
    got = share_delivered(sent(law, {"kind": "abort", "max_attempts": 21}, fidelity))
    assert abs(got - 0.5) < 4 * binomial_sd(0.5)


def strobed_messages(law, fidelity="message"):
    """One that is repeated until it arrives waits for (1 - d)^2 P / 2 = 24.5 ms on average.

    Its wait w is 0 with probability d, else uniform on (0, (1 - d) P); E[w^2] = (1 - d)^3 P^2 / 3.
    On top come the attempt itself, and half a one until the next begins, where it has waited.
    """
    ended = sent(law, {"kind": "unlimited"}, fidelity)
    assert share_delivered(ended) == 1.0
    took_s = np.array([seconds for _, seconds in ended])
    mean_s = 0.7**2 * 0.1 / 2
    deviation_s = math.sqrt(0.7**3 * 0.1**2 / 3 - mean_s**2)
    within = 4 * deviation_s / math.sqrt(PAIRS) + 1e-5
    assert abs(took_s.mean() - (mean_s + 0.7 * 0.0005 + 0.001)) < within


POWERS = {"kind": "radio_state", "tx_w": 1.3, "rx_w": 0.9, "idle_w": 0.8, "sleep_w": 0.1}


def idle_power(law):
    """d P_idle + (1 - d) P_sleep = .3 * .8 + .7 * .1 = .31 W over whole periods."""
    tables = {
        "horizon_s": 50.0,
        "nodes": {"count": 5},
        "radio": {"sleep": law.model_dump()},
        "exchange": {"schedule": "rounds", "interval_s": 100.0},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 4, "test_samples": 1},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "algorithm": {"kind": "local"},
        "energy": {"radio": POWERS},
        "metrics": {"every_s": 1e6, "common_test_samples": 5},
    }
    scenario = from_dict(tables)
    summary = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)
    assert summary["energy"]["idle_j"] / (5 * 50.0) == pytest.approx(0.31)
    assert summary["energy_j"] / (5 * 50.0) == pytest.approx(0.31)


CHECKS = [short_messages, repeated_messages, strobed_messages, idle_power]


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__)
def test_a_duty_cycle_passes(check):
    check(LAW)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS[:3], ids=lambda f: f.__name__)
def test_so_does_one_whose_attempts_are_all_played(check):
    check(LAW, "packet")


class Broken(DutyCycle):
    """Of a mistake that is easily made."""

    def rhythm(self, node, streams):
        right = super().rhythm(node, streams)
        return None if right is None else self._wrong(right)


class AsleepForAsLongAsAwake(Broken):
    def _wrong(self, right):
        return right._replace(awake_ns=right.period_ns - right.awake_ns)


class EverybodyAtOnce(Broken):
    def _wrong(self, right):
        return right._replace(offset_ns=0)


class PhaseWithinTheNap(Broken):
    """No radio is awake at the start."""

    def _wrong(self, right):
        nap_ns = right.period_ns - right.awake_ns
        share = right.offset_ns / right.period_ns
        return right._replace(offset_ns=right.awake_ns + int(share * nap_ns))


class _WakesAfterAWholePeriod(Rhythm):
    def wakes_ns(self, time_ns):
        wakes_ns = super().wakes_ns(time_ns)
        return time_ns if wakes_ns == time_ns else time_ns + self.period_ns


class WakesAfterAWholePeriod(Broken):
    def _wrong(self, right):
        return _WakesAfterAWholePeriod(*right)


class _NeverCountsSleep(Rhythm):
    def asleep_ns(self, from_ns, to_ns):
        return 0


class NeverCountsSleep(Broken):
    def _wrong(self, right):
        return _NeverCountsSleep(*right)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (AsleepForAsLongAsAwake, short_messages),
        (EverybodyAtOnce, short_messages),
        (PhaseWithinTheNap, short_messages),
        (WakesAfterAWholePeriod, repeated_messages),
        (PhaseWithinTheNap, strobed_messages),
        (WakesAfterAWholePeriod, strobed_messages),
    ],
    ids=lambda value: value.__name__,
)
def test_a_broken_one_is_caught(broken, check):
    with pytest.raises(AssertionError):
        check(broken(period_s=0.1, awake_fraction=0.3))


@pytest.mark.parametrize("broken", [AsleepForAsLongAsAwake, NeverCountsSleep])
def test_broken_idle_power_is_caught(broken, monkeypatch):
    law, right = broken(period_s=0.1, awake_fraction=0.3), DutyCycle.rhythm

    def wrong(_, *key):
        return law._wrong(right(LAW, *key))

    monkeypatch.setattr(DutyCycle, "rhythm", wrong)
    with pytest.raises(AssertionError):
        idle_power(LAW)
