"""One path_loss model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar, NamedTuple

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
    """Whether a pair may or may not have line of sight."""

    own_shadowing: ClassVar[tuple[OwnShadowing, OwnShadowing] | None] = None
    """Shadowing that the model's standard states (with, without) line of sight; None: none."""

    assumes: ClassVar[str | None] = None
    """A limit of the model that a reader of results has to know; None: none."""

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
            Loss [dB], shaped as `distance_m`; it does not fall with distance.
        """

    def sight_probability(self, distance_m: Real) -> Real:
        """Probability of line of sight over a distance [m]; does not rise with it."""
        return 0.0 * distance_m + 1.0
