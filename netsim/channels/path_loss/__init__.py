"""One path_loss model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod

from netsim.channels import Real
from netsim.registry import Component

NEAREST_M = 1.0
"""Shorter distances count as this one: the far-field formulas diverge at zero."""


class PathLoss(Component):
    """How much weaker a signal arrives than it was sent, on average over fading."""

    @abstractmethod
    def loss_db(self, distance_m: Real, carrier_hz: float) -> Real:
        """Mean path loss.

        Parameters
        ----------
        distance_m : float or ndarray
            Distance from antenna to antenna [m]; below 1 m it counts as 1 m.
        carrier_hz : float
            Carrier frequency [Hz].

        Returns
        -------
        float or ndarray
            Loss [dB], shaped as `distance_m`.
        """
