"""Training one part of a model against `torch.optim` with all else left out, in float64."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import loss as declared
from netsim.errors import ProtocolError

from .test_training_verbs import EXACT, OPTIMIZERS, plain_loss, torch_optimizer, training

MLP = {"kind": "mlp", "hidden": [8]}  # without running statistics
BACKENDS = ["sequential", "stacked", "auto"]


class Normalised(nn.Module):
    """A model with running statistics in its features and in its head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.BatchNorm1d(6), nn.ReLU())
        self.head = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 10))

    def forward(self, x):
        return self.head(self.features(x))


def loop(model, part, optimizer, batches, name):
    """Steps of an optimiser that knows the part's parameters only; statistics of others held."""
    model.train()
    held = {n: b.clone() for n, b in model.named_buffers() if not n.startswith(part)}
    largest = OPTIMIZERS[name].get("clip_norm", math.inf)
    for batch in batches:
        model.zero_grad()
        plain_loss(model, batch).backward()
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(trained, largest)
        optimizer.step()
    for name, buffer in held.items():
        model.get_buffer(name).copy_(buffer)


def floating(model):
    tensors = [p.data for p in model.parameters()]
    tensors += [b for b in model.buffers() if b.is_floating_point()]
    return torch.cat([t.reshape(-1) for t in tensors])


def own_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


@pytest.mark.slow
@pytest.mark.thinned(30)
@pytest.mark.parametrize("loss", [None, own_loss])
@pytest.mark.parametrize("part", ["head", "backbone"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_only_the_part_is_trained(name, backend, part, loss, learn, batches):
    torch.manual_seed(4)
    module = Normalised().double()
    start = {n: t.clone() for n, t in module.state_dict().items()}

    def process(node, found):
        found.before = node.initial()
        first = yield node.train(node.initial(), steps=3, part=part, loss=loss)
        state = {"optimizer": first.optimizer}
        found.theta = (yield node.train(first.theta, steps=2, part=part, loss=loss, **state)).theta
        found.size = first.optimizer.num_values

    run = {"device": "cpu", "backend": backend}
    found = learn(process, module=module, **training(name), run=run)
    model = Normalised().double()
    model.load_state_dict(start)
    inside = {"head": model.head, "backbone": model.features}[part]
    optimizer = torch_optimizer(name, inside.parameters())
    prefix = {"head": "head", "backbone": "features"}[part]
    loop(model, prefix, optimizer, batches(found.world, 5), name)
    tolerance = {"rtol": 0, "atol": 1e-9} if "adam" in name else EXACT
    torch.testing.assert_close(found.theta, floating(model), **tolerance)
    # what is not trained is what it was, to the last bit
    names = [
        *dict(model.named_parameters()),
        *(n for n, b in model.named_buffers() if b.is_floating_point()),
    ]
    sizes = [start[n].numel() for n in names]
    for n, before, after in zip(
        names, torch.split(found.before, sizes), torch.split(found.theta, sizes), strict=True
    ):
        assert torch.equal(before, after) == (not n.startswith(prefix)), n
    count = sum(p.numel() for p in inside.parameters())
    assert found.size == (1 + 2 * count if "adam" in name else count)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_part_may_have_an_anchor_and_company(backend, learn, fresh_model, row_of, batches):
    def process(node, found):
        theta = node.initial()
        head = theta.part("head")
        found.pulled = (yield node.train(theta, steps=3, part="head", anchor=(theta, 0.5))).theta
        found.same = (
            yield node.train(theta, steps=3, part="head", anchor=(head, 0.5), stream="other")
        ).theta

    found = learn(process, model=MLP, run={"device": "cpu", "backend": backend})
    for row, stream in ((found.pulled, "train"), (found.same, "other")):
        model, still = fresh_model(found.world), fresh_model(found.world)
        parameters = list(model.head.parameters())
        optimizer = torch_optimizer("sgd", parameters)
        for batch in batches(found.world, 3, stream):
            optimizer.zero_grad()
            pull = sum(
                (p - q.detach()).square().sum()
                for p, q in zip(parameters, still.head.parameters(), strict=True)
            )
            (plain_loss(model, batch) + 0.25 * pull).backward()
            optimizer.step()
        torch.testing.assert_close(row, row_of(model), **EXACT)


def eight_zeros(theta):
    return 0 * theta[:8]


@declared(uniforms=1)
def pulled_loss(model, batch, learned, weight):
    noise = 1e-3 * batch.uniforms.mean()
    pull = (model.features(batch.x).mean(0) - learned["centre"]).square().sum()
    return F.cross_entropy(model(batch.x), batch.y) + weight * pull + noise


@pytest.mark.thinned(2)
@pytest.mark.parametrize("backend", ["stacked", "auto"])
def test_backends_agree_on_a_part_trained_with_other_values(backend, learn):
    def process(node, found):
        theta = node.initial()
        centre = node.compute(eight_zeros, theta)
        trained = yield node.train(
            theta,
            epochs=1,
            part="backbone",
            loss=pulled_loss,
            learn={"centre": centre},
            given=(0.1,),
        )
        found.theta, found.centre = trained.theta, trained.learned["centre"]
        found.state = trained.optimizer

    def run(name):
        run = {"device": "cpu", "backend": name}
        return learn(process, model=MLP, **training("momentum"), run=run)

    one, other = run("sequential"), run(backend)
    for what in ("theta", "centre", "state"):
        torch.testing.assert_close(getattr(one, what), getattr(other, what), **EXACT)


def test_what_is_no_part_is_refused(learn):
    def process(node, found):
        yield node.train(node.initial(), steps=1, part="buffers")

    with pytest.raises(ProtocolError, match="running statistics are not trained"):
        learn(process)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_several_steps_on_one_batch_and_its_gradient(backend, learn, fresh_model, row_of, batches):
    def process(node, found):
        theta, batch = node.initial(), node.batch("train")
        found.theta = (yield node.train(theta, steps=3, batch=batch)).theta
        found.gradient = node.gradient(theta, batch)
        found.stepped = theta - 0.1 * node.gradient(theta, batch)
        found.next = (yield node.train(theta, steps=1)).theta

    found = learn(process, model=MLP, run={"device": "cpu", "backend": backend})
    first, second = batches(found.world, 2)

    def trained(some):
        model = fresh_model(found.world)
        optimizer = torch_optimizer("sgd", model.parameters())
        for batch in some:
            optimizer.zero_grad()
            plain_loss(model, batch).backward()
            optimizer.step()
        return row_of(model)

    torch.testing.assert_close(found.theta, trained([first] * 3), **EXACT)
    torch.testing.assert_close(found.next, trained([second]), **EXACT)
    torch.testing.assert_close(found.stepped, trained([first]), **EXACT)
    model = fresh_model(found.world).eval()
    plain_loss(model, first).backward()
    expected = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    torch.testing.assert_close(found.gradient, expected, **EXACT)


def test_a_batch_is_for_steps_and_the_nodes_own(learn):
    def epochs(node, found):
        yield node.train(node.initial(), epochs=1, batch=node.batch())

    def foreign(node, found):
        yield node.train(node.initial(), steps=1, batch=node.batch()._replace(shard=1))

    with pytest.raises(ProtocolError, match="train: batch is for steps"):
        learn(epochs)
    with pytest.raises(ProtocolError, match="the minibatch is one of node 1"):
        learn(foreign)
