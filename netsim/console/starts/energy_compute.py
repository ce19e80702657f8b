"""A processor whose energy grows with the samples of a minibatch."""

from typing import Literal

from netsim.devices.energy.compute import ComputeEnergy
from netsim.registry import NonNegative


class Starting(ComputeEnergy):
    """Energy by the sample.

    Attributes
    ----------
    j_per_sample : float
        Of one forward and backward pass [J].
    """

    kind: Literal["starting"] = "starting"
    j_per_sample: NonNegative = 1e-3

    def step_j(self, batch_size: int) -> float:
        """Energy [J] of one local step on so many samples."""
        return batch_size * self.j_per_sample
