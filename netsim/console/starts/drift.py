"""Every class is called as the one some places on."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.registry import Count
from netsim.rng import Streams


class Starting(Drift):
    """Each class is called as the one `step` places on; `at_s`, `nodes`, `fraction` are there.

    Attributes
    ----------
    step : int
    """

    kind: Literal["starting"] = "starting"
    step: Count = 1

    needs_classes: ClassVar[bool] = True

    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """Return the nodes' data from then on; see `netsim.data.drifts.Drift`.

        Parameters
        ----------
        now : Holdings
            What they have until then: `parts`, whose rows, and `labels`.
        who : sequence of int
            Places in these of the nodes whose data change.
        pool : Pool
            The data set, and how it is given out.
        streams : Streams
            What is random is drawn from it.
        """
        count = pool.samples.num_classes
        after = (np.arange(count) + self.step) % count
        return now.relabelled(dict.fromkeys(who, after))
