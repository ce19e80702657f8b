"""Models: a network in two parts, whose outputs and gradients are finite."""

from typing import Any

import torch

from netsim.models import ModelKind, Network
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

BATCH = 3


def check(model: ModelKind, case: ComponentCase) -> None:
    """Check a model on the scenario's data set and task: digits, unless the test names another."""
    scenario = case.scenario()
    examples = scenario.task.examples(scenario.data.load(case.folder))
    shape, outputs = examples.input_shape, examples.num_outputs
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network: Any = model.build(shape, outputs)
    x = torch.from_numpy(examples.x[:BATCH])
    require(isinstance(network, Network), "build must return a netsim.models.Network")
    logits = network(x)
    wanted = (BATCH, *examples.output_shape)
    require(logits.shape == wanted, f"outputs have the shape {tuple(logits.shape)}")
    require(torch.isfinite(logits).all(), "outputs are not finite")
    features = network.features(x)
    require(features.shape[0] == BATCH, "features must have one row a sample")
    torch.autograd.backward(logits.square().mean())
    for name, parameter in network.named_parameters():
        grad = parameter.grad
        if grad is not None:
            require(torch.isfinite(grad).all(), f"the gradient of {name} is not finite")
    require(any(p.grad is not None for p in network.parameters()), "nothing in it can be trained")
    again = model.build(shape, outputs)
    shapes = [[tuple(p.shape) for p in n.parameters()] for n in (network, again)]
    require(shapes[0] == shapes[1], "built twice, it has other parameters")
