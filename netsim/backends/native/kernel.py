"""Interface of the kernel: train, evaluate and differentiate many models at once.

Models, anchors and optimiser states are rows of 2-d tensors, one a row, of which a call names those
that its jobs read and write. Minibatches are tables of row numbers of one data set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.native.data import Data, Moves, Rows, Steps, Sums
from netsim.backends.native.loss_call import LossCall
from netsim.backends.native.passes import Passes
from netsim.backends.native.records import Loss, Mode
from netsim.learning.jobs import Optimizer


class Kernel(Passes):
    """The native form of one architecture; see `Passes` for its parameters."""

    def train(
        self,
        data: Data,
        models: Rows | Sums,
        out: Rows,
        steps: Steps,
        optimizer: Optimizer,
        learning_rate: NDArray[np.float64],
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
        states: Rows | None = None,
        states_out: Rows | None = None,
        anchors: Rows | None = None,
        anchor_strength: float = 0.0,
        masks: Tensor | None = None,
        moves: Moves | None = None,
        output_gradients: Tensor | None = None,
        own_loss: LossCall | None = None,
    ) -> NDArray[np.float64]:
        """Train n models, each by its own minibatches.

        Parameters
        ----------
        data : Data
        models : Rows or Sums
            Where jobs begin.
        out : Rows
            Where they write what they learned; rows that no other job begins with.
        steps : Steps
        optimizer : Optimizer
            Its learning rate is not used.
        learning_rate : (n,) float64
        loss : Loss
            `GIVEN_GRADIENT` needs `output_gradients`.
        states, states_out : Rows, optional
            Of the optimiser, `netsim.learning.optimizers.state_size` entries; without, jobs start
            afresh, and nobody wants them after.
        anchors : Rows, optional
            Parameters towards which models are drawn.
        anchor_strength : float
        masks : torch.Tensor, optional
            (n, S, B x mask values), needed with dropout: of each step the masks of the first
            dropout (size, *shape), then those of the second, without gaps; 0 or 1 / (1 - p).
        moves : Moves, optional
            How images are moved before the model sees them; for `moves_images`.
        output_gradients : torch.Tensor, optional
            (n, S, B, L) of the loss by the outputs.
        own_loss : LossCall, optional
            Programs by which the gradients come; `loss` is then `GIVEN_GRADIENT`.

        Returns
        -------
        (n,) float64
            Sums of the parameters: not finite if one of them is not.

        Raises
        ------
        IndexError
            If the number of a sample is not one of the data set's.
        ValueError
            If a label is not a class, or shapes do not fit.
        """
        n, most, size = steps.index.shape
        plans = self._plans[True, True]
        run = self._run(plans, data, n)
        run.set_starts(models, self.num_values)
        run.set_models("out", out, self.num_values, "target")
        length = self.graph.num_parameters
        state_length = length if optimizer.kind == "sgd" else 1 + 2 * length
        run.set_models("states", states, state_length, "state")
        run.set_models("states_out", states_out, state_length, "state_target")
        run.set_models("anchors", anchors, length, "anchor")
        counts = np.minimum(steps.counts, most)
        taken = np.arange(most) < counts[:, None]
        starts = np.arange(n * most, dtype=np.int64).reshape(n, most) * size
        run.set_steps(counts, steps.sizes[taken], starts[taken], steps.index)
        if self.graph.masks:
            if masks is None:
                raise ValueError("dropout needs masks")
            per = self.graph.mask_values * size
            run.set_tensor("masks", masks, n * most * per)
            run.set_integers("step_masks", (np.arange(n * most).reshape(n, most) * per)[taken])
        if moves is not None:
            run.set_tensor("draws", moves.draws, n * most * size * 3)
            run.set_tensor("black", moves.black, data.x.shape[1])
            run.call.pad = moves.pad
        if output_gradients is not None:
            run.set_tensor("given", output_gradients, n * most * size * self.graph.export_width)
            run.set_integers("step_export", starts[taken])
        if own_loss is not None:
            run.set_programs(own_loss)
        run.set_reals("learning_rate", learning_rate)
        c = run.call
        c.mode, c.loss, c.updates_buffers = Mode.TRAIN, loss, 1
        c.optimizer = ("sgd", "adam").index(optimizer.kind)
        c.momentum, c.weight_decay = optimizer.momentum, optimizer.weight_decay
        c.beta1, c.beta2 = optimizer.beta1, optimizer.beta2
        c.clip_norm, c.anchor_strength = optimizer.clip_norm or 0.0, anchor_strength
        sums = np.zeros(n)
        run.set_reals("sums", sums)
        run.execute(loss)
        return sums
