"""Models of channels: path loss, fading, rate, packet error, retransmission; one family a folder.

Everything here is a pure function of its arguments: no model has a state, random draws of its own
or a clock. Ratios (SNR, power gain, threshold) are linear unless a name ends in `_db`.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", float, NDArray[np.float64])
"""A number or an array of numbers: a formula returns what it is given, in shape."""
