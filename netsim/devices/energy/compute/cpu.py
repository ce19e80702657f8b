"""A processor whose energy grows with the square of its clock.

Source: the usual model of federated learning over radio, e.g. Tran et al., INFOCOM 2019, eq. (3).
"""

from typing import Annotated, Literal

from netsim.devices.energy.compute import ComputeEnergy
from netsim.registry import NonNegative, Plausible, Positive


class Cpu(ComputeEnergy):
    """A local step costs capacitance x `cycles_per_sample` x batch size x `clock_hz`^2.

    Attributes
    ----------
    capacitance
        Effective capacitance coefficient of the chip (alpha / 2): energy of a cycle over the clock
        squared [J/Hz^2]. Source: Tran et al., INFOCOM 2019, eq. (3).
    cycles_per_sample
        Cycles of the processor for one sample.
    clock_hz
        Clock of the processor.
    """

    kind: Literal["cpu"] = "cpu"
    capacitance: NonNegative = 1e-28
    cycles_per_sample: Positive
    clock_hz: Annotated[Positive, Plausible(1e5, 1e11, "processors are from MHz to GHz")]

    def step_j(self, batch_size: int) -> float:
        return self.capacitance * self.cycles_per_sample * batch_size * self.clock_hz**2
