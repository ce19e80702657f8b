"""Functions write to no model and no value that others hold, or are refused."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.errors import NetsimError


def measured_with_another_model(model, batch):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    return model(batch.x).sum()


def predicts_with_another_model(model, x):
    for parameter in model.parameters():
        parameter.data.mul_(0.5)  # which no counter of writes sees
    return model(x)


@pytest.mark.parametrize("verb", ["measure", "publish"])
def test_a_function_may_adapt_the_model_that_it_is_given(learn, verb):
    def process(node, found):
        found.theta = theta = node.initial()
        found.before = node.mix([theta], [1.0])
        if verb == "measure":
            found.sum = node.measure(measured_with_another_model, theta)
        else:
            node.publish(theta, "adapted", predict=predicts_with_another_model)
        yield node.sleep(200.0)  # two evaluations

    found = learn(process)
    assert torch.equal(found.theta, found.before)


def predicts_and_writes(model, x, given):
    given.mul_(2.0)
    return model(x)


def measures_and_writes(model, batch, given):
    given.mul_(2.0)
    return model(batch.x).sum()


def measures_and_writes_to_samples(model, batch, given):
    batch.x.mul_(2.0)
    return given.sum()


def loss_that_writes(model, batch, learned, given):
    with torch.no_grad():
        given.mul_(2.0)
    return F.cross_entropy(model(batch.x), batch.y) + given.sum()


@pytest.mark.parametrize("backend", ["sequential", "stacked", "native"])
@pytest.mark.parametrize(
    "fn",
    [
        predicts_and_writes,
        measures_and_writes,
        measures_and_writes_to_samples,
        loss_that_writes,
    ],
)
def test_a_function_that_writes_to_what_it_is_given_is_refused(learn, fn, backend):
    def process(node, found):
        theta = node.initial()
        given = node.mix([theta.part("head")], [2.0])
        if fn is predicts_and_writes:
            node.publish(theta, "given", predict=fn, given=[given])
        elif fn is loss_that_writes:
            yield node.train(theta, steps=2, loss=fn, given=[given])
        else:
            found.result = node.measure(fn, theta, given=[given])
        yield node.sleep(1.0)

    name = fn.__name__
    with pytest.raises(NetsimError, match=rf"node 0 at 0 s: .*{name}.* changes tensor .* in place"):
        learn(process, run={"backend": backend})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_of_a_value_are_the_askers_own(learn, dtype):
    def process(node, found):
        found.value = value = node.initial().part("head")
        found.before = node.mix([value], [1.0])
        numbers = yield node.value(value)
        numbers *= 7.0
        again = yield node.value(value)
        assert not np.array_equal(numbers, again)

    found = learn(process, training={"learning_rate": 0.1, "dtype": dtype})
    assert torch.equal(found.value, found.before)


def predicts_nothing(model, x):
    raise KeyError("boom")


def test_a_prediction_that_fails_is_told_with_node_and_time(learn):
    def process(node, found):
        node.publish(node.initial(), "mine", predict=predicts_nothing)
        yield node.sleep(1.0)

    with pytest.raises(NetsimError, match=r"node 0 at 0 s: publish: predicts_nothing .*KeyError"):
        learn(process)


# -- what is kept on the module, which all nodes share ---------------------------------------------


def _counts(model):
    model.calls = getattr(model, "calls", 0) + 1
    return model.calls


def _centre(model, outputs):
    centre = getattr(model, "centre", torch.zeros(()))
    model.centre = 0.9 * centre + 0.1 * outputs.detach().mean()
    return model.centre


def loss_that_counts(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y) / _counts(model)


def loss_that_keeps_a_mean(model, batch, learned):
    outputs = model(batch.x)
    return F.cross_entropy(outputs, batch.y) + (outputs - _centre(model, outputs)).square().mean()


def measure_that_counts(model, batch):
    return model(batch.x).sum() * _counts(model)


def predict_that_counts(model, x):
    return model(x) * _counts(model)


def predict_that_keeps_a_mean(model, x):
    outputs = model(x)
    return outputs - _centre(model, outputs)


def _play(learn, fn, backend):
    def process(node, found):
        theta = node.initial()
        for _ in range(4):
            if fn.__name__.startswith("loss"):
                theta = (yield node.train(theta, steps=2, loss=fn)).theta
            elif fn.__name__.startswith("predict"):
                node.publish(node.mix([theta, node.initial()], [0.5, 0.5]), "own", predict=fn)
            else:
                found.result = node.measure(fn, theta)
            found.theta = theta
            yield node.sleep(40.0)

    return learn(process, run={"backend": backend})


@pytest.mark.parametrize("backend", ["sequential", "stacked", "native"])
@pytest.mark.parametrize(
    ("fn", "kept"),
    [
        (loss_that_counts, "calls"),
        (loss_that_keeps_a_mean, "centre"),
        (measure_that_counts, "calls"),
        (predict_that_counts, "calls"),
        (predict_that_keeps_a_mean, "centre"),
    ],
)
def test_a_function_that_keeps_something_on_the_model_is_refused(learn, fn, kept, backend):
    name = fn.__name__
    with pytest.raises(NetsimError, match=rf"node 0 at .*{name}.* changes {kept} of the model"):
        _play(learn, fn, backend)


def loss_that_leaves_what_nobody_reads(model, batch, learned):
    model.last = model(batch.x)
    return F.cross_entropy(model.last, batch.y)


def loss_that_leaves_nothing(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


@pytest.mark.parametrize("backend", ["sequential", "stacked", "native"])
def test_what_is_written_before_it_is_read_harms_nobody(learn, backend):
    found = _play(learn, loss_that_leaves_what_nobody_reads, backend)
    assert torch.equal(found.theta, _play(learn, loss_that_leaves_nothing, backend).theta)


def predict_that_notes_a_size(model, x):
    model.rows = len(x)
    return model(x).reshape(model.rows, -1)


def measure_that_notes_a_shape(model, batch):
    model.shape = tuple(batch.x.shape)
    return model(batch.x).sum() / model.shape[0]


def measure_that_leaves_classes(model, batch):
    outputs = model(batch.x)
    next(model.children()).classes = outputs.argmax(1)
    model.found = {"classes": outputs.argmax(1)}
    return outputs.sum()


def measure_that_keeps_the_most(model, batch):
    model.most = max(getattr(model, "most", 0), len(batch.x))
    return model(batch.x).sum() / model.most


@pytest.mark.parametrize(
    ("fn", "kept", "backend"),
    [
        (predict_that_notes_a_size, None, "sequential"),
        (predict_that_notes_a_size, None, "stacked"),
        (measure_that_notes_a_shape, None, "sequential"),
        (measure_that_notes_a_shape, None, "stacked"),
        (measure_that_leaves_classes, None, "sequential"),
        (measure_that_leaves_classes, None, "stacked"),
        (measure_that_keeps_the_most, "most", "sequential"),
    ],
)
def test_sizes_and_classes_that_each_call_sets_anew_harm_nobody(learn, fn, kept, backend):
    """The nodes' validation samples are fewer than those that they train on."""

    def process(node, found):
        theta = node.initial()
        for split in ("validation", "train", "validation", "train"):
            if fn.__name__.startswith("predict"):
                node.publish(node.mix([theta, node.initial()], [0.5, 0.5]), "own", predict=fn)
            else:
                found.result = node.measure(fn, theta, split=split)
                yield node.value(found.result)
            yield node.sleep(40.0)

    if kept is None:
        learn(process, run={"backend": backend})
    else:
        with pytest.raises(NetsimError, match=f"changes {kept} of the model"):
            learn(process, run={"backend": backend})
