"""Energy of local training; one model a file, its name is its `kind`."""

from abc import abstractmethod

from netsim.registry import Component

LISTED_AS = "energy.compute"
"""Name of this family in `netsim list`: the scenario table that chooses from it."""


class ComputeEnergy(Component):
    """Base of the models."""

    @abstractmethod
    def step_j(self, batch_size: int) -> float:
        """Energy [J] of one local step on so many samples."""
