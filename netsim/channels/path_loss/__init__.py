"""One path_loss model a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

from netsim.channels import Real
from netsim.registry import Component

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
    """How much weaker a signal arrives than it was sent, on average over fading."""

    sighted: ClassVar[bool] = False
    """Whether a pair may or may not have line of sight."""

    own_shadowing: ClassVar[tuple[OwnShadowing, OwnShadowing] | None] = None
    """What the standard states with and without line of sight, if it does."""

    assumes: ClassVar[str | None] = None
    """What a reader of results has to know."""

    @property
    def power_law(self) -> float | None:
        """The exponent n of a loss of 10 n log10(distance) + constant; None: it is no such law."""
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
            by models that are `sighted`. At 0 there always is line of sight, at 1 never.

        Returns
        -------
        float or ndarray
            Loss [dB], shaped as `distance_m`; it does not fall with distance.
        """

    def sight_probability(self, distance_m: Real) -> Real:
        """Probability of line of sight over a distance [m]; does not rise with it."""
        return 0.0 * distance_m + 1.0
