"""Refs: immutable handles to values that may not have been computed yet.

A `Cell` holds one value: its shape is known when it is created, its tensor once the job that
computes it has run. A `Ref` is one node's handle to a cell, or to some of its columns. A node
gets another node's values in messages only; delivery makes a Ref of the receiver's own to the same
cell, so a message in flight holds the model as it was sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from math import prod
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from netsim.errors import ProtocolError
from netsim.learning.calling_line import ALGORITHMS, calling_line
from netsim.learning.columns import Columns, number_of, take

if TYPE_CHECKING:
    from torch import Tensor

    from netsim.learning.architecture import Architecture
    from netsim.learning.origins import Origin
    from netsim.recording.uses import Fates

NUMBERS_OF_A_REF = (
    "a Ref stands for a value that may not be computed yet: its numbers come by "
    "yield node.value(ref), a function of it is node.compute(fn, ref)"
)
NEEDS_A_MODEL = (
    "a whole model is needed here, not a part or another value; node.compute gives a model if "
    "you pass like=theta"
)


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
    """Recipe of a value that is computed only when it is read.

    Attributes
    ----------
    kind : hashable
        Values whose recipes are of one kind are computed together.
    """

    @property
    def kind(self) -> Hashable: ...

    def make(self, cells: Sequence[Cell]) -> None:
        """Compute the values of cells whose recipes are of this kind."""


class RefJobs(Protocol):
    """Recorder of the jobs that methods of Refs need, as `netsim.learning.scheduler` does."""

    def will_call(self, function: Callable[..., Any]) -> None:
        """Note a function that is called later."""

    def replace_columns(self, row: Ref, part: Ref, columns: Columns) -> Ref:
        """A new row equal to `row` but for some columns.

        Parameters
        ----------
        row : Ref
            (D,)
        part : Ref
            (n,) what takes their place.
        columns : Columns
            n of them.
        """

    def weighted_sum(self, terms: Sequence[tuple[Ref, float]]) -> Ref:
        """Return the sum that `node.mix` gives for Refs and their weights."""


class _HeldRow:
    """A row of a slab, which is free again when this is gone."""

    __slots__ = ("row", "slab")

    def __init__(self, slab: RowStorage, row: int) -> None:
        self.slab, self.row = slab, row

    def __del__(self) -> None:
        self.slab.release(self.row)


class Cell:
    """One lazy value.

    Parameters
    ----------
    scheduler : RefJobs
        Where jobs that methods of Refs need are recorded.
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
    origin : Origin or None
        The job that computes it; None: a value that was given, such as an initial model.
    slab : RowStorage or None
        Where a long value lies, in row `row`; the row is free again when the cell is gone.
    recipe : Recipe or None
        Set while the job has run but has left the computation for later.
    """

    __slots__ = (
        "__weakref__",
        "_held",
        "_tensor",
        "architecture",
        "level",
        "number",
        "origin",
        "recipe",
        "row",
        "scheduler",
        "shape",
        "slab",
    )

    def __init__(
        self,
        scheduler: RefJobs,
        shape: tuple[int, ...],
        architecture: Architecture | None = None,
        value: Tensor | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.shape = shape
        self.architecture = architecture
        self.level = 0
        self.number = -1
        self.origin: Origin | None = None
        self.slab: RowStorage | None = None
        self.row = -1
        self.recipe: Recipe | None = None
        self._held: _HeldRow | None = None
        self._tensor = value

    def materialise(self) -> Tensor:
        """The value; a computation that was left for later happens now.

        For use after the job that computes the value has run.
        """
        if self.recipe is not None:
            self.recipe.make((self,))
        if self.slab is not None:
            return self.slab.rows[self.row].view(self.shape)
        if self._tensor is None:  # jobs run in order, so what a job reads is there
            raise ProtocolError(f"this value has not been computed yet; {NUMBERS_OF_A_REF}")
        return self._tensor

    def take(self, columns: Columns) -> Tensor:
        """Return the value in some columns, as `materialise` does all of it."""
        return take(self.materialise(), columns)

    def fill(self, tensor: Tensor) -> None:
        """Set the value to a tensor of its own."""
        self._release_row()
        self._tensor, self.recipe = tensor, None

    def store_in(self, slab: RowStorage, row: int) -> None:
        """Store the value in `row` of a slab from now on, until the cell is gone."""
        self._held = _HeldRow(slab, row)  # a row that was held before is free now
        self.slab, self.row, self._tensor, self.recipe = slab, row, None, None

    def defer(self, recipe: Recipe) -> None:
        """Leave the computation to `recipe`, for whoever reads the value first."""
        self._release_row()
        self._tensor, self.recipe = None, recipe

    @property
    def is_computed(self) -> bool:
        """Return whether the job that computes the value has run."""
        return any(source is not None for source in (self.slab, self.recipe, self._tensor))

    def _release_row(self) -> None:
        # A job that was broken off and run again fills its cells twice.
        self._held = self.slab = None


class Ref:
    """One node's immutable handle to a lazy value.

    `a + b`, `a - b`, `0.5 * a`, `a / 2` and `-a` are what `node.mix` gives for these weights, to
    the last bit: `0.5 * a + 0.5 * b` is `node.mix([a, b], [0.5, 0.5])`. The result is a whole model
    if one of the operands is.

    Parameters
    ----------
    owner : int
        The node that may use it.
    cell : Cell
        The value.
    columns : Columns or None
        Those of its columns that this is a handle to; None for all of it.
    bringer : Fates or None
        The fates of the message that brought it: its first use is recorded.

    Attributes
    ----------
    ranges : Columns or None
        Those of the cell's columns that this is a handle to; None for all of them.
    shape : tuple of int
    num_values : int
        Entries in all; a message's size in bits follows from it.
    architecture : Architecture or None
        Set for whole models.
    """

    __slots__ = ("architecture", "bringer", "cell", "owner", "ranges", "shape")

    shape: tuple[int, ...]
    architecture: Architecture | None

    def __init__(
        self,
        owner: int,
        cell: Cell,
        columns: Columns | None = None,
        bringer: Fates | None = None,
    ) -> None:
        self.owner = owner
        self.cell = cell
        self.ranges = columns
        self.bringer = bringer
        if columns is None:
            self.shape, self.architecture = cell.shape, cell.architecture
        else:
            self.shape, self.architecture = (number_of(columns),), None

    @property
    def columns(self) -> tuple[int, int] | None:
        """The one range [start, stop) of the cell's columns that this is; None for all of them.

        Raises
        ------
        ProtocolError
            If this part of a model is several ranges: `ranges` has them.
        """
        if self.ranges is None:
            return None
        if len(self.ranges) > 1:
            raise ProtocolError(
                f"this part has {len(self.ranges)} ranges of columns; `ranges` names them"
                f"{calling_line()}"
            )
        return self.ranges[0]

    @property
    def num_values(self) -> int:
        return prod(self.shape)

    def part(self, name: str) -> Ref:
        """A named part of a model's columns.

        Parameters
        ----------
        name : str
            `parameters`, `buffers`, `backbone`, `head`, `fully_connected` (all linear layers),
            `normalisation` (all layers that normalise), `trained` (what is not frozen), `frozen`,
            or the dotted name of a submodule: the parameters in it. With `not` before it all other
            parameters: `"not normalisation"`.

        Raises
        ------
        ProtocolError
            If this is not a whole model or it has no such part.
        """
        return Ref(self.owner, self.cell, self._model().columns(name), self.bringer)

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
        columns = self._model().columns(name)
        ref.require_owner(self.owner)
        shape = (number_of(columns),)
        if ref.shape != shape:
            raise ProtocolError(
                f"part {name} has shape {shape}, the given Ref has {ref.shape}{calling_line()}"
            )
        return self.cell.scheduler.replace_columns(self, ref, columns)

    def owned_by(self, node: int, bringer: Fates | None = None) -> Ref:
        """The handle that `node` gets when a message, with the fates `bringer`, brings this one."""
        return self if node == self.owner else Ref(node, self.cell, self.ranges, bringer)

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
        """The value, or these columns of it; for use after the job that computes it ran.

        Raises
        ------
        ProtocolError
            In an algorithm: whether the job has run there is not known.
        """
        if sys._getframe(1).f_globals.get("__name__", "").startswith(ALGORITHMS):
            raise ProtocolError(f"an algorithm can't read tensors: {NUMBERS_OF_A_REF}")
        return self.cell.materialise() if self.ranges is None else self.cell.take(self.ranges)

    def _model(self) -> Architecture:
        if self.architecture is None:
            raise ProtocolError(f"only a whole model has named parts: {NEEDS_A_MODEL}")
        return self.architecture

    # -- arithmetic ------------------------------------------------------------------------------

    __array_ufunc__ = None  # so that NumPy's numbers leave a product to the methods below

    def __add__(self, other: Ref) -> Ref:
        return self._add(other, 1.0)

    def __radd__(self, other: object) -> Ref:
        if isinstance(other, Real) and other == 0:
            return self  # as `sum` of Refs begins
        return self._add(other, 1.0)

    def __sub__(self, other: Ref) -> Ref:
        return self._add(other, -1.0)

    def __neg__(self) -> Ref:
        return self._scale(-1.0)

    def __mul__(self, factor: float) -> Ref:
        return self._scale(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Ref:
        return self._scale(divisor, is_divisor=True)

    def _add(self, other: object, sign: float) -> Ref:
        if not isinstance(other, Ref):
            raise ProtocolError(
                f"a Ref plus a {type(other).__name__}: both must be Refs; what else there is to "
                f"compute takes node.compute(fn, ref){calling_line()}"
            )
        return self.cell.scheduler.weighted_sum(((self, 1.0), (other, sign)))

    def _scale(self, factor: object, is_divisor: bool = False) -> Ref:
        if not isinstance(factor, Real) or isinstance(factor, bool):
            raise ProtocolError(
                f"a Ref times a {type(factor).__name__}: a Ref is scaled by numbers; weights that "
                "are lazy go into node.mix(refs, weights), products of entries into "
                f"node.compute(fn, ...){calling_line()}"
            )
        weight = 1.0 / float(factor) if is_divisor else float(factor)
        return self.cell.scheduler.weighted_sum(((self, weight),))

    # -- what only numbers can do ----------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.shape == ():
            self._is_no_number()
        return True  # `theta or other`, where theta may be None

    def _is_no_number(self, *_: Any) -> NoReturn:
        raise ProtocolError(f"{NUMBERS_OF_A_REF}{calling_line()}")

    __lt__ = __le__ = __gt__ = __ge__ = _is_no_number
    __float__ = __int__ = __getitem__ = __iter__ = __pow__ = __abs__ = _is_no_number

    def __repr__(self) -> str:
        state = "computed" if self.cell.is_computed else "pending"
        return f"Ref(node {self.owner}, shape {self.shape}, {state})"
