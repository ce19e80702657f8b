"""Jobs: what a backend executes. One job is one node's piece of learning, recorded when asked for.

A job names its kind of `Work`, its inputs (Refs) and its outputs (cells). Nothing here computes;
`netsim.backends.sequential` and `netsim.backends.stacked` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ref as weak

from netsim.learning.refs import Cell, Ref


class BatchKey(NamedTuple):
    """Names one minibatch of one node: which counter of which stream of draws."""

    node: int
    stream: str
    counter: int


class Batches(NamedTuple):
    """Minibatches of one node's stream for so many steps, from number `first` on."""

    node: int
    stream: str
    first: int
    steps: int

    def keys(self) -> Iterator[BatchKey]:
        """One by one."""
        for counter in range(self.first, self.first + self.steps):
            yield BatchKey(self.node, self.stream, counter)


@dataclass(frozen=True, eq=False)
class Optimizer:
    """Constants of the local optimiser: one object a run, which jobs share."""

    kind: str
    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    clip_norm: float | None = None


class Train(NamedTuple):
    """Local steps from a model; inputs theta, given..., learned..., [anchor], [optimizer state].

    `given` are the loss's further arguments, with `Slot(i)` where the i-th Ref among them goes.
    """

    batches: Batches
    optimizer: Optimizer
    loss: Callable[..., Any] | None
    given: tuple[Any, ...]
    num_given: int
    learn: tuple[str, ...]
    anchor_strength: float | None
    has_state: bool
    learning_rate: float | None = None

    @property
    def rate(self) -> float:
        """The learning rate: the job's own, or the run's. It is data, not part of a signature."""
        return self.optimizer.learning_rate if self.learning_rate is None else self.learning_rate


@dataclass(frozen=True)
class Outputs:
    """Outputs of m models on one minibatch: inputs m models, output (m, n, L)."""

    batch: BatchKey


@dataclass(frozen=True)
class Loss:
    """Mean loss of a model over one split: output a scalar."""

    node: int
    split: str


@dataclass(frozen=True)
class Gradient:
    """Gradient of the mean loss over one split: output one row, zero in the buffer columns."""

    node: int
    split: str


@dataclass(frozen=True)
class Measure:
    """A pure function of a model and one split of a node's samples: inputs the model, given...

    `given` are the function's further arguments, with `Slot(i)` where the i-th Ref among them goes.
    """

    function: Callable[..., Any]
    node: int
    split: str
    given: tuple[Any, ...]


@dataclass(frozen=True)
class Apply:
    """A pure function of one node's values; `args` holds `Slot(i)` where input i goes."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Slot(NamedTuple):
    """Placeholder of input `number` among the arguments of `Apply`."""

    number: int


@dataclass(frozen=True)
class Mix:
    """Weighted sum of rows: inputs the rows, then the weights if they are lazy."""

    weights: tuple[float, ...] | None


@dataclass(frozen=True)
class ReplaceColumns:
    """A row with columns [start, stop) taken from elsewhere: inputs the row and the part."""

    start: int
    stop: int


@dataclass(frozen=True)
class Select:
    """Greedy selection by validation loss: inputs own model, candidates..., [state]."""

    node: int
    sizes: tuple[float, ...]
    coins: tuple[float, ...]
    budget: int | None
    has_state: bool


Work = Train | Outputs | Loss | Gradient | Measure | Apply | Mix | ReplaceColumns | Select


@dataclass(slots=True)
class Job:
    """One recorded piece of work.

    Attributes
    ----------
    node : int
    time_ns : int
        Virtual time of submission, for error messages.
    places : tuple of weak references to cells
        Where its results go. Whoever wants a result holds its cell.
    shapes : tuple of tuple of int
        Of the results, wanted or not.
    """

    work: Work
    node: int
    time_ns: int
    inputs: tuple[Ref, ...]
    places: tuple[weak[Cell], ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def outputs(self) -> tuple[Cell | None, ...]:
        """The cells of its results; None for a result that nobody wants."""
        return tuple(place() for place in self.places)


class JobFailedError(Exception):
    """A job could not be run; the cause is the error's `__cause__`."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job


def describe(work: Work) -> str:
    """A job in a few words, for error messages."""
    if isinstance(work, Train):
        loss = f" with loss {work.loss.__qualname__}" if work.loss else ""
        return f"training of {work.batches.steps} steps{loss}"
    function = getattr(work, "function", None)
    return f"{type(work).__name__.lower()}" + (f" {function.__qualname__}" if function else "")
