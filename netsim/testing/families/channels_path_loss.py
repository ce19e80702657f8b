"""Path loss: a loss in dB that does not fall with distance."""

import numpy as np

from netsim.channels.path_loss import PathLoss
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

CARRIER_HZ = 2.4e9


def check(model: PathLoss, case: ComponentCase) -> None:
    """Check a loss in line of sight: finite, never falling, and equal for numbers and arrays."""
    distances_m = np.geomspace(1.0, 1e9, 400)
    losses = np.asarray(model.loss_db(distances_m, CARRIER_HZ, 0.0))
    require(losses.shape == distances_m.shape, f"loss_db has the shape {losses.shape}")
    require(np.isfinite(losses).all(), "loss_db is not finite between 1 m and 1e6 km")
    least = np.asarray(model.least_beyond_db(distances_m, CARRIER_HZ, 0.0))
    require((np.diff(least) >= -1e-9).all(), "loss_db must not fall as the distance rises")
    require((losses >= least - 1e-9).all(), "loss_db is below least_beyond_db")
    one = float(model.loss_db(float(distances_m[50]), CARRIER_HZ, 0.0))
    require(np.isclose(one, losses[50]), f"loss_db of one distance alone is {one:g} dB")
    near = float(model.loss_db(0.0, CARRIER_HZ, 0.0))
    require(np.isfinite(near), "loss_db(0 m) is not finite: shorter distances count as 1 m")
    sight = np.asarray(model.sight_probability(distances_m))
    require(((sight >= 0) & (sight <= 1)).all(), "sight_probability is not in [0, 1]")
    require((np.diff(sight) <= 1e-12).all(), "sight_probability must not rise with the distance")
