"""One shadowing model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.registry import Component


class Shadowing(Component):
    """Large-scale fading: by how much the obstacles around a pair change its path loss.

    A model is a function of uniforms, drawn by whoever asks and keyed by the unordered pair, and
    of where the two ends of the pair are. So it is the same in both directions, independent from
    pair to pair, and whoever returns to a place meets the same shadowing again.
    """

    drawn: ClassVar[bool] = True
    """Whether there is anything to draw."""

    draws_in_motion: ClassVar[int] = 1
    """How many uniforms a pair takes where nodes move."""

    @abstractmethod
    def still(self, u: Real) -> Real:
        """Shadowing of pairs that stay where they are, in standard deviations.

        Parameters
        ----------
        u : float or ndarray
            Uniform in [0, 1), one a pair.

        Returns
        -------
        float or ndarray
            Mean 0, variance 1, shaped alike; positive is a greater loss.
        """

    @abstractmethod
    def in_motion(
        self,
        u: NDArray[np.float64],
        ends_m: NDArray[np.float64],
        decorrelation_m: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Shadowing of pairs whose ends move, in standard deviations.

        Parameters
        ----------
        u : (pairs, draws_in_motion) array
            Uniform in [0, 1).
        ends_m : (pairs, 4) array
            x and y of the end with the lower id, then those of the other [m].
        decorrelation_m : (pairs,) array
            Distance over which the correlation falls to 1/e [m].

        Returns
        -------
        (pairs,) array
        """
