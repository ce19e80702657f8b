"""Values that a method computes in another precision than the run's."""

import pytest
import torch
import torch.nn.functional as F

OTHER = {"float32": torch.float64, "float64": torch.float32}
MOST = {"float32": 5e-6, "float64": 1e-9}


def converted(value, name):
    return (value * 1.01).to(OTHER[name])


def ones(count, name):
    return torch.linspace(0.5, 1.5, count, dtype=OTHER[name])


def scaled_loss(model, batch, learned, shift):
    return F.cross_entropy(model(batch.x) * learned["scale"] + shift.to(batch.x.dtype), batch.y)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("backend", ["stacked", "native"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_models_and_what_is_learned_are_of_the_runs_precision(
    dtype, optimizer, backend, build, play, assert_equal_values
):
    def program(node, keep):
        theta = node.compute(converted, node.initial(), dtype, like=node.initial())
        keep("computed", theta)
        keep("mixed", node.mix([theta, node.initial()], [0.3, 0.7]))
        keep("loss", node.loss(theta, "train"))
        keep("trained", (yield node.train(theta, steps=2, anchor=(theta, 0.5))).theta)
        own = yield node.train(
            *(node.initial(), 2, None, scaled_loss, (node.compute(ones, 10, dtype),)),
            learn={"scale": node.compute(ones, 10, dtype)},
        )
        keep("own", own.theta)
        keep("scale", own.learned["scale"])

    training = {"dtype": dtype, "optimizer": optimizer, "learning_rate": 0.01}
    built = build(training=training, nodes={"count": 3})
    alone, together = (play(built, program, name) for name in ("sequential", backend))
    for played in (alone, together):
        kinds = {value.dtype for key, value in played.values.items() if key[1] != "loss"}
        assert kinds == {getattr(torch, dtype)}
    assert_equal_values(alone, together, MOST[dtype])
