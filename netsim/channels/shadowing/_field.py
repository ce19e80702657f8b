"""A Gaussian field over the plane that all links share: the base of correlated shadowing.

The field has mean 0, variance 1 and correlation exp(-distance / d) (Gudmundson, Electronics Letters
1991). It is a sum of plane waves whose wave vectors have the spectrum of that correlation (the
bivariate Cauchy density) and whose amplitudes are complex normal: at any point exactly normal, with
the exact covariance over seeds, and a function of the place alone.
"""

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.shadowing import Shadowing
from netsim.registry import Loss, Positive

WAVES = 512
"""Plane waves of the field: its variance over the places of one world has a relative standard
deviation of WAVES ** -0.5."""


class Waves(NamedTuple):
    """Plane waves amplitude cos(x per_m_x + y per_m_y + phase); their sum has variance 1.

    Attributes
    ----------
    per_m_x, per_m_y, phase, amplitude : (WAVES,) array
        Wave vectors [1/m], phases and amplitudes.
    """

    per_m_x: NDArray[np.float64]
    per_m_y: NDArray[np.float64]
    phase: NDArray[np.float64]
    amplitude: NDArray[np.float64]


class FieldShadowing(Shadowing):
    """Shadowing that links have from one field over the plane.

    Attributes
    ----------
    sigma_db : float or None
        Standard deviation. Absent: that of the path loss model.
    decorrelation_m : float
        Distance over which the correlation of the field falls to 1/e [m].
    """

    sigma_db: Loss | None = None
    decorrelation_m: Positive
    shared: ClassVar[bool] = True
    draws_in_motion: ClassVar[int] = 4 * WAVES

    def still(self, u: Real) -> Real:
        """Not there: a field has a value only where there are places."""
        raise NotImplementedError(f"{type(self).__name__} is a function of places")

    def in_motion(
        self,
        u: NDArray[np.float64],
        ends_m: NDArray[np.float64],
        decorrelation_m: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        return self.of_links(self._waves(u[0]), ends_m[:, :2], ends_m[:, 2:])

    @abstractmethod
    def of_links(
        self, waves: Waves, one_m: NDArray[np.float64], other_m: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Shadowing of links between places, in standard deviations.

        Parameters
        ----------
        waves : Waves
        one_m, other_m : (links, 2) array
            x and y of the ends [m].

        Returns
        -------
        (links,) array
            Mean 0, variance 1; positive is a greater loss.
        """

    def _waves(self, u: NDArray[np.float64]) -> Waves:
        radius, angle, phase, amplitude = 1.0 - u.reshape(4, WAVES)  # in (0, 1]
        # radius of a bivariate Cauchy vector: P(K > k) = (1 + k^2)^(-1/2)
        per_m = np.sqrt(radius**-2.0 - 1.0) / self.decorrelation_m
        return Waves(
            per_m * np.cos(2.0 * math.pi * angle),
            per_m * np.sin(2.0 * math.pi * angle),
            2.0 * math.pi * phase,
            np.sqrt(-2.0 * np.log(amplitude) / WAVES),
        )
