"""The `[nodes]` table: how many there are, where, and the groups that differ from the rest.

A key of a group is one line of `Group`: its type, and with `Overrides` the key of the scenario
that it stands in for. `Scenario.per_node` then gives it for every node.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from netsim.channels.sleep import Sleep
from netsim.registry import (
    Count,
    Decibels,
    Finite,
    Height,
    Joules,
    Plausible,
    Positive,
    Table,
    choice,
)
from netsim.topology.churn import Churn
from netsim.topology.mobility import Mobility

MOST_NAME = 100
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.=-]*$", max_length=MOST_NAME)]
"""A name that becomes a folder."""


def _no_files_name(name: str) -> str:
    if Path(name).suffix.lower() in _FILES:
        raise ValueError(
            f'must not end in "{Path(name).suffix}": it names a folder beside files of that kind'
        )
    return name


_FILES = (".csv", ".json", ".toml", ".png", ".pdf", ".svg", ".parquet", ".npz", ".txt", ".lock")
AlgorithmName = Annotated[Label, AfterValidator(_no_files_name)]
"""A name that becomes a folder beside the files that compare algorithms."""

SERVER = "server"
"""Role of a node that holds no data; any other role is a learner's."""

if TYPE_CHECKING:
    ChurnChoice = Churn
    MobilityChoice = Mobility
    SleepChoice = Sleep
else:
    ChurnChoice = choice("netsim.topology.churn")
    MobilityChoice = choice("netsim.topology.mobility")
    SleepChoice = choice("netsim.channels.sleep")


@dataclass(frozen=True)
class Overrides:
    """Annotation of a group's key: which key of the scenario it stands in for.

    Attributes
    ----------
    path : str
        As `--set` takes it, such as `energy.battery_j`. What the group does not say is said there.
    """

    path: str


class Group(Table):
    """Nodes that differ from the others; groups take ids from 0 in the order of the file.

    Attributes
    ----------
    name
        Name of the group in tables and figures.
    count
        Number of its nodes.
    role
        Role of its nodes for algorithms: a "server" holds no data and serves the others; nodes of
        any other role learn.
    speed
        Speed of its nodes, as a multiple of that of the others; it divides the time of a local
        step.
    tx_power_dbm
        Transmit power of its nodes. Absent: that of `[radio]`.
    uplink_bps
        Rate at which each of its nodes sends. Absent: that of `[link]`.
    downlink_bps
        Rate at which each of its nodes receives. Absent: that of `[link]`.
    churn
        On and off times of its nodes. Absent: as `[churn]` says.
    mobility
        Movement of its nodes. Absent: as `[mobility]` says.
    sleep
        Sleep of its nodes' radios. Absent: as `[radio.sleep]` says.
    battery_j
        Energy that the battery of each of its nodes holds when full. Absent: that of `[energy]`.
    height_m
        Height of its nodes above the ground. Absent: that of `[nodes]`.
    """

    name: Label
    count: Count
    role: str = "node"
    speed: Annotated[Positive, Plausible(1e-4, 1e4, "it is relative to the nominal device")] = 1.0
    tx_power_dbm: Annotated[
        Decibels | None,
        Overrides("radio.tx_power_dbm"),
        Plausible(-60.0, 60.0, "60 dBm is a kilowatt"),
    ] = None
    uplink_bps: Annotated[Positive | None, Overrides("link.uplink_bps")] = None
    downlink_bps: Annotated[Positive | None, Overrides("link.downlink_bps")] = None
    churn: Annotated[ChurnChoice | None, Overrides("churn")] = None
    mobility: Annotated[MobilityChoice | None, Overrides("mobility")] = None
    sleep: Annotated[SleepChoice | None, Overrides("radio.sleep")] = None
    battery_j: Annotated[
        Joules | None,
        Overrides("energy.battery_j"),
        Plausible(most=1e9, why="a car has 3e8 J"),
    ] = None
    height_m: Annotated[Height | None, Overrides("nodes.height_m")] = None


def overridden() -> dict[str, str]:
    """The path of the scenario's key that each key of a group stands in for."""
    return {
        key: mark.path
        for key, info in Group.model_fields.items()
        for mark in info.metadata
        if isinstance(mark, Overrides)
    }


class Nodes(Table):
    """Number of nodes, their positions, and groups that differ.

    Without heights, distances are those along the ground; if some nodes have heights, those of the
    others are 0.

    Attributes
    ----------
    count
        Number of nodes, servers included.
    placement
        Positions of nodes: none, so that all pairs have the same mean SNR ("iid_links"), uniform
        in a disc ("disc") or a square ("square"), or those of `positions_m` ("given").
    radius_m
        Radius of the disc, around [0, 0], in which nodes start and move.
    side_m
        Side of the square, from [0, 0] to [side_m, side_m], in which nodes are placed.
    positions_m
        Position of each node, [x, y], with `placement = "given"`. Example: `[[0.0, 0.0], [30.0,
        40.0]]`
    height_m
        Height above the ground of all nodes whose group states none. Absent: distances are those
        along the ground.
    heights_m
        Height of each node above the ground, in place of `height_m`; nodes that move keep theirs,
        unless their mobility has heights of its own. Example: `[10.0, 1.5, 1.5]`
    groups
        Nodes that differ from the rest, from id 0 on. Example: `[{ name = "edge", count = 1, role =
        "server" }]`
    """

    count: Annotated[int, Field(ge=1, le=100_000)]
    placement: Literal["iid_links", "disc", "square", "given"] = "iid_links"
    radius_m: Annotated[Positive, Plausible(0.1, 1e6, "it is in metres")] = 100.0
    side_m: Annotated[Positive, Plausible(0.1, 1e6, "it is in metres")] = 100.0
    positions_m: tuple[tuple[Finite, Finite], ...] = ()
    height_m: Height | None = None
    heights_m: tuple[Height, ...] = ()
    groups: tuple[Group, ...] = ()

    @model_validator(mode="after")
    def _agree(self) -> "Nodes":
        if self.placement == "given" and len(self.positions_m) != self.count:
            raise ValueError(
                f'placement = "given" needs one [x, y] a node in positions_m: '
                f"{self.count} nodes, {len(self.positions_m)} positions"
            )
        if self.placement != "given" and self.positions_m:
            raise ValueError('positions_m are read only with placement = "given"')
        if self.placement != "square" and self.changed(("side_m",)):
            raise ValueError('side_m is read only with placement = "square"')
        if self.heights_m and len(self.heights_m) != self.count:
            raise ValueError(
                f"heights_m needs one height a node: {self.count} nodes, "
                f"{len(self.heights_m)} heights"
            )
        some = (self.height_m, *(group.height_m for group in self.groups))
        if self.heights_m and any(height is not None for height in some):
            raise ValueError("heights_m gives the height of every node: leave out height_m")
        if self.placement == "iid_links" and self.heights:
            raise ValueError('heights are read only with placement = "disc", "square" or "given"')
        grouped = sum(group.count for group in self.groups)
        if grouped > self.count:
            raise ValueError(f"the groups have {grouped} nodes, but count = {self.count}")
        names = [group.name for group in self.groups]
        if len(set(names)) < len(names):
            raise ValueError("two groups have the same name")
        return self

    @property
    def heights(self) -> tuple[float, ...]:
        """Height of each node [m]; empty where none is given."""
        if self.heights_m:
            return self.heights_m
        found = [self.height_m if h is None else h for h in self.of_groups("height_m")]
        return () if all(h is None for h in found) else tuple(h or 0.0 for h in found)

    def of_groups(self, key: str) -> tuple[Any, ...]:
        """A key by node as the groups state it; the key's default for nodes of no group."""
        stated = [getattr(group, key) for group in self.groups for _ in range(group.count)]
        plain = Group.model_fields[key].default
        return (*stated, *[plain] * (self.count - len(stated)))
