"""Sums and multiples of Refs are what `node.mix` gives, to the last bit."""

import numpy as np
import pytest
import torch

from netsim.errors import ProtocolError

BACKENDS = ["sequential", "stacked", "auto"]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("hidden", [8, 600])  # below and beyond rows that are added one by one
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_arithmetic_has_the_bits_of_mix(backend, dtype, hidden, learn):
    def process(node, found):
        a = node.initial()
        b = (yield node.train(a, steps=3)).theta
        c = (yield node.train(b, steps=3)).theta
        found.sum, found.mixed_sum = a + b, node.mix([a, b], [1, 1])
        found.halves, found.mixed_halves = 0.3 * a + b * 0.7, node.mix([a, b], [0.3, 0.7])
        found.less, found.mixed_less = a - b / 3, node.mix([a, b], [1, -1 / 3])
        found.minus, found.mixed_minus = -a, node.mix([a], [-1])
        found.scaled, found.mixed_scaled = 0.5 * (0.3 * a), node.mix([a], [0.5 * 0.3])
        found.three = 0.3 * a + 0.2 * b + 0.5 * c
        found.mixed_three = node.mix([a, b, c], [0.3, 0.2, 0.5])
        found.all, found.mixed_all = sum([a, b, c]), node.mix([a, b, c], [1, 1, 1])
        head = a.part("head")
        found.part, found.mixed_part = (
            head - 0.1 * b.part("head"),
            node.mix([head, b.part("head")], [1, -0.1]),
        )
        found.number = np.float64(0.3) * a
        found.mixed_number = node.mix([a], [0.3])

    found = learn(
        process,
        model={"kind": "iot_mlp", "hidden": hidden},
        training={"learning_rate": 0.1, "dtype": dtype},
        run={"device": "cpu", "backend": backend},
    )
    for name in ("sum", "halves", "less", "minus", "scaled", "three", "all", "part", "number"):
        assert torch.equal(getattr(found, name), getattr(found, f"mixed_{name}")), name


def test_a_sum_with_a_model_in_it_is_a_model(learn):
    def process(node, found):
        theta = node.initial()
        gradient = node.gradient(theta, "train")
        found.models = [
            (theta - 0.1 * gradient).architecture,
            (gradient + theta).architecture,
        ]
        found.others = [(0.1 * gradient).architecture, (gradient - gradient).architecture]
        node.publish(gradient + theta, "stepped")
        yield node.sleep(0.0)

    found = learn(process)
    assert all(found.models)
    assert not any(found.others)


def test_a_difference_of_models_added_to_a_model_is_no_wrong_mixture(learn):
    def process(node, found):
        theta = node.initial()
        other = (yield node.train(theta, steps=1)).theta
        node.publish(theta + 0.5 * (other - theta), "right")
        yield node.train(theta + node.mix([other, theta], [1.0, -1.0]), steps=1)

    assert learn(process).simulation.recorder.warnings.texts == []

    def wrong(node, found):
        theta = node.initial()
        node.publish(0.5 * theta + 0.4 * theta, "wrong")
        yield node.sleep(0.0)

    (warning,) = learn(wrong).simulation.recorder.warnings.texts
    assert "the weights of a mixture of models sum to 0.9, not 1" in warning


def test_a_foreign_ref_is_no_term(build, play):
    refs = {}

    def process(node):
        refs[node.id] = node.initial()
        yield node.sleep(1.0)
        if node.id == 1:
            refs[1] + refs[0]

    with pytest.raises(ProtocolError, match=r"node 1 used a Ref of node 0|node 0 used a Ref"):
        play(build(), process)


def test_a_delivered_multiple_is_the_receivers(learn, build, play):
    """The multiple of another node is known by its own value, not by what it was made of."""
    found = {}

    def process(node):
        theta = 0.5 * node.initial()
        mine = theta.owned_by((node.id + 1) % 3)
        found[node.id] = mine + mine
        node.publish(node.initial(), "x")
        yield node.sleep(0.0)

    simulation = play(build(), process)
    simulation.learning.scheduler.flush()
    for i, ref in found.items():
        assert ref.owner == (i + 1) % 3
        assert torch.equal(ref.tensor(), simulation.world.initial[i])
