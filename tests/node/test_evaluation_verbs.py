"""Values that a function gives of a model on one of the node's splits."""

import numpy as np
import pytest
import torch

from netsim.errors import ComputeError, ProtocolError


def class_means(model, batch, classes, scale):
    features = model.features(batch.x)
    return torch.stack([scale * features[batch.y == c].mean(0) for c in classes])


def training_mode(model, batch):
    return torch.tensor(float(model.training))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_measurement_is_the_function_of_the_model_and_the_split(learn, fresh_model, split):
    def process(node, found):
        trained = (yield node.train(node.initial(), steps=3)).theta
        found.trained, found.classes = trained, node.classes
        scale = node.compute(torch.ones, ())
        given = (node.classes, scale)
        found.means = node.measure(class_means, trained, split, given, (len(node.classes), 8))

    found = learn(process)
    shards, model = found.world.shards, fresh_model(found.world, found.trained).eval()
    rows = shards.rows[0]
    x, y = found.world.samples.x, found.world.samples.y
    assert found.classes == tuple(np.unique(y[rows.train]))
    rows = getattr(rows, split)
    features = model.features(torch.from_numpy(x[rows]).double()).detach()
    for c, mean in zip(found.classes, found.means, strict=True):
        own = features[torch.from_numpy(y[rows] == c)]
        torch.testing.assert_close(mean, own.mean(0), rtol=0, atol=1e-12, equal_nan=True)


def test_a_model_is_measured_in_evaluation_mode_after_training(learn):
    def process(node, found):
        trained = (yield node.train(node.initial(), steps=1)).theta
        found.mode = node.measure(training_mode, trained)

    assert learn(process).mode == 0.0


def test_a_measurement_of_another_shape_than_announced_fails(learn):
    def process(node, found):
        node.measure(training_mode, node.initial(), like=(2,))
        yield node.sleep(0.0)

    with pytest.raises(ComputeError, match=r"training_mode gave shape \(\), announced was \(2,\)"):
        learn(process)


def test_what_can_not_be_measured_is_refused(learn):
    def a_closure(node, found):
        node.measure(lambda model, batch: batch.y.sum(), node.initial())
        yield node.sleep(0.0)

    def a_part(node, found):
        node.measure(training_mode, node.initial().part("head"))
        yield node.sleep(0.0)

    def no_samples(node, found):
        node.measure(training_mode, node.initial(), "validation")
        yield node.sleep(0.0)

    with pytest.raises(ProtocolError, match="module-level"):
        learn(a_closure)
    with pytest.raises(ProtocolError, match="whole model"):
        learn(a_part)
    data = {"kind": "digits", "partition": {"kind": "iid", "train_samples": 40, "test_samples": 10}}
    with pytest.raises(ProtocolError, match="no validation samples"):
        learn(no_samples, data=data)
