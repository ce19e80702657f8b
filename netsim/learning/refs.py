"""Refs: immutable handles to values that may not have been computed yet.

A `Cell` holds one value: its shape is known when it is created, its tensor once the job that
computes it has run. A `Ref` is one node's handle to a cell, or to a range of its columns. A node
gets another node's values in messages only; delivery makes a Ref of the receiver's own to the same
cell, so a message in flight holds the model as it was sent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

from netsim.errors import ProtocolError

if TYPE_CHECKING:
    from torch import Tensor

    from netsim.learning.architecture import Architecture


class RowStorage(Protocol):
    """Rows of one length in one tensor, as `netsim.backends.parameter_store.Slab` is.

    Attributes
    ----------
    rows : torch.Tensor
        (number of rows, length)
    """

    @property
    def rows(self) -> Tensor: ...

    def release(self, row: int) -> None:
        """The value in `row` is not needed any more."""


class Recipe(Protocol):
    """How a value is computed that its job left for later, since it may never be read.

    Attributes
    ----------
    kind : hashable
        Values whose recipes are of one kind are computed together.
    """

    @property
    def kind(self) -> Hashable: ...

    def make(self, cells: Sequence[Cell]) -> None:
        """Compute the values of cells whose recipes are of this kind."""


class ColumnReplacer(Protocol):
    """Records the job that replaces columns of a row, as `netsim.learning.scheduler` does."""

    def replace_columns(self, row: Ref, part: Ref, start: int, stop: int) -> Ref:
        """A new row equal to `row` but for some columns.

        Parameters
        ----------
        row : Ref
            (D,)
        part : Ref
            (stop - start,) what takes their place.
        start, stop : int
            The columns.
        """


class Cell:
    """One lazy value.

    Parameters
    ----------
    scheduler : ColumnReplacer
        Where jobs that `Ref.with_part` needs are recorded.
    shape : tuple of int
    architecture : Architecture or None
        Set if the value is a whole model: one flat row of parameters, then buffers.
    value : torch.Tensor or None
        Of this shape; None for a value that a job will compute.

    Attributes
    ----------
    level : int
        Number of the level of jobs that computes the value; see `netsim.learning.scheduler`.
    number : int
        How many cells of the run jobs had been submitted for before this one; -1 if none computes
        it. A run that is played again gives a value the same number.
    slab : RowStorage or None
        Where a long value lies, in row `row`; the row is free again when the cell is gone.
    recipe : Recipe or None
        Set while the job has run but has left the computation for later.
    """

    __slots__ = (
        "__weakref__",
        "_tensor",
        "architecture",
        "level",
        "number",
        "recipe",
        "row",
        "scheduler",
        "shape",
        "slab",
    )

    def __init__(
        self,
        scheduler: ColumnReplacer,
        shape: tuple[int, ...],
        architecture: Architecture | None = None,
        value: Tensor | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.shape = shape
        self.architecture = architecture
        self.level = 0
        self.number = -1
        self.slab: RowStorage | None = None
        self.row = -1
        self.recipe: Recipe | None = None
        self._tensor = value

    def materialise(self) -> Tensor:
        """The value; a computation that was left for later happens now.

        For use after the job that computes the value has run.
        """
        if self.recipe is not None:
            self.recipe.make((self,))
        if self.slab is not None:
            return self.slab.rows[self.row].view(self.shape)
        assert self._tensor is not None, "jobs run in order, so what a job reads is there"
        return self._tensor

    def fill(self, tensor: Tensor) -> None:
        """Set the value to a tensor of its own."""
        self._release_row()
        self._tensor, self.recipe = tensor, None

    def store_in(self, slab: RowStorage, row: int) -> None:
        """The value is `row` of a slab from now on, until the cell is gone."""
        self._release_row()
        self.slab, self.row, self._tensor, self.recipe = slab, row, None, None

    def defer(self, recipe: Recipe) -> None:
        """Leave the computation to `recipe`, for whoever reads the value first."""
        self._release_row()
        self._tensor, self.recipe = None, recipe

    @property
    def is_computed(self) -> bool:
        """Whether the job that computes the value has run."""
        return any(source is not None for source in (self.slab, self.recipe, self._tensor))

    def _release_row(self) -> None:
        # A job that was broken off and run again fills its cells twice.
        if self.slab is not None:
            self.slab.release(self.row)
            self.slab = None

    def __del__(self) -> None:
        if self.slab is not None:
            self.slab.release(self.row)


class Ref:
    """One node's immutable handle to a lazy value.

    Parameters
    ----------
    owner : int
        The node that may use it.
    cell : Cell
        The value.
    columns : (int, int) or None
        The range [start, stop) of its columns that this is a handle to; None for all of it.

    Attributes
    ----------
    shape : tuple of int
    num_values : int
        Entries in all; a message's size in bits follows from it.
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
        """The range [start, stop) of the cell's columns; None for all of them."""
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

        Parameters
        ----------
        name : str
            As in `part`.
        ref : Ref
            Of the part's shape.

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
        """Refuse a Ref that another node owns.

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
        """The value, or this range of its columns; for use after the job that computes it ran."""
        value = self.cell.materialise()
        return value if self._columns is None else value[self._columns[0] : self._columns[1]]

    def _model(self) -> Architecture:
        if self.architecture is None:
            raise ProtocolError("only a whole model has named parts")
        return self.architecture

    def __repr__(self) -> str:
        state = "computed" if self.cell.is_computed else "pending"
        return f"Ref(node {self.owner}, shape {self.shape}, {state})"
