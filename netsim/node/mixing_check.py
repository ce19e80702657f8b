"""Mixtures of models whose weights do not sum to one, and that are used as models all the same.

Differences of models and steps along them have such weights, too, and are right; so only a mixture
that is published or trained further is told of.
"""

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from netsim.learning.calling_place import calling_line
from netsim.learning.refs import Cell, Ref
from netsim.recording.run_warnings import RunWarnings
from netsim.units import to_s

TOLERANCE = 1e-3
"""Greatest difference of a sum of weights from one: shares are often rounded."""


class MixingCheck:
    """Record of the mixtures of one run whose weights do not sum to one.

    Parameters
    ----------
    warnings : RunWarnings
        Is told of the first that is used as a model.
    """

    def __init__(self, warnings: RunWarnings) -> None:
        self._warnings = warnings
        self._noted: WeakKeyDictionary[Cell, tuple[float, str]] = WeakKeyDictionary()

    def mixed(
        self, mixture: Ref, refs: Sequence[Ref], weights: Sequence[float], now_ns: int
    ) -> None:
        """Note a mixture of whole models if its weights do not sum to one.

        What is mixed may be such a mixture itself: a difference of two models counts as none.

        Parameters
        ----------
        mixture : Ref
        refs : sequence of Ref
            What is mixed; gradients and parts of models may have any weights.
        weights : sequence of float
        now_ns : int
            Virtual time [ns].
        """
        noted = self._noted
        if noted:
            masses = [noted[ref.cell][0] if ref.cell in noted else 1.0 for ref in refs]
            total = math.fsum(w * m for w, m in zip(weights, masses, strict=True))
        else:
            total = math.fsum(weights)
        if abs(total - 1.0) > TOLERANCE and all(ref.architecture is not None for ref in refs):
            noted[mixture.cell] = (
                total,
                f"node {mixture.owner} at {to_s(now_ns):g} s{calling_line()}: the weights of a "
                f"mixture of models sum to {total:g}, not 1",
            )

    def used(self, ref: Ref, how: str) -> None:
        """A value is used as a model; `how` says what for."""
        if self._noted and (found := self._noted.get(ref.cell)) is not None:
            self._warnings.once("mixing weights", f"{found[1]}, and it is {how}")
