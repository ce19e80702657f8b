"""No node is ever switched off."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods


class NoChurn(Churn):
    """Nodes are always on."""

    kind: Literal["none"] = "none"

    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        return None
