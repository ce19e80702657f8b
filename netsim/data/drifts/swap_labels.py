"""Pairs of classes exchange their labels.

Source: Jothimurugesan, Hsieh, Wang, Joshi, Gibbons, "Federated Learning under Distributed Concept
Drift", AISTATS 2023, whose concepts differ by swapped labels; clients change them at times of
their own, which several `[[data.drift]]` with `nodes` give.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.errors import ScenarioError
from netsim.registry import Index
from netsim.rng import Streams


class SwapLabels(Drift):
    """Pairs of classes are swapped in all samples of a node: training, validation and test.

    Two swaps of a pair cancel.

    Parameters
    ----------
    classes : tuple of (int, int)
        The pairs; no class in two of them.
    """

    kind: Literal["swap_labels"] = "swap_labels"
    classes: Annotated[tuple[tuple[Index, Index], ...], Field(min_length=1)]

    needs_classes: ClassVar[bool] = True

    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """See the base class.

        Parameters
        ----------
        now, who, pool, streams
            As there.

        Raises
        ------
        ScenarioError
            If there is no such class, or one is in two pairs.
        """
        named = [label for pair in self.classes for label in pair]
        where = '[[data.drift]] kind = "swap_labels": classes'
        if max(named) >= pool.samples.num_classes:
            raise ScenarioError(
                f"{where} names {max(named)}, the data set has classes 0 to "
                f"{pool.samples.num_classes - 1}"
            )
        if len(set(named)) < len(named):
            raise ScenarioError(f"{where} names a class twice; each can change places with one")
        after = np.arange(pool.samples.num_classes)
        for one, other in self.classes:
            after[one], after[other] = other, one
        return now.relabelled(dict.fromkeys(who, after))
