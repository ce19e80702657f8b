"""Matrix factorization as a classifier of ratings: one vector a user, one an item.

Source: after pFL-Bench's model for MovieLens (Chen, Gao, Kuang, Li and Ding, NeurIPS 2022 Datasets
and Benchmarks), which pFedGraph's Table 12 follows without giving its form; He et al., "Neural
collaborative filtering", WWW 2017, for the layer behind the products (their GMF).
Departure: ratings are classes, so that every method trains it as it trains any other: logits are a
linear layer of the elementwise product of both vectors, and the loss is their cross-entropy, not
the squared error of a rating.
"""

from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network, require_below
from netsim.registry import Count


class MatrixFactorization(ModelKind):
    """The product of a user's and an item's vector, then Linear.

    Parameters
    ----------
    users : int
        Number of users; inputs that name another one are refused.
    items : int
        Number of items; inputs that name another one are refused.
    width : int
        Number of entries of a user's or an item's vector.
    """

    kind: Literal["matrix_factorization"] = "matrix_factorization"
    users: Count = 610
    items: Count = 9_724
    width: Count = 20

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        if torch.Size(input_shape).numel() < 2:
            raise ScenarioError(
                '[model] kind = "matrix_factorization": needs inputs of a user and an item, the '
                f"data has inputs of shape {input_shape}"
            )
        return Network(Product(self), nn.Linear(self.width, num_classes))

    def require_inputs(self, x: NDArray[Any], num_outputs: int) -> None:
        """Refuse users and items that have no vector; see the base class."""
        pairs = x.reshape(len(x), -1)
        require_below(pairs[:, 0], self.users, self.kind, "users", "users")
        require_below(pairs[:, 1], self.items, self.kind, "items", "items")


class Product(nn.Module):
    """(B, 2) numbers of a user and an item to (B, width)."""

    def __init__(self, table: MatrixFactorization) -> None:
        super().__init__()
        self.most = (table.users - 1, table.items - 1)
        self.users = nn.Embedding(table.users, table.width)
        self.items = nn.Embedding(table.items, table.width)

    def forward(self, x: Tensor) -> Tensor:
        """Products for pairs (B, ...)."""
        numbers = x.flatten(1).long()
        user = self.users(numbers[:, 0].clamp(0, self.most[0]))
        item = self.items(numbers[:, 1].clamp(0, self.most[1]))
        product: Tensor = user * item
        return product
