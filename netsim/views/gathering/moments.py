"""The instants that the slider of a page stops at."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from netsim.views.gathering.run_tables import RunTables

FEW_NODES = 200
MOMENTS, MOMENTS_OF_MANY = 60, 30


def moments(run: RunTables) -> NDArray[np.float64]:
    """Ends [s] of equally long stretches of the run; those of many nodes are fewer."""
    many = MOMENTS if run.count <= FEW_NODES else MOMENTS_OF_MANY
    if run.end_s <= 0:
        return np.zeros(1)
    return np.linspace(0, run.end_s, many + 1)[1:]


def stretch_of(times_s: NDArray[np.float64], ends_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the stretch of each time: a stretch has its end, not its beginning."""
    found = np.searchsorted(ends_s, times_s, side="left")
    return cast("NDArray[np.int64]", np.minimum(found, len(ends_s) - 1))
