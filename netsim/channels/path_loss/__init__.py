"""One path_loss model a file; the file's name is its `kind` in a scenario."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.registry import Component
from netsim.traces.gains import Gains

NEAREST_M = 1.0
"""Shorter distances count as this one: the far-field formulas diverge at zero."""


class OwnShadowing(NamedTuple):
    """The shadowing that a standard states beside its path loss.

    Attributes
    ----------
    sigma_db : float
        Standard deviation [dB].
    decorrelation_m : float
        Motion over which the correlation falls to 1/e [m].
    """

    sigma_db: float
    decorrelation_m: float


class PathLoss(Component):
    """Ratio of sent to received power in dB, on average over fading: base of the models."""

    sighted: ClassVar[bool] = False
    """True if a pair may or may not have line of sight."""

    own_shadowing: ClassVar[tuple[OwnShadowing, OwnShadowing] | None] = None
    """Shadowing that the model's standard states (with, without) line of sight; None: none."""

    least_height_m: ClassVar[float] = -math.inf
    """Antennas have to be above this height [m], where nodes have heights."""

    instead_of_heights: ClassVar[tuple[str, ...]] = ()
    """Keys that are read only where nodes have no heights."""

    beside_heights: ClassVar[tuple[str, ...]] = ()
    """Keys that are read only where they have some."""

    assumes: ClassVar[str | None] = None
    """A limit of the model that a reader of results has to know; None: none."""

    fitted_hz: ClassVar[tuple[float, float] | None] = None
    """Carriers [Hz] for which the model's source states it; None: any."""

    fitted_ends_m: ClassVar[tuple[tuple[float, float], tuple[float, float]] | None] = None
    """Heights [m] of the (higher, lower) end for which its source states it; None: any."""

    @property
    def power_law(self) -> float | None:
        """Exponent n of a loss of 10 n log10(distance) + constant; None: of another form."""
        return None

    def link_gains(
        self, nodes: int, carrier_hz: float, bandwidth_hz: float, folder: Path | None
    ) -> Gains | None:
        """The gain of each link where a file states it; None: the loss is one of distance.

        Parameters
        ----------
        nodes : int
            How many there are.
        carrier_hz, bandwidth_hz : float
            The radio's [Hz].
        folder : Path or None
            The data folder, where the file may lie.

        Raises
        ------
        DataError
            If the file is not there or not what it should be.
        """
        return None

    @abstractmethod
    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        """Mean path loss.

        Parameters
        ----------
        distance_m : float or ndarray
            Distance along the ground [m]; below 1 m it counts as 1 m.
        carrier_hz : float
            Carrier frequency [Hz].
        u : float or ndarray
            Uniform in [0, 1): the pair has line of sight if it is below `sight_probability`. Read
            by models that are `sighted`. With 0 there always is line of sight, with 1 never.

        Returns
        -------
        float or ndarray
            Loss [dB], shaped as `distance_m`; it does not fall with distance, unless the model has
            a `least_beyond_db` of its own.
        """

    def least_beyond_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        """A bound of the loss at a distance and farther away.

        Parameters
        ----------
        distance_m, carrier_hz, u
            As of `loss_db`.

        Returns
        -------
        float or ndarray
            [dB]; it does not fall with distance, and `loss_db` is at least that.
        """
        return self.loss_db(distance_m, carrier_hz, u)

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Mean path loss between antennas with heights of their own.

        Parameters
        ----------
        ground_m : ndarray
            Distance along the ground [m].
        one_m, other_m : ndarray
            Heights of the two ends [m].
        carrier_hz : float
        u : ndarray or float
            See `loss_db`.

        Returns
        -------
        ndarray
            That of `loss_db` over the distance in space, unless the model has heights in it; the
            same with the ends exchanged.
        """
        return self.loss_db(np.hypot(ground_m, one_m - other_m), carrier_hz, u)

    def of_farthest(self, heights_m: Sequence[float]) -> "PathLoss":
        """The model whose loss, far away, is not over that of any pair of antennas this high."""
        return self

    def sight_probability(self, distance_m: Real) -> Real:
        """Probability of line of sight over a distance [m]; does not rise with it."""
        return 0.0 * distance_m + 1.0
