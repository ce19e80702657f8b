"""Label flip: malicious nodes learn class C - 1 - y in place of y.

Source: Kharrat, Canini and Horvath (DPFL, 2024), whose code (github salmakh1/DPFL) flips the
training and validation labels of 40 % of the nodes; test labels stay.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.attacks import Attack


class LabelFlip(Attack):
    """y -> C - 1 - y on the training and validation samples of malicious nodes."""

    kind: Literal["label_flip"] = "label_flip"

    needs_classes: ClassVar[bool] = True

    def relabelled(self, labels: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
        """See the base class."""
        return num_classes - 1 - labels
