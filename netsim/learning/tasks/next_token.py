"""Next-token prediction: the token that follows each position of a sequence."""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Examples, Task, _positions
from netsim.registry import Index


class NextToken(Task):
    """Logits (n, T, V) for the token after each of T; `perplexity` and `token_accuracy`.

    The samples' inputs are sequences of T + 1 token numbers: a model sees all but the last and
    learns all but the first. Their classes, if they have any, are left to the partition.

    Parameters
    ----------
    ignore : int, optional
        A token that does not count as a target, such as the padding of short texts. Absent: all
        tokens count.
    """

    kind: Literal["next_token"] = "next_token"
    ignore: Index | None = None

    main: ClassVar[str] = "perplexity"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity"})

    def examples(self, samples: Samples) -> Examples:
        """Sequences but for their ends; see the base class."""
        tokens = samples.x
        whole = tokens.astype(np.int64)
        if (
            tokens.ndim != 2
            or tokens.shape[1] < 2
            or not (whole == tokens).all()
            or whole.min() < 0
        ):
            raise ScenarioError(
                f'[task] kind = "next_token": needs sequences of token numbers, the data set '
                f'"{samples.name}" has inputs of shape {samples.input_shape} that are none; '
                'take [data] kind = "text"'
            )
        known = samples.input_limit or int(whole.max()) + 1
        y = _positions.mask_ignored_labels(whole[:, 1:], self.ignore)
        return Examples(np.ascontiguousarray(whole[:, :-1]), y, known, (y.shape[1], known))

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of each sequence, the mean of its positions."""
        return _positions.losses(*_positions.by_position(outputs, targets))

    def gradient(self, outputs: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """See the base class.

        Parameters
        ----------
        outputs, targets, weight
            (n, T, V), (n, T) and (n, 1).
        """
        found = _positions.gradient(*_positions.by_position(outputs, targets), weight)
        return found.reshape(outputs.shape)

    def are_finite(self, outputs: Tensor, targets: Tensor) -> bool:
        """True if the greatest score of each position that counts is finite."""
        return _positions.are_finite(*_positions.by_position(outputs, targets))

    def counted(self, targets: Tensor) -> Tensor:
        """Mask (n,) of the samples that have a position that counts."""
        return _positions.counted_samples(targets)

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Perplexity, exp of the mean cross-entropy of a token; share of tokens that are right."""
        scores, labels, counts = _positions.by_position(outputs, targets)
        mean = _positions.mean_cross_entropy(scores, labels, counts)
        right = (scores.argmax(-1) == labels)[counts]
        return {
            "perplexity": math.exp(mean) if mean < 700 else math.inf,
            "token_accuracy": float(right.double().mean()),
        }
