"""A share of the nodes is always slower than the rest."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from netsim.devices.speed.fixed import Fixed
from netsim.registry import Fraction
from netsim.rng import Streams
from netsim.traces.remarks import note_none


class Stragglers(Fixed):
    """`step_s` a local step, and a multiple of it on some nodes.

    Attributes
    ----------
    share
        Share of the nodes that train (without servers) that is slow; drawn at random.
    slowdown
        Factor by which a local step takes longer on them.
    """

    kind: Literal["stragglers"] = "stragglers"  # type: ignore[assignment]
    share: Fraction = 0.2
    slowdown: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 5.0

    def relative(
        self, given: Sequence[float], streams: Streams, folder: Path | None
    ) -> tuple[float, ...]:
        return self.of_nodes(given, range(len(given)), streams, folder)

    def of_nodes(
        self,
        given: Sequence[float],
        learners: Collection[int],
        streams: Streams,
        folder: Path | None,
    ) -> tuple[float, ...]:
        order = streams.permutation("stragglers", n=len(given)).tolist()
        among = set(learners)
        order = [node for node in order if node in among]
        slow = set(order[: round(self.share * len(order))])
        if self.share and not slow:
            note_none("[compute] share", self.share, len(order), "slow")
        return tuple(v / self.slowdown if i in slow else v for i, v in enumerate(given))
