"""A CNN over words: pFedGraph's network for Yahoo! Answers, 310,510 + 256 V parameters for V words.

Source: Kim, "Convolutional neural networks for sentence classification", EMNLP 2014, with the
numbers of the code of Ye et al., ICML 2023 (github MediaBrain-SJTU/pFedGraph): words of 256
numbers, 100 filters each over 3, 4 and 5 words, the largest value of each filter, a linear layer.
Departures: words start as torch.nn.Embedding has them, scaled to the deviation of the code's
U(-0.1, 0.1).
"""

from typing import Annotated, Any, Literal

import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network, require_below
from netsim.registry import Count

_DEVIATION = 0.1 / 3**0.5


class TextCnn(ModelKind):
    """Embedding, three convolutions side by side, the maximum over time, Linear.

    Parameters
    ----------
    vocabulary : int
        Number of words; inputs are numbers of words, and other numbers are refused.
    width : int
        Number of entries that stand for a word.
    filters : int
        Number of filters of each kernel.
    kernels : tuple of int
        Number of words that each kernel sees.
    """

    kind: Literal["text_cnn"] = "text_cnn"
    vocabulary: Count = 20_000
    width: Count = 256
    filters: Count = 100
    kernels: Annotated[tuple[Count, ...], Field(min_length=1)] = (3, 4, 5)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        length = torch.Size(input_shape).numel()
        if length < max(self.kernels):
            raise ScenarioError(
                f'[model] kind = "text_cnn": needs texts of at least {max(self.kernels)} words, '
                f"the data has {length}"
            )
        features = WordFilters(self, length)
        return Network(features, nn.Linear(self.filters * len(self.kernels), num_classes))

    def require_inputs(self, x: NDArray[Any], num_outputs: int) -> None:
        """Refuse words that have no vector; see the base class."""
        require_below(x, self.vocabulary, self.kind, "vocabulary", "words")


class WordFilters(nn.Module):
    """(B, L) word numbers to (B, filters x kernels)."""

    def __init__(self, table: TextCnn, length: int) -> None:
        super().__init__()
        self.vocabulary = table.vocabulary
        self.words = nn.Embedding(table.vocabulary, table.width)
        with torch.no_grad():
            self.words.weight.mul_(_DEVIATION)
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(1, table.filters, (kernel, table.width)),
                nn.ReLU(),
                nn.MaxPool2d((length - kernel + 1, 1)),
                nn.Flatten(),
            )
            for kernel in table.kernels
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of texts (B, ...) of word numbers."""
        numbers = x.flatten(1).long().clamp(0, self.vocabulary - 1)
        words = self.words(numbers).unsqueeze(1)
        return torch.cat([branch(words) for branch in self.branches], dim=1)
