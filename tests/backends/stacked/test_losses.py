"""Losses of the algorithm's own, many nodes at once through `torch.func`."""

from dataclasses import dataclass, field

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import loss
from netsim.backends.stacked import loss_training
from netsim.errors import ComputeError

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "clip_norm": 0.4},
    "adam": {"optimizer": "adam", "learning_rate": 0.01, "weight_decay": 0.01},
}
TOLERANCE = {"sgd": 1e-12, "adam": 1e-9}


def steered_loss(model, batch, learned, direction, strength, pair):
    """Depends on a Ref, a number, a pair of both, and two values that are learned beside."""
    theta = torch.cat([p.reshape(-1) for p in model.parameters()])
    value = F.cross_entropy(model(batch.x) * learned["scale"] + learned["shift"], batch.y)
    (other, factor), extra = pair["of"], pair["extra"]
    return value + strength * torch.dot(theta, direction) + factor * (theta * other).sum() * extra


@loss(uniforms=1 + 10)
def noisy_loss(model, batch, learned):
    """Sees draws that ride along with the minibatch."""
    a, b = batch.uniforms[:, :1], batch.uniforms[:, 1:]
    return F.cross_entropy(model(batch.x * (1 + a.view(-1, 1, 1, 1))) + b, batch.y)


def unlearned_loss(model, batch, learned):
    """Uses neither the head nor what is learned beside it."""
    return model.features(batch.x).square().mean()


def ones(count):
    return torch.linspace(0.5, 1.5, count, dtype=torch.float64)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_loss_of_values_numbers_and_what_is_learned_beside(optimizer, both, assert_equal_values):
    def program(node, keep):
        theta, state = node.initial(), None
        other = (yield node.train(theta, steps=1, stream="other")).theta.part("parameters")
        learn = {"scale": node.compute(ones, 10), "shift": node.compute(ones, 1)}
        for _ in range(2):
            trained = yield node.train(
                theta,
                steps=2 + node.id % 3,
                loss=steered_loss,
                given=(other, 0.01 * (1 + node.id % 2), {"of": (other, 0.001), "extra": 2}),
                learn=learn,
                optimizer=state,
                anchor=(node.initial(), 0.1),
                learning_rate=0.01 * (1 + node.id),
            )
            theta, learn, state = trained.theta, trained.learned, trained.optimizer
        keep("theta", theta)
        keep("state", state)
        for name, value in learn.items():
            keep(name, value)

    training = {"learning_rate": 0.1, **OPTIMIZERS[optimizer]}
    alone, stacked = both(program, training=training)
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.2
    assert_equal_values(alone, stacked, TOLERANCE[optimizer])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("loss", [noisy_loss, unlearned_loss])
@pytest.mark.parametrize("model", ["mlp", "iot_mlp"])
def test_a_loss_with_draws_and_one_that_leaves_parameters_out(
    loss, model, both, assert_equal_values
):
    def program(node, keep):
        trained = yield node.train(
            node.initial(),
            steps=2 + node.id,
            loss=loss,
            learn={"beside": node.compute(ones, 3)},
        )
        keep("theta", trained.theta)
        keep("beside", trained.learned["beside"])

    alone, stacked = both(program, model={"kind": model})
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.2
    assert_equal_values(alone, stacked)


def reading_loss(model, batch, learned):
    """Looks at a number, which vmap can't do for many lanes at once."""
    loss = F.cross_entropy(model(batch.x), batch.y)
    return loss if loss.item() > 0 else 2 * loss


def choosy_loss(model, batch, learned, value):
    """Can't be trained with the value of one node."""
    if value.item() == 4.0:
        raise ArithmeticError("four is too many")
    return value * F.cross_entropy(model(batch.x), batch.y)


def test_a_loss_that_reads_numbers_runs_one_by_one_and_the_run_says_so(both, assert_equal_values):
    def program(node, keep):
        for _ in range(2):
            trained = yield node.train(node.initial(), steps=2, loss=reading_loss)
        keep("theta", trained.theta)
        keep("plain", (yield node.train(trained.theta, steps=2)).theta)

    alone, stacked = both(program)
    assert_equal_values(alone, stacked)
    ((subject, reason),) = stacked.backend.one_by_one.items()
    assert "reading_loss" in subject
    assert ".item()" in reason
    assert stacked.simulation.finish(None)["engine"]["one_by_one"] == {subject: reason}
    assert alone.simulation.finish(None)["engine"]["one_by_one"] == {}


def number(value):
    return torch.tensor(float(value), dtype=torch.float64)


@pytest.mark.parametrize("backend", ["sequential", "stacked"])
def test_an_error_names_the_node_whose_values_are_to_blame(backend, build, play):
    def program(node, keep):
        yield node.sleep(0.5 * node.id)
        value = node.compute(number, node.id)
        trained = yield node.train(node.initial(), steps=3, loss=choosy_loss, given=(value,))
        keep("theta", trained.theta)

    message = r"node 4 at 2 s: training of 3 steps with loss choosy_loss.*four is too many"
    with pytest.raises(ComputeError, match=message):
        play(build(), program, backend)


def gives_a_pair(model, batch, learned):
    value = F.cross_entropy(model(batch.x), batch.y)
    return value, value.square()


def gives_nothing(model, batch, learned):
    F.cross_entropy(model(batch.x), batch.y)


def gives_one_a_sample(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y, reduction="none")


def gives_no_gradient(model, batch, learned):
    with torch.no_grad():
        return F.cross_entropy(model(batch.x), batch.y)


UNFIT = {
    gives_a_pair: "a tuple",
    gives_nothing: "a NoneType",
    gives_one_a_sample: r"a tensor of shape \(7,\)",
    gives_no_gradient: "a tensor without a gradient",
}


@pytest.mark.parametrize("backend", ["sequential", "stacked", "native"])
@pytest.mark.parametrize("function", UNFIT)
def test_what_is_no_loss_is_refused_in_words(function, backend, build, play):
    """A pair would be trained as a sum, and nothing by what has no gradient."""

    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=1, loss=function)).theta)

    message = f"{function.__name__} .*gives {UNFIT[function]}.*a loss gives one number"
    with pytest.raises(ComputeError, match=message):
        play(build(nodes={"count": 2}), program, backend)


@dataclass(frozen=True)
class Settings:
    """Not hashable for its list, as an algorithm's own class may well be."""

    factors: list[float] = field(default_factory=lambda: [0.5, 2.0])


def scaled_loss(model, batch, learned, settings):
    return settings.factors[0] * F.cross_entropy(model(batch.x), batch.y)


def scaled(theta, settings):
    return theta * settings.factors[1]


def rated(model, batch, settings):
    return settings.factors[1] * F.cross_entropy(model(batch.x), batch.y)


scaled.is_batched = True


def test_what_is_given_need_not_be_hashable(both, assert_equal_values):
    def program(node, keep):
        trained = yield node.train(node.initial(), steps=2, loss=scaled_loss, given=(Settings(),))
        keep("theta", trained.theta)
        keep("scaled", node.compute(scaled, trained.theta, Settings(), like=trained.theta))
        keep("rated", node.measure(rated, trained.theta, given=(Settings(),)))

    assert_equal_values(*both(program))


class Recurrent(nn.Module):
    """Rows of an image one after another; the layer gives more than one tensor."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.GRU(8, 5, batch_first=True), nn.Linear(5, 10)

    def forward(self, x):
        return self.head(self.features(x.flatten(1, 2))[0].mean(1))


class Reading(nn.Module):
    """Looks at numbers as it runs, and has a layer that is not known here."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Sequential(nn.Flatten(), nn.PReLU(64)), nn.Linear(64, 10)

    def forward(self, x):
        x = self.head(self.features(x))
        return -x if x[0, 0].item() > 1e9 else x


class Attentive(nn.Module):
    """No layer of it but the head is known here; torch.func runs it."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.PReLU(8), nn.Linear(8, 10)

    def forward(self, x):
        x = self.features(x.flatten(1, 2).transpose(1, 2)).transpose(1, 2)
        return self.head(torch.softmax(x @ x.transpose(1, 2), -1).matmul(x).mean(1))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("module", "reasons"), [(Attentive, 1), (Recurrent, 1), (Reading, 2)])
def test_a_model_without_a_stacked_form_trains_all_the_same(
    module, reasons, both, assert_equal_values
):
    def program(node, keep):
        trained = yield node.train(node.initial(), steps=2 + node.id % 2)
        again = yield node.train(trained.theta, steps=2, optimizer=trained.optimizer)
        keep("theta", again.theta)
        keep("loss", node.loss(again.theta))
        keep("gradient", node.gradient(again.theta))
        keep("outputs", node.outputs([trained.theta, again.theta], node.batch()))
        node.publish(again.theta, "trained")

    alone, stacked = both(program, module(), training={"momentum": 0.9})
    assert_equal_values(alone, stacked)
    assert "the model custom" in stacked.backend.one_by_one
    assert len(stacked.backend.one_by_one) == reasons


def choosy_of_models(model, batch, learned):
    """Read a number where there is a layer of normalisation."""
    loss = F.cross_entropy(model(batch.x), batch.y)
    normalised = any(isinstance(m, nn.BatchNorm1d) for m in model.modules())
    return 2 * loss if normalised and loss.item() > 1e9 else loss


@pytest.mark.slow
def test_one_model_that_fails_does_not_keep_others_from_being_stacked(both, assert_equal_values):
    def program(node, keep):
        for _ in range(3):
            trained = yield node.train(node.initial(), steps=2, loss=choosy_of_models)
        keep("theta", trained.theta)

    kinds = [{"kind": "mlp", "hidden": [9]}, {"kind": "iot_mlp", "hidden": 5}]
    alone, stacked = both(program, model=kinds)
    assert_equal_values(alone, stacked)
    ((subject, _),) = stacked.backend.one_by_one.items()
    assert subject.endswith("choosy_of_models with the model IotMlp")
    assert stacked.width == 18 / (2 + 9)  # two flushes; the jobs of three nodes one by one


def test_a_call_that_fails_without_a_word_is_made_one_by_one(
    both, assert_equal_values, monkeypatch
):
    def broken(*args, **keys):
        raise AssertionError

    monkeypatch.setattr(loss_training, "grad", broken)

    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=2, loss=unlearned_loss)).theta)

    alone, stacked = both(program)
    assert_equal_values(alone, stacked)
    assert list(stacked.backend.one_by_one.values()) == ["AssertionError:"]
