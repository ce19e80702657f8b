"""A small Transformer over tokens: a decoder that predicts, at each position, what comes next.

Source: Vaswani et al., "Attention is all you need", NeurIPS 2017; layer normalisation before
attention and feed-forward layers as in Radford et al., "Language models are unsupervised multitask
learners", 2019 (GPT-2), whose learned positions and GELU it has, too. Low-rank adapters of queries
and values: Hu et al., "LoRA: low-rank adaptation of large language models", ICLR 2022, W x +
(alpha / r) B A x with B = 0 at first and alpha = r.
Departures: no dropout; the head's weights are its own, not those of the tokens.
"""

import math
from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network, require_below
from netsim.registry import Count, Index


class Transformer(ModelKind):
    """Tokens and positions, `layers` blocks of causal attention, Linear at each position.

    With `rank` > 0 its part `features.adapters` holds the low-rank adapters of all blocks, which a
    method can train and send while the rest stays as it is.

    Parameters
    ----------
    vocabulary : int, optional
        Number of tokens. Absent: as many as outputs.
    width : int
        Number of entries that stand for a token; a multiple of `heads`.
    heads : int
        Number of heads of each attention.
    layers : int
        Blocks of attention and feed-forward layers.
    rank : int
        Rank of the low-rank adapters; 0: there are none. Source: Hu et al., LoRA, ICLR 2022.
    """

    kind: Literal["transformer"] = "transformer"
    vocabulary: Count | None = None
    width: Count = 32
    heads: Count = 2
    layers: Count = 1
    rank: Index = 0

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        if len(input_shape) != 1:
            raise ScenarioError(
                f'[model] kind = "transformer": needs sequences of tokens, the data has inputs of '
                f"shape {input_shape}"
            )
        if self.width % self.heads:
            raise ScenarioError(
                f"[model] width = {self.width}: must be a multiple of heads = {self.heads}"
            )
        features = Decoder(self, input_shape[0], self.vocabulary or num_classes)
        return Network(features, nn.Linear(self.width, num_classes))

    def require_inputs(self, x: NDArray[Any], num_outputs: int) -> None:
        """Refuse tokens that have no vector; see the base class."""
        require_below(x, self.vocabulary or num_outputs, self.kind, "vocabulary", "tokens")


class Decoder(nn.Module):
    """(B, T) token numbers to (B, T, width), each position from those up to it."""

    def __init__(self, table: Transformer, length: int, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, table.width)
        self.positions = nn.Embedding(length, table.width)
        with torch.no_grad():
            for part in (self.tokens, self.positions):
                part.weight.mul_(0.02)
        self.blocks = nn.ModuleList(Block(table.width, table.heads) for _ in range(table.layers))
        self.norm = nn.LayerNorm(table.width)
        self.adapters = nn.ModuleList(
            Adapters(table.width, table.rank) for _ in range(table.layers if table.rank else 0)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of sequences (B, T)."""
        places = torch.arange(x.shape[1], device=x.device).expand(x.shape[0], -1)
        y = self.tokens(x) + self.positions(places)
        adapters = self.adapters or [None] * len(self.blocks)
        for block, adapter in zip(self.blocks, adapters, strict=True):
            y = block(y, adapter)
        found: Tensor = self.norm(y)
        return found


class Block(nn.Module):
    """Attention to oneself and what came before, then two layers at each position."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layers = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.joined = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.activation = nn.GELU(approximate="tanh")

    def forward(self, x: Tensor, adapters: "Adapters | None") -> Tensor:
        """(B, T, width) to the same."""
        y = self.before_attention(x)
        query, value = self.query(y), self.value(y)
        if adapters is not None:
            query, value = query + adapters.of_query(y), value + adapters.of_value(y)
        q, k, v = (self._by_head(part) for part in (query, self.key(y), value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        x = x + self.joined((weights @ v).transpose(1, 2).flatten(2))
        found: Tensor = x + self.narrow(self.activation(self.wide(self.before_layers(x))))
        return found

    def _by_head(self, x: Tensor) -> Tensor:
        """(B, T, width) to (B, heads, T, width / heads)."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class Adapters(nn.Module):
    """B A for the queries and the values of one block."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.of_query, self.of_value = _adapter(width, rank), _adapter(width, rank)


def _adapter(width: int, rank: int) -> nn.Module:
    """B A with B = 0: at first it adds nothing."""
    a, b = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
    nn.init.zeros_(b.weight)
    return nn.Sequential(a, b)
