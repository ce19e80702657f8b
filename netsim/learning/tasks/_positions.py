"""Cross-entropy of many positions of a sample: what next-token prediction and labelling share."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEFT_OUT = -100
"""The label of a position that does not count, as in PyTorch."""


def mask_ignored_labels(y: NDArray[Any], ignored: int | None) -> NDArray[np.int64]:
    """Replace ignored labels by `LEFT_OUT`."""
    labels = y.astype(np.int64)
    return labels if ignored is None else np.where(labels == ignored, LEFT_OUT, labels)


def by_position(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores (n, P, C), labels (n, P) that index them, and which of these count (n, P).

    Parameters
    ----------
    outputs : torch.Tensor
        (n, *positions, C), or all of a sample in one row.
    targets : torch.Tensor
        (n, *positions) int64
    """
    labels = targets.flatten(1)
    counts = labels != LEFT_OUT
    return outputs.reshape(*labels.shape, -1), labels.clamp(min=0), counts


def counted_samples(targets: Tensor) -> Tensor:
    """Mask (n,) of the samples that have a position that counts.

    Parameters
    ----------
    targets : torch.Tensor
        (n, *positions) int64
    """
    return (targets.flatten(1) != LEFT_OUT).any(1)


def are_finite(scores: Tensor, labels: Tensor, counts: Tensor) -> bool:
    """True if the greatest score of each position that counts is finite.

    Parameters
    ----------
    scores, labels, counts : torch.Tensor
        As `by_position` gives them.
    """
    return bool(scores.amax(-1)[counts].isfinite().all())


def losses(scores: Tensor, labels: Tensor, counts: Tensor) -> Tensor:
    """Cross-entropy of each sample, (n,): the mean of its positions that count.

    Parameters
    ----------
    scores, labels, counts : torch.Tensor
        As `by_position` gives them.
    """
    found = torch.log_softmax(scores, dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return -torch.where(counts, found, 0.0).sum(1) / counts.sum(1).clamp(min=1)


def gradient(scores: Tensor, labels: Tensor, counts: Tensor, weight: Tensor) -> Tensor:
    """Gradient of the weighted sum of `losses` by the scores, (n, P, C).

    Parameters
    ----------
    scores, labels, counts : torch.Tensor
        As `by_position` gives them.
    weight : torch.Tensor
        (n, 1) of each sample.
    """
    found = torch.softmax(scores, dim=-1)
    ones = found.new_full((1, 1, 1), -1.0).expand(*labels.shape, 1)
    found.scatter_add_(-1, labels.unsqueeze(-1), ones)
    share = counts * (weight / counts.sum(1, keepdim=True).clamp(min=1))
    return found.mul_(share.unsqueeze(-1))


def mean_cross_entropy(scores: Tensor, labels: Tensor, counts: Tensor) -> float:
    """Mean over all positions that count, of all samples; nan without any.

    Parameters
    ----------
    scores, labels, counts : torch.Tensor
        As `by_position` gives them.
    """
    found = torch.log_softmax(scores[counts].double(), dim=-1)
    return float(-found.gather(-1, labels[counts].unsqueeze(-1)).mean())
