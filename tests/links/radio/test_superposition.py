"""Rows sent over the air at the same time: sums, noise, truncation, airtime."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import special

from netsim.channels.fading.nakagami import Nakagami
from netsim.channels.fading.none import NoFading
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.links.link import Transmission
from netsim.links.radio.superposition import mean_inverse_gain
from netsim.messaging.message import Envelope, Message
from netsim.messaging.over_the_air import Energies, OverTheAir
from netsim.node.superposition import sum_of_frames, sum_superposed

MS, S = 1_000_000, 1_000_000_000
VALUES = 2_000


class Whole(Message):
    """Another message."""


@pytest.fixture
def air(ether):
    """An Ether with `aggregate(senders, at_ns=...)`; what ended is in `.ended`, masks included."""

    def make(nodes=4, mean_snr=100.0, **radio):
        e = ether({"bandwidth_hz": 1e6, **radio}, mean_snr=mean_snr, nodes=nodes)

        def aggregate(senders, truncation=0.5, of=None, wait_s=1.0, at_ns=0, values=VALUES):
            row = SimpleNamespace(num_values=values)
            message = OverTheAir(row, truncation, of or len(senders), wait_s)

            def send():
                for k in senders:
                    envelope = Envelope(message, k, values * 32, 0, e.env.now)
                    e.air.unicast(Transmission(envelope, 0, e._done))

            e.env.call_after(at_ns - e.env.now, send)

        e.aggregate = aggregate
        return e

    return make


def masks(ended):
    return [np.array(x.arrived.sent) for x in ended]


def test_a_frame_takes_one_symbol_a_value_however_many_send(air):
    """2,000 values in 1 MHz: 2 ms; every sender's energy, one airtime, no bit."""
    for senders in (1, 3):
        e = air()
        e.aggregate(range(1, 1 + senders))
        ended = e.run()
        assert {x.at_ns for x in ended} == {2 * MS}
        assert {x.outcome for x in ended} == {"delivered"}
        assert e.recorder.airtime_ns == 2 * MS
        assert e.spent.sending_ns[1 : 1 + senders] == [2 * MS] * senders
        assert e.spent.receiving_ns[0] == 2 * MS
        assert e.recorder.transmitted == [0] * senders


def test_it_waits_for_all_or_for_a_while(air):
    e = air()
    e.aggregate([1], of=3)
    e.aggregate([2, 3], of=3, at_ns=5 * MS)
    e.aggregate([1, 2], of=3, at_ns=20 * MS, wait_s=0.1)
    assert [x.at_ns for x in e.run()] == [7 * MS] * 3 + [122 * MS] * 2


def test_it_waits_for_radios_and_holds_them(air):
    e = air()
    e.send(1, 2, 10_000)  # 10 ms
    e.aggregate([1, 3])
    e.send(3, 0, 1_000, at_ns=11 * MS)
    ended = e.run()
    assert [(x.src, x.at_ns) for x in ended] == [
        (1, 10 * MS), (1, 12 * MS), (3, 12 * MS), (3, 13 * MS)
    ]  # fmt: skip


def test_who_is_off_is_left_out(air):
    e = air()
    e.aggregate([1, 2], of=3, wait_s=0.05)
    e.switch(2, False, 10 * MS)
    assert [(x.src, x.outcome) for x in e.run()] == [(2, "off"), (1, "delivered")]


def test_who_waits_with_one_that_goes_off_is_sent_all_the_same(air):
    """The first of two goes off at 10 ms; the frame of the other one begins at 50 ms."""
    e = air()
    e.aggregate([1, 2], of=3, wait_s=0.05)
    e.switch(1, False, 10 * MS)
    assert [(x.src, x.outcome, x.at_ns) for x in e.run()] == [
        (1, "off", 10 * MS), (2, "delivered", 52 * MS)
    ]  # fmt: skip


def test_who_goes_off_in_a_frame_is_in_no_sum(air):
    """The others' frame goes on; without its receiver nothing arrives."""
    for gone, want in ((2, [(2, 1 * MS, "off"), (1, 2 * MS, "delivered")]),
                       (0, [(1, 1 * MS, "off"), (2, 1 * MS, "off")])):  # fmt: skip
        e = air(fading={"kind": "none"})
        e.aggregate([1, 2])
        e.switch(gone, False, 1 * MS)
        assert [(x.src, x.at_ns, x.outcome) for x in e.run()] == want


@pytest.mark.slow
def test_share_truncated_under_rayleigh(air):
    """1 - exp(-.5) = .3935 of the entries."""
    n, truncation = 3_000, 0.5
    e = air(fading={"kind": "rayleigh", "coherence_s": 1e-3})
    for k in range(n):
        e.aggregate([1], truncation, at_ns=10 * k * MS)
    sent = np.concatenate([m.ravel() for m in masks(e.run())])
    p = math.exp(-truncation)
    assert sent.size == 2 * n
    assert abs(sent.mean() - p) < 4 * math.sqrt(p * (1 - p) / sent.size)


def test_resource_blocks_are_truncated_each_for_itself(air):
    selective = {"kind": "frequency_selective", "profile": "independent", "resource_blocks": 20}
    e = air(fading={**selective, "coherence_s": 1e-4})
    for k in range(50):
        e.aggregate([1], 0.5, at_ns=10 * k * MS)
    ended = e.run()
    assert {x.outcome for x in ended} == {"partial"}
    found = np.concatenate(masks(ended))
    assert found.shape == (50 * 20, 20)
    p = math.exp(-0.5)
    assert abs(found.mean() - p) < 4 * math.sqrt(p * (1 - p) / found.size)


def test_all_truncated_is_an_outage(air):
    e = air(fading={"kind": "rayleigh", "coherence_s": 1.0})
    e.aggregate([1], 50.0)
    assert [x.outcome for x in e.run()] == ["outage"]


def test_the_weakest_sender_sets_the_power(air):
    """Noise variance E1(g_th) / min SNR: E1(.5) = .559774."""
    snr = np.full((4, 4), 1000.0)
    snr[2, 0] = 10.0
    e = air(mean_snr=snr, fading={"kind": "rayleigh", "coherence_s": 1e-6})
    e.aggregate([1, 2, 3])
    (noise,) = {x.arrived.noise for x in e.run() if x.arrived is not None}
    assert noise**2 == pytest.approx(0.559774 / 10.0, rel=1e-5)


def test_mean_inverse_gain():
    assert mean_inverse_gain(Rayleigh(), 0.1) == pytest.approx(1.822924, rel=1e-6)
    assert mean_inverse_gain(NoFading(), 0.0) == 1.0
    # Gamma(2, 1/2): E[1/g; g >= t] = 2 exp(-2 t)
    assert mean_inverse_gain(Nakagami(shape=2), 0.3) == pytest.approx(2 * math.exp(-0.6), rel=1e-4)
    assert math.isinf(mean_inverse_gain(Rayleigh(), 0.0))


def frame(sent, noise=0.0, symbols=1, number=1):
    return ((0, number), noise, symbols, tuple(sent))


def test_without_noise_and_truncation_it_is_the_sum():
    rows = list(torch.randn(5, 100))
    whole = ((True,),)
    total, count = sum_of_frames([rows], [frame([whole] * 5)], 0)
    assert torch.allclose(total, torch.stack(rows).sum(dim=0), atol=1e-5)
    assert (count == 5).all()


def test_entries_go_over_the_resource_blocks_then_on_in_time():
    """2 coherence blocks, 3 resource blocks, 2 symbols on each in a block."""
    sent = ((True, False, True), (False, True, False))
    total, count = sum_of_frames([[torch.ones(14)]], [frame([sent], symbols=2)], 0)
    first, second = [1, 0, 1], [0, 1, 0]
    assert count.tolist() == [*first, *first, *second, *second, *second[:2]]
    assert (total == count).all()


@pytest.mark.slow
def test_mean_square_error_is_the_closed_form():
    """Over K: ((1 - p) + Var z) / K for rows of independent unit values, p = exp(-g_th)."""
    n, k, truncation, snr, frames = 4_000, 8, 0.5, 20.0, 40
    p, noise = math.exp(-truncation), math.sqrt(special.exp1(truncation) / snr)
    rng, errors = np.random.default_rng(3), []
    for number in range(frames):
        rows = torch.from_numpy(rng.choice([-1.0, 1.0], (k, n)))  # unit mean square, exactly
        sent = [(tuple(bool(x) for x in rng.exponential(size=n) >= truncation),) for _ in range(k)]
        total, _ = sum_of_frames([list(rows)], [frame(sent, noise, number=number)], 0)
        errors.append(((total - rows.sum(dim=0)) / k).square().mean().item())
    want = ((1.0 - p) * k + noise**2) / k**2
    assert np.mean(errors) == pytest.approx(want, abs=4 * np.std(errors) / math.sqrt(frames))
    assert np.mean(errors) == pytest.approx(want, rel=0.02)


def test_noise_is_that_of_the_frame():
    rows, sent = [torch.ones(50)], [((True,),)]
    one = sum_of_frames([rows], [frame(sent, 0.5, number=1)], 0)[0]
    assert torch.equal(one, sum_of_frames([rows], [frame(sent, 0.5, number=1)], 0)[0])
    assert not torch.equal(one, sum_of_frames([rows], [frame(sent, 0.5, number=2)], 0)[0])
    assert not torch.equal(one, sum_of_frames([rows], [frame(sent, 0.5, number=1)], 1)[0])


def test_what_did_not_come_over_the_air_is_refused(air):
    with pytest.raises(ProtocolError, match="nothing"):
        sum_superposed(None, 0, {})
    received = SimpleNamespace(msg=Whole(), arrived=None)
    with pytest.raises(ProtocolError, match="Whole is no OverTheAir"):
        sum_superposed(None, 0, {1: received})
    e = air(mac={"kind": "shared"})
    e.aggregate([1])
    with pytest.raises(ProtocolError, match="shared"):
        e.run()
    assert isinstance(e.env, Clock)


@pytest.mark.parametrize("by_bits", [True, False])
def test_a_run_says_that_no_bit_of_a_frame_has_cost_energy(air, by_bits):
    e = air()
    e.spent.by_bits = by_bits
    e.aggregate([1, 2])
    e.run()
    assert e.spent.bits == e.spent.heard_bits == [0] * 4
    told = [text for text in e.recorder.warnings.all() if "have drawn no energy" in text]
    assert len(told) == by_bits


class Until:
    """All are in contact until an instant."""

    def __init__(self, until_ns):
        self.until_ns = until_ns

    def left_ns(self, i, j, time_ns):
        return max(0, self.until_ns - time_ns)


@pytest.mark.parametrize(
    ("until_ns", "want"),
    [(1 * MS, ("outage", 1 * MS, 1)), (2 * MS, ("delivered", 2 * MS, 1))],
)
def test_contacts_that_end_take_their_rows_out_of_the_sum(ether, until_ns, want):
    """A frame of 2 ms; what comes when a contact ends has come."""
    for message in (OverTheAir(SimpleNamespace(num_values=VALUES), 0.0, 2, 1.0),
                    Energies(SimpleNamespace(num_values=VALUES), 1.0, 0.0)):  # fmt: skip
        e = ether({"bandwidth_hz": 1e6}, nodes=3, meetings=Until(until_ns))
        for src in (1, 2):
            e.air.unicast(Transmission(Envelope(message, src, 64, 0, 0), 0, e._done))
        assert [(x.outcome, x.at_ns, x.attempts) for x in e.run()] == [want] * 2


def test_a_contact_that_ends_while_a_row_waits_is_an_outage(air, ether):
    e = ether({"bandwidth_hz": 1e6}, nodes=3, meetings=Until(5 * MS))
    message = OverTheAir(SimpleNamespace(num_values=VALUES), 0.0, 2, 0.01)
    e.air.unicast(Transmission(Envelope(message, 1, 64, 0, 0), 0, e._done))
    assert [(x.outcome, x.at_ns, x.attempts) for x in e.run()] == [("outage", 10 * MS, 0)]


def test_rows_that_wait_can_be_withdrawn(ether):
    """Before the frame begins; the other one goes alone."""
    for message in (OverTheAir(SimpleNamespace(num_values=VALUES), 0.0, 3, 0.01),
                    Energies(SimpleNamespace(num_values=VALUES), 1.0, 0.01)):  # fmt: skip
        e = ether({"bandwidth_hz": 1e6}, nodes=3)
        for src in (1, 2):
            e.air.unicast(Transmission(Envelope(message, src, 64, 0, 0), 0, e._done))
        found = []

        def withdraw(e=e, message=message, found=found):
            found += [e.air.waiting(1), e.air.withdraw(1, Whole), e.air.withdraw(1, type(message))]
            found.append(e.air.waiting(1))

        e.env.call_after(5 * MS, withdraw)
        e.env.call_after(11 * MS, lambda e=e, found=found: found.append(e.air.withdraw(2, object)))
        ended = [(x.src, x.outcome, x.at_ns) for x in e.run()]
        assert ended == [(1, "withdrawn", 5 * MS), (2, "delivered", 12 * MS)]
        assert found == [1, 0, 1, 0, 0]
