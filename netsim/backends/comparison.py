"""Comparing backends with plain PyTorch, once for each model of a run, before it begins.

The reference is a module that nothing of netsim's has touched, trained for two steps by a loop as
anyone writes it. The sequential backend has to agree with it, or the model is refused: it keeps
something elsewhere than in its parameters and buffers, which one module for all nodes can't tell
apart. A faster backend that differs is not taken.

What a difference is, `netsim.backends.rounding` says; it counts if three minibatches show it. Batch
normalisation of a few values can amplify rounding beyond that: where float32 differs, a backend
and the loop are compared in float64. The sequential backend is not, since a module in float64 may
lose what is odd about it: there the difference is held against what the loop itself ends with from
starts that differ in their last bits.
Losses of an algorithm's own are compared at their first use, by `netsim.backends.grouping`.
On a GPU both sides compute without cuDNN, which takes another algorithm for parameters that lie at
another address: some are off by a hundred times what rounding is, and none of it is the model's.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary
from weakref import ref as weak

import torch
from torch import Tensor, nn

from netsim.backends.dispatch import Routes
from netsim.backends.job_types.train import SAMPLE_RATE, SAMPLE_STEPS, Train
from netsim.backends.plain import seeded_inference
from netsim.backends.rounding import (
    amplifies_rounding,
    as_sgd,
    beyond_rounding,
    perturb_last_bits,
    rounds_like,
)
from netsim.backends.route import Purpose
from netsim.backends.sequential import Sequential
from netsim.errors import ScenarioError, is_out_of_memory, one_line
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.global_draws import mask_seed, seeded
from netsim.learning.hidden_state import changed_names, hidden_reals, hidden_state, read_reals
from netsim.learning.jobs import Batches, Job, JobFailedError, Optimizer
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import Shards
from netsim.learning.structure import StructureError
from netsim.rng import Streams

STEPS, TRIES = SAMPLE_STEPS, 3

NUDGES = 3
"""Starts with other last bits from which the loop is run where the sequential backend differs."""

LOOKED_AT = 4
"""Samples whose outputs are compared."""

STREAM = "comparison"
"""Names the minibatches, which no algorithm draws."""


class Runs(Protocol):
    """A backend, as far as it is compared."""

    @property
    def divergences(self) -> Divergences: ...

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs; see `netsim.learning.scheduler.Backend`."""

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models; see `netsim.learning.scheduler.Backend`."""

    def in_double(self, like: Architecture, architecture: Architecture, shards: Shards) -> Runs:
        """The same backend in double precision.

        Parameters
        ----------
        like, architecture, shards
            As for `netsim.backends.sequential.Sequential.in_double`.
        """


class Outcome(NamedTuple):
    """Result of two steps: the row after them, and outputs of that model on some samples."""

    row: Tensor
    outputs: Tensor


class Comparison:
    """One model in one run's minibatches.

    Parameters
    ----------
    architecture : Architecture
        It must have `fresh`.
    shards : Shards
    streams : Streams
    optimizer : Optimizer
        Its momentum, weight decay and clipping hold.
    """

    def __init__(
        self,
        architecture: Architecture,
        shards: Shards,
        streams: Streams,
        optimizer: Optimizer,
    ) -> None:
        self._weakly, self._shards, self._streams = weak(architecture), shards, streams
        self._optimizer = as_sgd(optimizer)
        self._known: dict[int, Outcome] = {}
        self._changing: list[str] = []  # attributes that every training changes
        self._verdicts: dict[Hashable, str | None] = {}
        sizes = {s: shards.train_size(s) for s in range(len(shards.rows))}
        least = 2 if architecture.normalises_batches else 1
        enough = [s for s, n in sizes.items() if min(n, shards.batch_size) >= least]
        self._shards_taken = sorted(enough, key=lambda s: -sizes[s])[:TRIES]
        self.start = self._fresh_architecture().row()

    @property
    def _architecture(self) -> Architecture:
        """Its model, which it does not keep: it is kept with it, in `_COMPARED`."""
        architecture = self._weakly()
        assert architecture is not None
        return architecture

    def require_plain(self) -> None:
        """Refuse a model that the sequential backend trains otherwise than plain PyTorch does.

        Raises
        ------
        ScenarioError
        """
        where = f"[model] {self._architecture.name}"
        backend = Sequential(self._shards, self._streams)
        difference = self._describe_difference(backend, is_thorough=True)
        if difference is not None:
            raise ScenarioError(
                f"{where}: trains otherwise here than in a PyTorch loop: {difference}. A run keeps "
                "parameters and buffers of each node, and has one module for all: put what a pass "
                "changes into register_buffer, and give a parameter to one layer as itself"
            )
        if self._changing:
            raise ScenarioError(
                f"{where}: a forward pass changes {self._changing[0]}, and a run has one module "
                "for all nodes; put it into register_buffer"
            )

    def describe_difference(self, backend: Runs, key: Hashable) -> str | None:
        """Describe how a backend differs from plain PyTorch; None if it does not.

        Parameters
        ----------
        backend : Backend
        key : hashable
            Names it: what was found once is not computed again.
        """
        if key not in self._verdicts:
            before = backend.divergences.diverged_entries()
            self._verdicts[key] = self._describe_difference(backend)
            backend.divergences.restore(before)
        return self._verdicts[key]

    def _describe_difference(self, backend: Runs, is_thorough: bool = False) -> str | None:
        with _without_cudnn():
            return self._compare_attempts(backend, is_thorough)

    def _compare_attempts(self, backend: Runs, is_thorough: bool) -> str | None:
        difference = None
        for attempt in range(TRIES if self._shards_taken else 0):
            plain = self._plain_outcome(attempt)
            try:
                first = self._backend_outcome(backend, attempt)
                difference = describe_difference(self._architecture, first, plain, self.start)
                if difference is not None:
                    # A module in float64 may lose what is odd, such as memory that two share.
                    only = self._only_amplifies if is_thorough else self._only_rounds
                    difference = None if only(backend, first, plain, attempt) else difference
                if is_thorough and difference is None:  # nodes must not disturb each other
                    module = self._architecture.module
                    before = hidden_state(module)
                    reals = {name: t.clone() for name, t in hidden_reals(module).items()}
                    self._backend_outcome(backend, attempt + 1)
                    again = self._backend_outcome(backend, attempt)
                    after = hidden_state(module)
                    self._changing = changed_names(before, after)
                    self._changing += read_reals(
                        module, reals, partial(self._backend_outcome, backend, attempt)
                    )
                    difference = describe_difference(self._architecture, again, first, self.start)
            except JobFailedError as failure:
                error = failure.__cause__
                if isinstance(error, torch.OutOfMemoryError | MemoryError):
                    return None  # the run will say so, of all nodes
                difference = (
                    f"it fails: {type(error).__name__}: {one_line(str(error).splitlines()[0])}"
                )
            if difference is None:
                return None
        return difference

    def _fresh_architecture(self, dtype: torch.dtype | None = None) -> Architecture:
        """A module that nothing has touched, and its layout; in other numbers than the model's."""
        a = self._architecture
        assert a.fresh is not None
        return Architecture("", a.fresh(), a.device, dtype or a.dtype, a.num_outputs, a.traits)

    def _only_rounds(self, backend: Runs, ours: Outcome, plain: Outcome, attempt: int) -> bool:
        """Return whether a backend whose float32 differs agrees but for rounding."""
        a = self._architecture
        real = _num_real(a)
        if a.dtype != torch.float32 or not torch.equal(ours.row[real:], plain.row[real:]):
            return False
        try:
            exact, start = self._train_in_plain_loop(attempt, torch.float64), self.start
            farthest = float((plain.row - start)[:real].abs().max())
            columns = [slice(s.start, s.stop) for s in a.slices]
            parts = [
                tuple(row[c] for row in (ours.row, plain.row, exact.row, start)) for c in columns
            ]
            none = torch.zeros_like(plain.outputs)
            parts.append((ours.outputs, plain.outputs, exact.outputs, none))
            if not all(
                beyond_rounding(mine, theirs, before, farthest) is None
                or rounds_like(mine, theirs, right, before)
                for mine, theirs, right, before in parts
            ):
                return False
            double, batches = a.in_double(), self._batches(attempt)
            shards = self._shards.in_double(list(batches.keys()), self._samples(attempt).tolist())
            twin = backend.in_double(a, double, shards)
            found = self._backend_outcome(twin, attempt, double, shards)
        except Exception as error:  # whatever a model may raise in other numbers than its own
            if is_out_of_memory(error):
                raise
            return False
        return describe_difference(double, found, exact, start.double()) is None

    def _only_amplifies(self, backend: Runs, ours: Outcome, plain: Outcome, attempt: int) -> bool:
        """Return whether the loop itself differs as much from starts with other last bits.

        Where it then differs by more than float32 can tell a mistake from, float64 decides.
        """
        a = self._architecture
        real = _num_real(a)
        if not torch.equal(ours.row[real:], plain.row[real:]):
            return False
        others = [self._train_in_plain_loop(attempt, nudged=n) for n in range(1, NUDGES + 1)]
        if not all(torch.equal(o.row[real:], plain.row[real:]) for o in others):
            return False
        farthest = float((plain.row - self.start)[:real].abs().max())
        rows, outputs = zip(*(ours, plain, *others), strict=True)
        cuts = [slice(s.start, s.stop) for s in a.slices]
        parts = [([row[cut] for row in rows], self.start[cut]) for cut in cuts]
        parts.append((list(outputs), torch.zeros_like(plain.outputs)))
        found = [amplifies_rounding(of[0], of[1], of[2:], start, farthest) for of, start in parts]
        if None in found:
            return False
        return all(found) or self._only_rounds(backend, ours, plain, attempt)

    # -- the two sides ---------------------------------------------------------------------------

    def _batches(self, attempt: int) -> Batches:
        which = self._shards_taken[attempt % len(self._shards_taken)]
        return Batches(which, STREAM, STEPS * attempt, STEPS)

    def _samples(self, attempt: int, shards: Shards | None = None) -> Rows:
        shards = shards or self._shards
        return shards.split_rows(self._batches(attempt).shard, "train")[:LOOKED_AT]

    def _backend_outcome(
        self,
        backend: Runs,
        attempt: int,
        architecture: Architecture | None = None,
        shards: Shards | None = None,
    ) -> Outcome:
        """Outcome of two steps by a backend; `architecture`, `shards`: in another precision."""
        a, batches = architecture or self._architecture, self._batches(attempt)
        start = Cell(_NOBODY, (a.num_values,), a, self.start.to(a.dtype, copy=True))
        end = Cell(_NOBODY, (a.num_values,), a)
        size = optimizers.state_size(self._optimizer.kind, a.num_trained())
        state = Cell(_NOBODY, (size,))
        work = Train(batches, self._optimizer, None, (), 0, (), None, False, SAMPLE_RATE)
        node = batches.shard
        job = Job(
            work,
            node,
            0,
            (Ref(node, start),),
            (weak(end), weak(state)),
            (end.shape, state.shape),
        )
        backend.execute([job])
        trained = Ref(node, end)
        (outputs,) = backend.predictions([(trained, self._samples(attempt, shards))])
        return Outcome(trained.tensor().clone(), outputs)

    def _plain_outcome(self, attempt: int) -> Outcome:
        """Outcome of a plain loop in PyTorch."""
        if attempt not in self._known:
            try:
                self._known[attempt] = self._train_in_plain_loop(attempt)
            except ScenarioError:
                raise
            except StructureError as error:
                raise ScenarioError(f"[model] {self._architecture.name}: {error}") from error
            except Exception as error:  # whatever a pass may raise
                if is_out_of_memory(error):
                    raise
                said = one_line((str(error).splitlines() or [""])[0])
                raise ScenarioError(
                    f"[model] {self._architecture.name}: its first steps fail in a plain PyTorch "
                    f"loop, too, on the samples of node {self._batches(attempt).shard}: "
                    f"{type(error).__name__}: {said}"
                ) from error
        return self._known[attempt]

    def _train_in_plain_loop(
        self, attempt: int, dtype: torch.dtype | None = None, nudged: int = 0
    ) -> Outcome:
        """Two steps of a plain loop.

        With `dtype`, in other numbers than the model's; with `nudged`, from parameters whose last
        bits this number changes.
        """
        a, shards, batches = self._architecture, self._shards, self._batches(attempt)
        layout = self._fresh_architecture(dtype)
        model = layout.module
        if nudged:
            perturb_last_bits(model, nudged)
        model.train()
        keys = list(batches.keys())
        velocities: dict[nn.Parameter, Tensor] = {}
        for key, batch in zip(keys, shards.batches(keys), strict=True):
            for parameter in model.parameters():
                parameter.grad = None
            with seeded(a.device, mask_seed(self._streams, key)):
                loss = batch.loss(model(_cast_samples(batch.x, layout.dtype)))
            loss.backward()  # type: ignore[no-untyped-call]
            plain_step(self._optimizer, list(model.parameters()), velocities)
        row = layout.row()
        layout.collect_buffers(row)
        row = layout.row()
        model.eval()
        x = shards.x[torch.from_numpy(self._samples(attempt)).to(a.device)]
        with torch.no_grad(), seeded_inference(a):
            outputs: Tensor = model(_cast_samples(x, layout.dtype))
        return Outcome(row, outputs.flatten(1).cpu())


@contextmanager
def _without_cudnn() -> Iterator[None]:
    """Leave convolutions and normalisations on a GPU to PyTorch's own kernels."""
    before, torch.backends.cudnn.enabled = torch.backends.cudnn.enabled, False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


def _cast_samples(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert samples to a precision; numbers of words stay whole."""
    return x.to(dtype) if x.is_floating_point() else x


def plain_step(
    c: Optimizer, parameters: Sequence[nn.Parameter], velocities: dict[nn.Parameter, Tensor]
) -> None:
    """A step as `clip_grad_norm_` and `torch.optim.SGD` take it.

    Parameters without a gradient stay as they are.

    Parameters
    ----------
    c : Optimizer
    parameters : sequence of torch.nn.Parameter
    velocities : dict of torch.nn.Parameter to torch.Tensor
        Empty at first.
    """
    moving = [(p, p.grad.detach()) for p in parameters if p.grad is not None]
    factor = 1.0
    if c.clip_norm is not None and moving:
        norm = torch.linalg.vector_norm(torch.stack([g.norm() for _, g in moving]))
        factor = min(1.0, c.clip_norm / (float(norm) + optimizers.CLIP_EPSILON))
    for parameter, gradient in moving:
        moved = gradient * factor + c.weight_decay * parameter.detach()
        if c.momentum:
            moved = moved + c.momentum * velocities.get(parameter, torch.zeros_like(moved))
            velocities[parameter] = moved
        with torch.no_grad():
            parameter.sub_(SAMPLE_RATE * moved)


def _num_real(a: Architecture) -> int:
    """Columns of a row before its whole numbers."""
    return a.whole_columns[0][0] if a.whole_columns else a.num_values


def describe_difference(
    a: Architecture, ours: Outcome, plain: Outcome, start: Tensor
) -> str | None:
    """Describe how two outcomes differ by more than rounding; None if they do not.

    Parameters
    ----------
    a : Architecture
    ours, plain : Outcome
    start : torch.Tensor
        (D,) the model before training.
    """
    real = _num_real(a)
    if not torch.equal(ours.row[real:], plain.row[real:]):
        return f"the whole numbers of {a.traits.whole[0]} differ after {STEPS} steps"
    farthest = float((plain.row[:real] - start[:real]).abs().max().nan_to_num(0.0, 0.0, 0.0))
    for s in a.slices:
        columns = slice(s.start, s.stop)
        difference = beyond_rounding(
            ours.row[columns], plain.row[columns], start[columns], farthest
        )
        if difference is not None:
            return f"after {STEPS} steps {s.name} {difference}"
    if ours.outputs.shape != plain.outputs.shape:
        return f"its outputs have shape {tuple(ours.outputs.shape)}"
    difference = beyond_rounding(ours.outputs, plain.outputs, torch.zeros_like(plain.outputs))
    return (
        None if difference is None else f"its outputs {difference} of the model after {STEPS} steps"
    )


_NOBODY: Any = None
"""In place of a scheduler: no method of these Refs records a job."""

_COMPARED: WeakKeyDictionary[Architecture, dict[Hashable, Comparison]] = WeakKeyDictionary()


def compare(
    architecture: Architecture,
    shards: Shards,
    streams: Streams,
    optimizer: Optimizer,
    backend: Runs,
    routes: Routes,
) -> None:
    """Refuse a model that can't be played right, and take only ways that agree with PyTorch.

    Parameters
    ----------
    architecture : Architecture
        One without `fresh` is not compared.
    shards : Shards
    streams : Streams
    optimizer : Optimizer
    backend : Backend
        The run's own.
    routes : Routes
        Changed where a way differs.

    Raises
    ------
    ScenarioError
    """
    if architecture.fresh is None:
        return
    known = _COMPARED.setdefault(architecture, {})
    key = (shards.batch_size, shards.task.kind, *astuple(optimizer))  # type: ignore[attr-defined]
    if key not in known:
        comparison = Comparison(architecture, shards, streams, optimizer)
        comparison.require_plain()
        known[key] = comparison
    comparison = known[key]
    purposes: tuple[Purpose, ...] = ("train", "infer")
    while True:
        ways = {p: routes.backend_name(architecture, p) for p in purposes}
        if set(ways.values()) == {"sequential"}:
            return
        difference = comparison.describe_difference(backend, tuple(ways.values()))
        if difference is None:
            return
        routes.fall_back(architecture, difference)
