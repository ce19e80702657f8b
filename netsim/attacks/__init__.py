"""Attacks by malicious nodes; one a file, its name is its `kind` in a scenario.

An attack is on the data (`relabelled`: what malicious nodes take for the labels of their training
and validation samples; test samples stay as they are) or on the messages (`forgery`: what becomes
of every Ref that a malicious node sends, at sending and lazily). An algorithm needs no code for it.

Malicious nodes run the algorithm like all others. With `runs_algorithm = false` they train and
send as the algorithm says but take nothing from others: messages to them that carry values (Refs)
are dropped on arrival, as if lost; requests are still answered.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netsim.registry import Component, Fraction
from netsim.rng import Streams

Forgery = Callable[[Tensor, int, int, int], Tensor]
"""`forgery(values, seed, node, count) -> values` of the same shape: a module-level pure function;
(seed, node, count) key its draws, `count` numbers the values that the node has forged."""


class Attack(Component):
    """Base of the attacks.

    Parameters
    ----------
    fraction : float
        Part of the data-holding nodes that is malicious, rounded to whole nodes and drawn at
        random; 0.4 is that of pFedGraph and DPFL. A larger part keeps the malicious nodes of a
        smaller one and adds to them.
    runs_algorithm : bool
        Whether malicious nodes use the messages that they receive.

    Attributes
    ----------
    needs_classes : bool
        Whether it is on the classes of samples, which not every task has.
    """

    needs_classes: ClassVar[bool] = False

    fraction: Fraction = 0.4
    runs_algorithm: bool = True

    def malicious(self, nodes: Sequence[int], streams: Streams) -> frozenset[int]:
        """Return the malicious ones of `nodes`; servers are never malicious."""
        order = streams.permutation("attack", n=len(nodes))
        return frozenset(nodes[k] for k in order[: round(self.fraction * len(nodes))])

    def relabelled(self, labels: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
        """The labels that malicious nodes train and validate with, (n,)."""
        return labels

    def forgery(self) -> Forgery | None:
        """Return a function that forges the values of malicious nodes; None: nothing is forged."""
        return None
