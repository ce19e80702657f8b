"""Saturated senders that hear each other, against a simulation of their backoffs slot by slot."""

import random

import pytest

from netsim.channels.mac._dcf import fixed_point
from netsim.channels.mac._dcf.other_senders import Others
from netsim.channels.mac._dcf.stations import Stations
from netsim.channels.mac.csma import ContentionProblem, Csma, Hidden, Sender

ACK_S, NO_ANSWER_S = 44e-6, 45e-6  # SIFS, a slot and a preamble
NOTICED_S = 4e-6  # by then another one that has begun is noticed


def simulated(mac, n, frame_s, limit, seconds, error=0.0, seed=0, hold=0.0, held_s=60e-6):
    """Successes [1/s] and share of attempts that fail.

    A sender counts idle slots from a DIFS after the medium has become idle, or after it has missed
    the answer to its own packet; a count stands still while the medium is busy. After a collision
    it waits longer than a DIFS, by `held_s`, with the probability `hold`, and after a packet that
    is lost alone by the answer that it understood to come.
    """
    draw = random.Random(seed)
    stage, failures = [0] * n, [0] * n
    left = [draw.randrange(mac.cw_min) for _ in range(n)]
    from_s = [mac.difs_s] * n
    now_s, through, tries = 0.0, 0, 0
    while now_s < seconds:
        begins_s = min(a + k * mac.slot_s for a, k in zip(from_s, left, strict=True))
        sending = [i for i in range(n) if from_s[i] + left[i] * mac.slot_s < begins_s + NOTICED_S]
        for i in range(n):
            if i not in sending:
                counted = int((begins_s - from_s[i]) / mac.slot_s + 1e-6)
                left[i] -= min(left[i], max(0, counted))
        tries += len(sending)
        ends_s = begins_s + frame_s
        heard = len(sending) == 1 and draw.random() >= error
        if heard:
            ends_s += mac.sifs_s + ACK_S
            through += 1
        from_s = [ends_s + mac.difs_s] * n
        if len(sending) == 1 and not heard:
            from_s = [ends_s + mac.sifs_s + ACK_S + mac.difs_s] * n
        elif not heard and hold:
            from_s = [idle_s + (held_s if draw.random() < hold else 0.0) for idle_s in from_s]
        for i in sending:
            if heard or failures[i] == limit:
                failures[i] = stage[i] = 0
            else:
                failures[i] += 1
                stage[i] = min(stage[i] + 1, mac.stages)
            if not heard:
                from_s[i] = ends_s + mac.difs_s + NO_ANSWER_S
            left[i] = draw.randrange(mac.cw_min << stage[i])
        now_s = ends_s
    return through / now_s, 1.0 - through / tries


def domain(n, frame_s, limit, error=0.0, hold=0.0, held_s=60e-6):
    """A problem of equal senders that all hear each other."""
    one = Sender(frame_s, ACK_S, False, limit, error)
    heard = tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    return ContentionProblem((one,) * n, heard, (), (((),),) * n, ((hold, held_s),) * n)


@pytest.mark.parametrize(
    ("n", "hold", "error"),
    [
        (5, 0.5, 0.0),
        (5, 0.0, 0.3),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((3, 1.0, 0.0), (10, 0.5, 0.0), (10, 1.0, 0.0), (20, 0.5, 0.0))
        ),
        *(pytest.param(n, 0.0, 0.3, marks=pytest.mark.slow) for n in (2, 10, 20)),
    ],
)
def test_who_has_found_a_preamble_waits_longer_than_the_others(n, hold, error):
    """After a collision, for an EIFS or for an answer that never comes; after a lone loss all."""
    mac, frame_s = Csma(), 0.25e-3
    found = mac.access(domain(n, frame_s, 7, error, hold))
    seconds = (8_000 if n < 10 else 20_000) * frame_s
    true_hz, fails = simulated(mac, n, frame_s, 7, seconds, error, hold=hold)
    got_hz = sum((1.0 - one.losses[0]) * (1.0 - error) / one.attempt_s for one in found)
    assert got_hz == pytest.approx(true_hz, rel=0.02)
    assert 1 - (1 - found[0].losses[0]) * (1 - error) == pytest.approx(fails, abs=0.02)


@pytest.mark.parametrize("cw_min", [16, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("n", "frame_s", "limit"),
    [
        (2, 0.25e-3, 7),
        (5, 0.25e-3, None),
        pytest.param(20, 0.25e-3, None, marks=pytest.mark.slow),
        *(
            pytest.param(n, frame_s, limit, marks=pytest.mark.slow)
            for n in (3, 10, 50)
            for frame_s in (0.25e-3, 2.07e-3)
            for limit in (None, 7)
        ),
    ],
)
def test_payload_is_that_of_a_simulation(n, frame_s, limit, cw_min):
    mac = Csma(cw_min=cw_min)
    found = mac.access(domain(n, frame_s, limit))
    true_hz, fails = simulated(mac, n, frame_s, limit, (8_000 if n < 10 else 20_000) * frame_s)
    got_hz = sum((1.0 - one.losses[0]) / one.attempt_s for one in found)
    assert got_hz == pytest.approx(true_hz, rel=0.02)
    assert found[0].losses[0] == pytest.approx(fails, abs=0.02)


@pytest.mark.parametrize("cw_min", [2, 16, 32])
@pytest.mark.parametrize("error", [0.0, 0.2, 0.5])
def test_one_sender_alone_waits_for_its_backoffs(cw_min, error):
    """The slot after an exchange and draws of 0 are the same backoffs, counted apart."""
    mac, frame_s = Csma(cw_min=cw_min), 1e-3
    (found,) = mac.access(domain(1, frame_s, None, error))
    weights = [error**q * (1 - error) for q in range(mac.stages)] + [error**mac.stages]
    slots = sum(w * (cw_min * 2**q - 1) / 2 for q, w in enumerate(weights))
    after_s = (1 - error) * (mac.sifs_s + ACK_S) + error * NO_ANSWER_S
    want_s = frame_s + after_s + mac.difs_s + mac.slot_s * slots
    assert found.attempt_s == pytest.approx(want_s, rel=1e-6)
    assert found.losses == (0.0,)


def test_where_nobody_is_heard_no_slot_is_anybody_s_own():
    """Three that are hidden from each other: the same with and without, but for missed answers."""
    one = Sender(0.7e-3, ACK_S, False, 7, 0.1)
    hidden = tuple(
        (tuple(Hidden(j, 0.5, 0.5, False) for j in range(3) if j != i),) for i in range(3)
    )
    problem = ContentionProblem((one,) * 3, ((),) * 3, (), hidden)
    found, plain = (Csma(anomalous_slots=own).access(problem)[0] for own in (True, False))
    assert found.losses == pytest.approx(plain.losses, rel=0.02)
    assert found.attempt_s == pytest.approx(plain.attempt_s, rel=0.05)
    assert found.attempt_s > plain.attempt_s


def problem(draw, n):
    """Senders of any kind: unicasts with and without RTS, broadcasts, hidden from some others."""
    hearing, limit = draw.choice([1.0, 0.8, 0.5, 0.2]), draw.choice([None, 1, 7])
    pairs = [(i, j) for i in range(n) for j in range(i)]
    near = {pair for pair in pairs if draw.random() < hearing}
    heard = tuple(tuple(j for j in range(n) if (i, j) in near or (j, i) in near) for i in range(n))
    senders, hidden = [], []
    for i in range(n):
        broadcast = draw.random() < 0.2
        frame_s, error = draw.choice([1e-3, 2.1e-3, 3e-4]), draw.choice([0.0, 0.1])
        rts = not broadcast and draw.random() < 0.2
        ack_s = None if broadcast else ACK_S
        senders.append(Sender(frame_s, ack_s, rts, 1 if broadcast else limit, error))
        apart = [j for j in range(n) if j != i and j not in heard[i] and draw.random() < 0.7]
        at = [Hidden(j, draw.random(), draw.random(), draw.random() < 0.5) for j in apart]
        hidden.append((tuple(at),))
    return ContentionProblem(tuple(senders), heard, (), tuple(hidden))


@pytest.mark.parametrize("seeds", [15, pytest.param(400, marks=pytest.mark.slow)])
def test_every_situation_converges_to_something_that_can_be(seeds):
    for seed in range(seeds):
        draw = random.Random(seed)
        eifs_s, cw_min = draw.choice([None, 94e-6]), draw.choice([1, 2, 16, 32])
        mac = Csma(eifs_s=eifs_s, cw_min=cw_min, stages=draw.choice([3, 6]))
        found = problem(draw, draw.randint(1, 12))
        stations = Stations(mac, found)
        others = Others(mac, found, stations)
        for _ in range(fixed_point.ROUNDS):
            stations.update_attempt_time()
            lost = others.losses()
            apart = lost[others.first], others.collided[others.first]
            if stations.update_losses(*apart, fixed_point.CLOSE) < fixed_point.CLOSE:
                break
        else:
            raise AssertionError(f"seed {seed} does not converge")
        for one, sender in zip(fixed_point.solve_many(mac, found), found.senders, strict=True):
            assert all(0.0 <= loss <= 1.0 for loss in one.losses), seed
            assert one.attempt_s >= min(sender.frame_s, mac.rts_s), seed
