"""Resources that the native kernels of job types share during a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from netsim.backends.native.cross_entropy import is_cross_entropy
from netsim.backends.native.feature_training import FeatureTraining
from netsim.backends.native.features import Features, parts_of
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.inference import NativeInference
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.library import Library, Variant
from netsim.backends.native.own_loss import OwnLoss
from netsim.backends.native.portions import Portions
from netsim.backends.native.samples import ChangedSamples
from netsim.backends.native.training import NativeTraining
from netsim.backends.native.workers import Workers
from netsim.backends.parameter_store import ParameterStore
from netsim.backends.sequential import Sequential
from netsim.backends.stacked.resources import Resources
from netsim.errors import one_line
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.functions import freeze_arguments, uniforms_of
from netsim.learning.jobs import Job
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards


class NativeResources:
    """One kernel, one training and one inference for each architecture.

    Parameters
    ----------
    stacked : Resources
        Of the backend that runs what this one does not: samples, store, divergences.
    library : Library
    variants : dict of int to str
        The instruction set of each architecture that runs here, by its `id`.
    threads : int
        Cores that share a call.
    plain : Sequential
        Runs jobs one after another.

    Attributes
    ----------
    workers : Workers
        Threads that share a call.
    """

    def __init__(
        self,
        stacked: Resources,
        library: Library,
        variants: dict[int, str],
        threads: int,
        plain: Sequential,
    ) -> None:
        self.plain = plain
        self.shards: Shards = stacked.shards
        self.routes, self._stacked = stacked.routes, stacked
        self._library, self._variants = library, variants
        self.workers = Workers(library, threads)
        self._kernels: dict[Architecture, Kernel] = {}

    @property
    def store(self) -> ParameterStore:
        """Store of the models."""
        return self._stacked.store

    @property
    def divergences(self) -> Divergences:
        """To be told of every training."""
        return self._stacked.divergences

    def supports_inference(self, ref: Ref) -> bool:
        """Return whether the kernel supports the architecture of a model."""
        return id(ref.architecture) in self._variants

    def variant(self, ref: Ref) -> Variant:
        """Instruction set on which models of this architecture run."""
        return self._library.variant(self._variants[id(ref.architecture)])

    def inference(self, ref: Ref) -> NativeInference:
        """Passes in evaluation mode over models of one architecture."""
        kernel = self._kernel(ref)
        return self._stacked.made_once(
            (NativeInference, id(kernel)),
            lambda: NativeInference(kernel, self.shards, self.store),
        )

    def training(self, ref: Ref, changed: ChangedSamples | None = None) -> NativeTraining:
        """Training by the default loss, of samples as they are or as a loss changes them."""
        kernel, streams = self._kernel(ref), self._stacked.streams
        architecture = ref.architecture
        assert architecture is not None

        def make() -> NativeTraining:
            shapes = kernel.mask_shapes
            portions = Portions(
                self.shards, streams, shapes, kernel.dtype, changed, kernel.moves_images
            )
            return NativeTraining(
                architecture, kernel, self.shards, self.store, self.divergences, portions
            )

        if changed is not None:
            return make()
        return self._stacked.made_once((NativeTraining, id(kernel)), make)

    def cross_entropy_training(self, job: Job[Any]) -> NativeTraining | None:
        """Training by a cross-entropy of samples that the loss may change; None: another loss."""
        work, ref = job.work, job.inputs[0]
        architecture, shards = ref.architecture, self.shards
        assert architecture is not None
        shapes = tuple(ref.shape for ref in job.inputs)
        key = (
            is_cross_entropy,
            id(architecture),
            work.loss,
            freeze_arguments(work.given),
            work.learn,
            shapes,
        )

        def make() -> NativeTraining | None:
            (example,) = shards.batches([next(work.batches.keys())], uniforms_of(work.loss))
            given = [ref.tensor() for ref in job.inputs[1 : 1 + work.num_given]]
            found = is_cross_entropy(architecture, work, example, given)
            if found is None:
                return None
            function, changes = found
            if not changes:
                return self.training(ref)
            scale, task, dtype = shards.scale, shards.task, architecture.dtype
            variant = self.variant(ref)
            changed = ChangedSamples(function, work, {}, scale, task, dtype, variant)
            return self.training(ref, changed)

        try:
            return self._stacked.made_once(key, make)
        except TypeError:  # it is given what can't be compared
            return make()

    def own_loss_training(self, job: Job[Any]) -> NativeTraining | str:
        """Training of models of one architecture by a loss of a method's own.

        Or the reason for which the kernel can't do what the loss does. It is kept, and an error
        that is kept would hold the models of everybody who raises it.
        """
        work, architecture = job.work, job.inputs[0].architecture
        assert architecture is not None
        shapes = tuple(ref.shape for ref in job.inputs)
        key = OwnLoss, id(architecture), work.loss, freeze_arguments(work.given), work.learn, shapes

        def make() -> NativeTraining | str:
            count = work.num_given
            try:
                loss = OwnLoss(
                    architecture,
                    self.shards,
                    work,
                    [ref.tensor() for ref in job.inputs[1 : 1 + count]],
                    shapes[1 + count : 1 + count + len(work.learn)],
                    self._variants[id(architecture)],
                    self._library,
                    self.workers,
                )
            except UnsupportedError as error:
                return str(error)
            except Exception as error:  # whatever a loss may raise; where it trains, that is told
                said = one_line((str(error).splitlines() or [""])[0])
                return f"a loss that can't be followed ({type(error).__name__}: {said})"
            masks = loss.kernel.mask_shapes
            portions = Portions(
                self.shards,
                self._stacked.streams,
                masks,
                architecture.dtype,
                loss.samples,
                loss.moves_images,
            )
            return NativeTraining(
                architecture,
                loss.kernel,
                self.shards,
                self.store,
                self.divergences,
                portions,
                loss,
            )

        try:
            return self._stacked.made_once(key, make)
        except TypeError:
            return "a loss that is given what can't be compared"

    def feature_training(self, ref: Ref) -> FeatureTraining:
        """Training of models of one architecture by any loss.

        Raises
        ------
        UnsupportedError
            If the kernel does not know what the losses call.
        """
        architecture = ref.architecture
        assert architecture is not None

        def make() -> FeatureTraining:
            found = []
            for part in parts_of(architecture.module):
                try:
                    found.append(Features(part, self._make_kernel(architecture, part)))
                except UnsupportedError:
                    if not found:  # a part of the features is taken if it can be
                        raise
            if not found:
                raise UnsupportedError("a loss that calls more than the features of a model")
            return FeatureTraining(
                architecture,
                self.shards,
                self.store,
                self.divergences,
                self._stacked.streams,
                found,
            )

        return self._stacked.made_once((FeatureTraining, id(architecture)), make)

    def lanes(self, ref: Ref) -> int:
        """Most nodes that train in one call where PyTorch differentiates their loss."""
        architecture = ref.architecture
        assert architecture is not None
        return self.routes.lanes(architecture, 0)

    def fill(self, jobs: Sequence[Job[Any]], results: Sequence[Sequence[Tensor]]) -> None:
        """Fill the cells that still exist."""
        self._stacked.fill(jobs, results)

    def _kernel(self, ref: Ref) -> Kernel:
        architecture = ref.architecture
        assert architecture is not None
        if architecture not in self._kernels:
            self._kernels[architecture] = self._make_kernel(architecture, architecture.module)
        return self._kernels[architecture]

    def _make_kernel(self, architecture: Architecture, module: nn.Module) -> Kernel:
        return Kernel(
            module,
            tuple(self.shards.x.shape[1:]),
            architecture.dtype,
            variant=self._variants[id(architecture)],
            library=self._library,
            workers=self.workers,
        )
