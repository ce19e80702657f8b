"""No harvested energy."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from netsim.devices.energy.harvest import Harvest, Piece
from netsim.rng import Streams


class NoHarvest(Harvest):
    """A node whose battery is empty stays off."""

    kind: Literal["none"] = "none"

    @model_validator(mode="after")
    def _has_no_levels(self) -> Self:
        stated = self.changed(("start_level", "off_level", "on_level"))
        if stated:
            raise ValueError(f"{stated[0]} is read only where something is harvested")
        return self

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return None
