"""An actor: the process that owns a shard of the nodes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import ref as weak

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim import errors
from netsim.backends.dispatch import Choice
from netsim.backends.parameter_store import ParameterStore, Slab
from netsim.backends.spilling import most_resident_bytes
from netsim.engine import equipment, process_settings, ray_cluster
from netsim.engine.actors.packing import NOWHERE, Input, PackedJob, Unpacker, unpacked_levels
from netsim.engine.backend_assembly import open_backend
from netsim.learning.architecture import Architecture
from netsim.learning.columns import Columns, places_in, take
from netsim.learning.divergence import LARGEST_SUM, parameters_of
from netsim.learning.global_draws import GlobalGenerators
from netsim.learning.jobs import Job, JobFailedError, Optimizer, dead_reference
from netsim.learning.level import Levels
from netsim.learning.refs import Cell, Ref, RefJobs
from netsim.recording.scratch import ScratchFolder
from netsim.scenario import Scenario, component_files, load
from netsim.scenario.kinds import kinds_of
from netsim.world import builder
from netsim.world.memory import of_actor


class Value(NamedTuple):
    """A value on its way."""

    tensor: Tensor
    layout: int  # number of its layout if it is a model, else `NOWHERE`
    columns: Columns | None = None  # those of a model that these are; None for all

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as an array, which is not copied on its way as the bytes of a tensor are."""
        return _received_value, (self.tensor.numpy(), self.layout, self.columns)


def _received_value(array: NDArray[Any], layout: int, columns: Columns | None) -> Value:
    """A value that has arrived, in memory of its own: that of an object store is shared."""
    tensor = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, array.dtype)).dtype)
    np.copyto(tensor.numpy(), array)
    return Value(tensor, layout, columns)


class PartCell(Cell):
    """A model of another actor, of which only some columns are here.

    Parameters
    ----------
    scheduler, shape, architecture
        As of a `Cell`.
    columns : Columns
        Those that are here.
    value : (n,) torch.Tensor
        Their n values.
    """

    __slots__ = ("columns", "values")

    def __init__(
        self,
        scheduler: RefJobs,
        shape: tuple[int, ...],
        architecture: Architecture | None,
        columns: Columns,
        values: Tensor,
    ) -> None:
        super().__init__(scheduler, shape, architecture)
        self.columns, self.values = columns, values

    def take(self, columns: Columns) -> Tensor:
        """Return the value in some of the columns that are here."""
        return take(self.values, places_in(self.columns, columns))


Values = dict[int, Value]
"""Values by number."""


class Failure(NamedTuple):
    """An error that ended a call of `run`."""

    position: int  # of the job that failed; -1: of none alone
    kind: str  # name of the error's class
    message: str

    @classmethod
    def of(cls, error: BaseException, position: int = -1) -> Failure:
        """Describe an error."""
        return cls(position, type(error).__name__, str(error))

    @property
    def message_line(self) -> str:
        """The error in a line."""
        return f"{self.kind}: {self.message}"

    def error(self) -> Exception:
        """An error of the same name and words."""
        known = getattr(errors, self.kind, None)
        kind = known or type(self.kind, (Exception,), {})
        found: Exception = kind(self.message)
        return found


class Kit(NamedTuple):
    """All that an actor is made from."""

    scenario: str  # as a run folder holds it: of one algorithm
    algorithm: str  # its name
    # the private package of each folder of the user's own components, and its files by name
    sources: list[tuple[str, dict[str, bytes]]]
    data: str | None  # the folder of data sets
    nodes: tuple[int, ...]  # those of its shard
    threads: int
    chosen: list[Choice]  # the routes of the world's models, each once in their order
    made_with: dict[str, str]  # versions of the event loop's machine, which an actor's has to have


class Note(NamedTuple):
    """Outcome of trainings in sums of parameters; see `learning.divergence.Divergences.note`."""

    jobs: list[int]  # positions in the call
    after: list[float]  # sums of parameters
    before: list[float] | None  # None where all of `after` are sound


class Reply(NamedTuple):
    """Outcome of a call of `run`."""

    notes: list[Note]
    one_by_one: dict[str, str]  # what could not run in groups, and why
    ways: dict[str, str]  # how each sort of jobs was computed
    drew: list[str]  # global generators that jobs have drawn from
    failed: Failure | None


class About(NamedTuple):
    """An actor in words, for the record of a run."""

    host: str
    process: int
    processor: str


class Usage(NamedTuple):
    """Memory and processor time of an actor."""

    host: str
    models_bytes: int  # most that its models took at a time, in memory and on the disk
    spilled_bytes: int  # disk that it took for them
    # most memory that its process took; None where the system does not say
    resident_bytes: int | None
    cpu_s: float  # processor time of its jobs


class AbsentError(Exception):
    """A value is not where it should be: what came before was lost."""


def _read(kit: Kit, folder: Path) -> tuple[Scenario, dict[str, str]]:
    """The scenario of a kit, and what the private packages of users' folders are called here.

    `folder`: where its files may be written for a while.
    """
    packages, folders = {}, []
    for package, files in kit.sources:
        own = folder / package
        own.mkdir()
        ray_cluster.write_files(own, files)
        folders.append(own)
        packages[package] = component_files.package_of(own)
    text = folder / "scenario.toml"
    text.write_text(kit.scenario, encoding="utf-8")
    return load(str(text), kinds=kinds_of(folders)), packages


class ShardActor:
    """Owner of a shard of nodes: their samples, and the values that their jobs compute."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._scratch: ScratchFolder | None = None

    def begin(self) -> About | Failure:
        """Read what the actor needs, and say where it is; or why it can't begin."""
        try:
            self._open(self._kit)
        except Exception as error:  # whatever a user's files raise; told where the run is
            return Failure.of(error)
        return self.location()

    def _open(self, kit: Kit) -> None:
        equipment.require_alike(kit.made_with)
        self._scratch = ScratchFolder("actor")  # of files that may be read later
        played, packages = _read(kit, self._scratch.path)
        self._settings = process_settings.of_runs(played.run.tf32)
        self._settings.__enter__()
        world = builder.build(played, None if kit.data is None else Path(kit.data))
        lengths = [world.architectures[node].num_values for node in kit.nodes]
        need = of_actor(played, lengths, world.shards.x.device)
        need.require("more machines, fewer nodes or smaller layers, or set [run] spill_dir")
        training = played.training_of(played.entry(kit.algorithm))
        whole = world.shards.in_batches_of(training.batch_size)
        self._shards, self._row_numbers = whole.restrict_to_nodes(set(kit.nodes))
        self._backend, _ = open_backend(world, self._shards, kit.threads, kit.chosen)
        layouts = list(dict.fromkeys(world.architectures))
        self._unpacker = Unpacker(layouts, packages)
        self._levels = Levels(self._backend)
        self._values: dict[int, Cell] = {}
        self._visiting: dict[int, Cell] = {}
        self._notes: list[Note] = []
        self._generators = GlobalGenerators()
        self._positions: dict[int, int] = {}
        self._backend.divergences.passed_on = self._note
        self._began_s = time.process_time()

    def location(self) -> About:
        """Say where this is."""
        return About(socket.gethostname(), os.getpid(), equipment.processor())

    def usage(self) -> Usage:
        """Say how much memory and processor time was used here."""
        store: ParameterStore | None = getattr(self._backend, "store", None)
        rows = 0 if store is None else store.peak_bytes
        spilled = 0 if store is None or store.spill is None else store.spill.used_bytes
        used_s = time.process_time() - self._began_s
        return Usage(socket.gethostname(), rows, spilled, most_resident_bytes(), used_s)

    def end(self) -> None:
        """Remove the actor's files, before its process ends."""
        if self._scratch is not None:
            self._scratch.remove()

    def run(self, packed: bytes, *moved: Values) -> Reply:
        """Run levels of jobs, up to the first that fails.

        Parameters
        ----------
        packed : bytes
            By `packing.packed_levels`.
        *moved : dict of int to Value
            Rows of other actors that the jobs read; let go of when they have run.
        """
        visiting, self._visiting = self._visiting, {}
        visiting |= {n: self._cell(value) for some in moved for n, value in some.items()}
        self._notes, failed, first = [], None, 0
        self._generators.that_drew()  # others in this process may
        for gone, level in unpacked_levels(packed):
            self._let_go(gone)
            failed = self._run_level(level, visiting, first)
            if failed is not None:
                break
            first += len(level)
        one_by_one = {**self._backend.one_by_one, **self._levels.one_by_one}
        ways, drew = self._backend.ways.as_dict(), self._generators.that_drew()
        return Reply(self._notes, one_by_one, ways, drew, failed)

    def _run_level(
        self, packed: Sequence[PackedJob], visiting: Mapping[int, Cell], first: int
    ) -> Failure | None:
        """Run jobs of one level; `first`: position of the first of them in the call."""
        try:
            jobs = [self._job(one, visiting) for one in packed]
            self._positions = {id(job): i for i, (job, _) in enumerate(jobs, first)}
            self._levels.run([job for job, _ in jobs])
        except JobFailedError as failure:
            position = self._positions.get(id(failure.job), -1)
            return Failure.of(failure.__cause__ or failure, position)
        except AbsentError:
            raise
        except Exception as error:  # of no job alone; told where the run is
            return Failure.of(error)
        for one, (_, cells) in zip(packed, jobs, strict=True):
            for output, cell in zip(one.outputs, cells, strict=True):
                if cell is not None:
                    self._values[output.value] = cell
        return None

    def visit(self, moved: Values) -> None:
        """Take in rows of another actor that the jobs of the next `run` read, beside other ones.

        For jobs that read more than may be under way at a time.
        """
        self._visiting |= {n: self._cell(value) for n, value in moved.items()}

    def give(self, asked: Mapping[int, Columns | None], gone: Sequence[int] = ()) -> Values:
        """Values by number, as they are: who is given them gets copies.

        `asked`: columns that are needed of each; None for all. `gone`: values that nobody needs any
        more.
        """
        self._let_go(gone)
        return {n: self._value(self._held(n, {}), columns) for n, columns in asked.items()}

    def _held(self, number: int, visiting: Mapping[int, Cell]) -> Cell:
        """A value that is here.

        Raises
        ------
        AbsentError
            If the level that should have made it was lost.
        """
        found = self._values.get(number) or visiting.get(number)
        if found is None:
            raise AbsentError(f"value {number} is not here")
        return found

    def _value(self, cell: Cell, columns: Columns | None) -> Value:
        layouts, own = self._unpacker.layouts, cell.architecture
        layout = NOWHERE if own is None else layouts.index(own)
        tensor = cell.materialise() if columns is None else cell.take(columns)
        value = Value(tensor.detach().cpu(), layout, columns)
        if isinstance(cell.slab, Slab):
            cell.slab.note_access(1)
        return value

    def keep(self, values: Values, optimizers: Sequence[Optimizer] = ()) -> None:
        """Take over values, by number, that no job of this actor computes.

        `optimizers`: those that the actor does not know yet.
        """
        self._unpacker.optimizers += optimizers
        self._values.update({n: self._cell(value) for n, value in values.items()})

    def predictions(
        self, asked: Sequence[tuple[Input, Any]], gone: Sequence[int], *moved: Values
    ) -> list[Tensor]:
        """Outputs of models in evaluation mode.

        Parameters
        ----------
        asked : sequence of (Input, (n_i,) int64)
            A model, and its samples.
        gone, *moved
            As of `run`.

        Returns
        -------
        list of torch.Tensor
            (n_i, L) each.
        """
        self._let_go(gone)
        visiting = {n: self._cell(value) for some in moved for n, value in some.items()}
        refs = [(self._ref(0, one, visiting), self._row_numbers[rows]) for one, rows in asked]
        return self._backend.predictions(refs)

    def _let_go(self, gone: Sequence[int]) -> None:
        for number in gone:
            self._values.pop(number, None)

    def _cell(self, value: Value) -> Cell:
        tensor = value.tensor.to(self._shards.x.device)
        if value.columns is not None:
            model = self._unpacker.layouts[value.layout]
            scheduler: Any = self  # refs of jobs only
            return PartCell(scheduler, (model.num_values,), model, value.columns, tensor)
        cell = self._empty(tuple(tensor.shape), value.layout)
        cell.fill(tensor)
        store: ParameterStore | None = getattr(self._backend, "store", None)
        if store is not None and cell.architecture is not None:
            store.adopt_model(cell)
        return cell

    def _ref(self, node: int, one: Input, visiting: Mapping[int, Cell]) -> Ref:
        return Ref(node, self._held(one.value, visiting), one.columns)

    def _job(
        self, packed: PackedJob, visiting: Mapping[int, Cell]
    ) -> tuple[Job[Any], list[Cell | None]]:
        """A job of this process, and the cells of its results that somebody holds."""
        cells = [
            None if o.value == NOWHERE else self._empty(o.shape, o.layout) for o in packed.outputs
        ]
        inputs = tuple([self._ref(packed.node, one, visiting) for one in packed.inputs])
        results: Any = tuple([dead_reference if cell is None else weak(cell) for cell in cells])
        shapes = tuple([o.shape for o in packed.outputs])
        work = self._unpacker.work(packed.work)
        return Job(work, packed.node, packed.time_ns, inputs, results, shapes), cells

    def _empty(self, shape: tuple[int, ...], layout: int) -> Cell:
        architecture = None if layout == NOWHERE else self._unpacker.layouts[layout]
        return Cell(self, shape, architecture)  # type: ignore[arg-type] # refs of jobs only

    def _note(self, jobs: Sequence[Job[Any]], after: Tensor, before: Tensor | None) -> None:
        """Keep what a training ended with for the event loop, which knows where values come from.

        Some of the jobs may be samples by which backends are compared: nobody asks for those.
        """
        ours = [i for i, job in enumerate(jobs) if id(job) in self._positions]
        if not ours:
            return
        if before is None and not bool((after.abs() <= LARGEST_SUM).all()):
            before = torch.stack([parameters_of(job).sum() for job in jobs])
        positions = [self._positions[id(jobs[i])] for i in ours]
        earlier = None if before is None else [before.tolist()[i] for i in ours]
        self._notes.append(Note(positions, [after.tolist()[i] for i in ours], earlier))
