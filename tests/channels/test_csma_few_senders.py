"""Few senders, in plain numbers: against the arrays that solve many."""

import random

import pytest

from netsim.channels.mac import _dcf, _few
from netsim.channels.mac.csma import Csma, Hidden, Sender, Situation


def spoiler(draw, j):
    """A hidden sender."""
    earlier, later = (draw.randint(0, 16) / 16 for _ in range(2))
    return Hidden(j, earlier, later, draw.random() < 0.5)


def situation(draw, n, capture, hearing):
    """Senders of any kind: unicasts with and without RTS, broadcasts to none or several.

    `hearing`: share of pairs that hear each other; of the others most are hidden somewhere.
    """
    limit, alike = draw.choice([None, 1, 7]), draw.random() < 0.5
    pairs = [(i, j) for i in range(n) for j in range(i)]
    near = {pair for pair in pairs if draw.random() < hearing}
    heard = tuple(tuple(j for j in range(n) if (i, j) in near or (j, i) in near) for i in range(n))
    senders, hidden, lost = [], [], []
    for i in range(n):
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
        apart = [j for j in range(n) if j != i and j not in heard[i]]
        found = [[j for j in apart if draw.random() < 0.7] for _ in range(receptions)]
        hidden.append(tuple(tuple(spoiler(draw, j) for j in at) for at in found))
        rows = range(receptions)
        lost.append(tuple(tuple(draw.randint(0, 16) / 16 for _ in heard[i]) for _ in rows))
    return Situation(tuple(senders), heard, tuple(lost) if capture else (), tuple(hidden))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("hearing", [1.0, 0.8, 0.5, 0.2])
def test_plain_numbers_and_arrays_agree(hearing):
    for seed in range(60):
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
        found = situation(draw, draw.randint(1, 12), capture, hearing)
        plain = _few.solve(mac, found, _dcf.CLOSE, _dcf.ROUNDS)
        arrays = _dcf.solve_many(mac, found)
        for one, other in zip(plain, arrays, strict=True):
            assert one.attempt_s == pytest.approx(other.attempt_s, rel=1e-9), seed
            assert one.sent_s == pytest.approx(other.sent_s, rel=1e-9), seed
            assert one.losses == pytest.approx(other.losses, abs=1e-9), seed


def test_many_senders_are_not_taken_for_few():
    one = Sender(1e-3, 44e-6, False, 7, 0.0)
    few = Situation((one, one), ((), ()), (), (((),), ((),)))
    assert _few.are_few(few)
    n = _few.MOST + 1
    assert not _few.are_few(Situation((one,) * n, ((),) * n, (), (((),),) * n))
    hidden = (((Hidden(0, 1.0, 1.0, False),) * (_few.MOST_HIDDEN + 1),),)
    assert not _few.are_few(Situation((one,), ((),), (), hidden))
