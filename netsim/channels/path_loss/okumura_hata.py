"""Cells of kilometres after Okumura and Hata, above 1500 MHz with the extension of COST 231.

M. Hata, "Empirical Formula for Propagation Loss in Land Mobile Radio Services", IEEE Trans. Veh.
Technol. 1980. With f in MHz, d in km along the ground, a base station at hb and a mobile at hm:

L = 69.55 + 26.16 log10 f - 13.82 log10 hb - a(hm) + (44.9 - 6.55 log10 hb) log10 d,

a = (1.1 log10 f - .7) hm - (1.56 log10 f - .8) in small and medium cities; in large ones
3.2 (log10 11.75 hm)^2 - 4.97, below 300 MHz 8.29 (log10 1.54 hm)^2 - 1.1. Suburbs: with the first
a, less 2 (log10 f/28)^2 + 5.4; open country: less 4.78 (log10 f)^2 - 18.33 log10 f + 40.94.

Above 1500 MHz, COST Action 231, final report, 1999, 4.4.1: 46.3 + 33.9 log10 f in place of the
first two terms and the first a everywhere; 3 dB more in large cities, nothing less in suburbs. It
states nothing for open country, which keeps Hata's difference. Nowhere is the loss less than that
of free space.
"""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.registry import Positive

EXTENDED_FROM_MHZ = 1500.0
"""Carrier above which COST 231 holds in place of Hata."""


class OkumuraHata(PathLoss):
    """A base station over the roofs and a mobile in the street, by curves fitted to Tokyo.

    Attributes
    ----------
    environment : {"city", "large_city", "suburb", "open"}
        Small or medium city, large city, suburb or open country.
    base_height_m : float
        hb, height of the base station's antenna; one end of every link counts as base station.
    device_height_m : float
        hm, height of the mobile's antenna.
    """

    kind: Literal["okumura_hata"] = "okumura_hata"
    environment: Literal["city", "large_city", "suburb", "open"] = "city"
    base_height_m: Positive = 30.0
    device_height_m: Positive = 1.5
    instead_of_heights: ClassVar[tuple[str, ...]] = ("base_height_m", "device_height_m")
    least_height_m: ClassVar[float] = 0.0
    fitted_hz: ClassVar[tuple[float, float] | None] = (150e6, 2e9)
    fitted_ends_m: ClassVar[tuple[tuple[float, float], tuple[float, float]] | None] = (
        (30.0, 200.0),
        (1.0, 10.0),
    )
    assumes: ClassVar[str | None] = (
        "path_loss okumura_hata is fitted to 150 to 1500 MHz (with COST 231: to 2 GHz), 1 to 20 "
        "km, base stations at 30 to 200 m and mobiles at 1 to 10 m; elsewhere, as between two "
        "devices, it is an extrapolation"
    )

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        heights_m = self.base_height_m, self.device_height_m
        loss_db: Real = self._loss_db(distance_m, *heights_m, carrier_hz)
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Path loss [dB] with the higher end as base station and the other as mobile."""
        high_m, low_m = np.maximum(one_m, other_m), np.minimum(one_m, other_m)
        return np.asarray(self._loss_db(ground_m, high_m, low_m, carrier_hz))

    def of_farthest(self, heights_m: Any) -> PathLoss:
        top_m = max(heights_m)
        return self.model_copy(update={"base_height_m": top_m, "device_height_m": top_m})

    def _loss_db(self, distance_m: Any, base_m: Any, device_m: Any, carrier_hz: float) -> Any:
        ground_m = np.maximum(distance_m, NEAREST_M)
        log_f, log_base = np.log10(carrier_hz / 1e6), np.log10(base_m)
        extended = carrier_hz / 1e6 > EXTENDED_FROM_MHZ
        loss_db = 46.3 + 33.9 * log_f if extended else 69.55 + 26.16 * log_f
        loss_db = loss_db - 13.82 * log_base - self._of_mobile_db(device_m, carrier_hz / 1e6)
        loss_db = loss_db + (44.9 - 6.55 * log_base) * np.log10(ground_m / 1e3)
        if self.environment == "open":
            loss_db = loss_db - (4.78 * log_f**2 - 18.33 * log_f + 40.94)
        elif self.environment == "suburb" and not extended:
            loss_db = loss_db - (2.0 * (log_f - np.log10(28.0)) ** 2 + 5.4)
        elif self.environment == "large_city" and extended:
            loss_db = loss_db + 3.0
        in_space_m = np.hypot(ground_m, base_m - device_m)
        return np.maximum(loss_db, FreeSpace().loss_db(in_space_m, carrier_hz))[()]

    def _of_mobile_db(self, device_m: Any, f_mhz: float) -> Any:
        """a(hm) [dB]."""
        if self.environment == "large_city" and f_mhz <= EXTENDED_FROM_MHZ:
            if f_mhz >= 300.0:
                return 3.2 * np.log10(11.75 * device_m) ** 2 - 4.97
            return 8.29 * np.log10(1.54 * device_m) ** 2 - 1.1
        log_f = np.log10(f_mhz)
        return (1.1 * log_f - 0.7) * device_m - (1.56 * log_f - 0.8)
