"""Arguments of a call of the kernel: samples, minibatches, rows of models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """The samples of all nodes.

    Attributes
    ----------
    x : torch.Tensor
        (n, ...) contiguous, of the kernel's scalar type; int64 for an embedding.
    y : torch.Tensor or None
        (n,) int64 labels, or (n, L) targets of the mean squared error.
    """

    x: Tensor
    y: Tensor | None = None


@dataclass(frozen=True)
class Moves:
    """Images of minibatches, moved and mirrored as they are read; see `crop_flip`.

    Attributes
    ----------
    draws : torch.Tensor
        (n, S, B, 3) in [0, 1).
    black : torch.Tensor
        (channels,) what lies around an image.
    pad : int
        Most pixels by which it is moved.
    """

    draws: Tensor
    black: Tensor
    pad: int


@dataclass(frozen=True)
class Steps:
    """Minibatches of n jobs.

    Attributes
    ----------
    index : (n, S, B) int64
        Row numbers of samples; those behind the end of a smaller minibatch are not read.
    sizes : (n, S) int64
        Samples of each minibatch.
    counts : (n,) int64
        Steps that each job takes, at most S.
    """

    index: Numbers
    sizes: Numbers
    counts: Numbers


@dataclass(frozen=True)
class Rows:
    """Rows of a tensor.

    Attributes
    ----------
    storage : torch.Tensor
        (m, length or more), rows contiguous.
    at : (n,) int64, optional
        Which row belongs to each job; without, they are in order.
    """

    storage: Tensor
    at: Numbers | None = None


@dataclass(frozen=True)
class Sums:
    """Weighted sums of rows of a tensor, one a job, for a call to begin with.

    Attributes
    ----------
    storage : torch.Tensor
        (m, length or more), rows contiguous.
    at : (k,) int64
        The rows of all sums, one sum after another.
    weights : torch.Tensor
        (k,) of the same type; a weight of 0 keeps a row out.
    first : (n + 1,) int64
        Where each sum begins in `at`.
    """

    storage: Tensor
    at: Numbers
    weights: Tensor
    first: Numbers
