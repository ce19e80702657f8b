"""Malicious nodes, and the effect of each kind of attack on labels and values."""

import numpy as np
import pytest
import torch

from netsim.attacks.gauss import Gauss, noise
from netsim.attacks.label_flip import LabelFlip
from netsim.attacks.same_value import SameValue, ones
from netsim.attacks.shuffle import Shuffle, shuffled
from netsim.attacks.sign_flip import SignFlip, negative
from netsim.registry import family
from netsim.rng import Streams

VALUES = torch.arange(1.0, 501.0, dtype=torch.float64).reshape(100, 5)


@pytest.mark.parametrize(
    ("fraction", "nodes", "count"),
    [(0.0, 10, 0), (0.4, 10, 4), (0.8, 10, 8), (0.9, 10, 9), (0.29, 100, 29), (0.04, 10, 0)],
)
def test_the_fraction_is_rounded_not_cut(fraction, nodes, count):
    """int(10 * (1 - 0.8)) is 1 and int(10 * (1 - 0.9)) is 0: the published code's trap."""
    attack = SignFlip(fraction=fraction)
    malicious = attack.malicious(range(3, nodes + 3), Streams(0))
    assert len(malicious) == count
    assert malicious <= set(range(3, nodes + 3))


def test_more_attackers_are_the_same_ones_and_others():
    few, many = (SignFlip(fraction=f).malicious(range(50), Streams(5)) for f in (0.2, 0.6))
    assert few < many


def test_the_seed_decides_who_and_the_kind_does_not():
    kinds = [Shuffle(), SameValue(), SignFlip(), Gauss(), LabelFlip()]
    assert len({kind.malicious(range(50), Streams(1)) for kind in kinds}) == 1
    assert Shuffle().malicious(range(50), Streams(1)) != Shuffle().malicious(range(50), Streams(2))


def test_every_node_is_malicious_as_often():
    """Binomial(2000, 0.4): five standard deviations are 5 sqrt(2000 * 0.24) = 110."""
    attack, counts = SignFlip(fraction=0.4), np.zeros(5)
    for seed in range(2000):
        counts[list(attack.malicious(range(5), Streams(seed)))] += 1
    assert (abs(counts - 800) < 110).all()


def test_labels_are_flipped_to_c_minus_1_minus_y():
    assert LabelFlip().relabelled(np.array([0, 1, 9, 4]), 10).tolist() == [9, 8, 0, 5]


@pytest.mark.parametrize("kind", sorted(family("netsim.attacks")))
def test_an_attack_is_on_labels_or_on_messages(kind):
    attack = family("netsim.attacks")[kind]()
    labels = np.array([0, 1, 2])
    on_labels = attack.relabelled(labels, 3) is not labels
    assert on_labels == (attack.forgery() is None)


@pytest.mark.parametrize("forge", [shuffled, ones, negative, noise])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_forgeries_are_pure_and_keep_shape_and_type(forge, dtype):
    values = VALUES.to(dtype)
    for shaped in (values, values.reshape(-1), values[0, 0]):
        before = shaped.clone()
        lie = forge(shaped, 7, 3, 0)
        assert lie.shape == shaped.shape
        assert lie.dtype == dtype
        assert torch.equal(lie, forge(shaped, 7, 3, 0))
        assert torch.equal(shaped, before)


@pytest.mark.parametrize("forge", [shuffled, noise])
def test_draws_differ_by_seed_node_and_count(forge):
    lies = [forge(VALUES, *key) for key in ((7, 3, 0), (8, 3, 0), (7, 4, 0), (7, 3, 1))]
    assert not any(torch.equal(a, b) for k, a in enumerate(lies) for b in lies[:k])


def test_a_shuffle_moves_values_across_the_whole_vector():
    lie = shuffled(VALUES, 7, 3, 0)
    assert torch.equal(lie.flatten().sort().values, VALUES.flatten())
    # of 500 values one stays in its place on average, Poisson: more than 8 has probability 1e-6
    assert (lie == VALUES).sum() <= 8


def test_the_others_send_ones_the_negative_and_standard_normals():
    assert torch.equal(ones(VALUES, 7, 3, 0), torch.ones(100, 5, dtype=torch.float64))
    assert torch.equal(negative(VALUES, 7, 3, 0), -VALUES)
    draws = noise(torch.zeros(20_000), 7, 3, 0).double()
    # five standard errors: of the mean 5 / sqrt n, of the variance 5 sqrt(2 / n)
    assert abs(float(draws.mean())) < 0.0354
    assert float(draws.var()) == pytest.approx(1.0, abs=0.05)
