"""Full power always."""

from typing import ClassVar, Literal

from netsim.channels.power import Power


class FixedPower(Power):
    """`tx_power_dbm`, whatever the link."""

    kind: Literal["fixed"] = "fixed"
    controlled: ClassVar[bool] = False

    def dbm(self, loss_db: float, most_dbm: float, noise_dbm: float) -> float:
        return most_dbm
