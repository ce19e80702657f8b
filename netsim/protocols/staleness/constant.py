"""The same weight at every age.

Source: Xie, Koyejo and Gupta 2019 (FedAsync, arXiv:1903.03934), Section 5.2, "constant", where it
is 1 and the mixing weight alpha stands before it.
"""

from typing import Annotated, Literal

from pydantic import Field

from netsim.protocols.staleness import Staleness


class ConstantStaleness(Staleness):
    """Messages count less than what is the node's own, by one factor.

    Attributes
    ----------
    weight
        Factor of the weight of every message.
    """

    kind: Literal["constant"] = "constant"
    weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0

    def factor(self, age: float) -> float:
        """The weight."""
        return self.weight
