"""The event loop's side of actors: a backend that computes nothing itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any
from weakref import WeakKeyDictionary, finalize

import torch
from torch import Tensor

from netsim.engine.actors.actor import About, Reply, Usage, Value, Values
from netsim.engine.actors.calls import Calls, Part, Sent
from netsim.engine.actors.lineage import Lineage
from netsim.engine.actors.packing import NOWHERE, Input, Output, PackedJob, Packer
from netsim.engine.actors.ray_pool import Handle, LostError, RayPool, given_up
from netsim.engine.actors.splitting import Reads, in_parts, levels_of, merged, read_last, waves
from netsim.errors import ComputeError, NetsimError
from netsim.learning.architecture import Architecture
from netsim.learning.columns import Columns, number_of
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, JobFailedError
from netsim.learning.level import failure_error
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import Shards

TRIES = 5
"""Losses in a row after which a run gives up."""


class Remote:
    """The rows of one actor, as cells refer to them; see `learning.refs.RowStorage`."""

    def __init__(self, backend: Actors, actor: int) -> None:
        self._backend, self.actor = backend, actor

    @property
    def rows(self) -> Remote:
        """Itself: rows are fetched when they are indexed."""
        return self

    def __getitem__(self, number: int) -> Tensor:
        return self._backend.fetched(number)

    def release(self, number: int) -> None:
        """The value in row `number` is not needed any more."""
        self._backend.released(number)


class Actors:
    """Sends the jobs of each node to the actor that owns its shard.

    Parameters
    ----------
    name : str
        Of the backend that computes in each actor.
    homes : sequence of int
        The actor of each node.
    shards : Shards
        The samples of all nodes.
    layouts : sequence of Architecture
        Of the world's models, each once.
    """

    def __init__(
        self,
        pool: RayPool,
        name: str,
        homes: Sequence[int],
        shards: Shards,
        layouts: Sequence[Architecture],
    ) -> None:
        self.name = name
        self._pool, self._homes = pool, homes
        self._item_bytes = torch.empty((), dtype=layouts[0].dtype).itemsize if layouts else 4
        self._packer = Packer(layouts)
        self._remote = [Remote(self, a) for a in range(pool.size)]
        held = [{n for n, home in enumerate(homes) if home == a} for a in range(pool.size)]
        self._samples = [shards.samples_of(nodes) for nodes in held]
        self._brought: Values = {}
        self._count = 0  # of values so far, and so the number of the next
        self._at: dict[int, int] = {}  # the actor that has a value which a job computed
        self._sizes: dict[int, int] = {}  # of these, in bytes
        self._given: WeakKeyDictionary[Cell, int] = WeakKeyDictionary()
        self._given_at: dict[int, set[int]] = {}  # the actors that have a value which was given
        self._gone: list[int] = []
        self._known = [0] * pool.size  # how many optimisers each actor has
        self._to_drop: list[list[int]] = [[] for _ in range(pool.size)]
        self._calls = Calls(pool)
        self._divergences = Divergences()
        self._one_by_one: dict[str, str] = {}
        self._ways: dict[str, str] = {}
        self._drew = dict.fromkeys(list[str]())
        self._lineage = Lineage()
        self._last_loss: LostError | None = None
        self.replaced = self.moved_bytes = 0

    # -- as a backend ----------------------------------------------------------------------------

    @property
    def divergences(self) -> Divergences:
        """Nodes whose models became nan, infinite or huge, by all that has been sent."""
        self._collect_all()
        return self._divergences

    @property
    def location(self) -> Sequence[About]:
        """Return each actor in words."""
        return self._pool.location

    @property
    def ways(self) -> Actors:
        """Itself, which describes how each sort of jobs was computed."""
        return self

    def as_dict(self) -> dict[str, str]:
        """Return how each sort of jobs was computed."""
        self._collect_all()
        return self._ways

    def that_drew(self) -> list[str]:
        """Return the global generators that jobs have drawn from; see `GlobalGenerators`."""
        self._collect_all()
        return list(self._drew)

    @property
    def one_by_one(self) -> dict[str, str]:
        """Return the jobs that could only run node after node, and the reasons."""
        self._collect_all()
        return self._one_by_one

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Send jobs of one level; see `netsim.learning.scheduler.Backend`.

        Returns
        -------
        int
            Number of actors that got some.

        Raises
        ------
        NetsimError
            If a job of this level or of an earlier one failed.
        """
        self._forget()
        if self._lineage.is_due(sum(self._sizes.values())):
            self._snapshot()
        parts: dict[int, list[Job[Any]]] = defaultdict(list)
        for job in jobs:
            parts[self._homes[job.node]].append(job)
        for wave in waves(parts, _read_by_job, self._foreign_bytes, self._pool.at_once_bytes):
            packed = {a: [self._packed(job, a) for job in some] for a, some in wave.items()}
            self._send(packed, wave)
            while self._calls.are_many():
                self._collect((len(self._calls.sent) + 1) // 2)
        return len(parts)

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        self._collect_all()
        self._forget()
        for _ in range(TRIES):
            parts: dict[int, list[int]] = defaultdict(list)
            inputs = [Input(self._number(ref.cell), ref.ranges) for ref, _ in asked]
            for i, (one, (_, rows)) in enumerate(zip(inputs, asked, strict=True)):
                parts[self._owner(one.value, rows)].append(i)
            moved = self._moved({a: merged(inputs[i] for i in some) for a, some in parts.items()})
            calls = {}
            for actor, some in parts.items():
                mine = [(inputs[i], asked[i][1]) for i in some]
                gone = self._dropped(actor)
                calls[actor] = self._calls.call(actor, "predictions", mine, gone, *moved[actor])
            found: dict[int, Tensor] = {}
            try:
                for actor, call in calls.items():
                    found.update(zip(parts[actor], self._pool.get(call), strict=True))
            except LostError as loss:
                self._recover(loss)
                continue
            return [found[i] for i in range(len(asked))]
        raise given_up(TRIES, self._last_loss)

    def usage(self) -> list[Usage]:
        """Return memory and processor time of each actor that is there."""
        calls = [self._pool.call(actor, "usage") for actor in range(self._pool.size)]
        found = []
        for call in calls:
            with suppress(LostError):
                found.append(self._pool.get(call))
        return found

    def close(self) -> None:
        """End the actors."""
        self._pool.close()
        self._lineage.close()

    # -- rows ------------------------------------------------------------------------------------

    def fetched(self, number: int) -> Tensor:
        """A value that an actor has, on the CPU.

        Raises
        ------
        NetsimError
            If a job that has been sent failed.
        """
        if number not in self._brought:
            self._brought.clear()
            self._bring([number])
        return self._brought[number].tensor

    def bring(self, cells: Sequence[Cell]) -> None:
        """Fetch values together that are read next."""
        wanted = {cell.row for cell in cells if isinstance(cell.slab, Remote)}
        self._brought = {n: value for n, value in self._brought.items() if n in wanted}
        self._bring(sorted(wanted - self._brought.keys()))

    def _bring(self, numbers: Sequence[int]) -> None:
        for _ in range(TRIES):
            self._collect_all()
            by_actor: dict[int, list[int]] = defaultdict(list)
            for number in dict.fromkeys(numbers):
                by_actor[self._at[number]].append(number)
            calls = [
                self._calls.call(actor, "give", dict.fromkeys(some), self._dropped(actor))
                for actor, some in by_actor.items()
            ]
            try:
                for call in calls:
                    self._brought |= self._pool.get(call)
            except LostError as loss:
                self._recover(loss)
                continue
            return
        raise given_up(TRIES, self._last_loss)

    def released(self, number: int) -> None:
        """Nobody needs a value any more."""
        self._gone.append(number)  # and no more: a collection of garbage may call this anywhere

    def _forget(self) -> None:
        """Let the actors know, with their next call, what nobody needs any more."""
        gone = self._gone[:]
        del self._gone[: len(gone)]  # the same list: finalizers of cells append to it
        for number in gone:
            if number in self._at:
                self._to_drop[self._at.pop(number)].append(number)
                del self._sizes[number]
            for actor in self._given_at.pop(number, ()):
                self._to_drop[actor].append(number)

    def _dropped(self, actor: int) -> list[int]:
        dropped, self._to_drop[actor] = self._to_drop[actor], []
        return dropped

    def _number(self, cell: Cell) -> int:
        """The number of a value; one that is not an actor's gets one here."""
        if isinstance(cell.slab, Remote):
            return cell.row
        if cell not in self._given:
            number = self._given[cell] = self._new()
            self._given_at[number] = set()
            value = Value(cell.materialise().detach(), self._packer.layout(cell.architecture))
            self._lineage.given[number] = value
            finalize(cell, self._gone.append, number).atexit = False
        return self._given[cell]

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _owner(self, number: int, rows: Rows) -> int:
        """An actor that has some samples, if possible that which has a value, too."""
        home = self._at.get(number)
        if home is not None and self._samples[home][rows].all():
            return home
        return next(a for a, mine in enumerate(self._samples) if mine[rows].all())

    # -- levels ----------------------------------------------------------------------------------

    def _packed(self, job: Job[Any], actor: int) -> PackedJob:
        """A job as data; its results lie with the actor from now on."""
        outputs = []
        for cell, shape in zip(job.outputs, job.shapes, strict=True):
            if cell is None:
                outputs.append(Output(NOWHERE, shape, NOWHERE))
                continue
            number = self._new()
            outputs.append(Output(number, shape, self._packer.layout(cell.architecture)))
            self._at[number] = actor
            self._sizes[number] = self._size(shape)
            cell.store_in(self._remote[actor], number)  # type: ignore[arg-type] # rows by index
        inputs = tuple([Input(self._number(ref.cell), ref.ranges) for ref in job.inputs])
        return PackedJob(job.node, job.time_ns, self._packer.work(job), inputs, tuple(outputs))

    def _send(
        self,
        packed: Mapping[int, Sequence[PackedJob]],
        jobs: Mapping[int, Sequence[Job[Any]]],
        is_again: bool = False,
    ) -> None:
        """Send a level to the actors.

        `packed`: by actor. `jobs`: the same ones; none of jobs that run again. `is_again`: whether
        these jobs are kept already.
        """
        reads = {a: merged(i for job in some for i in job.inputs) for a, some in packed.items()}
        sizes = {actor: self._foreign_bytes(actor, some) for actor, some in reads.items()}
        self.moved_bytes += sum(sizes.values())
        ahead = {actor for actor, size in sizes.items() if size > self._pool.at_once_bytes}
        moved = self._moved({a: some for a, some in reads.items() if a not in ahead})
        for actor in ahead:
            self._visit(actor, reads[actor])
        for actor, some in packed.items():
            made = [o.shape for job in some for o in job.outputs if o.value != NOWHERE]
            size = sum(map(self._size, made)) + (0 if actor in ahead else sizes[actor])
            part = Part(some, jobs.get(actor, ()), self._dropped(actor), size)
            self._calls.run(actor, part, () if actor in ahead else moved[actor] or None)
            if not is_again:
                self._lineage.add(some)

    def _foreign_bytes(self, actor: int, reads: Reads) -> int:
        """Bytes of what is read of values that other actors have."""
        return sum(self._read_bytes(*one) for one in self._foreign(actor, reads).items())

    def _foreign(self, actor: int, reads: Reads) -> Reads:
        return {n: columns for n, columns in reads.items() if self._at.get(n, actor) != actor}

    def _read_bytes(self, number: int, columns: Columns | None) -> int:
        if columns is None:
            return self._sizes.get(number, 0)
        return number_of(columns) * self._item_bytes

    def _size(self, shape: Sequence[int]) -> int:
        return prod(shape) * self._item_bytes

    def _visit(self, actor: int, reads: Reads) -> None:
        """Move rows to an actor some at a time, for jobs that read too many to come with them."""
        self._give(actor, reads)
        sources: dict[int, Reads] = defaultdict(dict)
        for number, columns in self._foreign(actor, reads).items():
            sources[self._at[number]][number] = columns
        with suppress(LostError):  # the jobs then find that rows are absent
            for source, some in sources.items():
                for part in in_parts(some, self._read_bytes, self._pool.at_once_bytes):
                    given = self._calls.call(source, "give", part, self._dropped(source))
                    self._pool.get(self._calls.call(actor, "visit", given))

    def _moved(self, reads: Mapping[int, Reads]) -> dict[int, list[Handle]]:
        """Begin the moves of rows from one actor to others, before anything waits for them.

        `reads`: what is read at each actor.
        """
        moved: dict[int, list[Handle]] = {}
        readers: dict[tuple[int, Columns | None], set[int]] = defaultdict(set)
        for actor, some in reads.items():
            self._give(actor, some)
            moved[actor] = []
            for one in self._foreign(actor, some).items():
                readers[one].add(actor)
        together: dict[tuple[int, tuple[int, ...]], Reads] = defaultdict(dict)
        for (number, columns), actors in readers.items():  # what the same ones read goes once
            together[self._at[number], tuple(sorted(actors))][number] = columns
        pairs = {(self._at[number], a) for (number, _), actors in readers.items() for a in actors}
        if len(together) > len(pairs):  # so many sets of readers that calls would cost more
            together.clear()
            for (number, columns), actors in readers.items():
                for actor in actors:
                    together[self._at[number], (actor,)][number] = columns
        for (source, to), some in together.items():
            call = self._calls.call(source, "give", some, self._dropped(source))
            for actor in to:
                moved[actor].append(call)
        return moved

    def _give(self, actor: int, numbers: Iterable[int]) -> None:
        """Send an actor what it lacks and no other has: values that were given, optimisers.

        A call of its own: one that waits for rows of others is lost with these.
        """
        given: Values = {}
        for number in numbers:
            if number in self._lineage.given and number not in self._at:
                there = self._given_at.get(number)  # None: its cell is gone, a job runs again
                if there is None or actor not in there:
                    given[number] = self._lineage.given[number]
                if there is not None:
                    there.add(actor)
        optimizers = self._packer.optimizers[self._known[actor] :]
        self._known[actor] = len(self._packer.optimizers)
        if given or optimizers:
            self._pool.call(actor, "keep", given, optimizers)

    def _collect_all(self) -> None:
        """Take in everything, once it has ended."""
        self._calls.send_all()
        while self._calls.sent:
            self._collect(len(self._calls.sent))

    def _collect(self, count: int) -> None:
        """Take in the first calls, once they have ended."""
        try:
            for sent, reply in self._calls.taken(count):
                self._take_in(sent, reply)
        except LostError as loss:
            self._recover(loss)

    def _take_in(self, sent: Sent, reply: Reply) -> None:
        self._drew |= dict.fromkeys(reply.drew)
        self._one_by_one.update(reply.one_by_one)
        self._ways.update(reply.ways)
        if reply.failed is not None:
            error = reply.failed.error()
            if reply.failed.position < 0 or not sent.jobs:
                raise (
                    error
                    if isinstance(error, NetsimError)
                    else ComputeError(f"{reply.failed.kind}: {error}")
                )
            failure = JobFailedError(sent.jobs[reply.failed.position])
            failure.__cause__ = error
            raise failure_error(failure)
        for note in reply.notes if sent.jobs else ():
            before = None if note.before is None else torch.tensor(note.before)
            jobs = [sent.jobs[position] for position in note.jobs]
            self._divergences.note(jobs, torch.tensor(note.after), before)

    # -- losses ----------------------------------------------------------------------------------

    def _snapshot(self) -> None:
        """Keep all values, so that what made them may be forgotten."""
        self._collect_all()
        try:
            self._lineage.snapshot(self._all_values(), lambda number: number in self._given_at)
        except LostError as loss:
            self._recover(loss)

    def _all_values(self) -> Iterator[Values]:
        by_actor: dict[int, list[int]] = defaultdict(list)
        for number, actor in self._at.items():
            by_actor[actor].append(number)
        for actor, numbers in by_actor.items():
            whole: Reads = dict.fromkeys(numbers)
            for some in in_parts(whole, self._read_bytes, self._pool.at_once_bytes):
                yield self._pool.get(self._calls.call(actor, "give", some, ()))

    def _recover(self, loss: LostError) -> None:
        """Begin actors anew that are gone, and compute again what was lost with them.

        Raises
        ------
        ComputeError
            If actors are lost again and again.
        """
        self._last_loss = loss
        undone: list[Sent] = []
        missing = set[int]()
        for _ in range(TRIES):
            undone += self._without_reply()
            lost = self._pool.replaced()
            self.replaced += len(lost)
            for actor in lost:
                self._known[actor], self._to_drop[actor] = 0, []
            for there in self._given_at.values():
                there.difference_update(lost)
            missing |= {o.value for sent in undone for job in sent.packed for o in job.outputs}
            missing |= {number for number, actor in self._at.items() if actor in lost}
            if self._computed_again(undone, missing):
                return
        raise given_up(TRIES, self._last_loss)

    def _without_reply(self) -> list[Sent]:
        """Levels that are not known to have run, which are no longer sent; the rest is taken in."""
        undone = []
        for sent, reply in self._calls.taken_one_by_one():
            if isinstance(reply, LostError):
                self._last_loss = reply
                undone.append(sent)
            else:
                self._take_in(sent, reply)
        return undone

    def _computed_again(self, undone: Sequence[Sent], missing: set[int]) -> bool:
        """Compute values that are missing; False if actors are lost meanwhile."""
        held = set(self._at)  # the others that are needed are there for a while
        first = {
            id(packed): job
            for sent in undone
            for packed, job in zip(sent.packed, sent.jobs, strict=True)
        }
        jobs, saved = self._lineage.needed(
            missing & held,
            [packed for sent in undone for packed in sent.packed],
            lambda number: number in held and number not in missing,
        )
        try:
            self._begin_again(jobs, saved)
            return self._ran_again(jobs, first, set(self._at) - held)
        except LostError as loss:
            self._last_loss = loss
            return False
        finally:
            for number in set(self._at) - held:
                self._to_drop[self._at.pop(number)].append(number)
            for number in self._sizes.keys() - held:
                del self._sizes[number]
            reads = {one.value for packed in jobs for one in packed.inputs}
            for number in reads & self._lineage.given.keys() - self._given_at.keys():
                for dropped in self._to_drop:
                    dropped.append(number)

    def _begin_again(self, jobs: Sequence[PackedJob], saved: set[int]) -> None:
        """Say where results will lie, and give actors what the snapshot has of the past."""
        for packed in jobs:
            for one in packed.outputs:
                if one.value != NOWHERE:
                    self._at[one.value] = self._homes[packed.node]
                    self._sizes[one.value] = self._size(one.shape)
        self._at |= {number: self._at.get(number, 0) for number in saved}
        for actor in range(self._pool.size):  # before anything of these numbers comes again
            self._pool.get(self._calls.call(actor, "give", {}, self._dropped(actor)))
        for number, value in self._lineage.saved(saved):
            self._sizes[number] = value.tensor.nbytes
            self._pool.get(self._calls.call(self._at[number], "keep", {number: value}))

    def _ran_again(
        self, jobs: Sequence[PackedJob], first: Mapping[int, Job[Any]], passing: Collection[int]
    ) -> bool:
        """Run jobs level by level; False if actors are lost meanwhile.

        Parameters
        ----------
        jobs : sequence of PackedJob
        first : mapping
            By `id`, those that have not run before: their outcomes are to be judged.
        passing : collection of int
            Values that are dropped after the last level that reads them.
        """
        levels = levels_of(jobs)
        last = read_last(levels, passing)
        for step, level in enumerate(levels):
            for judged in (True, False):  # apart, since a call is judged as a whole or not at all
                due: dict[int, list[PackedJob]] = defaultdict(list)
                for packed in level:
                    if (id(packed) in first) is judged:
                        due[self._homes[packed.node]].append(packed)
                most = self._pool.at_once_bytes
                for wave in waves(due, _inputs_of, self._foreign_bytes, most):
                    mine = {a: [first[id(p)] for p in s] for a, s in wave.items() if judged}
                    self._send(wave, mine, is_again=True)
                    if self._without_reply():
                        return False
            for number in last.get(step, ()):
                self._to_drop[self._at.pop(number)].append(number)
        return True


def _read_by_job(job: Job[Any]) -> Iterator[Input]:
    """Yield what a job reads of the values of actors."""
    for ref in job.inputs:
        if isinstance(ref.cell.slab, Remote):
            yield Input(ref.cell.row, ref.ranges)


def _inputs_of(job: PackedJob) -> Iterable[Input]:
    return job.inputs
