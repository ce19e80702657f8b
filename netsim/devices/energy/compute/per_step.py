"""Every local step costs the same."""

from typing import Annotated, Literal

from netsim.devices.energy.compute import ComputeEnergy
from netsim.registry import NonNegative, Plausible


class PerStep(ComputeEnergy):
    """A constant energy a local step.

    Attributes
    ----------
    joules
        Energy of a local step [J]; 0: training costs nothing.
    """

    kind: Literal["per_step"] = "per_step"
    joules: Annotated[NonNegative, Plausible(most=1e6, why="a local step takes less")] = 0.0

    def step_j(self, batch_size: int) -> float:
        return self.joules
