"""Senders that all hear each other, in plain numbers: against the arrays of the general case."""

import random

import pytest

from netsim.channels.mac import _dcf, _one_domain
from netsim.channels.mac.csma import Csma, Hidden, Sender, Situation


def situation(draw, n, capture):
    """Senders of any kind: unicasts with and without RTS, broadcasts to none or several."""
    limit, alike = draw.choice([None, 1, 7]), draw.random() < 0.5
    senders, hidden, lost = [], [], []
    for _ in range(n):
        broadcast = draw.random() < 0.2
        receptions = draw.randint(0, 3) if broadcast else 1
        senders.append(
            Sender(
                frame_s=1e-3 if alike else draw.choice([1e-3, 2.1e-3, 3e-4]),
                ack_s=None if broadcast else 44e-6,
                rts=not broadcast and draw.random() < 0.2,
                limit=1 if broadcast else limit,
                error=draw.choice([0.0, 0.1, 1 / 16]),
            )
        )
        hidden.append(((),) * receptions)
        rows = range(receptions)
        lost.append(tuple(tuple(draw.randint(0, 16) / 16 for _ in range(n - 1)) for _ in rows))
    others = tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    return Situation(tuple(senders), others, tuple(lost) if capture else (), tuple(hidden))


@pytest.mark.parametrize("seed", range(60))
def test_plain_numbers_and_arrays_agree(seed):
    draw = random.Random(seed)
    capture = draw.random() < 0.5
    mac = Csma(
        capture=capture,
        anomalous_slots=draw.random() < 0.3,
        eifs_s=draw.choice([None, 94e-6]),
        propagation_s=draw.choice([0.0, 1e-7]),
        stages=draw.choice([0, 3, 6]),
        cw_min=draw.choice([2, 16, 32]),
    )
    found = situation(draw, draw.randint(1, 12), capture)
    assert _one_domain.is_one_domain(found)
    plain, arrays = _dcf.solve(mac, found), _dcf.solve_any(mac, found)
    for one, other in zip(plain, arrays, strict=True):
        assert one.attempt_s == pytest.approx(other.attempt_s, rel=1e-12)
        assert one.sent_s == pytest.approx(other.sent_s, rel=1e-12)
        assert one.losses == pytest.approx(other.losses, abs=1e-12)


def test_others_are_not_taken_for_one_domain():
    one = Sender(1e-3, 44e-6, False, 7, 0.0)
    apart = Situation((one, one), ((), ()), (), (((),), ((),)))
    assert not _one_domain.is_one_domain(apart)
    hidden = Situation((one,), ((),), (), (((Hidden(0, 1.0, 1.0, False),),),))
    assert not _one_domain.is_one_domain(hidden)
