"""Jobs as plain data that goes from the event loop to an actor.

Values have numbers, models' layouts and optimisers too, and functions go by the name of their
module: an actor that has read the same scenario and the same files has all of them.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.learning.columns import Columns
from netsim.learning.jobs import Job, Optimizer

NOWHERE = -1
"""Number of a result that nobody holds, and of the layout of a value that is no model."""


class Input(NamedTuple):
    """A value that a job reads: its number, and the columns of it; None for all."""

    value: int
    columns: Columns | None


class Output(NamedTuple):
    """A result of a job: its number, its shape, and the number of its layout."""

    value: int
    shape: tuple[int, ...]
    layout: int


class PackedJob(NamedTuple):
    """One job; see `netsim.learning.jobs.Job`."""

    node: int
    time_ns: int
    work: bytes  # as `Packer.work` gives it
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]


Level = tuple[Sequence[int], Sequence[PackedJob]]
"""Values that nobody needs any more before a level, and its jobs."""


def packed_levels(levels: Sequence[Level]) -> bytes:
    """Levels as bytes: in one go, where Ray's own pickling looks at object after object."""
    return pickle.dumps(levels)


def unpacked_levels(packed: bytes) -> list[Level]:
    """Levels of what `packed_levels` has made."""
    found: list[Level] = pickle.loads(packed)
    return found


class Packer:
    """Packs the work of jobs.

    `layouts`: of the world's models, in its order.

    Attributes
    ----------
    optimizers : list of Optimizer
        By number: jobs of one optimiser share one object on both sides.
    """

    def __init__(self, layouts: Sequence[Architecture]) -> None:
        self._layouts = {id(one): number for number, one in enumerate(layouts)}
        self._kept = list(layouts)  # so that no other object gets the id of one
        self._optimizer_numbers: dict[int, int] = {}
        self.optimizers: list[Optimizer] = []

    def layout(self, architecture: Architecture | None) -> int:
        """The number of a layout; `NOWHERE` for a value that is no model."""
        return NOWHERE if architecture is None else self._layouts[id(architecture)]

    def work(self, job: Job[Any]) -> bytes:
        """The work of a job as bytes, which `Unpacker.work` reads.

        Raises
        ------
        ScenarioError
            If it calls a function that no file holds.
        """
        buffer = io.BytesIO()
        _Pickler(buffer, self).dump(job.work)
        return buffer.getvalue()

    def reference(self, one: Any) -> tuple[str, int] | None:
        """Name an object that both sides have; None for one that is sent itself."""
        if isinstance(one, Optimizer):
            if id(one) not in self._optimizer_numbers:
                self._optimizer_numbers[id(one)] = len(self.optimizers)
                self.optimizers.append(one)
            return "optimizer", self._optimizer_numbers[id(one)]
        if isinstance(one, Architecture):
            return "layout", self.layout(one)
        if isinstance(one, FunctionType | type) and one.__module__ == "__main__":
            raise ScenarioError(
                f'[run] engine = "ray": {one.__qualname__} is in no file that other processes can '
                "import; put it into a file of a folder that --components names, or play with "
                'engine = "local"'
            )
        return None


class Unpacker:
    """Reads what a `Packer` has packed.

    `layouts`: of this process' world, in the same order. `packages`: the private packages of users'
    folders here, by what the packer calls them.
    """

    def __init__(self, layouts: Sequence[Architecture], packages: Mapping[str, str]) -> None:
        self.layouts, self.packages = layouts, packages
        self.optimizers: list[Optimizer] = []

    def work(self, packed: bytes) -> Any:
        """The work of a job."""
        return _Unpickler(io.BytesIO(packed), self).load()

    def found(self, kind: str, number: int) -> Any:
        """Find the object that `Packer.reference` has named."""
        return (self.optimizers if kind == "optimizer" else self.layouts)[number]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        super().__init__(file, protocol=5)
        self._packer = packer

    def persistent_id(self, one: Any) -> tuple[str, int] | None:
        return self._packer.reference(one)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, unpacker: Unpacker) -> None:
        super().__init__(file)
        self._unpacker = unpacker

    def persistent_load(self, named: tuple[str, int]) -> Any:
        return self._unpacker.found(*named)

    def find_class(self, module: str, name: str) -> Any:
        package, dot, rest = module.partition(".")
        package = self._unpacker.packages.get(package, package)
        return super().find_class(f"{package}{dot}{rest}", name)
