"""Passes of many models through their layers, in one call: outputs, losses, gradients.

Models are rows of 2-d tensors, one a row, of which a call names those that its jobs read and write.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.backends.native.calls import CallBuilder, Plans
from netsim.backends.native.data import Data, Numbers, Rows
from netsim.backends.native.library import Library, load_library
from netsim.backends.native.packing import Packing
from netsim.backends.native.records import Kind, Loss, Mode
from netsim.backends.native.trace import Entry, trace
from netsim.backends.native.workers import Workers

STEPS_A_JOB = 8
"""Parts of its samples that one core takes with a model where it is only looked at."""


class Passes:
    """The native form of one architecture, and what can be done without an optimiser.

    Parameters
    ----------
    module : torch.nn.Module
        Its layers; its own numbers are never used. Rows are laid out as by
        `netsim.learning.architecture.Architecture`.
    input_shape : tuple of int
        Of one sample.
    dtype : torch.dtype
        float32 or float64.
    entry : callable, optional
        What is run in place of the module's forward pass; see `trace`. With several results,
        outputs and their gradients hold them side by side.
    variant : str, optional
        An instruction set; without, the best one, or what NETSIM_NATIVE_VARIANT says.
    threads : int
        Cores that share a call. Bits do not depend on it.
    library, workers
        To share them, workspaces and threads, with other kernels.
    plain_rows : bool
        Whether weights keep their order in a packed row, since a program reads them, too.

    Raises
    ------
    UnsupportedError
        If the module holds something that the kernel does not know.
    LibraryMissingError
        If there is no compiled kernel.
    ValueError
        If this machine can't run the variant.
    """

    def __init__(
        self,
        module: nn.Module,
        input_shape: tuple[int, ...],
        dtype: torch.dtype,
        entry: Entry | None = None,
        variant: str | None = None,
        threads: int = 1,
        library: Library | None = None,
        workers: Workers | None = None,
        plain_rows: bool = False,
    ) -> None:
        library = library or load_library()
        self.variant = library.variant(variant)
        self.dtype = dtype
        self._workers = workers or Workers(library, threads)
        lanes = self.variant.vector_bytes // dtype.itemsize
        graphs = {t: trace(module, input_shape, t, entry) for t in (True, False)}
        self.graph = graphs[True]
        self._input_shape = input_shape
        self._plans = {
            (training, learns): Plans(graphs[training], lanes, learns, plain_rows)
            for training in (True, False)
            for learns in (True, False)
        }

    @property
    def num_values(self) -> int:
        """Length of a row: parameters and buffers."""
        return self.graph.num_values

    @property
    def training_plans(self) -> Plans:
        """Tables of the layers where models are trained."""
        return self._plans[True, True]

    @property
    def packing(self) -> Packing:
        """Layout of a row while it is trained."""
        return self.training_plans.packing

    @property
    def moves_images(self) -> bool:
        """Return whether images can be moved as they are read: every layer takes them as maps."""
        kinds = {layer.kind for layer in self.graph.layers if not layer.sources}
        return Kind.INPUT_MAP in kinds and Kind.INPUT_DENSE not in kinds

    @property
    def mask_shapes(self) -> tuple[tuple[tuple[int, ...], float], ...]:
        """Shape of a sample's mask and probability of each dropout, in the order of drawing."""
        return self.graph.masks

    def outputs(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        training: bool = False,
        masks: Tensor | None = None,
        after: Rows | None = None,
    ) -> Tensor:
        """Outputs of n models.

        Parameters
        ----------
        index : (n, B) or (1, B) int64
            Samples of each model, or of all of them.
        sizes : (n,) int64, optional
            How many of them each looks at; without, all.
        training : bool
            As in a step of training: one minibatch, its own statistics, masks; running statistics
            stay as they are.
        masks : torch.Tensor, optional
            (n, B x mask values), as in `Kernel.train`.
        after : Rows, optional
            Whose rows become the models with their running statistics after this pass.

        Returns
        -------
        torch.Tensor
            (n, B, L); zeros behind a smaller number of samples.
        """
        run, n = self._inference_call(data, models, index, sizes, training, False, masks)
        found = torch.zeros((n, index.shape[1], self.graph.export_width), dtype=self.dtype)
        if after is not None:
            run.set_models("out", after, self.num_values, "target")
            run.call.updates_buffers = 1
        run.set_tensor("exports", found, found.numel())
        run.call.mode, run.call.loss = Mode.LOOK, Loss.NONE
        run.execute(Loss.NONE)
        return found

    def outputs_each(self, data: Data, models: Rows, samples: Sequence[Numbers]) -> list[Tensor]:
        """Outputs in evaluation mode on n sets of samples, however many each has.

        Parameters
        ----------
        data : Data
        models : Rows
            n of them; those of one row go through all their samples together.
        samples : sequence of (n_i,) int64
            Row numbers; an array that several models have is not copied.

        Returns
        -------
        list of torch.Tensor
            (n_i, L) each.
        """
        n, plans = len(samples), self._plans[False, False]
        row = np.arange(n) if models.at is None else models.at
        sizes = np.array([len(rows) for rows in samples], dtype=np.int64)
        arrays = {id(rows): rows for rows in samples}
        begins = _range_starts(np.array([len(rows) for rows in arrays.values()], dtype=np.int64))
        begin = dict(zip(arrays, begins.tolist(), strict=True))
        starts = np.array([begin[id(rows)] for rows in samples], dtype=np.int64)
        most = max(plans.graph.samples_at_once(int(sizes.max(initial=0))), 1)
        counts = -(-sizes // most)
        at = np.repeat(np.arange(n), counts)  # the set of which each step takes a part
        done = (np.arange(len(at)) - np.repeat(_range_starts(counts), counts)) * most
        order = np.argsort(row[at], kind="stable")
        at, done = at[order], done[order]
        steps = np.unique(row[at], return_counts=True)[1]
        place = np.arange(len(at)) - np.repeat(_range_starts(steps), steps)
        is_first = place % STEPS_A_JOB == 0
        run = self._run(plans, data, int(is_first.sum()))
        run.set_models("rows", Rows(models.storage, row[at[is_first]]), self.num_values, "source")
        index = np.concatenate(list(arrays.values()) or [sizes])
        parts = np.minimum(sizes[at] - done, most)
        run.set_steps(np.bincount(np.cumsum(is_first) - 1), parts, starts[at] + done, index)
        run.set_integers("step_export", _range_starts(sizes)[at] + done)
        found = torch.empty((int(sizes.sum()), self.graph.export_width), dtype=self.dtype)
        run.set_tensor("exports", found, found.numel())
        run.call.mode = Mode.LOOK
        run.execute(Loss.NONE)
        return list(torch.split(found, sizes.tolist()))

    def losses(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
    ) -> NDArray[np.float64]:
        """Mean losses (n,) of n models in evaluation mode.

        Parameters
        ----------
        data, models, index, sizes
            As of `outputs`.
        loss : Loss
        """
        run, n = self._inference_call(data, models, index, sizes, False, False, None)
        found = np.zeros(n)
        run.set_reals("losses", found)
        run.call.mode = Mode.LOOK
        run.execute(loss)
        return found

    def gradients(
        self,
        data: Data,
        models: Rows,
        out: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
        training: bool = False,
        masks: Tensor | None = None,
        output_gradients: Tensor | None = None,
    ) -> None:
        """Write gradients of the mean loss over each model's samples; zero by its buffers.

        Parameters
        ----------
        data, models, index, sizes, training, masks
            As of `outputs`.
        out : Rows
            Whose rows become the gradients.
        loss : Loss
        output_gradients : torch.Tensor, optional
            (n, B, L), with `Loss.GIVEN_GRADIENT`: of any loss by the outputs.
        """
        run, n = self._inference_call(data, models, index, sizes, training, True, masks)
        run.set_models("out", out, self.num_values, "target")
        if output_gradients is not None:
            run.set_tensor("given", output_gradients, n * index.shape[1] * self.graph.export_width)
        run.call.mode = Mode.GRADIENT
        run.execute(loss)

    def _run(self, plans: Plans, data: Data, jobs: int) -> CallBuilder:
        return CallBuilder(
            plans, data, jobs, self._input_shape, self.dtype, self.variant, self._workers
        )

    def _inference_call(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None,
        training: bool,
        learns: bool,
        masks: Tensor | None,
    ) -> tuple[CallBuilder, int]:
        """A call whose jobs go through their samples, in parts where these are independent."""
        n = len(models.storage) if models.at is None else len(models.at)
        if index.ndim != 2 or len(index) not in (1, n):
            raise ValueError(f"index of shape {index.shape} for {n} models")
        size = index.shape[1]
        sizes = np.full(n, size, dtype=np.int64) if sizes is None else sizes
        if len(sizes) != n or (n and int(sizes.max()) > size):
            raise ValueError("as many sizes as models, none of them larger than the index")
        plans = self._plans[training, learns]
        run = self._run(plans, data, n)
        run.set_models("rows", models, self.num_values, "source")
        most = size if training else plans.graph.samples_at_once(size)
        counts = -(-sizes // max(most, 1))
        whole = np.repeat(np.arange(n), counts)
        position = np.arange(len(whole)) - np.repeat(np.cumsum(counts) - counts, counts)
        parts = np.minimum(sizes[whole] - position * most, most)
        of = whole if len(index) == n else np.zeros_like(whole)
        run.set_steps(counts, parts, of * size + position * most, index)
        run.set_integers("step_export", whole * size + position * most)
        if plans.graph.masks:
            if masks is None:
                raise ValueError("dropout needs masks")
            per = plans.graph.mask_values * size
            run.set_tensor("masks", masks, n * per)
            run.set_integers("step_masks", whole * per)
        return run, n


def _range_starts(lengths: Numbers) -> Numbers:
    """Return the begins of ranges of these lengths, one after another."""
    begins: Numbers = np.cumsum(lengths) - lengths
    return begins
