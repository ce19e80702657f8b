"""Checks of the air that are worth something: each catches a model broken on purpose."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from netsim.channels.arq import unlimited
from netsim.channels.arq._limited import LimitedSending
from netsim.channels.arq.abort import Abort
from netsim.channels.arq.harq_chase import HarqChase
from netsim.channels.arq.unlimited import Unlimited
from netsim.channels.mac.csma import Csma
from netsim.channels.mac.shared import Shared
from netsim.links.radio.mac import interference
from netsim.links.radio.mac.flight import Flight, Reception, interferers_at
from netsim.links.radio.phy import background
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams

pytestmark = pytest.mark.closed_forms

MS = 1_000_000


# -- checks -----------------------------------------------------------------------------------


def bianchi_s_table():
    """FHSS basic access, five stations: .81015 of the time is payload."""
    fhss = Csma(
        slot_s=50e-6, sifs_s=28e-6, difs_s=128e-6, ack_s=240e-6, propagation_s=1e-6,
        cw_min=32, stages=5, anomalous_slots=False,
    )  # fmt: skip
    assert fhss.throughput(5, 8584e-6, 8184e-6) == pytest.approx(0.81015, abs=6e-6)


class Given(MeanSnr):
    """Mean SNRs from a matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def snr(self, src, others, time_ns):
        return self.matrix[src][list(others)]

    def pair_snr(self, src, dst, time_ns):
        return float(self.matrix[src, dst])


class Drive(Given):
    """0 is 50 m from 1; 2 drives past 1 at 20 m/s, 30 m off; exponent 3, next to no noise."""

    moving = True

    def __init__(self):
        pass

    def pair_snr(self, src, dst, time_ns):
        x_m = 20.0 * (time_ns // STEP_NS * STEP_NS) * 1e-9 - 1_000.0
        return 1e12 * (50.0 if src == 0 else math.hypot(x_m, 30.0)) ** -3

    def holds_until_ns(self, src, dst, time_ns):
        return (time_ns // STEP_NS + 1) * STEP_NS


STEP_NS = 50_000_000


def channel_of(means, fading):
    radio = Radio(fading=fading, packet_error={"kind": "outage"})
    budget = LinkBudget(means, 10**0.3, (1.0,) * 6)
    return RadioChannel(radio, budget, lambda node, time_ns: (0, 0), Streams(1))


def met(channel, interferers, times_ns):
    """SINR of attempts from 0 to 1 that begin at some instants, with interferers all the time."""
    wanted = Flight(0, [], [Reception(SimpleNamespace(dst=1), 1)], 1, 1, 0, None)
    others = [Flight(k, [], [], 1, 1, 0, None) for k in interferers]
    interference.Interference(Shared(), channel, 6, None).join(wanted, others, 0)
    heard = interferers_at(wanted, wanted.receptions[0])
    first = times_ns[0]
    blocks = channel.blocks(0, 1, first, 1, interferers=heard)
    found, until = [], first
    for time_ns in times_ns:
        while until <= time_ns:
            block = next(blocks)
            until += math.inf if block.length_ns is None else block.length_ns
        found.append(block.snr)
    return np.array(found)


def two_interferers():
    """.663479 of the attempts get through: S = 20, N = 1, I = 3 and .5, threshold 3 dB."""
    n, snr = 20_000, np.zeros((6, 6))
    snr[0, 1], snr[2, 1], snr[4, 1] = 20.0, 3.0, 0.5
    channel = channel_of(Given(snr), {"kind": "rayleigh", "coherence_s": 1e-3})
    through = (met(channel, (2, 4), range(0, n * MS, MS)) >= 10**0.3).sum()
    assert abs(through / n - 0.663479) < 4 * math.sqrt(0.6635 * 0.3365 / n)


def an_interferer_fades():
    """100 attempts, one a block, I/S = .3, threshold 3 dB: lost 37.44 of them, variance 23.4.

    1 - 1 / (1 + t I/S) = .3744 of the attempts, independently.
    """
    messages, snr = 300, np.zeros((6, 6))
    snr[0, 1], snr[2, 1] = 1e9, 0.3e9
    channel, lost = channel_of(Given(snr), {"kind": "rayleigh", "coherence_s": 1e-3}), []
    for k in range(messages):
        begins_ns = 1_000 * MS * k
        sinr = met(channel, (2,), range(begins_ns, begins_ns + 100 * MS, MS))
        lost.append((sinr < 10**0.3).sum())
    p = 1.0 - 1.0 / (1.0 + 0.3 * 10**0.3)
    variance = 100 * p * (1.0 - p)
    assert abs(np.mean(lost) - 100 * p) < 4 * math.sqrt(variance / messages)
    assert abs(np.var(lost, ddof=1) - variance) < 4 * variance * math.sqrt(2 / (messages - 1))


def an_interferer_drives_past():
    """Nearer than 50 m * 10^(5 dB / 3) = 73.4 m it is too loud: over 134 m, which takes 6.7 s."""
    lost = met(channel_of(Drive(), {"kind": "none"}), (2,), range(0, 100_000 * MS, 10 * MS))
    nearest_m = 50.0 * 10 ** (0.5 / 3.0)
    expected_s = 2.0 * math.sqrt(nearest_m**2 - 30.0**2) / 20.0
    assert expected_s == pytest.approx(6.698, abs=5e-4)
    assert abs((lost < 10**0.5).sum() / 100 - expected_s) < 2 * STEP_NS * 1e-9


def bridge_of_two_packets():
    """Two packets in K attempts at p = 1/2: after the first, 1 / (K - 1) of the first is through.

    The last attempt is a success; the other one is equally likely at each of the K - 1 before it.
    """
    through, expected, variance = 0, 0.0, 0.0
    for seed in range(4_000):
        rng, sending = np.random.default_rng(seed), Unlimited().begin(2)
        used = sending.attempt(rng, None, 0.5)
        sending.rewind(rng, 1)
        through += sending.delivered
        share = 1.0 / (used - 1)
        expected, variance = expected + share, variance + share * (1.0 - share)
    assert abs(through - expected) < 4 * math.sqrt(variance)


def failed_attempts_are_carried_over():
    """One packet, two attempts, then as many as are left of three: lost with p^3."""
    lost, n = 0, 20_000
    for seed in range(n):
        rng, sending = np.random.default_rng(seed), Abort(max_attempts=3).begin(1)
        used = sending.attempt(rng, None, 0.5)
        if used > 2 or sending.lost:
            sending.rewind(rng, min(used, 2))
        if not sending.is_done:
            sending.attempt(rng, None, 0.5)
        lost += sending.lost
    assert abs(lost / n - 0.125) < 4 * math.sqrt(0.125 * 0.875 / n)


def snrs_add_up():
    """Chase combining: three attempts at a third of the threshold, or a bit more, are enough."""
    arq = HarqChase(max_attempts=3)
    sending = arq.begin(10, decode=lambda snr: 0.0 if snr >= 3.0 else 1.0)
    used = sending.attempt(np.random.default_rng(1), None, 1.0, snr=1.1)
    assert (used, sending.delivered) == (30, 10)


# -- broken models ----------------------------------------------------------------------------


def _without_acknowledgements(patch):
    right = Csma.throughput
    patch.setattr(
        Csma, "throughput", lambda mac, *a: right(mac.model_copy(update={"ack_s": 0.0}), *a)
    )


def _strongest_interferer_only(patch):
    patch.setattr(background, "sum", lambda values: max(values, default=0.0), raising=False)


def _interference_without_noise(patch):
    patch.setattr(background, "sum", lambda values: sum(values) - 1.0, raising=False)


def _frozen_interference(patch):
    right, first = background.Background.rise, {}

    def rise(self, time_ns):
        return right(self, first.setdefault(self, time_ns))

    patch.setattr(background.Background, "rise", rise)


def _bridge_that_ignores_the_last_success(patch):
    right = unlimited.among_first
    patch.setattr(
        unlimited,
        "among_first",
        lambda rng, used, attempts, marked: right(rng, used, attempts + 1, marked + 1),
    )


def _packet_in_turn_begins_anew(patch):
    right = LimitedSending.rewind

    def rewind(self, rng, used):
        right(self, rng, used)
        self.tried = 0

    patch.setattr(LimitedSending, "rewind", rewind)


def _every_attempt_on_its_own(patch):
    def failing(self, energy, attempts):
        return np.array([self._decode(self._snr)] * attempts).cumprod()

    patch.setattr("netsim.channels.arq.harq_chase._Sending._failure_probabilities", failing)


CAUGHT_BY = [
    (_without_acknowledgements, bianchi_s_table),
    (_strongest_interferer_only, two_interferers),
    (_interference_without_noise, two_interferers),
    (_frozen_interference, an_interferer_fades),
    (_frozen_interference, an_interferer_drives_past),
    (_bridge_that_ignores_the_last_success, bridge_of_two_packets),
    (_packet_in_turn_begins_anew, failed_attempts_are_carried_over),
    (_every_attempt_on_its_own, snrs_add_up),
]
CHECKS = sorted({check for _, check in CAUGHT_BY}, key=lambda f: f.__name__)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__)
def test_the_model_passes(check):
    check()


@pytest.mark.thinned(4)
@pytest.mark.parametrize(("broken", "check"), CAUGHT_BY, ids=lambda f: f.__name__.strip("_"))
def test_a_broken_model_is_caught(broken, check, monkeypatch):
    with monkeypatch.context() as patch:
        broken(patch)
        with pytest.raises(AssertionError):
            check()
