"""Tasks: losses, their mean and their gradient agree; metrics have the same names each time."""

import torch

from netsim.learning.tasks import Task
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

SAMPLES = 6


def check(task: Task, case: ComponentCase) -> None:
    """Check a task on the first samples of the scenario's data set, in float64."""
    examples = task.examples(case.scenario().data.load(case.folder))
    require(len(examples.x) == len(examples.y), "examples must have a target for each input")
    rng = torch.Generator().manual_seed(0)
    size = (SAMPLES, *examples.output_shape)
    outputs = torch.randn(size, generator=rng, dtype=torch.float64)
    targets = torch.from_numpy(examples.y[:SAMPLES])
    if targets.is_floating_point():
        targets = targets.double()

    losses = task.losses(outputs, targets)
    require(
        losses.shape == (SAMPLES,), f"losses have the shape {tuple(losses.shape)}, one a sample"
    )
    require(torch.isfinite(losses).all(), "losses are not finite")
    mean = task.loss(outputs, targets)
    require(torch.allclose(mean, losses.mean()), "loss is not the mean of losses")

    weight = torch.rand(SAMPLES, 1, generator=rng, dtype=torch.float64)
    leaf = outputs.clone().requires_grad_()
    (wanted,) = torch.autograd.grad((task.losses(leaf, targets) * weight[:, 0]).sum(), leaf)
    found = task.gradient(outputs.clone(), targets, weight)
    require(torch.allclose(found, wanted), "gradient is not that of the weighted sum of losses")

    names = [set(task.metrics(o, targets)) for o in (outputs, -outputs)]
    require(names[0] == names[1], "metrics must have the same names at every call")
