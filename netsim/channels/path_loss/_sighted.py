"""Path losses of pairs that have line of sight or not, between a higher end and a lower one."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.path_loss import PathLoss

Sight = Literal["drawn", "always", "never"]

C_M_PER_S = 3.0e8
"""The speed of light as 3GPP has it (TR 38.901, table 7.4.1-1, note 1): 5.7e-3 dB in the far loss
of a street."""


class Sighted(PathLoss):
    """Line of sight drawn once a pair: it gains sight as it comes closer and keeps it.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere.
    """

    kind: str
    sight: Sight = "drawn"
    sighted: ClassVar[bool] = True

    @abstractmethod
    def sight_drawn(self, distance_m: Any) -> Any:
        """Probability of line of sight over a distance along the ground [m]."""

    def sight_probability(self, distance_m: Real) -> Real:
        """Probability of the standard; 1 or 0 if `sight` is not "drawn"."""
        if self.sight != "drawn":
            return 0.0 * distance_m + (1.0 if self.sight == "always" else 0.0)
        found: Real = self.sight_drawn(distance_m)
        return found


class BaseAndDevice(Sighted):
    """A base station and a device: the higher end of a link, and the other.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    base_height_m : float
        hBS, height of the base station's antenna; one end of every link counts as base station.
    device_height_m : float
        hUT, height of the device's antenna.
    """

    base_height_m: float
    device_height_m: float
    instead_of_heights: ClassVar[tuple[str, ...]] = ("base_height_m", "device_height_m")

    @abstractmethod
    def losses_db(
        self, ground_m: Any, base_m: Any, device_m: Any, carrier_hz: float
    ) -> tuple[Any, Any]:
        """Losses [dB] with and without line of sight.

        Parameters
        ----------
        ground_m : float or ndarray
            Distance along the ground [m].
        base_m, device_m : float or ndarray
            Heights of the two ends [m].
        carrier_hz : float
            Carrier frequency [Hz].

        Returns
        -------
        float or ndarray, twice
            The second counts where it is the greater.
        """

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        heights_m = self.base_height_m, self.device_height_m
        loss_db: Real = self._loss_db(distance_m, *heights_m, carrier_hz, u)
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Path loss [dB] with the higher end as base station and the other as device."""
        high_m, low_m = np.maximum(one_m, other_m), np.minimum(one_m, other_m)
        return np.asarray(self._loss_db(ground_m, high_m, low_m, carrier_hz, u))

    def of_farthest(self, heights_m: Sequence[float]) -> PathLoss:
        top_m = max(heights_m)  # the higher, the farther the breakpoint
        return self.model_copy(update={"base_height_m": top_m, "device_height_m": top_m})

    def _loss_db(
        self, distance_m: Any, base_m: Any, device_m: Any, carrier_hz: float, u: Any
    ) -> Any:
        los_db, nlos_db = self.losses_db(distance_m, base_m, device_m, carrier_hz)
        in_sight = u < self.sight_probability(distance_m)
        return np.where(in_sight, los_db, np.maximum(los_db, nlos_db))[()]
