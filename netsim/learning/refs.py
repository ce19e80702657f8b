"""Refs: immutable handles to values that may not have been computed yet.

A `Cell` is the value's place: its shape is known when it is created, its tensor when the job that
fills it has run. A `Ref` is one node's handle to a cell, or to a range of its columns. Handing a
Ref to another node takes a message; the receiver gets a Ref of its own to the same cell, so a
message in flight holds the model as it was sent and nobody touches a stranger's tensors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

from netsim.errors import ProtocolError

if TYPE_CHECKING:
    from torch import Tensor

    from netsim.backends.parameter_store import Slab
    from netsim.learning.architecture import Architecture
    from netsim.learning.scheduler import Scheduler


class Recipe(Protocol):
    """How a value is made that was not kept, because most likely nobody asks for it.

    Attributes
    ----------
    kind : hashable
        Values whose recipes are of one kind are made together.
    """

    @property
    def kind(self) -> Hashable: ...

    def make(self, cells: Sequence[Cell]) -> None:
        """Fill cells whose recipes are of this kind."""


class Cell:
    """The place of one lazy value.

    Attributes
    ----------
    shape : tuple of int
    architecture : Architecture or None
        Set if the value is a whole model: one flat row of parameters, then buffers.
    level : int
        Number of the level of jobs that fills it.
    slab : Slab or None
        Where a long value lies, in row `slot`; the row is free again when the cell is gone.
    recipe : Recipe or None
        Set while the job has run but the value is nowhere.
    """

    __slots__ = (
        "__weakref__",
        "_tensor",
        "architecture",
        "level",
        "recipe",
        "scheduler",
        "shape",
        "slab",
        "slot",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        shape: tuple[int, ...],
        architecture: Architecture | None = None,
        value: Tensor | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.shape = shape
        self.architecture = architecture
        self.level = 0
        self.slab: Slab | None = None
        self.slot = -1
        self.recipe: Recipe | None = None
        self._tensor = value

    @property
    def value(self) -> Tensor | None:
        """The tensor; None until the job that fills the cell has run."""
        if self.recipe is not None:
            self.recipe.make((self,))
        if self.slab is not None:
            return self.slab.rows[self.slot].view(self.shape)
        return self._tensor

    @value.setter
    def value(self, tensor: Tensor) -> None:
        self._leave()
        self._tensor, self.recipe = tensor, None

    def lie_in(self, slab: Slab, slot: int) -> None:
        """The value is row `slot` of a slab from now on."""
        self._leave()
        self.slab, self.slot, self._tensor, self.recipe = slab, slot, None, None

    def leave_to(self, recipe: Recipe) -> None:
        """The value is made when somebody asks for it."""
        self._leave()
        self._tensor, self.recipe = None, recipe

    @property
    def is_computed(self) -> bool:
        """Whether the job that fills the cell has run."""
        return any(place is not None for place in (self.slab, self.recipe, self._tensor))

    def _leave(self) -> None:
        """Give back the row; a job that was broken off and run again fills its cells twice."""
        if self.slab is not None:
            self.slab.release(self.slot)
            self.slab = None

    def __del__(self) -> None:
        self._leave()


class Ref:
    """One node's immutable handle to a lazy value.

    Attributes
    ----------
    owner : int
        The node that may use it.
    shape : tuple of int
    num_values : int
        Entries in all: what its size on the air follows from.
    architecture : Architecture or None
        Set for whole models.
    """

    __slots__ = ("_columns", "cell", "owner")

    def __init__(self, owner: int, cell: Cell, columns: tuple[int, int] | None = None) -> None:
        self.owner = owner
        self.cell = cell
        self._columns = columns

    @property
    def shape(self) -> tuple[int, ...]:
        if self._columns is None:
            return self.cell.shape
        return (self._columns[1] - self._columns[0],)

    @property
    def columns(self) -> tuple[int, int] | None:
        """The range of the cell's columns that this is a handle to; None for all of it."""
        return self._columns

    @property
    def num_values(self) -> int:
        return prod(self.shape)

    @property
    def architecture(self) -> Architecture | None:
        return self.cell.architecture if self._columns is None else None

    def part(self, name: str) -> Ref:
        """A named range of a model's columns.

        Parameters
        ----------
        name : str
            `parameters`, `buffers`, `backbone`, `head`, `fully_connected` (all linear layers), or
            the dotted name of a submodule.

        Raises
        ------
        ProtocolError
            If this is not a whole model or it has no such part.
        """
        return Ref(self.owner, self.cell, self._model().columns(name))

    def with_part(self, name: str, ref: Ref) -> Ref:
        """The same model with one part taken from elsewhere; lazy.

        Raises
        ------
        ProtocolError
            If `ref` belongs to another node or its shape is not that of the part.
        """
        start, stop = self._model().columns(name)
        ref.require_owner(self.owner)
        if ref.shape != (stop - start,):
            raise ProtocolError(
                f"part {name} has shape {(stop - start,)}, the given Ref has {ref.shape}"
            )
        return self.cell.scheduler.replace_columns(self, ref, start, stop)

    def owned_by(self, node: int) -> Ref:
        """The handle that `node` gets when this one is delivered to it."""
        return self if node == self.owner else Ref(node, self.cell, self._columns)

    def require_owner(self, node: int) -> None:
        """Refuse a foreign Ref.

        Raises
        ------
        ProtocolError
        """
        if self.owner != node:
            raise ProtocolError(
                f"node {node} used a Ref of node {self.owner}; "
                "another node's values arrive in messages only"
            )

    def tensor(self) -> Tensor:
        """The computed value; for backends, after the job that fills the cell has run."""
        value = self.cell.value
        assert value is not None, "the scheduler runs jobs in order, so inputs are there"
        return value if self._columns is None else value[self._columns[0] : self._columns[1]]

    def _model(self) -> Architecture:
        if self.architecture is None:
            raise ProtocolError("only a whole model has named parts")
        return self.architecture

    def __repr__(self) -> str:
        state = "computed" if self.cell.is_computed else "pending"
        return f"Ref(node {self.owner}, shape {self.shape}, {state})"
