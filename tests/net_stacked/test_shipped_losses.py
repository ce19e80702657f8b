"""Losses of the shipped algorithms, many nodes at once."""

import pytest
import torch
import torch.nn.functional as F

from algorithms import _crop_flip, fedclassavg, fedproto, mapl, pfedgraph

MAPL = {"kind": "mapl", "backbone": {"kind": "mlp", "hidden": [12]}, "projection": 16}
PLAIN = {"kind": "mlp", "hidden": [12]}
CLASSES = tuple(range(10))


def prototypes(width):
    draws = torch.Generator().manual_seed(4)
    return torch.randn(10, width, generator=draws, dtype=torch.float64)


def directed(node, loss):
    direction = node.compute(F.normalize, node.initial().part("parameters"), 2.0, 0)
    return {"loss": loss, "given": (direction, -0.01)}


def undirected(node, loss):
    return {"loss": loss, "given": (None, -0.01)}


def with_prototypes(node, loss):
    return {"loss": loss, "given": (node.compute(prototypes, 12), CLASSES, 0.5)}


def with_head(node, loss, **keys):
    return {"loss": loss, "given": (node.initial().part("head"), fedclassavg.Params(**keys))}


def with_learned_prototypes(node, loss):
    return {
        "loss": loss,
        "given": (mapl.Params(),),
        "learn": {"P": node.compute(prototypes, 12)},
    }


LOSSES = {
    "pfedgraph": (PLAIN, lambda n: directed(n, pfedgraph.regularised_loss)),
    "pfedgraph at first": (PLAIN, lambda n: undirected(n, pfedgraph.regularised_loss)),
    "pfedgraph augmented": (PLAIN, lambda n: directed(n, pfedgraph.augmented_loss)),
    "dpfl augmented": (PLAIN, lambda n: {"loss": _crop_flip.augmented_cross_entropy}),
    "mapl": (MAPL, lambda n: with_learned_prototypes(n, mapl.pml_loss)),
    "fedproto": (PLAIN, lambda n: with_prototypes(n, fedproto.prototype_loss)),
    "fedproto augmented": (PLAIN, lambda n: with_prototypes(n, fedproto.augmented_prototype_loss)),
    "fedclassavg": (PLAIN, lambda n: with_head(n, fedclassavg.local_loss)),
    "fedclassavg, mapl's contrast": (
        PLAIN,
        lambda n: with_head(n, fedclassavg.local_loss, contrast="mapl"),
    ),
}


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
