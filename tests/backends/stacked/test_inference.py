"""Models looked at and combined: both backends say the same, in float64 to 1e-12."""

import pytest
import torch

from netsim.backends.stacked import inference

MODELS = {
    "mlp": {"kind": "mlp", "hidden": [40]},
    "normalised": {"kind": "iot_mlp", "hidden": 11},
}


def share(model, batch, factor, theta):
    """Classes that it finds, and a number of its own."""
    return factor * torch.softmax(model(batch.x), 1).mean(0) + theta.sum() * 1e-3


def spread(model, batch):
    return model.features(batch.x).var(0).mean()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("model", MODELS)
def test_outputs_losses_gradients_and_measurements(model, both, assert_equal_values):
    def program(node, keep):
        a = node.initial()
        b = (yield node.train(a, steps=1 + node.id)).theta
        keep("outputs", node.outputs([a, b, a][: 1 + node.id % 3], node.batch()))
        for split in ("train", "validation"):
            keep(f"loss {split}", node.loss(b, split))
            keep(f"gradient {split}", node.gradient(b, split))
        keep("share", node.measure(share, b, given=(2.0, a.part("head")), like=(10,)))
        keep("spread", node.measure(spread, b, "validation"))

    alone, stacked = both(program, model=MODELS[model])
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.2
    assert_equal_values(alone, stacked)


def test_models_are_looked_at_in_chunks_that_memory_allows(both, assert_equal_values, monkeypatch):
    monkeypatch.setattr(inference, "VALUES_AT_ONCE", 5000)

    def program(node, keep):
        b = (yield node.train(node.initial(), steps=2)).theta
        keep("outputs", node.outputs([node.initial(), b, b], node.batch()))
        keep("loss", node.loss(b, "train"))
        keep("gradient", node.gradient(b, "train"))
        node.publish(b, "trained")

    alone, stacked = both(program, nodes={"count": 9})
    assert_equal_values(alone, stacked)


def test_outputs_of_models_of_several_kinds_come_from_each_ones_own(both, assert_equal_values):
    """Distillation: nodes exchange models whose layers and lengths differ."""
    seen = {}

    def program(node, keep):
        trained = yield node.train(node.initial(), steps=2)
        seen[node.id] = trained.theta
        yield node.sleep(10.0)
        theirs = [seen[j].owned_by(node.id) for j in sorted(seen)]
        keep("outputs", node.outputs(theirs, node.batch()))

    kinds = [{"kind": "mlp", "hidden": [20]}, {"kind": "iot_mlp", "hidden": 21}]
    assert_equal_values(*both(program, model=kinds))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("budget", [None, 3])
def test_selections_and_their_states(budget, both, assert_equal_values):
    """Candidates come in two batches; one of them has diverged."""
    seen = {}

    def program(node, keep):
        trained = yield node.train(node.initial(), steps=3)
        seen[node.id] = trained.theta
        yield node.sleep(10.0)
        own = trained.theta
        others = [seen[j].owned_by(node.id) for j in sorted(seen) if j != node.id]
        others[1] = node.compute(times, float("nan"), others[1], like=others[1])
        first, second = [own, *others[:3]], [own, *others[3:]]
        sizes, coins = [9.0, 20.0, 4.0, 7.0], [0.2, 0.9, 0.6]
        state = node.pool(first, sizes)
        state = node.pool(second, sizes[: len(second)], state)
        weights, state = node.select(first, sizes, coins, budget, state)
        keep("first", weights)
        second_sizes, second_coins = sizes[: len(second)], coins[: len(second) - 1]
        weights, state = node.select(second, second_sizes, second_coins, budget, state)
        keep("second", weights)
        keep("state", state)
        fresh, after = node.select(second, second_sizes, second_coins, budget)
        keep("fresh", fresh)
        keep("fresh state", after)

    alone, stacked = both(program)
    assert not stacked.backend.one_by_one
    assert any(float(v[1:].sum()) > 0 for k, v in alone.values.items() if k[1] == "first")
    assert_equal_values(alone, stacked)


def times(factor, theta):
    return factor * theta


def weights_of(*values):
    return torch.tensor(values, dtype=torch.float64)


def biggest(theta):
    """Weights that depend on values."""
    return torch.stack([theta.max(), theta.min(), 0 * theta[0]])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("backend", ["stacked", "native"])
@pytest.mark.parametrize("width", [5, 40, 480])
def test_mixtures_of_models_and_parts(backend, width, build, play, assert_equal_values):
    """Rows beside a diverged one, lazy and negative weights, one row and many."""

    def program(node, keep):
        a = node.initial()
        b = (yield node.train(a, steps=2)).theta
        c = (yield node.train(b, steps=1)).theta
        lost = node.compute(times, float("nan"), c, like=c)
        keep("numbers", node.mix([a, b, c], [0.5, -0.25, 1.0]))
        keep("lazy", node.mix([a, b, c], node.compute(biggest, b, like=(3,))))
        keep("beside nan", node.mix([a, lost, b], [0.5, 0.0, 0.5]))
        keep("lazily beside nan", node.mix([a, lost], node.compute(weights_of, 1.0, 0.0)))
        keep("nan", node.mix([a, lost], [0.5, 0.5]))
        keep("one", node.mix([a] * (1 + node.id), [1.0] * (1 + node.id)))
        keep("nothing", node.mix([a, b], [0.0, 0.0]))
        keep("heads", node.mix([t.part("head") for t in (a, b)], [0.5, 0.5]))
        backbones = node.mix([t.part("backbone") for t in (a, b, c)], [0.2, 0.3, 0.5])
        keep("backbones", backbones)
        keep("replaced", c.with_part("backbone", backbones))
        keep("again", a.with_part("head", c.part("head")).with_part("backbone", backbones))
        keep("trained", (yield node.train(c.with_part("head", a.part("head")), steps=1)).theta)

    built = build(model={"kind": "mlp", "hidden": [width]})
    alone, together = (play(built, program, name) for name in ("sequential", backend))
    assert torch.isnan(together.values[0, "nan"]).all()
    assert not torch.isnan(together.values[0, "beside nan"]).any()
    assert_equal_values(alone, together)
