"""Tasks of learning; one task a file, its name is its `kind` in a scenario.

A task says what the samples of a data set are to a model (inputs, and the targets beside them), by
which loss it trains, and by which metrics it is judged. Backends, evaluation and results ask the
task and know none by name.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.data.sets import Samples
from netsim.registry import Component

LISTED_AS = "tasks"
"""Name of this family in `netsim list`."""


class Examples(NamedTuple):
    """A data set as a task sees it.

    Attributes
    ----------
    x : (n, ...) array
        Inputs. Whole numbers stay whole numbers; all else is in the run's precision.
    y : (n, ...) array
        Targets, one entry a sample.
    num_outputs : int
        What a model is built for: classes, numbers to predict, words that can follow.
    output_shape : tuple of int
        What a model must give for one sample.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    num_outputs: int
    output_shape: tuple[int, ...]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(int(size) for size in self.x.shape[1:])


class Task(Component):
    """Base of the tasks.

    A subclass states `kind`, makes `examples` of a data set and gives the loss of each sample; with
    `metrics` of its own it names in `main` the one that results go by. Outputs come as the model
    gives them or with all of a sample's numbers in one row, (n, L): a method that needs their shape
    takes it from the targets.

    Attributes
    ----------
    main : str
        The metric that runs are compared by.
    lower : frozenset of str
        The metrics of which a lower value is better.
    has_classes : bool
        Whether targets are (n,) class numbers and outputs (n, C) logits: then accuracies are
        measured, and partitions, attacks and methods may go by classes.
    kernel_loss : "cross_entropy", "mean_squared" or None
        The loss of the native kernel that this loss is; None: it is none of them.
    """

    main: ClassVar[str] = "loss"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    has_classes: ClassVar[bool] = False
    kernel_loss: ClassVar[Literal["cross_entropy", "mean_squared"] | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """A task with losses of its own has no closed form of the task that it derives from."""
        super().__pydantic_init_subclass__(**kwargs)
        if "losses" in vars(cls):
            general = {"loss": Task.loss, "gradient": Task.gradient, "kernel_loss": None}
            for name in general.keys() - vars(cls).keys():
                setattr(cls, name, general[name])

    @abstractmethod
    def examples(self, samples: Samples) -> Examples:
        """Inputs and targets.

        Raises
        ------
        ScenarioError
            If the data set does not hold what the task needs.
        """

    @abstractmethod
    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of each sample, (n,), differentiable; that of a minibatch is their mean."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean loss of some samples, ()."""
        return self.losses(outputs, targets).mean()

    def gradient(self, outputs: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """Gradient of the weighted sum of losses by the outputs.

        Parameters
        ----------
        outputs : torch.Tensor
            (n, ...)
        targets : torch.Tensor
            (n, ...)
        weight : torch.Tensor
            (n, 1) of each sample.

        Returns
        -------
        torch.Tensor
            In the shape of the outputs.
        """
        with torch.inference_mode(False), torch.enable_grad():
            here = outputs.clone().detach().requires_grad_()
            total = (self.losses(here, targets) * weight.clone().squeeze(1)).sum()
            (found,) = torch.autograd.grad(total, here)
        return found

    def are_finite(self, outputs: Tensor, targets: Tensor) -> bool:
        """True if a model's outputs are numbers that it can be judged by.

        Metrics of a model of which this is false are nan: `argmax` would call nan the greatest.

        Parameters
        ----------
        outputs : torch.Tensor
            (n, ...) in evaluation mode, on the CPU.
        targets : torch.Tensor
            (n, ...)
        """
        return bool(outputs.isfinite().all())

    def counted(self, targets: Tensor) -> Tensor | None:
        """Mask (n,) of the samples that have a target that counts; None: all.

        Parameters
        ----------
        targets : torch.Tensor
            (n, ...)
        """
        return None

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Return one model's metrics on n samples, by name; `loss` and accuracies are added.

        Parameters
        ----------
        outputs : torch.Tensor
            (n, ...) in evaluation mode, on the CPU.
        targets : torch.Tensor
            (n, ...)

        Returns
        -------
        mapping of str to float
            The same names at every call.
        """
        return {}
