"""One shadowing model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.registry import Component


class Shadowing(Component):
    """Large-scale fading: change of a pair's path loss by the obstacles around it.

    A model is a function of uniforms, drawn by its caller, and of where the two ends of the pair
    are. So it is the same in both directions, and the same again when a node returns to a place.
    The uniforms are keyed by the unordered pair, so that pairs are independent, unless all pairs
    share one field over the plane.
    """

    drawn: ClassVar[bool] = True
    """True if it needs random draws; if not, it is 0."""

    shared: ClassVar[bool] = False
    """True if all pairs share the same uniforms, and `in_motion` is asked though no node moves."""

    draws_in_motion: ClassVar[int] = 1
    """Number of uniforms of a pair, or of all pairs together, where nodes move."""

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
            Uniform in [0, 1); one row where all pairs share them.
        ends_m : (pairs, 4) array
            x and y of the end with the lower id, then those of the other [m].
        decorrelation_m : (pairs,) array
            Distance over which the correlation falls to 1/e [m].

        Returns
        -------
        (pairs,) array
            Mean 0, variance 1; positive is a greater loss.
        """
