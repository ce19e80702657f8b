"""What local training draws; one model a file, its name is its `kind`."""

from abc import abstractmethod

from netsim.registry import Component


class ComputeEnergy(Component):
    """Base of the models."""

    @abstractmethod
    def step_j(self, batch_size: int) -> float:
        """Energy of one local step on so many samples."""
