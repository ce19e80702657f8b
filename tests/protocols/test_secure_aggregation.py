"""Sizes of secure aggregation against those that its paper states."""

from types import SimpleNamespace

import pytest

from netsim.protocols.secure_aggregation import KEY_BITS, SHARE_BITS, answered, masked


def values(count):
    return SimpleNamespace(num_values=count)


@pytest.mark.parametrize(
    ("users", "length", "expansion"),
    [(2**10, 2**20, 1.73), (2**14, 2**24, 1.98)],  # the abstract of Bonawitz et al. 2017
)
def test_the_expansion_is_that_of_the_paper(users, length, expansion):
    sent = masked(values(length), users, bits_per_value=16).size_bits(32)
    received = answered(values(0), users).size_bits(32)
    assert (sent + received) / (16 * length) == pytest.approx(expansion, abs=0.005)


def test_both_ways_together_are_the_formula_of_the_paper():
    n, m, b = 7, 100, 8
    log2_r = 11  # sums are up to 7 * 255 = 1785 < 2^11
    total = 2 * n * KEY_BITS + (5 * n - 4) * SHARE_BITS + m * log2_r
    sent, received = masked(values(m), n, b), answered(values(0), n)
    assert sent.size_bits(32) + received.size_bits(32) == total
    assert answered(values(m), n).size_bits(32) == received.size_bits(32) + 32 * m
