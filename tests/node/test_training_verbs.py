"""Local training against `torch.optim` and plain loops, in float64."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.api import BatchKey, loss
from netsim.errors import ComputeError, NetsimError

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd"},
    "decay": {"optimizer": "sgd", "weight_decay": 0.01},
    "momentum": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
    "adam": {"optimizer": "adam", "learning_rate": 0.01},
    "adam-decay": {"optimizer": "adam", "weight_decay": 0.05, "beta1": 0.8, "beta2": 0.95},
    "clipped": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01, "clip_norm": 0.5},
    "adam-clipped": {"optimizer": "adam", "weight_decay": 0.05, "clip_norm": 0.5},
}
EXACT = {"rtol": 0, "atol": 1e-12}


def training(name):
    return {"training": {"learning_rate": 0.1, "dtype": "float64", **OPTIMIZERS[name]}}


def torch_optimizer(name, parameters, **overrides):
    o = {"learning_rate": 0.1, **OPTIMIZERS[name], **overrides}
    decay = o.get("weight_decay", 0.0)
    if o["optimizer"] == "sgd":
        return torch.optim.SGD(
            parameters, o["learning_rate"], momentum=o.get("momentum", 0.0), weight_decay=decay
        )
    betas = (o.get("beta1", 0.9), o.get("beta2", 0.999))
    return torch.optim.Adam(parameters, o["learning_rate"], betas=betas, weight_decay=decay)


def plain_loop(model, optimizer, batches, loss, name="sgd"):
    """A loop as in any PyTorch script; the norms of the gradients before they were clipped."""
    model.train()
    largest = OPTIMIZERS[name].get("clip_norm", math.inf)
    norms = []
    for batch in batches:
        optimizer.zero_grad()
        loss(model, batch).backward()
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        norms.append(float(torch.nn.utils.clip_grad_norm_(trained, largest)))
        optimizer.step()
    return norms


def plain_loss(model, batch):
    return F.cross_entropy(model(batch.x), batch.y)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_is_torchs(name, learn, fresh_model, row_of, batches):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=9)).theta

    found = learn(process, **training(name))
    model = fresh_model(found.world)
    optimizer = torch_optimizer(name, model.parameters())
    plain_loop(model, optimizer, batches(found.world, 9), plain_loss, name)
    tolerance = {"rtol": 0, "atol": 1e-9} if name == "adam" else EXACT
    torch.testing.assert_close(found.theta, row_of(model), **tolerance)


def test_only_gradients_longer_than_the_limit_are_clipped(learn, fresh_model, batches):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=4)).theta

    def train(**keys):
        return learn(process, training={"learning_rate": 0.1, "dtype": "float64", **keys})

    free = train()
    model = fresh_model(free.world)
    norms = plain_loop(
        model, torch_optimizer("sgd", model.parameters()), batches(free.world, 4), plain_loss
    )
    assert torch.equal(free.theta, train(clip_norm=1.01 * max(norms)).theta)
    assert not torch.equal(free.theta, train(clip_norm=0.99 * max(norms)).theta)


def test_a_learning_rate_may_be_given_for_one_call(learn, fresh_model, row_of, batches):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=4, learning_rate=0.02)).theta

    found = learn(process)
    model = fresh_model(found.world)
    optimizer = torch_optimizer("sgd", model.parameters(), learning_rate=0.02)
    plain_loop(model, optimizer, batches(found.world, 4), plain_loss)
    torch.testing.assert_close(found.theta, row_of(model), **EXACT)


@pytest.mark.parametrize("backend", ["sequential", "stacked", "auto"])
def test_all_steps_may_take_one_minibatch(backend, learn, fresh_model, row_of, batches):
    def process(node, found):
        yield node.train(node.initial(), steps=2)
        repeated = yield node.train(node.initial(), steps=3, same_batch=True)
        found.theta = (yield node.train(repeated.theta, steps=1)).theta

    found = learn(process, **training("sgd"), run={"device": "cpu", "backend": backend})
    model = fresh_model(found.world)
    optimizer = torch_optimizer("sgd", model.parameters())
    _, _, third, fourth = batches(found.world, 4)
    plain_loop(model, optimizer, [third, third, third, fourth], plain_loss)
    torch.testing.assert_close(found.theta, row_of(model), **EXACT)


def test_one_minibatch_is_not_for_epochs(learn):
    def process(node, found):
        yield node.train(node.initial(), epochs=1, same_batch=True)

    with pytest.raises(NetsimError, match="same_batch is for steps"):
        learn(process)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("part", [None, "parameters"])
@pytest.mark.parametrize("name", ["momentum", "clipped"])
def test_an_anchor_is_half_its_strength_times_the_squared_distance(
    name, part, learn, fresh_model, row_of, batches
):
    def process(node, found):
        found.anchor = anchor = (yield node.train(node.initial(), steps=3)).theta
        anchor = anchor if part is None else anchor.part(part)
        trained = yield node.train(node.initial(), steps=5, anchor=(anchor, 0.7), stream="other")
        found.theta = trained.theta

    found = learn(process, **training(name))
    model = fresh_model(found.world)
    anchors = [p.detach().clone() for p in fresh_model(found.world, found.anchor).parameters()]

    def loss(model, batch):
        pairs = zip(model.parameters(), anchors, strict=True)
        return plain_loss(model, batch) + 0.35 * sum(((p - a) ** 2).sum() for p, a in pairs)

    optimizer = torch_optimizer(name, model.parameters())
    plain_loop(model, optimizer, batches(found.world, 5, "other"), loss, name)
    torch.testing.assert_close(found.theta, row_of(model), **EXACT)


def ones(n, width):
    return torch.full((n, width), 1.0 / width, dtype=torch.float64)


def to_prototypes(model, batch, learned, target):
    """Cross-entropy, features near learned prototypes, prototypes near a given target."""
    features = model.features(batch.x)
    near = ((features - learned["prototypes"][batch.y]) ** 2).sum(1).mean()
    return (
        F.cross_entropy(learned["scale"] * model.head(features), batch.y)
        + 0.3 * near
        + 0.1 * ((learned["prototypes"] - target) ** 2).sum()
    )


def scalar_two():
    return torch.tensor(2.0, dtype=torch.float64)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["momentum", "adam", "clipped", "adam-clipped"])
def test_what_is_learned_besides_is_trained_jointly(name, learn, fresh_model, row_of, batches):
    def process(node, found):
        trained = yield node.train(
            node.initial(),
            steps=6,
            loss=to_prototypes,
            given=[node.compute(ones, 10, 8)],
            learn={"prototypes": node.compute(ones, 10, 8), "scale": node.compute(scalar_two)},
        )
        found.theta = trained.theta
        found.prototypes, found.scale = trained.learned["prototypes"], trained.learned["scale"]

    found = learn(process, **training(name))
    model = fresh_model(found.world)
    learned = {"prototypes": ones(10, 8).requires_grad_(), "scale": scalar_two().requires_grad_()}
    optimizer = torch_optimizer(name, [*model.parameters(), *learned.values()])
    plain_loop(
        model,
        optimizer,
        batches(found.world, 6),
        lambda model, batch: to_prototypes(model, batch, learned, ones(10, 8)),
        name,
    )
    # Adam divides by |g| + 1e-8, so the rounding of a tiny gradient counts a hundred million fold.
    near = EXACT if name != "adam" else {"rtol": 0.0, "atol": 1e-8}
    torch.testing.assert_close(found.theta, row_of(model), **near)
    torch.testing.assert_close(found.prototypes, learned["prototypes"].detach(), **near)
    torch.testing.assert_close(found.scale, learned["scale"].detach(), **near)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_carried_over_makes_one_long_run(name, learn):
    def at_once(node, found):
        found.theta = (yield node.train(node.initial(), steps=7)).theta

    def in_two(node, found):
        first = yield node.train(node.initial(), steps=3)
        second = yield node.train(first.theta, steps=4, optimizer=first.optimizer)
        found.theta = second.theta

    def afresh(node, found):
        first = yield node.train(node.initial(), steps=3)
        found.theta = (yield node.train(first.theta, steps=4)).theta

    long, carried, forgotten = (learn(p, **training(name)) for p in (at_once, in_two, afresh))
    assert torch.equal(long.theta, carried.theta)
    has_memory = name not in ("sgd", "decay")
    assert torch.equal(long.theta, forgotten.theta) != has_memory


def pulled_to_nought(model, batch, learned):
    return batch.loss(model(batch.x)) + learned["prototypes"].square().mean()


def test_an_optimizers_state_must_fit(learn):
    def process(node, found):
        first = yield node.train(node.initial(), steps=1)
        extra = {"prototypes": node.compute(ones, 10, 8)}
        yield node.train(
            first.theta, steps=1, loss=pulled_to_nought, learn=extra, optimizer=first.optimizer
        )

    with pytest.raises(NetsimError, match="optimizer's state has shape"):
        learn(process, **training("momentum"))


def test_epochs_are_steps_over_all_samples(learn):
    def process(node, found):
        found.epochs = (yield node.train(node.initial(), epochs=2)).theta
        found.now_s = node.now_s

    def in_steps(node, found):
        found.steps = (yield node.train(node.initial(), steps=6)).theta

    epochs, steps = learn(process), learn(in_steps)
    assert epochs.world.shards.train_size(0) == 28  # 40 less 30 %: batches of 10, 10, 8
    assert torch.equal(epochs.epochs, steps.steps)
    assert epochs.now_s == 6.0


def test_jobs_of_one_node_take_its_processor_in_turn(learn):
    def process(node, found):
        first = node.train(node.initial(), steps=2)
        second = node.train(node.initial(), steps=3, stream="other")
        yield first
        found.first_s = node.now_s
        yield second
        found.second_s = node.now_s

    found = learn(process)
    assert (found.first_s, found.second_s) == (2.0, 5.0)


def broken(model, batch, learned):
    raise ZeroDivisionError("no loss today")


def test_a_loss_that_fails_is_told_with_node_and_time(learn):
    def process(node, found):
        yield node.sleep(2.5)
        yield node.train(node.initial(), steps=2, loss=broken)

    with pytest.raises(ComputeError, match=r"node 0 at 2.5 s: .*2 steps.*broken.*no loss today"):
        learn(process)


@loss(uniforms=64)
def augmented(model, batch, learned):
    noise = batch.uniforms[:, :64].reshape(batch.x.shape)
    return F.cross_entropy(model(batch.x + 0.1 * noise), batch.y)


def test_draws_for_a_loss_are_uniform_and_belong_to_their_batch(learn, build):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=3, loss=augmented)).theta

    assert torch.equal(learn(process).theta, learn(process).theta)
    shards = build().shards
    first, second = shards.batches([BatchKey(0, "train", 0), BatchKey(0, "train", 1)], uniforms=64)
    (alone,) = shards.batches([BatchKey(0, "train", 1)], uniforms=64)
    assert torch.equal(second.uniforms, alone.uniforms)
    assert not torch.equal(first.uniforms, second.uniforms)
    # 640 draws: the mean of uniforms has a standard error of 1 / sqrt(12 * 640) = 0.0114.
    assert float(first.uniforms.mean()) == pytest.approx(0.5, abs=4 * 0.0114)


class Dropping(torch.nn.Module):
    """Dropout between two layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.features = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5)
        )
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.features(x))


def test_dropout_masks_belong_to_their_batch(learn):
    """Not to what was drawn before, nor to what is asked for in between."""

    def alone(node, found):
        found.theta = (yield node.train(node.initial(), steps=4)).theta

    def in_company(node, found):
        torch.rand(17)
        yield node.train(node.initial(), steps=2, stream="other")
        first = yield node.train(node.initial(), steps=1)
        torch.rand(5)
        yield node.train(node.initial(), steps=2, stream="other")
        found.theta = (yield node.train(first.theta, steps=3)).theta
        found.other_stream = (yield node.train(node.initial(), steps=4, stream="third")).theta

    found = learn(alone, Dropping())
    company = learn(in_company, Dropping())
    assert torch.equal(found.theta, company.theta)
    assert not torch.equal(found.theta, company.other_stream)


SEEN = []


def noting_masks(model, batch, learned):
    SEEN.append(model.features[3](torch.ones(8, 16, dtype=torch.float64)) > 0)
    return F.cross_entropy(model(batch.x), batch.y)


def test_each_batch_has_a_mask_of_its_own(learn):
    def process(node, found):
        yield node.train(node.initial(), steps=3, loss=noting_masks)

    SEEN.clear()
    learn(process, Dropping())
    # before it trains, the native backend may call a loss to see what it does
    assert len({tuple(mask.flatten().tolist()) for mask in SEEN[-3:]}) == 3


def test_dropout_is_off_where_models_are_compared(learn):
    def process(node, found):
        batch = node.batch()
        found.one, found.two = (node.outputs([node.initial()], batch) for _ in range(2))
        yield node.sleep(1.0)

    found = learn(process, Dropping())
    assert torch.equal(found.one, found.two)


def test_each_epoch_visits_each_sample_once(build):
    shards = build().shards
    rows = shards.rows[0].train
    for epoch in range(3):
        keys = [BatchKey(0, "train", 3 * epoch + b) for b in range(3)]
        visited = np.concatenate([shards.batch_rows(k) for k in keys])
        assert sorted(visited) == sorted(rows)
    orders = [tuple(shards.batch_rows(BatchKey(0, "train", 3 * e))) for e in range(3)]
    assert len(set(orders)) == 3


def test_a_single_sample_left_over_is_left_out(build):
    partition = {"kind": "iid", "train_samples": 21, "test_samples": 10}
    shards = build(data={"kind": "digits", "partition": partition}).shards
    assert shards.batches_per_epoch(0) == 2
    left_out = [
        set(shards.rows[0].train)
        - {int(r) for b in (0, 1) for r in shards.batch_rows(BatchKey(0, "train", 2 * e + b))}
        for e in range(12)
    ]
    assert all(len(rows) == 1 for rows in left_out)
    assert len(set.union(*left_out)) > 3  # another one each epoch
