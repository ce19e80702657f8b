"""A round's local training: how long, by which loss, and what becomes of running statistics."""

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import model_validator

from netsim.learning.refs import Ref
from netsim.protocols.crop_flip import augmented_cross_entropy
from netsim.registry import Count, Needs, Positive, Table


class LocalTraining(Table):
    """Length of local training of a round.

    Attributes
    ----------
    local_epochs
        Passes over a node's training samples in a round. Absent: 1, unless `local_steps` is given.
    local_steps
        Local steps of a round, in place of passes. Absent: `local_epochs` says how long.
    """

    local_epochs: Count | None = None
    local_steps: Count | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.local_epochs is not None and self.local_steps is not None:
            raise ValueError("give local_epochs or local_steps, not both")
        return self

    def amount(self) -> dict[str, int]:
        """Amount of training: `steps` or `epochs`, as `node.train` takes it."""
        if self.local_steps is not None:
            return {"steps": self.local_steps}
        return {"epochs": self.local_epochs or 1}

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train`."""
        return dict(self.amount())


class PlainTraining(LocalTraining):
    """Local training by cross-entropy.

    Attributes
    ----------
    augment
        Whether training images are cropped and mirrored at random.
    """

    augment: Annotated[bool, Needs("images")] = False

    def loss(self) -> Callable[..., Any] | None:
        """The loss, as `node.train` takes it."""
        return augmented_cross_entropy if self.augment else None

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train`: how much and by which loss."""
        return {**self.amount(), "loss": self.loss()}


class FallingRate(Table):
    """A learning rate that falls once.

    Attributes
    ----------
    switch_s
        Virtual time at which the learning rate falls. Absent: never.
    fine_tune_learning_rate
        Learning rate of local steps from `switch_s` on. Absent: it never falls.
    """

    switch_s: Positive | None = None
    fine_tune_learning_rate: Positive | None = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.switch_s is None) != (self.fine_tune_learning_rate is None):
            raise ValueError("switch_s and fine_tune_learning_rate go together: give both, or none")
        return self

    def has_fallen(self, now_s: float) -> bool:
        """Return whether the lower rate holds at an instant."""
        return self.switch_s is not None and now_s >= self.switch_s

    def learning_rate(self, now_s: float) -> float | None:
        """Rate of local steps that begin at an instant, as `node.train` takes it; None: as set."""
        return self.fine_tune_learning_rate if self.has_fallen(now_s) else None


def with_statistics_of(trained: Ref, theta: Ref) -> Ref:
    """`theta` with the running statistics (BatchNorm) that local training left in `trained`.

    For models made by adding changes: a variance plus changes of variances may be below 0.
    """
    statistics = trained.part("buffers")
    return theta.with_part("buffers", statistics) if statistics.num_values else theta
