"""Retransmission: message-level draws against closed forms and against sending every attempt."""

import itertools
import math

import numpy as np
import pytest
from numpy.random import Generator, Philox
from scipy import stats

from netsim.channels.arq import Arq, Transfer
from netsim.channels.arq.abort import Abort
from netsim.channels.arq.harq_chase import HarqChase
from netsim.channels.arq.hole import Hole
from netsim.channels.arq.none import NoArq
from netsim.channels.arq.unlimited import Unlimited
from netsim.channels.block import ChannelBlock

ENDLESS = None
ALL = [NoArq(), Abort(max_attempts=3), Hole(max_attempts=3), Unlimited()]


def generator(seed: int) -> Generator:
    return Generator(Philox(seed))


class Untouchable:
    """Stand-in for a generator that must not be used."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"rng.{name} was used")


def by_attempts(rng, packets, blocks, limit, gives_up) -> Transfer:
    """The oracle: every attempt of every packet, one after the other."""
    attempts, arrived = [], np.zeros(packets, dtype=bool)
    packet = tried = lost = 0
    over = False
    for block in blocks:
        room, per = block.attempts, block.per
        used = 0
        while not over and (room is None or used < room):
            used += 1
            tried += 1
            ok = rng.random() >= (block.by_attempt[tried - 1] if block.by_attempt else per)
            if ok or tried == limit:
                arrived[packet] = ok
                lost += not ok
                packet, tried = packet + 1, 0
                over = packet == packets or (gives_up and lost > 0)
        attempts.append(used)
        if over:
            break
    delivered = int(arrived.sum())
    return Transfer(attempts, delivered, lost, delivered == packets, arrived)


def oracle(arq: Arq, rng, packets, blocks) -> Transfer:
    if isinstance(arq, NoArq):
        return by_attempts(rng, packets, blocks, 1, False)
    if isinstance(arq, Unlimited):
        return by_attempts(rng, packets, blocks, math.inf, False)
    return by_attempts(rng, packets, blocks, arq.max_attempts, isinstance(arq, Abort))


def observed(transfer: Transfer) -> tuple[float, ...]:
    """Return the numbers to compare: counts, duration, and the places of the holes."""
    attempt_s = (1.0, 0.3, 2.5, 0.7, 1.9)  # a segment's own attempt time tells its attempts apart
    missing = np.flatnonzero(~transfer.arrived)
    return (
        sum(transfer.attempts),
        sum(n * t for n, t in zip(transfer.attempts, itertools.cycle(attempt_s), strict=False)),
        len(transfer.attempts),
        transfer.delivered,
        transfer.lost,
        missing[0] if len(missing) else len(transfer.arrived),
        (missing < len(transfer.arrived) // 2).sum(),
    )


NAMES = ("attempts", "duration", "blocks", "delivered", "lost", "first hole", "early holes")


def interrupted(arq: Arq, rng, packets: int, cuts, want_mask: bool = True) -> Transfer:
    """Sampled to the end as if nothing were to come, then cut short, as often as there are cuts."""
    sending = arq.begin(packets, want_mask)
    attempts = []
    for block in cuts:
        cut, per = block.attempts, block.per
        used = sending.attempt(rng, None, per, by_attempt=block.by_attempt)
        if cut is not None and used > cut:
            sending.rewind(rng, cut)
            used = cut
        attempts.append(used)
        if sending.is_done or used != cut:
            break
    arrived = sending.arrived(rng) if want_mask else None
    delivered = sending.delivered
    return Transfer(attempts, delivered, sending.lost, delivered == packets, arrived)


def sampled(arq: Arq, rng, packets: int, blocks) -> Transfer:
    return arq.transfer(rng, packets, iter(blocks), want_mask=True)


def differing(arq: Arq, packets: int, blocks, replicas: int, seed: int, way=sampled) -> set[str]:
    """Return the numbers that a two-sample Kolmogorov-Smirnov test tells apart at the 1 % level.

    The bound on the distance is 1.628 sqrt(2/n), or 0.0230 at n = 10,000. The level holds for
    continuous data; for counts, as here, the test errs on the safe side.
    """
    rng = generator(seed)
    drawn = [observed(way(arq, rng, packets, blocks)) for _ in range(replicas)]
    sent = [observed(oracle(arq, rng, packets, blocks)) for _ in range(replicas)]
    columns = zip(NAMES, zip(*drawn, strict=True), zip(*sent, strict=True), strict=True)
    return {
        name
        for name, a, b in columns
        if stats.ks_2samp(a, b, method="asymp").statistic > 1.628 * math.sqrt(2.0 / replicas)
    }


def assert_same_distribution(
    arq: Arq, packets: int, blocks, replicas: int, seed: int, way=sampled
) -> None:
    """Differences found at 1 % must not be found again with other draws: 1e-4 a comparison.

    Hundreds of comparisons are made, so a few pass 1 % by chance; a wrong sampler does twice.
    """
    found = differing(arq, packets, blocks, replicas, seed, way)
    if found:
        found &= differing(arq, packets, blocks, replicas, seed + 1_000, way)
    assert not found, f"{arq.kind}, {packets} packets: wrong distribution of {found}"


ONE = [ChannelBlock(ENDLESS, 0.3)]
# 7 and 5 attempts end inside a packet; 0 has no room; 1.0 and 0.0 take the paths without draws
CHANGING = [
    ChannelBlock(7, 0.4),
    ChannelBlock(0, 0.9),
    ChannelBlock(5, 0.7),
    ChannelBlock(4, 1.0),
    ChannelBlock(3, 0.0),
    ChannelBlock(2, 0.6),
    ChannelBlock(ENDLESS, 0.2),
]
CUT_OFF = [ChannelBlock(5, 0.2), ChannelBlock(2, 0.8), ChannelBlock(6, 0.5)]


@pytest.mark.thinned(36)
@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
@pytest.mark.parametrize(
    ("packets", "blocks"),
    [(1, ONE), (12, ONE), (1, CHANGING), (12, CHANGING), (10, CUT_OFF)],
    ids=["M=1", "one-segment", "M=1-changing", "changing", "cut-off"],
)
def test_message_draw_has_the_distribution_of_sending_each_attempt(arq, packets, blocks):
    assert_same_distribution(arq, packets, blocks, replicas=3_000, seed=1)


HEAVY = [
    (1, [ChannelBlock(ENDLESS, 0.5)]),
    (1, [ChannelBlock(1, 0.5), ChannelBlock(1, 0.2), ChannelBlock(ENDLESS, 0.7)]),
    (40, [ChannelBlock(ENDLESS, 0.1)]),
    (40, [ChannelBlock(ENDLESS, 0.6)]),
    (5, [ChannelBlock(ENDLESS, 0.97)]),
    (40, CHANGING),
    (40, [ChannelBlock(11, 0.35), ChannelBlock(13, 0.05), ChannelBlock(9, 0.65)] * 4),
    (25, [ChannelBlock(10, 0.98), ChannelBlock(ENDLESS, 0.02)]),
    (16, [ChannelBlock(1, 0.5)] * 30),
    (20, CUT_OFF),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "limit", "case"),
    [
        ([Abort, Hole][(case + number) % 2], limit, case)
        for case in range(len(HEAVY))
        for number, limit in enumerate([1, 2, 7])
    ],
)
def test_limited_retries_match_10000_messages_sent_attempt_by_attempt(kind, limit, case):
    packets, blocks = HEAVY[case]
    assert_same_distribution(kind(max_attempts=limit), packets, blocks, 10_000, seed=2 + case)


@pytest.mark.slow
@pytest.mark.parametrize("arq", [NoArq(), Unlimited()], ids=lambda a: a.kind)
@pytest.mark.parametrize("case", range(len(HEAVY)))
def test_simple_arq_matches_10000_messages_sent_attempt_by_attempt(arq, case):
    packets, blocks = HEAVY[case]
    assert_same_distribution(arq, packets, blocks, 10_000, seed=2 + case)


# as CHANGING, but every segment is sampled to the end first: 7 and 5 attempts end inside a packet
CUT = [
    ChannelBlock(7, 0.4),
    ChannelBlock(5, 0.7),
    ChannelBlock(0, 0.9),
    ChannelBlock(3, 0.3),
    ChannelBlock(ENDLESS, 0.2),
]
CERTAIN = [
    ChannelBlock(4, 0.0),
    ChannelBlock(2, 0.5),
    ChannelBlock(3, 0.97),
    ChannelBlock(ENDLESS, 0.1),
]


@pytest.mark.thinned(36)
@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
@pytest.mark.parametrize(
    ("packets", "cuts"),
    [
        (1, CUT),
        (2, CUT),
        (12, CUT),
        (12, CERTAIN),
        (12, [ChannelBlock(2, 0.99), ChannelBlock(9, 0.5)]),
    ],
    ids=["M=1", "M=2", "M=12", "certain", "p->1"],
)
def test_an_interrupted_message_has_the_distribution_of_sending_each_attempt(arq, packets, cuts):
    if cuts[-1].attempts is not None:
        cuts = [*cuts, ChannelBlock(ENDLESS, 0.3)]
    assert_same_distribution(arq, packets, cuts, replicas=3_000, seed=31, way=interrupted)


@pytest.mark.slow
@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
@pytest.mark.parametrize(
    ("packets", "cuts"),
    [
        (1, CUT),
        (12, CUT),
        (40, CUT),
        (12, CERTAIN),
        (40, [ChannelBlock(25, 0.1), ChannelBlock(ENDLESS, 0.6)]),
    ],
)
def test_interruptions_match_10000_messages_sent_attempt_by_attempt(arq, packets, cuts):
    assert_same_distribution(arq, packets, cuts, replicas=10_000, seed=37, way=interrupted)


# a packet's attempts fail with probabilities of their own, here, there and everywhere
EACH = [
    ChannelBlock(7, 0.5, by_attempt=(0.3, 0.7, 0.9)),
    ChannelBlock(5, 0.4),
    ChannelBlock(4, 0.6, by_attempt=(0.8, 0.5, 0.0)),
    ChannelBlock(ENDLESS, 0.5, by_attempt=(0.1, 0.6, 0.8)),
]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("arq", [Abort(max_attempts=3), Hole(max_attempts=3)], ids=lambda a: a.kind)
@pytest.mark.parametrize("packets", [1, 2, 12])
@pytest.mark.parametrize("way", [sampled, interrupted])
@pytest.mark.slow
def test_attempts_at_a_packet_with_losses_of_their_own(arq, packets, way):
    assert_same_distribution(arq, packets, EACH, replicas=5_000, seed=41, way=way)
    assert_same_distribution(arq, packets, EACH[3:], replicas=5_000, seed=43, way=way)


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
def test_an_interruption_of_what_holds_no_chance_draws_nothing(arq):
    for per in (0.0, 1.0):
        sending = arq.begin(6, want_mask=True)
        used = sending.attempt(Untouchable(), 5, per)
        sending.rewind(Untouchable(), min(used, 2))
        want = oracle(arq, generator(0), 6, [ChannelBlock(min(used, 2), per)])
        assert (sending.delivered, sending.lost) == want[1:3]
        assert (sending.arrived(Untouchable()) == want.arrived).all()


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
def test_a_copy_goes_its_own_way(arq):
    sending = arq.begin(30, want_mask=True)
    sending.attempt(generator(1), 20, 0.1)
    same, before = sending.copy(), sending.delivered
    same.attempt(generator(2), None, 0.1)
    assert (sending.delivered, sending.is_done) == (before, False)
    assert sending.arrived(generator(3)).sum() == before
    assert same.delivered > before


@pytest.mark.parametrize("arq", [*ALL, HarqChase(max_attempts=3)], ids=lambda a: a.kind)
def test_a_copy_goes_on_as_its_original(arq):
    """Combining, too: what its attempts have gathered is kept."""
    sending = arq.begin(30, want_mask=True, decode=lambda snr: math.exp(-snr))
    sending.attempt(generator(1), 10, 0.1, snr=0.5)
    same = sending.copy()
    used = [one.attempt(generator(2), 25, 0.1, snr=0.5) for one in (sending, same)]
    assert used[0] == used[1] > 0
    assert (sending.delivered, sending.lost) == (same.delivered, same.lost)
    assert vars(same).keys() == vars(sending).keys()


def test_a_message_of_more_attempts_than_numpy_can_deal_out_is_interrupted_all_the_same():
    sending = Unlimited().begin(1_000)
    used = sending.attempt(generator(1), None, 1.0 - 1e-9)
    sending.rewind(generator(2), used // 2)
    assert abs(sending.delivered - 500) < 4 * math.sqrt(250)


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
@pytest.mark.parametrize("packets", [1, 3, 9])
@pytest.mark.parametrize("seed", range(8))
def test_certain_segments_agree_with_each_attempt_and_draw_nothing(arq, packets, seed):
    pick = generator(seed)
    blocks = [
        ChannelBlock(int(pick.integers(0, 6)), float(pick.integers(0, 2)))
        for _ in range(int(pick.integers(1, 9)))
    ]
    got = arq.transfer(Untouchable(), packets, blocks, want_mask=True)
    want = oracle(arq, generator(0), packets, blocks)
    assert got[:-1] == want[:-1]
    assert (got.arrived == want.arrived).all()


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
def test_error_free_link_needs_one_attempt_a_packet(arq):
    got = arq.transfer(Untouchable(), 2700, [ChannelBlock(ENDLESS, 0.0)])
    assert got == Transfer([2700], 2700, 0, True, None)


def test_dead_link_ends_by_each_policy():
    dead = [ChannelBlock(ENDLESS, 1.0)]
    assert NoArq().transfer(Untouchable(), 5, dead) == Transfer([5], 0, 5, False, None)
    assert Abort(max_attempts=7).transfer(Untouchable(), 5, dead) == ([7], 0, 1, False, None)
    assert Hole(max_attempts=7).transfer(Untouchable(), 5, dead) == ([35], 0, 5, False, None)


@pytest.mark.parametrize("per", [1.0, math.nextafter(1.0, 0.0)])
def test_unlimited_retries_do_not_hang_on_a_dead_link(per):
    blocks = [ChannelBlock(4, 0.0), ChannelBlock(ENDLESS, per)]
    got = Unlimited().transfer(Untouchable(), 5, blocks)
    assert got == Transfer([4, 0], 4, 0, False, None)


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
@pytest.mark.parametrize("per", [1e-300, 1e-12, 1.0 - 1e-9])
@pytest.mark.parametrize("room", [1, 1_000, ENDLESS])
def test_extreme_error_probabilities_are_survived(arq, per, room):
    got = arq.transfer(generator(3), 33_000, [ChannelBlock(room, per)], want_mask=True)
    assert got.delivered + got.lost <= 33_000
    assert got.arrived.sum() == got.delivered
    assert room is None or got.attempts[0] <= room


def test_no_segments_means_no_attempts():
    for arq in ALL:
        assert arq.transfer(Untouchable(), 3, []) == Transfer([], 0, 0, False, None)


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
def test_blocks_are_consumed_only_as_far_as_needed(arq):
    taken = []

    def endless():
        for i in itertools.count():
            taken.append(i)
            yield ChannelBlock(3, 0.2)

    got = arq.transfer(generator(5), 20, endless())
    assert len(got.attempts) == len(taken)
    assert got.attempts[:-1] == [3] * (len(taken) - 1)


@pytest.mark.parametrize("arq", ALL, ids=lambda a: a.kind)
def test_asking_which_packets_arrived_changes_no_count(arq):
    for seed in range(200):
        plain = arq.transfer(generator(seed), 12, CHANGING)
        masked = arq.transfer(generator(seed), 12, CHANGING, want_mask=True)
        assert plain[:-1] == masked[:-1]
        assert masked.arrived.sum() == masked.delivered


def test_results_are_plain_integers():
    for arq in ALL:
        got = arq.transfer(generator(0), 30, [ChannelBlock(10, 0.4), ChannelBlock(ENDLESS, 0.3)])
        assert {type(n) for n in (*got.attempts, got.delivered, got.lost)} == {int}
        assert type(got.complete) is bool


def test_only_retransmission_is_acknowledged():
    assert [arq.acknowledged for arq in ALL] == [False, True, True, True]


@pytest.mark.closed_forms
def test_attempts_of_a_message_have_the_closed_mean_spread_and_tail():
    """wireless.md section 3: M = 2700, p = 0.1: mean M/(1-p), sd sqrt(M p)/(1-p), 99 % 3043."""
    n, rng = 20_000, generator(11)
    link = [ChannelBlock(ENDLESS, 0.1)]
    attempts = np.array([Unlimited().transfer(rng, 2700, link).attempts[0] for _ in range(n)])
    sd = 18.257
    assert abs(attempts.mean() - 3000.0) < 4.0 * sd / math.sqrt(n)
    assert abs(attempts.std() - sd) < 4.0 * sd / math.sqrt(2 * n)  # sd of an sd, near-normal data
    tail = (attempts > 3043).mean()  # at most 1 % by definition, and within 4 sd of it
    assert abs(tail - 0.01) < 4.0 * math.sqrt(0.01 * 0.99 / n) + stats.nbinom.pmf(343, 2700, 0.9)


@pytest.mark.thinned(4)
@pytest.mark.closed_forms
@pytest.mark.parametrize("arq", [Abort(max_attempts=8), Hole(max_attempts=8)], ids=lambda a: a.kind)
@pytest.mark.parametrize(
    ("per", "complete"),
    [(0.1, 0.99997), (0.2, 0.99311), (0.3, 0.83765), (0.4, 0.17032), (0.5, 2.6e-5)],
)
def test_delivery_under_a_retry_limit_is_the_closed_form(arq, per, complete):
    """wireless.md section 3: (1 - p^8)^2700. Tolerance: 4 sd of a binomial share, plus 1/n."""
    assert (1.0 - per**8) ** 2700 == pytest.approx(complete, rel=0.02, abs=1e-5)
    n, rng, link = 4_000, generator(13), [ChannelBlock(ENDLESS, per)]
    share = sum(arq.transfer(rng, 2700, link).complete for _ in range(n)) / n
    assert abs(share - complete) < 4.0 * math.sqrt(complete * (1.0 - complete) / n) + 1.0 / n


@pytest.mark.closed_forms
@pytest.mark.parametrize(("per", "complete"), [(1e-4, 0.76337), (1e-3, 0.067115)])
def test_unacknowledged_message_arrives_whole_by_the_closed_form(per, complete):
    """wireless.md section 3: (1 - p)^2700; 4 sd of a binomial share."""
    n, rng, link = 10_000, generator(17), [ChannelBlock(ENDLESS, per)]
    share = sum(NoArq().transfer(rng, 2700, link).complete for _ in range(n)) / n
    assert abs(share - complete) < 4.0 * math.sqrt(complete * (1.0 - complete) / n)


def test_holes_and_attempts_have_their_means():
    """Lost M p^R; attempts M (1 - p^R)/(1 - p): mean of a geometric cut at R."""
    n, packets, per, limit = 4_000, 500, 0.5, 4
    rng, link = generator(19), [ChannelBlock(ENDLESS, per)]
    got = [Hole(max_attempts=limit).transfer(rng, packets, link) for _ in range(n)]
    lost = np.array([t.lost for t in got])
    attempts = np.array([t.attempts[0] for t in got])
    sd_lost = math.sqrt(packets * per**limit * (1.0 - per**limit))
    assert abs(lost.mean() - packets * per**limit) < 4.0 * sd_lost / math.sqrt(n)
    mean = packets * (1.0 - per**limit) / (1.0 - per)
    assert abs(attempts.mean() - mean) < 4.0 * attempts.std() / math.sqrt(n)


def test_retry_limit_has_no_upper_bound_of_its_own():
    rng, link = generator(23), [ChannelBlock(ENDLESS, 0.9)]
    assert Hole(max_attempts=5_000).transfer(rng, 100, link).complete
    assert Abort(max_attempts=5_000).transfer(rng, 100, link).complete
