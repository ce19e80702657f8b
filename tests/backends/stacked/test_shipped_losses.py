"""Losses of the shipped algorithms, many nodes at once."""

import pytest
import torch
import torch.nn.functional as F

from algorithms import apfl, fedclassavg, fedproto, fedrep, fedrod, mapl, per_fedavg, pfedgraph
from netsim.api import augmented_cross_entropy

MAPL = {"kind": "mapl", "backbone": {"kind": "mlp", "hidden": [12]}, "projection": 16}
PLAIN = {"kind": "mlp", "hidden": [12]}
CLASSES = tuple(range(10))


def prototypes(width, like):
    draws = torch.Generator().manual_seed(4)
    return torch.randn(10, width, generator=draws, dtype=torch.float64).to(like)


def directed(node, loss):
    direction = node.compute(F.normalize, node.initial().part("parameters"), 2.0, 0)
    return {"loss": loss, "given": (direction, -0.01)}


def undirected(node, loss):
    return {"loss": loss, "given": (None, -0.01)}


def with_prototypes(node, loss):
    return {"loss": loss, "given": (node.compute(prototypes, 12, node.initial()), CLASSES, 0.5)}


def with_head(node, loss, **keys):
    return {"loss": loss, "given": (node.initial().part("head"), fedclassavg.Params(**keys))}


def with_learned_prototypes(node, loss):
    return {
        "loss": loss,
        "given": (mapl.Params(),),
        "learn": {"P": node.compute(prototypes, 12, node.initial())},
    }


def mixed(node, loss):
    alpha = node.compute(apfl.number, node.initial(), 0.3)
    return {"loss": loss, "given": (alpha,), "learn": {"v": node.initial().part("parameters")}}


def meta(node, variant, **keys):
    how = per_fedavg.Params(alpha=0.2, variant=variant, **keys).how()
    return {key: how[key] for key in ("loss", "given")}


def fixed(node, loss, part):
    return {"loss": loss, "given": (node.initial().part(part),)}


def both_heads(node, loss):
    counts = node.measure(fedrod.samples_of_classes, node.initial(), "train", (10,), (10,))
    return {"loss": loss, "given": (counts,), "learn": {"personal": node.initial().part("head")}}


LOSSES = {
    "pfedgraph": (PLAIN, lambda n: directed(n, pfedgraph.regularised_loss)),
    "pfedgraph at first": (PLAIN, lambda n: undirected(n, pfedgraph.regularised_loss)),
    "pfedgraph augmented": (PLAIN, lambda n: directed(n, pfedgraph.augmented_loss)),
    "dpfl augmented": (PLAIN, lambda n: {"loss": augmented_cross_entropy}),
    "mapl": (MAPL, lambda n: with_learned_prototypes(n, mapl.pml_loss)),
    "fedproto": (PLAIN, lambda n: with_prototypes(n, fedproto.prototype_loss)),
    "fedproto augmented": (PLAIN, lambda n: with_prototypes(n, fedproto.augmented_prototype_loss)),
    "fedclassavg": (PLAIN, lambda n: with_head(n, fedclassavg.local_loss)),
    "fedclassavg, mapl's contrast": (
        PLAIN,
        lambda n: with_head(n, fedclassavg.local_loss, contrast="mapl"),
    ),
    "apfl": (PLAIN, lambda n: mixed(n, apfl.loss_of_both)),
    "apfl augmented": (PLAIN, lambda n: mixed(n, apfl.augmented_loss_of_both)),
    "per_fedavg": (PLAIN, lambda n: meta(n, "first_order")),
    "per_fedavg, Hessian-free": (PLAIN, lambda n: meta(n, "hessian_free", delta=0.1)),
    "per_fedavg, exact and augmented": (PLAIN, lambda n: meta(n, "exact", augment=True)),
    "fedrep, head": (PLAIN, lambda n: fixed(n, fedrep.loss_of_head, "backbone")),
    "fedrep, base": (PLAIN, lambda n: fixed(n, fedrep.loss_of_base, "head")),
    "fedrep augmented": (PLAIN, lambda n: fixed(n, fedrep.augmented_loss_of_base, "head")),
    "fedrod": (PLAIN, lambda n: both_heads(n, fedrod.loss_of_both_heads)),
    "fedrod augmented": (PLAIN, lambda n: both_heads(n, fedrod.augmented_loss_of_both_heads)),
}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", LOSSES)
def test_a_shipped_loss_trains_many_nodes_as_it_trains_one(name, both, assert_equal_values):
    """SGD, whose steps are as small as what rounding does to a gradient."""
    model, how = LOSSES[name]

    def program(node, keep):
        theta, keys = node.initial(), how(node)
        for i in range(2):
            trained = yield node.train(theta, steps=2, **keys)
            theta = trained.theta
            keys |= {"learn": trained.learned} if trained.learned else {}
            keep(f"theta {i}", theta)
        for key, value in trained.learned.items():
            keep(key, value)

    alone, stacked = both(program, model=model, training={"batch_size": 16, "learning_rate": 0.05})
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.5
    assert_equal_values(alone, stacked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float32") for name in LOSSES] + [(name, "float64") for name in list(LOSSES)[::4]],
)
def test_bits_of_a_shipped_loss_do_not_depend_on_the_company(
    name, dtype, build, assert_bits_are_equal
):
    model, how = LOSSES[name]

    def program(node, keep):
        yield node.sleep(0.3 * (node.id % 3))
        theta, keys = node.initial(), how(node)
        for i in range(2):
            trained = yield node.train(theta, steps=1 + (node.id + i) % 2, **keys)
            theta = trained.theta
            keys |= {"learn": trained.learned} if trained.learned else {}
            keep(f"theta {i}", theta)
            yield node.sleep(0.4)
        for key, value in trained.learned.items():
            keep(key, value)

    training = {"dtype": dtype, "momentum": 0.9, "batch_size": 10}
    assert_bits_are_equal(build(model=model, training=training), program)


@pytest.mark.slow
def test_adam_makes_steps_of_rounding_where_mapls_loss_has_no_gradient(build, play):
    """Why whole runs of MAPL are compared with SGD.

    Its projection has a bias before a BatchNorm, which takes it out again: the true gradient is 0,
    what is computed is rounding of some 1e-17. Adam divides by its size plus 1e-8, which makes of
    it steps of up to a learning rate times 1e-8 each, the other way on the other backend. Nothing
    else differs but the running mean that the bias shifts, and no output does.
    """
    training = {"optimizer": "adam", "learning_rate": 2e-3, "batch_size": 32}
    names = ("projection.0.bias", "projection.1.running_mean")

    def program(node, keep):
        theta, state = node.initial(), None
        learn = {"P": node.compute(prototypes, 12, node.initial())}
        for _ in range(6):
            trained = yield node.train(
                theta,
                steps=1,
                loss=mapl.pml_loss,
                given=(mapl.Params(),),
                learn=learn,
                optimizer=state,
            )
            theta, state, learn = trained.theta, trained.optimizer, trained.learned
        keep("theta", theta)
        keep("state", state)
        keep("outputs", node.outputs([theta], node.batch()))

    built = build(model=MAPL, training=training)
    alone, stacked = (play(built, program, backend) for backend in ("sequential", "stacked"))
    slices = {s.name: slice(s.start, s.stop) for s in built.architectures[0].slices}
    for node in range(6):
        difference = (alone.values[node, "theta"] - stacked.values[node, "theta"]).abs()
        moments = alone.values[node, "state"][1:]
        assert moments[slices[names[0]]].abs().max() < 1e-15
        assert difference[slices[names[0]]].max() > 1e-12
        for name in slices.keys() - names:
            assert difference[slices[name]].max() < 1e-13
        outputs = (alone.values[node, "outputs"] - stacked.values[node, "outputs"]).abs()
        assert outputs.max() < 1e-12
