"""Checks of the air that are worth something: each catches a model broken on purpose."""

import math

import numpy as np
import pytest

from netsim.channels.arq import unlimited
from netsim.channels.arq._limited import LimitedSending
from netsim.channels.arq.abort import Abort
from netsim.channels.arq.harq_chase import HarqChase
from netsim.channels.arq.unlimited import Unlimited
from netsim.channels.mac.csma import Csma
from netsim.channels.mac.shared import Shared
from netsim.links.radio import interference
from netsim.links.radio.flight import Flight, Reception

pytestmark = pytest.mark.closed_forms


# -- checks -----------------------------------------------------------------------------------


def bianchi_s_table():
    """FHSS basic access, five stations: .81015 of the time is payload."""
    fhss = Csma(
        slot_s=50e-6, sifs_s=28e-6, difs_s=128e-6, ack_s=240e-6, propagation_s=1e-6,
        cw_min=32, stages=5,
    )  # fmt: skip
    assert fhss.throughput(5, 8584e-6, 8184e-6) == pytest.approx(0.81015, abs=6e-6)


def two_interferers():
    """.663479 of the attempts get through: S = 20, N = 1, I = 3 and .5, threshold 3 dB."""
    rng, n, mean = np.random.default_rng(1), 20_000, {0: 20.0, 2: 3.0, 4: 0.5}

    class Faded:
        def snr(self, src, dst, time_ns):
            return mean[src] * rng.exponential()

    through, tx = 0, type("Tx", (), {"dst": 1})()
    for _ in range(n):
        wanted = Flight(0, [], [Reception(tx, 1)], 1, 1, 0, None)
        others = [Flight(k, [], [], 1, 1, 0, None) for k in (2, 4)]
        interference.Interference(Shared(), Faded(), 6, None).join(wanted, others, 0)
        through += Faded().snr(0, 1, 0) / wanted.receptions[0].medium.noise_rise >= 10**0.3
    assert abs(through / n - 0.663479) < 4 * math.sqrt(0.6635 * 0.3365 / n)


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
        if not sending.over:
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
    patch.setattr(interference, "sum", lambda values: max(values, default=0.0), raising=False)


def _interference_without_noise(patch):
    patch.setattr(interference, "sum", lambda values: sum(values) - 1.0, raising=False)


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

    patch.setattr("netsim.channels.arq.harq_chase._Sending._failing", failing)


CAUGHT_BY = [
    (_without_acknowledgements, bianchi_s_table),
    (_strongest_interferer_only, two_interferers),
    (_interference_without_noise, two_interferers),
    (_bridge_that_ignores_the_last_success, bridge_of_two_packets),
    (_packet_in_turn_begins_anew, failed_attempts_are_carried_over),
    (_every_attempt_on_its_own, snrs_add_up),
]
CHECKS = sorted({check for _, check in CAUGHT_BY}, key=lambda f: f.__name__)


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__)
def test_the_model_passes(check):
    check()


@pytest.mark.parametrize(("broken", "check"), CAUGHT_BY, ids=lambda f: f.__name__.strip("_"))
def test_a_broken_model_is_caught(broken, check, monkeypatch):
    with monkeypatch.context() as patch:
        broken(patch)
        with pytest.raises(AssertionError):
            check()
