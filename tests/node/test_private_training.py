"""Differentially private training against one sample after another in plain PyTorch, in float64."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.api import Privacy, loss
from netsim.backends.job_types.private_train import draw_samples
from netsim.errors import ProtocolError, UnsuitableError
from netsim.learning.jobs import BatchKey
from netsim.protocols import privacy
from netsim.rng import Streams

from .test_training_verbs import EXACT, OPTIMIZERS, plain_loss, torch_optimizer, training

MLP = {"kind": "mlp", "hidden": [8]}


def transcribed(found, model, optimizer, steps, clip, sigma):
    """Abadi et al. 2016, Algorithm 1, on the simulator's draws of samples and noise."""
    built, parameters = found.world, list(model.parameters())
    rows, streams = built.shards.rows[0].train, built.streams
    q = built.shards.batch_size / len(rows)
    for step in range(steps):
        draws = streams.uniforms("private/train", 0, step, counters=np.arange(len(rows)))
        total = [torch.zeros_like(p) for p in parameters]
        for row, u in zip(rows, draws, strict=True):
            if u >= q:
                continue
            sample = SimpleNamespace(x=built.shards.x[[row]], y=built.shards.y[[row]])
            gradient = torch.autograd.grad(plain_loss(model, sample), parameters)
            norm = math.sqrt(sum(float(g.square().sum()) for g in gradient))
            for into, g in zip(total, gradient, strict=True):
                into += g * min(1.0, clip / (norm + 1e-6))
        noise = streams.generator("private noise/train", 0, step)
        noise = torch.from_numpy(noise.standard_normal(sum(p.numel() for p in parameters)))
        pieces = torch.split(sigma * clip * noise, [p.numel() for p in parameters])
        for p, into, z in zip(parameters, total, pieces, strict=True):
            p.grad = (into + z.view_as(p)) / (q * len(rows))
        optimizer.step()


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("name", "clip", "sigma"), [("momentum", 0.5, 1.3), ("adam", 100.0, 0.0)])
def test_dp_sgd(name, clip, sigma, learn, fresh_model, row_of):
    def process(node, found):
        found.theta = (
            yield node.train(node.initial(), steps=5, privacy=Privacy(clip, sigma))
        ).theta

    found = learn(process, model=MLP, **training(name))
    model = fresh_model(found.world)
    assert "clip_norm" not in OPTIMIZERS[name]
    transcribed(found, model, torch_optimizer(name, model.parameters()), 5, clip, sigma)
    tolerance = {"rtol": 0, "atol": 1e-9} if name == "adam" else EXACT
    torch.testing.assert_close(found.theta, row_of(model), **tolerance)


def weighted_loss(model, batch, learned, weight):
    return weight * F.cross_entropy(model(batch.x), batch.y)


def test_a_loss_and_a_state_of_ones_own(learn):
    """Half of the loss, clipped at half, at twice the rate: the same steps, momentum included."""

    def trained(clip, **how):
        def process(node, found):
            how["privacy"] = Privacy(clip, 0.0)
            first = yield node.train(node.initial(), steps=2, **how)
            state = {"optimizer": first.optimizer}
            found.theta = (yield node.train(first.theta, steps=2, **how, **state)).theta

        return learn(
            process, model=MLP, training={"learning_rate": 0.1, "momentum": 0.9, "dtype": "float64"}
        ).theta

    plain = trained(0.2)
    half = trained(0.1, loss=weighted_loss, given=(0.5,), learning_rate=0.2)
    torch.testing.assert_close(half, plain, rtol=0, atol=1e-5)  # 1e-6 is added to every norm
    assert float((plain - trained(0.2, learning_rate=0.2)).abs().max()) > 1e-2


@loss(uniforms=1)
def drawing_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


@pytest.mark.parametrize(
    ("model", "how", "problem"),
    [
        ({"kind": "iot_mlp", "hidden": 8}, {}, "normalises batches"),
        (MLP, {"loss": drawing_loss}, "the loss asks for draws"),
        (MLP, {"part": "head"}, "learn, anchor, batch and part are not for it"),
    ],
)
def test_what_has_no_gradient_of_a_sample_is_refused(model, how, problem, learn):
    def process(node, found):
        yield node.train(node.initial(), steps=1, privacy=Privacy(1.0, 1.0), **how)

    with pytest.raises(ProtocolError, match=problem):
        learn(process, model=model)


def test_samples_are_taken_independently():
    """The number taken is binomial: mean n q, standard deviation sqrt(n q (1 - q))."""
    n, q, steps = 50, 0.2, 2000
    counts = [len(draw_samples(Streams(1), BatchKey(0, "train", b), n, q)) for b in range(steps)]
    error = math.sqrt(n * q * (1 - q) / steps)
    assert abs(np.mean(counts) - n * q) < 4 * error
    assert np.var(counts) == pytest.approx(n * q * (1 - q), rel=4 * math.sqrt(2 / steps))


def test_without_opacus_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opacus.accountants", None)
    with pytest.raises(UnsuitableError, match=r"pip install 'netsim-dfl\[privacy\]'"):
        privacy._accountant("rdp")


def test_epsilon_is_opacuss(learn):
    accountants = pytest.importorskip("opacus.accountants")

    def process(node, found):
        params = privacy.PrivacyParams(noise_multiplier=1.1, delta=1e-4)
        private = privacy.PrivateTraining(node, params)
        found.before = private.epsilon()
        found.theta = (yield from private.train(node.initial(), epochs=2)).theta
        found.epsilon, found.steps = private.epsilon(), node.local_steps
        found.share = node.batch_size / node.train_size

    found = learn(process, model=MLP)
    accountant = accountants.RDPAccountant()
    for _ in range(found.steps):
        accountant.step(noise_multiplier=1.1, sample_rate=found.share)
    assert found.before == 0.0
    assert found.epsilon == pytest.approx(accountant.get_epsilon(delta=1e-4))
