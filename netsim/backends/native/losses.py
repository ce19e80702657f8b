"""The tasks' losses that the native kernel knows."""

from netsim.backends.native.records import Loss
from netsim.learning.tasks import Task

LOSSES = {"cross_entropy": Loss.CROSS_ENTROPY, "mean_squared": Loss.MEAN_SQUARED}
"""Losses by the `kernel_loss` of a task."""


def loss_of(task: Task) -> Loss:
    """The kernel's loss of a task that has one."""
    assert task.kernel_loss is not None
    return LOSSES[task.kernel_loss]
