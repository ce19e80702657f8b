import numpy as np
import pytest

from netsim.data.split import choose_stratified, hold_out, limit_rows, quotas
from netsim.errors import DataError

LABELS = np.repeat(np.arange(4), [10, 20, 30, 41])


def test_quotas_are_proportional_and_sum_exactly():
    # 51 of 101: exact shares 5.05, 10.10, 15.15, 20.70; the one left goes to the last.
    assert quotas(np.array([10, 20, 30, 41]), 51).tolist() == [5, 10, 15, 21]


@pytest.mark.parametrize("total", [0, 1, 50, 100, 101])
def test_quotas_never_exceed_a_class(total):
    sizes = np.array([10, 20, 30, 41])
    share = quotas(sizes, total)
    assert share.sum() == total
    assert (share <= sizes).all()


def test_quotas_break_ties_by_class_number():
    assert quotas(np.array([1, 1, 1]), 2).tolist() == [1, 1, 0]


def test_hold_out_is_disjoint_complete_and_stratified():
    train, test = hold_out(LABELS, 0.5, seed=3)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(101))
    assert np.bincount(LABELS[test]).tolist() == [5, 10, 15, 20]


def test_hold_out_depends_on_its_seed_only():
    assert np.array_equal(hold_out(LABELS, 0.3, 7)[1], hold_out(LABELS, 0.3, 7)[1])
    assert not np.array_equal(hold_out(LABELS, 0.3, 7)[1], hold_out(LABELS, 0.3, 8)[1])


def test_copies_of_a_sample_stay_on_one_side():
    twins = np.arange(101) // 2  # pairs, each within a class (sizes but the last are even)
    for seed in range(20):
        _, test = hold_out(LABELS, 0.4, seed, twins)
        held = np.isin(np.arange(101), test)
        pairs = held[:100].reshape(-1, 2)
        assert (pairs[:, 0] == pairs[:, 1]).all()


def test_a_limit_keeps_the_classes_shares():
    rows = np.arange(101)
    chosen = limit_rows(LABELS, rows, 50, 0, "train_rows", "toy")
    assert len(chosen) == len(set(chosen.tolist())) == 50
    assert (np.abs(np.bincount(LABELS[chosen]) - 50 * np.bincount(LABELS) / 101) < 1).all()
    assert limit_rows(LABELS, rows, None, 0, "train_rows", "toy") is rows


def test_a_limit_over_the_data_is_refused_with_both_numbers():
    with pytest.raises(DataError, match=r"train_rows = 102: toy has 101 such rows"):
        limit_rows(LABELS, np.arange(101), 102, 0, "train_rows", "toy")


def test_every_row_is_held_out_equally_often():
    # 2,000 hold-outs of 5 of 10 rows: a row's count is hypergeometric-like with p = 0.5, standard
    # deviation sqrt(2000 * 0.25) = 22.4; 4.5 of them, over 10 rows, fail once in 15,000 runs.
    labels = np.zeros(10, dtype=np.int64)
    seen = np.zeros(10)
    for seed in range(2000):
        seen[choose_stratified(labels, 5, seed, "test")] += 1
    assert (np.abs(seen - 1000) < 4.5 * 22.4).all()
