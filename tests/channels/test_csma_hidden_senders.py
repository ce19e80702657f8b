"""Saturated senders that are hidden from each other, against a simulation of their process."""

import heapq
import random

import numpy as np
import pytest

from netsim.channels.mac._dcf import fixed_point, two_hidden_senders
from netsim.channels.mac.csma import ContentionProblem, Csma, Hidden, Sender

MAC = Csma()
ACK_S, LIMIT = 44e-6, 7
NO_ANSWER_S = 45e-6  # SIFS, a slot and a preamble


def simulated(frames_s, earlier, later, error, attempts, seed=0, endless=False):
    """Of each sender: attempts [1/s], and by stage the share of attempts that are lost.

    Backoffs are uniform on whole slots; a packet that overlaps another's is lost with probability
    `later`, or `earlier` where it begins second and the other one began in its sender's silence.
    `endless`: packets are never given up.
    """
    draw, n = random.Random(seed), len(frames_s)
    stage, on_air, spoilt = [0] * n, [False] * n, [False] * n
    unlocked = [set() for _ in range(n)]  # those on the air that began while this one was, too
    tries, fails = np.zeros((n, LIMIT + 1)), np.zeros((n, LIMIT + 1))

    def silence_s(i, gap_s):
        return gap_s + MAC.slot_s * draw.randrange(MAC.cw_min * 2 ** min(stage[i], MAC.stages))

    events = [(silence_s(i, MAC.difs_s), i) for i in range(n)]
    heapq.heapify(events)
    for _ in range(2 * attempts):
        now_s, i = heapq.heappop(events)
        if on_air[i]:
            on_air[i] = False
            tries[i, stage[i]] += 1
            fails[i, stage[i]] += spoilt[i]
            gap_s = MAC.difs_s + (NO_ANSWER_S if spoilt[i] else MAC.sifs_s + ACK_S)
            stage[i] = stage[i] + 1 if spoilt[i] else 0
            if stage[i] > (MAC.stages if endless else LIMIT):
                stage[i] = MAC.stages if endless else 0
            heapq.heappush(events, (now_s + silence_s(i, gap_s), i))
            continue
        on_air[i] = True
        others = [j for j in range(n) if j != i and on_air[j]]
        spoilt[i] = draw.random() < error
        for j in others:
            spoilt[i] |= draw.random() < (later if j in unlocked[i] else earlier)[i]
            spoilt[j] |= draw.random() < later[j]
        for j in range(n):
            (unlocked[j].add if j in others else unlocked[j].discard)(i)
        heapq.heappush(events, (now_s + frames_s[i], i))
    return tries.sum(1) / now_s, fails / np.maximum(tries, 1)


def apart(frames_s, earlier, later, error=0.0):
    """A problem of senders that are all hidden from each other."""
    n = len(frames_s)
    hidden = tuple(
        (tuple(Hidden(j, earlier[i], later[i], False) for j in range(n) if j != i and earlier[i]),)
        for i in range(n)
    )
    senders = tuple(Sender(frame_s, ACK_S, False, LIMIT, error) for frame_s in frames_s)
    return ContentionProblem(senders, ((),) * n, (), hidden)


def through_hz(access, error=0.0):
    """Packets that get through [1/s]."""
    return np.array([(1 - one.losses[0]) * (1 - error) / one.attempt_s for one in access])


CASES = [  # packets [s], y and z of both, e, by how much throughput may be off
    ((0.25e-3, 0.25e-3), 1.0, 1.0, 0.0, 0.02),
    ((0.7e-3, 0.7e-3), 1.0, 1.0, 0.0, 0.03),
    ((2.04e-3, 2.04e-3), 1.0, 1.0, 0.0, 0.05),
    ((4e-3, 4e-3), 1.0, 1.0, 0.0, 0.04),
    ((0.25e-3, 0.5e-3), 1.0, 1.0, 0.0, 0.04),
    ((0.5e-3, 2.04e-3), 1.0, 1.0, 0.0, 0.06),
    ((0.7e-3, 0.7e-3), 1.0, 1.0, 0.2, 0.04),
    ((0.7e-3, 0.7e-3), 1.0, 0.5, 0.0, 0.03),
    ((2.04e-3, 2.04e-3), 0.75, 0.75, 0.0, 0.05),
    ((0.25e-3, 1e-3), 0.75, 0.75, 0.0, 0.06),
]


@pytest.mark.thinned(12)
@pytest.mark.parametrize(("frames_s", "y", "z", "error", "within"), CASES)
def test_two_hidden_senders(frames_s, y, z, error, within):
    """Attempts and throughput of both, and losses at each stage."""
    problem = apart(frames_s, (y, y), (z, z), error)
    assert two_hidden_senders.is_applicable(MAC, problem)
    access = fixed_point.solve(MAC, problem)
    attempts_hz, by_stage = simulated(frames_s, (y, y), (z, z), error, 120_000)
    for one, true_hz in zip(access, attempts_hz, strict=True):
        assert 1 / one.attempt_s == pytest.approx(true_hz, rel=0.04)
    tries_hz = attempts_hz
    lost = by_attempts(by_stage)
    true_hz = tries_hz * (1 - np.array([mean for mean, _ in lost]))
    # 120,000 attempts, of which those within some ten of each other depend on each other
    assert through_hz(access, error) == pytest.approx(true_hz, rel=within + 0.015)
    for one, (_, given_up) in zip(access, lost, strict=True):
        each = 1 - (1 - np.array(one.by_attempt)) * (1 - error)
        assert each.prod() == pytest.approx(given_up, rel=0.35, abs=0.01)


def by_attempts(by_stage):
    """Of each sender: the share of attempts that are lost, and of packets that are given up.

    What the stages say: a packet is given up after 7 failures, the stage begins anew after 8.
    """
    found = []
    for losses in by_stage:
        left, attempts, fails, packets, given_up = 1.0, 0.0, 0.0, 1.0, 0.0
        for n in range(LIMIT * (LIMIT + 1)):
            attempts += left
            left *= losses[n % (LIMIT + 1)]
            fails += left
            if n % LIMIT == LIMIT - 1:
                given_up, packets = given_up + left, packets + left
        found.append((fails / attempts, given_up / packets))
    return found


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("frames_s", "y", "z", "within"),
    [
        ((2.04e-3, 2.04e-3), (0.5, 0.0), (0.5, 0.0), 0.10),  # independent stages: 89 % too much
        ((0.7e-3, 0.7e-3), (0.25, 0.25), (0.25, 0.25), 0.04),
        ((2.04e-3,) * 3, (0.75,) * 3, (0.75,) * 3, 0.05),
        ((2.04e-3,) * 3, (0.5,) * 3, (0.5,) * 3, 0.05),
        ((2.04e-3,) * 4, (0.5,) * 4, (0.5,) * 4, 0.04),
        ((0.5e-3, 2.04e-3), (0.25, 0.25), (0.25, 0.25), 0.03),  # several packets during one
    ],
)
@pytest.mark.slow
def test_hidden_senders_that_spoil_a_packet_in_part(frames_s, y, z, within):
    """Stages taken as independent; one on the air begins anew while the same packet is sent."""
    problem = apart(frames_s, y, z)
    assert not two_hidden_senders.is_applicable(MAC, problem)
    attempts_hz, by_stage = simulated(frames_s, y, z, 0.0, 150_000)
    true_hz = attempts_hz * (1 - np.array([mean for mean, _ in by_attempts(by_stage)]))
    access = fixed_point.solve_many(MAC, problem)
    assert through_hz(access) == pytest.approx(true_hz, rel=within + 0.015)


def test_the_chain_is_for_two_unicasts_that_spoil_each_other():
    frames_s, one = (1e-3, 1e-3), (1.0, 1.0)
    two = apart(frames_s, one, one)
    assert two_hidden_senders.is_applicable(MAC, two)
    assert not two_hidden_senders.is_applicable(MAC, apart((1e-3,) * 3, (1.0,) * 3, (1.0,) * 3))
    assert not two_hidden_senders.is_applicable(MAC, apart(frames_s, one, (1.0, 0.25)))
    assert not two_hidden_senders.is_applicable(MAC, apart(frames_s, one, one, error=0.6))
    assert not two_hidden_senders.is_applicable(MAC, two._replace(contenders=((1,), (0,))))
    assert not two_hidden_senders.is_applicable(MAC, apart((1e-3, 0.15e-3), one, one))
    assert not two_hidden_senders.is_applicable(MAC, apart((10e-3, 10e-3), one, one))
    for change in ({"rts": True}, {"ack_s": None}, {"limit": 40}):
        senders = tuple(sender._replace(**change) for sender in two.senders)
        assert not two_hidden_senders.is_applicable(MAC, two._replace(senders=senders))


def test_which_of_the_two_comes_first_does_not_matter():
    one = two_hidden_senders.solve(MAC, apart((0.5e-3, 2e-3), (1.0, 0.75), (0.5, 0.75), 0.1))
    other = two_hidden_senders.solve(MAC, apart((2e-3, 0.5e-3), (0.75, 1.0), (0.75, 0.5), 0.1))
    for a, b in zip(one, reversed(other), strict=True):
        assert a.attempt_s == pytest.approx(b.attempt_s, rel=1e-6)
        assert a.by_attempt == pytest.approx(b.by_attempt, abs=1e-6)


def test_two_that_are_alike_have_the_same():
    first, second = two_hidden_senders.solve(MAC, apart((1e-3, 1e-3), (1.0, 1.0), (0.75, 0.75)))
    assert first.attempt_s == pytest.approx(second.attempt_s, rel=1e-9)
    assert first.losses == pytest.approx(second.losses, rel=1e-9)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("seed", range(40))
def test_what_it_says_can_be_whatever_the_senders(seed):
    draw = random.Random(seed)
    mac = Csma(cw_min=draw.choice([16, 32, 64]), stages=draw.choice([4, 6]))
    later = [draw.randint(5, 16) / 16 for _ in range(2)]
    longest_s = 10 ** draw.uniform(-4, -2.7)
    problem = apart(
        [longest_s, longest_s * draw.uniform(0.2, 1.0)],
        [max(z, draw.random()) for z in later], later, draw.choice([0.0, 0.1, 0.5]),
    )  # fmt: skip
    limits = [draw.choice([5, 7, None]) for _ in range(2)]
    senders = zip(problem.senders, limits, strict=True)
    problem = problem._replace(senders=tuple(one._replace(limit=k) for one, k in senders))
    assert two_hidden_senders.is_applicable(mac, problem)
    for sender, access in zip(problem.senders, two_hidden_senders.solve(mac, problem), strict=True):
        assert access.attempt_s >= 0.99 * (sender.frame_s + mac.difs_s)
        assert 0 <= access.losses[0] <= 1
        if sender.limit is not None:
            assert len(access.by_attempt) == sender.limit
            assert all(0 <= one <= 1 for one in access.by_attempt)


@pytest.mark.slow
def test_without_a_limit_there_is_no_last_attempt():
    problem = apart((0.5e-3, 0.5e-3), (1.0, 1.0), (1.0, 1.0))
    endless = tuple(one._replace(limit=None) for one in problem.senders)
    found = two_hidden_senders.solve(MAC, problem._replace(senders=endless))
    assert all(one.by_attempt is None for one in found)
    attempts_hz, _ = simulated((0.5e-3, 0.5e-3), (1, 1), (1, 1), 0.0, 200_000, endless=True)
    assert 2 / found[0].attempt_s == pytest.approx(attempts_hz.sum(), rel=0.04)
