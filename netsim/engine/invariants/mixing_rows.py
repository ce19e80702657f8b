"""Weights that a node gives to itself and others sum to one, where the method says so."""

from collections.abc import Sequence

from netsim.engine.invariants import Invariant

ROUNDING = 1e-4
"""Weights are computed in single precision."""


class MixingRows(Invariant):
    """Each row of weights that an algorithm logs which has declared `mixes_to_one`."""

    remedy = "the algorithm has declared mixes_to_one=True"

    def watch(self) -> None:
        if self.run.mixes_to_one:
            self.run.evaluator.weights_told.append(self._logged)

    def _logged(self, time_ns: int, node: int, weights: Sequence[float]) -> None:
        total = sum(weights)
        if not abs(total - 1.0) <= ROUNDING:
            self.broken(f"node {node}", time_ns, "the weights that it mixes by sum", total, 1)
