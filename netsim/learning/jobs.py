"""Jobs: one node's pieces of learning, recorded when an algorithm asks for them and run later.

A job holds a description of its work, its inputs (Refs) and its outputs (cells). Nothing here
computes; backends do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import ref as weak

from netsim.learning.calling_line import Place
from netsim.learning.origins import Origin
from netsim.learning.refs import Cell, Ref


class BatchKey(NamedTuple):
    """Names one minibatch of one shard: minibatch number `counter` of a stream of draws."""

    shard: int
    stream: str
    counter: int


class Batches(NamedTuple):
    """The minibatches `first`, ..., `first + steps - 1` of one shard's stream, or one in all steps.

    Attributes
    ----------
    shard : int
        Whose samples, as `netsim.learning.shards` numbers them: a job that runs after its node's
        data have changed is of the samples that the node had when it asked.
    stream : str
    first : int
        Number of the first minibatch.
    steps : int
    is_same : bool
        Whether all steps take the first one.
    """

    shard: int
    stream: str
    first: int
    steps: int
    is_same: bool = False

    def key(self, step: int) -> BatchKey:
        """The name of a step's minibatch, steps counted from 0."""
        return BatchKey(self.shard, self.stream, self.first + (0 if self.is_same else step))

    def keys(self) -> Iterator[BatchKey]:
        """The name of each minibatch, in order."""
        return map(self.key, range(self.steps))


@dataclass(frozen=True, eq=False)
class Optimizer:
    """Constants of the local optimiser; the jobs of a run share one object.

    Parameters
    ----------
    kind : {"sgd", "adam"}
    learning_rate, momentum, weight_decay, beta1, beta2 : float
        As in `torch.optim`.
    clip_norm : float or None
        Largest L2 norm of a gradient; None: gradients are not clipped.
    """

    kind: str
    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    clip_norm: float | None = None


class Slot(NamedTuple):
    """Placeholder of input `number` among the arguments of a function that is called later."""

    number: int


class Work(Protocol):
    """Work of one job: an immutable description, such as `netsim.backends.job_types.loss.Loss`.

    Values that the work reads (models, states) are no part of it: they are the job's inputs.
    """

    def describe(self) -> str:
        """The work in a few words, for error messages."""


W = TypeVar("W", bound=Work)


@dataclass(slots=True)
class Job(Generic[W]):
    """One recorded piece of work.

    Attributes
    ----------
    work : Work
    node : int
        The node that asked for it.
    time_ns : int
        Virtual time of submission, for error messages.
    inputs : tuple of Ref
        Values that the work reads.
    output_refs : tuple of weak references to cells
        Where the results go. Whoever wants a result holds its cell.
    shapes : tuple of tuple of int
        Of all results, also of those that nobody holds any more.
    number : int
        That of its first result.
    place : Place or None
        The line of an algorithm's file that asked for it, where that is known.
    origin : Origin or None
        Says where its results come from.
    """

    work: W
    node: int
    time_ns: int
    inputs: tuple[Ref, ...]
    output_refs: tuple[weak[Cell], ...]
    shapes: tuple[tuple[int, ...], ...]
    number: int = -1
    place: Place | None = None
    origin: Origin | None = None

    @property
    def result_numbers(self) -> range:
        """The numbers of its results."""
        return range(self.number, self.number + len(self.output_refs))

    @property
    def outputs(self) -> tuple[Cell | None, ...]:
        """The cells of its results; None for a result that nobody holds any more."""
        return tuple([cell() for cell in self.output_refs])


def dead_reference() -> None:
    """Stand in for a weak reference to a result that no Ref holds."""


class JobFailedError(Exception):
    """A job could not be run; what went wrong is the `__cause__`."""

    def __init__(self, job: Job[Any]) -> None:
        super().__init__()
        self.job = job
